// One pass over the lines, each read by a cursor that gives up at the first word that does not fit.
// Only whole forms count, because ranks write into each other's lines and logs are cut.
#include "probes/p2p/steps/nccl_log.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxKept = 200;  // warnings: a hung job can repeat one for hours

// A cursor over one line; every step gives nothing when the line is of another form.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool skip(std::string_view word) {
    blanks();
    if (!starts_with(text_, word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<int> number() {
    blanks();
    std::size_t digits = 0;
    while (digits < text_.size() && std::isdigit(static_cast<unsigned char>(text_[digits])) != 0) {
      ++digits;
    }
    // Nine digits fit an int.
    if (digits == 0 || digits > 9) return std::nullopt;
    const auto value = parse_integer(text_.substr(0, digits));
    text_.remove_prefix(digits);
    if (!value) return std::nullopt;
    return static_cast<int>(*value);
  }
  // "[...]", whatever is inside: a device number, a bus id, or "send".
  bool bracket() {
    blanks();
    const std::size_t close = text_.find(']');
    if (text_.empty() || text_[0] != '[' || close == std::string_view::npos) return false;
    text_.remove_prefix(close + 1);
    return true;
  }
  std::string_view rest() {
    blanks();
    return text_;
  }

 private:
  void blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t')) text_.remove_prefix(1);
  }
  std::string_view text_;
};

NcclTransport transport_of(std::string_view via) {
  if (starts_with(via, "P2P")) return NcclTransport::p2p;
  // NCCL up to 2.7 writes "direct shared memory".
  if (starts_with(via, "SHM") || via.find("shared memory") != std::string_view::npos) {
    return NcclTransport::shm;
  }
  if (starts_with(via, "NET") || starts_with(via, "COLLNET")) return NcclTransport::net;
  return NcclTransport::other;
}

// "Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0", "Ring 00 : 3[3] -> 2[2] via P2P/IPC".
std::optional<NcclChannel> channel_of(std::string_view text) {
  Cursor at(text);
  if (!at.skip("Channel") && !at.skip("Ring")) return std::nullopt;
  if (!at.number()) return std::nullopt;
  if (at.skip("/")) static_cast<void>(at.number());
  if (!at.skip(":")) return std::nullopt;
  const auto from = at.number();
  if (!from || !at.bracket() || !at.skip("->")) return std::nullopt;
  const auto to = at.number();
  if (!to || !at.bracket()) return std::nullopt;
  at.bracket();  // "[send]", where the log says it
  if (!at.skip("via")) return std::nullopt;
  const std::string_view via = trim(at.rest());
  if (via.empty()) return std::nullopt;  // cut off: not a proof of anything
  return NcclChannel{*from, *to, transport_of(via)};
}

// "NCCL version 2.28.9+cuda13.0", "NCCL version 2.28.9 compiled with CUDA 13.0".
bool read_version(std::string_view text, NcclLog& log) {
  const std::size_t at = text.find("NCCL version ");
  if (at == std::string_view::npos) return false;
  const auto fields = words(text.substr(at + 13));
  if (fields.empty() || std::isdigit(static_cast<unsigned char>(fields[0][0])) == 0) return false;
  const std::size_t plus = fields[0].find("+cuda");
  log.version = fields[0].substr(0, plus);
  return true;
}

// "NCCL_P2P_DISABLE set by environment to 1.", with or without the stop and quotes.
void read_environment(std::string_view text, NcclLog& log) {
  constexpr std::string_view kWords = " set by environment to ";
  const std::size_t at = text.find(kWords);
  const std::size_t name = text.find("NCCL_");
  if (at == std::string_view::npos || name == std::string_view::npos || name > at) return;
  std::string value(trim(text.substr(at + kWords.size())));
  if (ends_with(value, ".")) value.pop_back();
  log.environment.emplace_back(std::string(trim(text.substr(name, at - name))), value);
}

bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// The number behind `name`, as in "srcRank=3"; -1: there is none.
int named_number(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  return at == std::string_view::npos ? -1
                                      : Cursor(text.substr(at + name.size())).number().value_or(-1);
}

