// Protobuf fields as bytes: what is written into ONNX files is made of these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ocrtune::onnx {

std::string number_field(int field, std::uint64_t number);
std::string bytes_field(int field, std::string_view bytes);
std::string float_field(int field, float number);

}  // namespace ocrtune::onnx
