// What a file is, and which programs wrote it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ocrtune {

enum class SourceKind {
  program,  // of a run, as far as can be seen
  kernel,   // dmesg, journalctl -k
  binary,   // no text
};

// Programs are bits: a log of a server holds its framework too.
enum Program : std::uint32_t {
  kPaddleTrain = 1U << 0,  // PaddleOCR's tools/train.py
  kPaddleInfer = 1U << 1,  // paddleocr, tools/infer
  kPaddleX = 1U << 2,
  kPaddle = 1U << 3,
  kTorch = 1U << 4,
  kLightning = 1U << 5,
  kAccelerate = 1U << 6,  // Hugging Face's accelerate and Trainer
  kDeepSpeed = 1U << 7,
  kMmcv = 1U << 8,
  kVllm = 1U << 9,
  kSglang = 1U << 10,
  kTriton = 1U << 11,
  kOnnxRuntime = 1U << 12,
  kOpenVino = 1U << 13,
  kGunicorn = 1U << 14,
  kUvicorn = 1U << 15,
  kCelery = 1U << 16,
  kRay = 1U << 17,
  kBurn = 1U << 18,
  kKraken = 1U << 19,
  kDoctr = 1U << 20,
  kOcrMyPdf = 1U << 21,
  kNccl = 1U << 22,
  kSlurm = 1U << 23,
  kKubernetes = 1U << 24,
  kDocker = 1U << 25,
  kTorchLauncher = 1U << 26,  // torchrun
  kOllama = 1U << 27,         // llama.cpp and what stands on it
};

// The programs whose own words stand in the text.
std::uint32_t programs_in(std::string_view text);
std::string program_names(std::uint32_t programs);  // "vLLM, PyTorch"

// Counts the first lines of a file.
class SourceLines {
 public:
  void take_line(std::string_view line);
  bool is_kernel() const { return kernel_ > 0 && 2 * kernel_ >= lines_; }

 private:
  int lines_ = 0, kernel_ = 0;
};

}  // namespace ocrtune