// "host:pid NCCL DIAG [OK]   p2p: ...", "... [INFO] p2p: write mismatch srcRank=0 ... dstRank=1
// ...". The summaries of 2.31 speak of "directed GPU P2P edges", those of 2.32 of "peer accesses".
bool read_diagnostics(std::string_view line, NcclDiagnostics& diagnostics) {
  constexpr std::string_view kMark = "NCCL DIAG ";
  const std::size_t mark = line.find(kMark);
  if (mark == std::string_view::npos) return false;
  const std::string_view text = line.substr(mark + kMark.size());
  const std::size_t check = text.find("p2p: ");
  if (check == std::string_view::npos) return true;
  const std::string_view said = text.substr(check + 5);
  if (contains(said, "directed GPU P2P edges") || contains(said, "peer accesses")) {
    std::size_t digit = said.find_first_of("0123456789");
    while (digit > 0 && digit < said.size() && said[digit - 1] == 'P') {  // of "P2P"
      digit = said.find_first_of("0123456789", digit + 1);
    }
    Cursor at(said.substr(std::min(digit, said.size())));
    const int passed = at.number().value_or(0);
    diagnostics.passed += passed;
    diagnostics.tested += at.skip("/") ? at.number().value_or(0) : passed;
    return true;
  }
  const std::size_t from = said.find("srcRank=");
  if (from == std::string_view::npos || !starts_with(text, "[INFO]")) return true;
  if (diagnostics.faults.size() < kMaxKept) {
    diagnostics.faults.push_back({named_number(said, "srcRank="), named_number(said, "dstRank="),
                                  valid_utf8(trim(said.substr(0, from)))});
  }
  return true;
}

// The text behind "host:pid:tid [device] NCCL INFO ", and whether it was a warning.
struct Line {
  std::string_view text;
  bool nccl = false, warning = false;
};

Line strip_prefix(std::string_view line) {
  for (const auto& [mark, warning] : {std::pair<std::string_view, bool>{"NCCL INFO ", false},
                                      {"NCCL WARN ", true},
                                      {"NCCL ERROR ", true}}) {
    const std::size_t at = line.find(mark);
    if (at != std::string_view::npos) return {trim(line.substr(at + mark.size())), true, warning};
  }
  return {trim(line), false, false};
}

void read_line(std::string_view line, NcclLog& log) {
  if (read_diagnostics(line, log.diagnostics)) return;
  const Line stripped = strip_prefix(line);
  const std::string_view text = stripped.text;
  if (read_version(text, log) || !stripped.nccl) return;
  if (stripped.warning && log.warnings.size() < kMaxKept) log.warnings.push_back(valid_utf8(text));
  if (auto channel = channel_of(text)) {
    log.channels.push_back(*channel);
    return;
  }
  read_environment(text, log);
}

}  // namespace

std::string_view transport_name(NcclTransport transport) {
  switch (transport) {
    case NcclTransport::p2p:
      return "P2P";
    case NcclTransport::shm:
      return "SHM";
    case NcclTransport::net:
      return "NET";
    case NcclTransport::other:
      break;
  }
  return "other";
}

bool NcclLog::uses(NcclTransport transport) const {
  return std::any_of(channels.begin(), channels.end(),
                     [&](const NcclChannel& c) { return c.transport == transport; });
}

std::map<NcclTransport, int> NcclLog::channel_counts() const {
  std::map<NcclTransport, int> counts;
  for (const NcclChannel& channel : channels) ++counts[channel.transport];
  return counts;
}

std::string NcclLog::transports_text() const {
  std::string text;
  for (const auto& [transport, count] : channel_counts()) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", transport_name(transport), count);
  }
  return text.empty() ? "no transport named" : text;
}

NcclLog parse_nccl_log(std::string_view text) {
  NcclLog log;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    read_line(text.substr(0, end), log);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return log;
}

void merge_nccl_log(NcclLog& into, const NcclLog& other) {
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  if (into.version.empty()) into.version = other.version;
  append(into.channels, other.channels);
  for (const auto& setting : other.environment) {
    // Every rank logs the same variables.
    const auto known = std::find(into.environment.begin(), into.environment.end(), setting);
    if (known == into.environment.end()) into.environment.push_back(setting);
  }
  append(into.warnings, other.warnings);
  into.diagnostics.tested += other.diagnostics.tested;
  into.diagnostics.passed += other.diagnostics.passed;
  append(into.diagnostics.faults, other.diagnostics.faults);
}

}  // namespace ocrtune
