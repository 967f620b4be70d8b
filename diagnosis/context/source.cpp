// Programs are known by words of their own anywhere in the text, all patterns in one RE2::Set. The
// kind of a file is a vote of its first lines.
#include "diagnosis/context/source.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <re2/re2.h>
#include <re2/set.h>

#include "base/check.h"
#include "base/tables/rows.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// A program's name and its words; each row is a bit, from the lowest.
constexpr std::string_view kPrograms = R"rows(
PaddleOCR_training tools/train\.py['",]* ['"]?-c\b|tools/program\.py|ppocr INFO: (?:train with paddle|epoch: )|train dataloader has|norm_edit_dis|avg_reader_cost
PaddleOCR ppocr DEBUG|dt_boxes num|tools/infer/|/paddleocr/|paddleocr [a-z]|PaddleOCR\(|rec_res num
PaddleX /paddlex/|paddlex\.|Creating model: \(|official_models
Paddle /paddle/|paddle\.|[Pp]addlepaddle|ppocr |LAUNCH INFO|FLAGS_\w+=|paddle::|workerlog\.|DataLoader process \(pid|exited is killed by signal
PyTorch /torch/|torch\.|c10::|c10d|ProcessGroupNCCL|torchrun|PytorchStreamReader|PYTORCH_|[Pp]yTorch
Lightning pytorch_lightning|lightning\.|/lightning/|LOCAL_RANK: \d+ - CUDA_VISIBLE|Trainer already configured|TPU available:[ ]
accelerate accelerate launch|/accelerate/|accelerate\.|/transformers/trainer|\*\*\*\*\* Running training
DeepSpeed [Dd]eep[Ss]peed|zero_optimization|train_micro_batch_size
OpenMMLab mmcv|mmengine|mmocr|mmdet|mmpretrain
vLLM vllm|vLLM|EngineCore
SGLang sglang|SGLang|#running-req: |--mem-fraction-static|server_args=ServerArgs
Triton_server tritonserver|TRITONBACKEND|triton::|model_repository_manager|I\d{4} [\d:.]+ \d+ \w+\.cc:\d+\] "?(?:Started|Loading:|successfully loaded)
ONNX_Runtime onnxruntime|ONNXRuntime|ExecutionProvider|ORT_
OpenVINO openvino|OpenVINO|ov::|src/inference/src
gunicorn gunicorn|\[CRITICAL\] WORKER TIMEOUT|Booting worker with pid
uvicorn [Uu]vicorn|Application startup complete|Started server process \[
Celery [Cc]elery|ForkPoolWorker|/billiard/
Ray ray\.|raylet|/ray/|\(\w+ pid=\d+, ip=
Burn burn[-_:]|cubecl|cubecl_|wgpu|tch-rs|torch-sys
kraken ketos|kraken
docTR /doctr/|doctr\.|python-doctr
OCRmyPDF [Oo][Cc][Rr]my[Pp][Dd][Ff]
NCCL NCCL|nccl
Slurm slurmstepd|srun: |SLURM_|sbatch|scancel|sacct
Kubernetes kubelet|kubectl|Back-off restarting|[Ll]iveness probe|pod/|Pod\b
Docker [Dd]ocker|containerd|"OOMKilled"
torchrun torchrun|torch\.distributed\.(?:run|launch|elastic)|torch/distributed/(?:run|elastic)
llama.cpp llama_|llama\.cpp|ggml|ollama
Podman [Pp]odman|libpod|\bcrun: |\bconmon\b
LXC \blxc-\w+|/lxc/|\blxc (?:start|exec|launch)\b|\blxd\b|\bincus\b|\bpct (?:start|enter|exec)\b
)rows";

}  // namespace

std::uint32_t programs_in(std::string_view text) {
  static const std::unique_ptr<re2::RE2::Set> kSet = [] {
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);
    options.set_max_mem(64 << 20);
    auto set = std::make_unique<re2::RE2::Set>(options, re2::RE2::UNANCHORED);
    for (std::string_view row : rows_of(kPrograms)) {
      take_column(row);
      set->Add(row, nullptr);
    }
    set->Compile();
    return set;
  }();
  std::vector<int> found;
  kSet->Match(text, &found);
  std::uint32_t programs = 0;
  for (const int i : found) programs |= std::uint32_t{1} << static_cast<unsigned>(i);
  return programs;
}

std::string program_names(std::uint32_t programs) {
  std::vector<std::string> names;
  for (std::string_view row : rows_of(kPrograms)) {
    std::string name(take_column(row));
    std::ranges::replace(name, '_', ' ');
    if ((programs & 1U) != 0) names.push_back(std::move(name));
    programs >>= 1U;
  }
  return join(names, ", ");
}

std::uint32_t programs_named(std::string_view names) {
  std::uint32_t programs = 0, bit = 1;
  std::size_t known = 0;
  const std::vector<std::string> wanted = split(names, ',');
  for (std::string_view row : rows_of(kPrograms)) {
    if (std::ranges::find(wanted, take_column(row)) != wanted.end()) programs |= bit, ++known;
    bit <<= 1U;
  }
  OCRTUNE_CHECK(known == wanted.size());
  return programs;
}

std::string listed_object(std::string_view line) {
  static const re2::RE2 kRow(
      R"(^(?:[\w-]+ +)?([a-z0-9][a-z0-9.-]*) +\d+/\d+ +[A-Z]\w+|^(\d+)(?:_\d+)?(?:\.\w+)? .*\b[A-Z_]{4,}\+? +\d+:\d+ *$|^\S+ +(?:Normal|Warning) +\w+ +pod/([a-z0-9][a-z0-9.-]*) )");
  std::string name, job, pod;
  re2::RE2::PartialMatch(line, kRow, &name, &job, &pod);
  return name + job + pod;
}

std::string without_colours(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    } else if (text[i] != '\x1b') {
      out += text[i];
    }
  }
  return out;
}

void SourceLines::take_line(std::string_view line) {
  // A guess; log_scan.cpp hands over as many.
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
