// Numbers in the switches are field numbers of onnx.proto3. Unknown fields are passed over, so that
// files of newer versions can be read. A length is checked against what is left before it is used.
#include "core/onnx/onnx_file.h"

#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "core/onnx/onnx_bytes.h"

namespace ocrtune {
namespace {

// One field of a message: a number (varint, fixed32, fixed64) or bytes that lie in the message.
struct Field {
  int number = 0;
  bool has_bytes = false;
  std::uint64_t value = 0;
  std::string_view bytes;
};

// The fields of one message in order; whatever it is given, it ends and stays within the bytes.
// Source: protobuf.dev/programming-guides/encoding.
class Message {
 public:
  explicit Message(std::string_view rest) : rest_(rest) {}

  bool next(Field& field) {
    if (rest_.empty() || damaged_) return false;
    const std::uint64_t key = varint();
    field = {static_cast<int>(key >> 3), false, 0, {}};
    switch (key & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.has_bytes = true;
        field.bytes = take(varint());
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        damaged_ = true;
    }
    damaged_ = damaged_ || key >> 3 == 0 || key >> 32 != 0;
    return !damaged_;
  }
  bool damaged() const { return damaged_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    // A varint of 64 bits has at most ten bytes.
    for (int shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      if (shift < 64) value |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    damaged_ = true;
    return 0;
  }
  bool empty() const { return rest_.empty() || damaged_; }

 private:
  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) {
      damaged_ = true;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  std::uint64_t fixed(std::size_t width) {
    std::uint64_t value = 0;
    const std::string_view bytes = take(width);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), width);
    return value;
  }

  std::string_view rest_;
  bool damaged_ = false;
};

Error damaged() { return Error{ErrorKind::invalid, "not an ONNX model, truncated or damaged"}; }

// Calls visit(field) -> Status for each field of the message.
template <typename Visit>
Status each_field(std::string_view bytes, const Visit& visit) {
  Message message(bytes);
  Field field;
  while (message.next(field)) OCRTUNE_TRY(visit(field));
  return message.damaged() ? Status(damaged()) : Status();
}

float float_of(std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  float value = 0;
  std::memcpy(&value, &low, sizeof value);
  return value;
}

// A repeated integer stands alone or packed.
Status add_integers(const Field& field, std::vector<std::int64_t>& to) {
  if (!field.has_bytes) {
    to.push_back(static_cast<std::int64_t>(field.value));
    return Status();
  }
  Message packed(field.bytes);
  while (!packed.empty()) to.push_back(static_cast<std::int64_t>(packed.varint()));
  return packed.damaged() ? Status(damaged()) : Status();
}

template <typename From, typename To>
Status add_raw(std::string_view bytes, std::vector<To>& to) {
  if (bytes.size() % sizeof(From) != 0) return damaged();
  to.reserve(to.size() + bytes.size() / sizeof(From));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(From)) {
    // raw_data has its lowest byte first; this reads it in the byte order of the machine.
    From value{};
    std::memcpy(&value, bytes.data() + at, sizeof value);
    to.push_back(static_cast<To>(value));
  }
  return Status();
}

// TensorProto.DataType.
constexpr std::uint64_t kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9;

std::string type_name(std::uint64_t type) {
  if (type == 10) return "float16";
  if (type == 11) return "float64";
  if (type == 16) return "bfloat16";
  if (type == 2 || type == 3) return "8-bit (quantised)";
  return fmt::format("type {}", type);
}

Status read_raw(std::string_view raw, std::uint64_t type, OnnxTensor& tensor) {
  if (type == kFloat) return add_raw<float>(raw, tensor.floats);
  if (type == kInt64) return add_raw<std::int64_t>(raw, tensor.integers);
  if (type == kInt32) return add_raw<std::int32_t>(raw, tensor.integers);
  if (type == kBool) return add_raw<std::uint8_t>(raw, tensor.integers);
  return Status();
}

// As many numbers as the dimensions say.
Status check_count(const OnnxTensor& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t side : tensor.dims) {
    if (side < 0 ||
        (side != 0 && count > (std::uint64_t{1} << 40) / static_cast<std::uint64_t>(side)))
      return damaged();
    count *= static_cast<std::uint64_t>(side);
  }
  const std::size_t given = tensor.type == OnnxTensor::Type::floats     ? tensor.floats.size()
                            : tensor.type == OnnxTensor::Type::integers ? tensor.integers.size()
                                                                        : count;
  return given == count ? Status() : Status(damaged());
}

Result<std::pair<std::string, OnnxTensor>> read_tensor(std::string_view bytes) {
  std::string name;
  OnnxTensor tensor;
  std::string_view raw;
  std::uint64_t type = 0;
  bool elsewhere = false;
  OCRTUNE_TRY(each_field(bytes, [&](const Field& field) -> Status {
    switch (field.number) {
      case 1:
        return add_integers(field, tensor.dims);
      case 2:
        type = field.value;
        break;
      case 4:
        if (field.has_bytes) return add_raw<float>(field.bytes, tensor.floats);
        tensor.floats.push_back(float_of(field.value));
        break;
      case 5:
      case 7:
        return add_integers(field, tensor.integers);
      case 8:
        name = field.bytes;
        break;
      case 9:
        raw = field.bytes;
        break;
      case 13:
      case 14:
        elsewhere = elsewhere || field.has_bytes || field.value != 0;
        break;
      default:
        break;
    }
    return Status();
  }));
  if (elsewhere) {
    return Error{ErrorKind::unsupported,
                 "weight " + name + " lies in another file; export the model as one file"};
  }
  OCRTUNE_TRY(read_raw(raw, type, tensor));
  const bool integer = type == kInt64 || type == kInt32 || type == kBool;
  tensor.type = type == kFloat ? OnnxTensor::Type::floats
                : integer      ? OnnxTensor::Type::integers
                               : OnnxTensor::Type::other;
  if (tensor.type == OnnxTensor::Type::other) tensor.type_name = type_name(type);
  OCRTUNE_TRY(check_count(tensor));
  return std::pair{std::move(name), std::move(tensor)};
}

