// What a file is, and which programs wrote it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ocrtune {

enum class SourceKind {
  program,   // of a run, as far as can be seen
  kernel,    // dmesg, journalctl -k
  document,  // headings, lists and sentences: what may fail, not what did
  binary,    // no text
};

// Programs are bits: a log of a server holds its framework too.
using Program = std::uint32_t;
inline constexpr Program kPaddleTrain = 1U << 0;  // PaddleOCR's tools/train.py
inline constexpr Program kPaddleInfer = 1U << 1;  // paddleocr, tools/infer
inline constexpr Program kPaddleX = 1U << 2;
inline constexpr Program kPaddle = 1U << 3;
inline constexpr Program kTorch = 1U << 4;
inline constexpr Program kLightning = 1U << 5;
inline constexpr Program kAccelerate = 1U << 6;  // Hugging Face's accelerate and Trainer
inline constexpr Program kDeepSpeed = 1U << 7;
inline constexpr Program kMmcv = 1U << 8;
inline constexpr Program kVllm = 1U << 9;
inline constexpr Program kSglang = 1U << 10;
inline constexpr Program kTriton = 1U << 11;
inline constexpr Program kOnnxRuntime = 1U << 12;
inline constexpr Program kOpenVino = 1U << 13;
inline constexpr Program kGunicorn = 1U << 14;
inline constexpr Program kUvicorn = 1U << 15;
inline constexpr Program kCelery = 1U << 16;
inline constexpr Program kRay = 1U << 17;
inline constexpr Program kBurn = 1U << 18;
inline constexpr Program kKraken = 1U << 19;
inline constexpr Program kDoctr = 1U << 20;
inline constexpr Program kOcrMyPdf = 1U << 21;
inline constexpr Program kNccl = 1U << 22;
inline constexpr Program kSlurm = 1U << 23;
inline constexpr Program kKubernetes = 1U << 24;
inline constexpr Program kDocker = 1U << 25;         // or containerd
inline constexpr Program kTorchLauncher = 1U << 26;  // torchrun
inline constexpr Program kOllama = 1U << 27;         // llama.cpp and what stands on it
inline constexpr Program kPodman = 1U << 28;
inline constexpr Program kLxc = 1U << 29;  // LXC, LXD, Incus, Proxmox

// The programs whose own words stand in the text.
std::uint32_t programs_in(std::string_view text);
std::string program_names(std::uint32_t programs);  // "vLLM, PyTorch"

// Whom a row of `kubectl get pods` or sacct is about; empty: it is no such row.
std::string listed_object(std::string_view line);

// Counts the first lines of a file.
class SourceLines {
 public:
  void take_line(std::string_view line);
  bool is_kernel() const { return kernel_ > 0 && 2 * kernel_ >= lines_; }
  bool is_document() const { return headings_ > 1 && 5 * prose_ >= 3 * lines_; }

 private:
  int lines_ = 0, kernel_ = 0, headings_ = 0, prose_ = 0;
};

}  // namespace ocrtune
