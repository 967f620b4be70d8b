// The file: magic line, version, model name, graph hash, steps, number of sections, each section's
// length and floats, CRC-32 of all before it. Numbers are in the byte order of the machine.
#include "core/graph/checkpoint.h"

#include <array>
#include <cstring>
#include <string_view>

#include <fmt/core.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::string_view kMagic = "ocrtune checkpoint\n";
constexpr std::uint32_t kVersion = 1;
// A longer name is a sign of damage: it is read before the checksum is known.
constexpr std::uint32_t kLongestName = 256;

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0U);
    table[i] = value;
  }
  return table;
}

std::uint32_t crc32(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
  std::uint32_t crc = ~0U;
  for (const char c : bytes)
    crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// Takes values from the front; once something is short, everything after is too.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}
  template <typename T>
  T take() {
    T value{};
    const std::string_view bytes = take_bytes(sizeof(T));
    if (bytes.size() == sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::string_view take_bytes(std::uint64_t count) {
    if (count > rest_.size()) {
      short_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  bool ended_early() const { return short_; }
  std::size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  bool short_ = false;
};

Error invalid(const std::string& path, const std::string& why) {
  return Error{ErrorKind::invalid, fmt::format("checkpoint {}: {}", path, why)};
}

// Right magic, right version, room for a CRC.
Status check_format(const std::string& path, std::string_view file) {
  if (file.substr(0, kMagic.size()) != kMagic) return invalid(path, "not a checkpoint of ocrtune");
  const std::size_t least = kMagic.size() + sizeof(kVersion) + sizeof(std::uint32_t);
  if (file.size() < least) return invalid(path, "truncated");
  std::uint32_t version = 0;
  std::memcpy(&version, file.data() + kMagic.size(), sizeof(version));
  if (version == kVersion) return Status();
  return invalid(path, fmt::format("format version {}, this program reads {}", version, kVersion));
}

// The bytes between version and CRC, once all three are right.
Result<std::string_view> verified_body(const std::string& path, std::string_view file) {
  OCRTUNE_TRY(check_format(path, file));
  std::uint32_t crc = 0;
  const std::string_view covered = file.substr(0, file.size() - sizeof(crc));
  std::memcpy(&crc, file.data() + covered.size(), sizeof(crc));
  if (crc32(covered) != crc) return invalid(path, "damaged or truncated (checksum differs)");
  return covered.substr(kMagic.size() + sizeof(kVersion));
}

Status check_owner(const std::string& path, const CheckpointOwner& owner, Reader& reader) {
  const auto length = reader.take<std::uint32_t>();
  if (length > kLongestName) return invalid(path, "damaged");
  const std::string model(reader.take_bytes(length));
  const auto hash = reader.take<std::uint64_t>();
  if (model != owner.model) {
    return invalid(path, fmt::format("of model {}, not of {}", valid_utf8(model), owner.model));
  }
  if (hash != owner.graph_hash) {
    return invalid(path, fmt::format("of model {} with other layers or another alphabet", model));
  }
  return Status();
}

}  // namespace

Result<CheckpointHead> read_checkpoint_head(const std::string& path) {
  constexpr std::uint64_t kMaxBytes = 4096;
  const std::string start = OCRTUNE_TRY(read_file(path, kMaxBytes));
  OCRTUNE_TRY(check_format(path, start));
  Reader reader(std::string_view(start).substr(kMagic.size() + sizeof(kVersion)));
  const auto length = reader.take<std::uint32_t>();
  if (length > kLongestName) return invalid(path, "damaged");
  CheckpointHead head;
  head.owner.model = reader.take_bytes(length);
  head.owner.graph_hash = reader.take<std::uint64_t>();
  head.steps = reader.take<std::int64_t>();
  if (reader.ended_early() || head.steps < 0) return invalid(path, "damaged or truncated");
  return head;
}

Status write_checkpoint(const std::string& path, const CheckpointOwner& owner, std::int64_t steps,
                        const std::vector<std::span<const float>>& sections) {
  std::string file(kMagic);
  append(file, kVersion);
  append(file, static_cast<std::uint32_t>(owner.model.size()));
  file += owner.model;
  append(file, owner.graph_hash);
  append(file, steps);
  append(file, static_cast<std::uint32_t>(sections.size()));
  for (const auto& section : sections) {
    append(file, static_cast<std::uint64_t>(section.size()));
    file.append(reinterpret_cast<const char*>(section.data()), section.size_bytes());
  }
  append(file, crc32(file));
  return write_file(path, file);
}

Result<std::int64_t> read_checkpoint(const std::string& path, const CheckpointOwner& owner,
                                     const std::vector<std::span<float>>& sections) {
  // First what it is: the wrong file may be many GiB of something else.
  const std::string start = OCRTUNE_TRY(read_file(path, kMagic.size() + sizeof(kVersion) + 4));
  OCRTUNE_TRY(check_format(path, start));
  // The bound of 64 GiB is a guess.
  const std::string file = OCRTUNE_TRY(read_file(path, std::uint64_t{1} << 36));
  const std::string_view body = OCRTUNE_TRY(verified_body(path, file));
  Reader reader(body);
  // The hash comes before the sections: another model's would be of other lengths.
  OCRTUNE_TRY(check_owner(path, owner, reader));
  const auto steps = reader.take<std::int64_t>();
  if (reader.take<std::uint32_t>() != sections.size()) return invalid(path, "damaged");
  std::vector<std::string_view> parts;
  for (const auto& section : sections) {
    if (reader.take<std::uint64_t>() != section.size()) return invalid(path, "damaged");
    parts.push_back(reader.take_bytes(section.size_bytes()));
  }
  if (reader.ended_early() || reader.left() != 0 || steps < 0) return invalid(path, "damaged");
  // Nothing is copied before everything is verified: an error leaves the sections as they were.
  for (std::size_t i = 0; i < sections.size(); ++i) {
    std::memcpy(sections[i].data(), parts[i].data(), parts[i].size());
  }
  return steps;
}

}  // namespace ocrtune