Status read_attribute(std::string_view bytes, OnnxNode& node) {
  std::string name;
  OnnxAttribute attribute;
  const Status read = each_field(bytes, [&](const Field& field) -> Status {
    if (field.number == 1) name = field.bytes;
    if (field.number == 2) attribute.number = float_of(field.value);
    if (field.number == 3) attribute.integer = static_cast<std::int64_t>(field.value);
    if (field.number == 4) attribute.text = field.bytes;
    if (field.number == 9) attribute.text.append(field.bytes).append(",");
    if (field.number == 8) return add_integers(field, attribute.integers);
    if (field.number == 5) attribute.tensor = OCRTUNE_TRY(read_tensor(field.bytes)).second;
    return Status();
  });
  if (!read) return read;
  node.attributes[name] = std::move(attribute);
  return Status();
}

Result<OnnxNode> read_node(std::string_view bytes) {
  OnnxNode node;
  OCRTUNE_TRY(each_field(bytes, [&](const Field& field) -> Status {
    if (field.number == 1) node.inputs.emplace_back(field.bytes);
    if (field.number == 2) node.outputs.emplace_back(field.bytes);
    if (field.number == 3) node.name = field.bytes;
    if (field.number == 4) node.operation = field.bytes;
    if (field.number == 7) node.domain = field.bytes;
    return field.number == 5 ? read_attribute(field.bytes, node) : Status();
  }));
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs[0];
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

// ValueInfoProto: type.tensor_type.shape.dim.dim_value.
Result<OnnxValue> read_value(std::string_view bytes) {
  OnnxValue value;
  const auto dim = [&](const Field& field) -> Status {
    if (field.number != 1) return Status();
    value.dims.push_back(0);
    return each_field(field.bytes, [&](const Field& in) {
      if (in.number == 1) value.dims.back() = static_cast<std::int64_t>(in.value);
      return Status();
    });
  };
  const auto within = [](int number, const auto& visit) {
    return [number, &visit](const Field& field) -> Status {
      return field.number == number ? each_field(field.bytes, visit) : Status();
    };
  };
  const auto shape = within(2, dim);
  const auto type = within(1, shape);
  OCRTUNE_TRY(each_field(bytes, [&](const Field& field) -> Status {
    if (field.number == 1) value.name = field.bytes;
    return field.number == 2 ? each_field(field.bytes, type) : Status();
  }));
  return value;
}

Status read_graph(std::string_view bytes, OnnxFile& file) {
  return each_field(bytes, [&](const Field& field) -> Status {
    if (field.number == 1) file.nodes.push_back(OCRTUNE_TRY(read_node(field.bytes)));
    if (field.number == 5) file.constants.insert(OCRTUNE_TRY(read_tensor(field.bytes)));
    if (field.number == 11) file.inputs.push_back(OCRTUNE_TRY(read_value(field.bytes)));
    if (field.number == 12) file.outputs.push_back(OCRTUNE_TRY(read_value(field.bytes)));
    return Status();
  });
}

// A message of two fields, such as an operator set (domain, version) or an entry of the metadata.
Result<std::pair<Field, Field>> read_pair(std::string_view bytes) {
  std::pair<Field, Field> pair;
  OCRTUNE_TRY(each_field(bytes, [&](const Field& field) {
    if (field.number == 1) pair.first = field;
    if (field.number == 2) pair.second = field;
    return Status();
  }));
  return pair;
}

}  // namespace

Result<OnnxFile> parse_onnx(std::string_view bytes) {
  OnnxFile file;
  const Status read = each_field(bytes, [&](const Field& field) -> Status {
    if (field.number == 7) return read_graph(field.bytes, file);
    if (field.number == 8) {
      const auto [domain, version] = OCRTUNE_TRY(read_pair(field.bytes));
      if (domain.bytes.empty() || domain.bytes == "ai.onnx")
        file.opset = static_cast<std::int64_t>(version.value);
    }
    if (field.number == 14) {
      const auto [key, value] = OCRTUNE_TRY(read_pair(field.bytes));
      file.metadata[std::string(key.bytes)] = value.bytes;
    }
    return Status();
  });
  if (!read) return read.error();
  // An empty message parses as well: a model has nodes and an opset.
  if (file.nodes.empty() || file.opset == 0) return damaged();
  return file;
}

std::string onnx_metadata_bytes(std::string_view key, std::string_view value) {
  return onnx::bytes_field(14, onnx::bytes_field(1, key) + onnx::bytes_field(2, value));
}

}  // namespace ocrtune
