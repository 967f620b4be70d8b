// What an inference worker is told to be: `ocrtune infer-worker --spec JSON`.
#pragma once

#include <string>

#include "base/result.h"
#include "core/infer/recognizer.h"

namespace ocrtune {

struct InferSpec {
  RecognizerOptions recognizer;
  std::string alphabet;  // its characters
  std::string gpu;       // UUID of the GPU that it must compute on; empty: the CPUs
  bool check = false;    // against the reference backend before the first line
  int request_descriptor = -1;
  int result_descriptor = -1;
};

std::string infer_spec_text(const InferSpec& spec);           // one line of JSON
Result<InferSpec> parse_infer_spec(const std::string& text);  // usage: what is wrong with it

}  // namespace ocrtune
