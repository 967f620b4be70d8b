#include "diagnosis/context/source.h"

#include <iterator>
#include <memory>
#include <vector>

#include <re2/re2.h>
#include <re2/set.h>

#include "base/text.h"

namespace ocrtune {
namespace {

struct ProgramWords {
  Program program;
  const char* name;
  const char* pattern;
};

constexpr ProgramWords kPrograms[] = {
    {kPaddleTrain, "PaddleOCR training",
     R"(tools/train\.py|ppocr INFO: (?:train with paddle|epoch: )|train dataloader has|norm_edit_dis|avg_reader_cost)"},
    {kPaddleInfer, "PaddleOCR",
     R"(ppocr DEBUG|dt_boxes num|tools/infer/|/paddleocr/|paddleocr [a-z]|PaddleOCR\(|rec_res num)"},
    {kPaddleX, "PaddleX", R"(/paddlex/|paddlex\.|Creating model: \(|official_models)"},
    {kPaddle, "Paddle",
     R"(/paddle/|paddle\.|[Pp]addlepaddle|ppocr |LAUNCH INFO|FLAGS_\w+=|paddle::|workerlog\.|DataLoader process \(pid|exited is killed by signal)"},
    {kTorch, "PyTorch",
     R"(/torch/|torch\.|c10::|c10d|ProcessGroupNCCL|torchrun|PytorchStreamReader|PYTORCH_|[Pp]yTorch)"},
    {kLightning, "Lightning",
     R"(pytorch_lightning|lightning\.|/lightning/|LOCAL_RANK: \d+ - CUDA_VISIBLE|Trainer already configured|TPU available: )"},
    {kAccelerate, "accelerate",
     R"(accelerate launch|/accelerate/|accelerate\.|/transformers/trainer|\*\*\*\*\* Running training)"},
    {kDeepSpeed, "DeepSpeed", R"([Dd]eep[Ss]peed|zero_optimization|train_micro_batch_size)"},
    {kMmcv, "OpenMMLab", R"(mmcv|mmengine|mmocr|mmdet|mmpretrain)"},
    {kVllm, "vLLM", R"(vllm|vLLM|EngineCore)"},
    {kSglang, "SGLang", R"(sglang|SGLang|--mem-fraction-static|server_args=ServerArgs)"},
    {kTriton, "Triton server",
     R"(tritonserver|TRITONBACKEND|triton::|model_repository_manager|I\d{4} [\d:.]+ \d+ \w+\.cc:\d+\] "?(?:Started|Loading:|successfully loaded))"},
    {kOnnxRuntime, "ONNX Runtime", R"(onnxruntime|ONNXRuntime|ExecutionProvider|ORT_)"},
    {kOpenVino, "OpenVINO", R"(openvino|OpenVINO|ov::|src/inference/src)"},
    {kGunicorn, "gunicorn", R"(gunicorn|\[CRITICAL\] WORKER TIMEOUT|Booting worker with pid)"},
    {kUvicorn, "uvicorn", R"([Uu]vicorn|Application startup complete|Started server process \[)"},
    {kCelery, "Celery", R"([Cc]elery|ForkPoolWorker|/billiard/)"},
    {kRay, "Ray", R"(ray\.|raylet|/ray/|\(\w+ pid=\d+, ip=)"},
    {kBurn, "Burn", R"(burn[-_:]|cubecl|cubecl_|wgpu|tch-rs|torch-sys)"},
    {kKraken, "kraken", R"(ketos|kraken)"},
    {kDoctr, "docTR", R"(/doctr/|doctr\.|python-doctr)"},
    {kOcrMyPdf, "OCRmyPDF", R"([Oo][Cc][Rr]my[Pp][Dd][Ff])"},
    {kNccl, "NCCL", R"(NCCL|nccl)"},
    {kSlurm, "Slurm", R"(slurmstepd|srun: |SLURM_|sbatch|scancel|sacct)"},
    {kKubernetes, "Kubernetes",
     R"(kubelet|kubectl|Back-off restarting|[Ll]iveness probe|pod/|Pod\b)"},
    {kDocker, "Docker", R"([Dd]ocker|containerd|"OOMKilled")"},
    {kPodman, "Podman", R"([Pp]odman|libpod|\bcrun: |\bconmon\b)"},
    {kLxc, "LXC",
     R"(\blxc-\w+|/lxc/|\blxc (?:start|exec|launch)\b|\blxd\b|\bincus\b|\bpct (?:start|enter|exec)\b)"},
    {kTorchLauncher, "torchrun",
     R"(torchrun|torch\.distributed\.(?:run|launch|elastic)|torch/distributed/(?:run|elastic))"},
    {kOllama, "llama.cpp", R"(llama_|llama\.cpp|ggml|ollama)"},
};

}  // namespace

std::uint32_t programs_in(std::string_view text) {
  static const std::unique_ptr<re2::RE2::Set> kSet = [] {
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    options.set_max_mem(64 << 20);
    auto set = std::make_unique<re2::RE2::Set>(options, re2::RE2::UNANCHORED);
    for (const ProgramWords& row : kPrograms) set->Add(row.pattern, nullptr);
    set->Compile();
    return set;
  }();
  std::vector<int> found;
  kSet->Match(text, &found);
  std::uint32_t programs = 0;
  for (const int i : found) programs |= kPrograms[i].program;
  return programs;
}

std::string program_names(std::uint32_t programs) {
  std::vector<std::string> names;
  for (const ProgramWords& row : kPrograms) {
    if ((programs & row.program) != 0) names.emplace_back(row.name);
  }
  return join(names, ", ");
}

std::string listed_object(std::string_view line) {
  static const re2::RE2 kRow(
      R"(^(?:[\w-]+ +)?([a-z0-9][a-z0-9.-]*) +\d+/\d+ +[A-Z]\w+|^(\d+)(?:_\d+)?(?:\.\w+)? .*\b[A-Z_]{4,}\+? +\d+:\d+ *$)");
  std::string name, job;
  re2::RE2::PartialMatch(line, kRow, &name, &job);
  return name + job;
}

void SourceLines::take_line(std::string_view line) {
  constexpr int kEnough = 200;
  static const re2::RE2 kKernel(
      R"(^\[ *\d{1,8}\.\d{1,6}\] |^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}\] |^[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ kernel: |^\d{4}-\d\d-\d\dT\S+ \S+ kernel: |^<\d+>|^-- (?:Boot|Reboot|Logs begin|Journal begins)|^kern +:)");
  static const re2::RE2 kHeading(R"(^#{1,6} [^\s\d])");
  static const re2::RE2 kProse(
      R"re(^#{1,6} |^ {0,6}(?:[-*+] |\d+\. )\S|^\|.*\|$|^ *```|\]\(\S+\)|^ *[\pL`*("'](?:[\pL\pN`*_()"',;./-]+ ){5}|^ *[^\x00-\x7f])re");
  if (lines_ == kEnough) return;
  lines_ += 1;
  kernel_ += re2::RE2::PartialMatch(line, kKernel);
  headings_ += re2::RE2::PartialMatch(line, kHeading);
  prose_ += re2::RE2::PartialMatch(line, kProse);
}

}  // namespace ocrtune
