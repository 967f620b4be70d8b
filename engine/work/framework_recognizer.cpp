// A recogniser whose network a framework of Python computes.
#include "engine/work/framework_recognizer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/process.h"
#include "base/text.h"
#include "core/data/image_file.h"
#include "core/onnx/onnx_recognizer.h"
#include "trial/ipc/frames.h"
#include "trial/workloads/engine_infer/framework_answer.h"
#include "trial/workloads/engine_infer/infer_process.h"

namespace ocrtune {
namespace {

constexpr int kPixelPipeBytes = 1 << 20;  // fewer turns between the two processes; a wish
constexpr const char* kSpinVariable = "GOMP_SPINCOUNT";  // start_infer_process() sets it to 0

class FrameworkRecognizer final : public Recognizer {
 public:
  FrameworkRecognizer(const RecognizerOptions& options, const Alphabet& alphabet)
      : options_(options), alphabet_(alphabet) {}

  Status start(const std::vector<std::string>& more = {});
  // After start({"--quantize", file}).
  Status quantize(std::span<const Image> images);
  Result<std::vector<ReadText>> read(std::span<const Image> images) override {
    return read_in_batches(
        options_, alphabet_, images, batch_,
        [this](const Batch& batch, std::size_t lines) { return ask(batch, lines); });
  }
  Result<double> check_against_reference() override { return 0.0; }

 private:
  Result<std::vector<Frame>> answers_to(const Batch& batch);
  Result<std::vector<DecodedLine>> ask(const Batch& batch, std::size_t lines);
  Result<Frame> next_frame();
  Result<DecodedLine> line_of(std::string_view body) const;

  RecognizerOptions options_;
  Alphabet alphabet_;
  Batch batch_;
  std::optional<Process> process_;
  Descriptor requests_, answers_;
  FrameReader reader_;
  std::vector<Frame> frames_;
  std::size_t taken_ = 0;  // of frames_
};

Status FrameworkRecognizer::start(const std::vector<std::string>& more) {
  const FrameworkRow& row = *find_framework(options_.backend);
  OCRTUNE_TRY(check_framework_options(options_.backend));
  if (!computes_in(row, options_.precision)) {
    return Error{ErrorKind::usage, fmt::format("{} computes in {}, not in {}", row.backend,
                                               row.precisions, options_.precision)};
  }
  if (!names_onnx_file(options_.model) || !options_.checkpoint.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("{} reads with --model FILE.onnx alone; ocrtune import --weights "
                             "writes the weights of a checkpoint into one",
                             row.backend)};
  }
  ProcessOptions process;
  process.arguments = OCRTUNE_TRY(framework_command(options_.backend, options_.model));
  int requests[2] = {-1, -1}, answers[2] = {-1, -1};
  if (::pipe2(requests, O_CLOEXEC) != 0) return system_error(errno, "make a pipe");
  Descriptor request_out(requests[0]);
  requests_ = Descriptor(requests[1]);
  if (::pipe2(answers, O_CLOEXEC) != 0) return system_error(errno, "make a pipe");
  answers_ = Descriptor(answers[0]);
  Descriptor answer_in(answers[1]);
  ::fcntl(requests_.number, F_SETPIPE_SZ, kPixelPipeBytes);
  for (const auto& [flag, value] : {std::pair("--threads", std::to_string(options_.threads)),
                                    std::pair("--precision", options_.precision),
                                    std::pair("--answers", std::to_string(answer_in.number))}) {
    process.arguments.insert(process.arguments.end(), {flag, value});
  }
  process.arguments.insert(process.arguments.end(), more.begin(), more.end());
  process.input = request_out.number;
  process.descriptors = {answer_in.number};
  // The variable was set for this process's team; the framework keeps its own default.
  process.environment = {{kSpinVariable, std::nullopt}};
  process_ = OCRTUNE_TRY(Process::start(process));
  answer_in = Descriptor();  // so that its end is seen
  const Frame hello = OCRTUNE_TRY(next_frame());
  if (hello.kind == 'H') return Status();
  return Error{ErrorKind::unsupported, options_.backend + ": " + hello.body};
}

Result<Frame> FrameworkRecognizer::next_frame() {
  while (taken_ == frames_.size()) {
    (void)process_->read_output(nullptr);
    // The pipe's end comes before the process can be waited for; 5 s are a guess.
    if (reader_.ended()) {
      const auto exit = process_->wait(5);
      return Error{ErrorKind::failed, fmt::format("{} ended: {}", options_.backend,
                                                  exit ? exit->text() : "it closed its pipe")};
    }
    frames_ = OCRTUNE_TRY(reader_.read(answers_.number));
    taken_ = 0;
  }
  return std::move(frames_[taken_++]);
}

Result<DecodedLine> FrameworkRecognizer::line_of(std::string_view body) const {
  // The framework sends the best class of each step and its probability, all classes first. Repeats
  // and blanks are dropped here, as greedy_decode() does it.
  constexpr std::size_t kStepBytes = sizeof(std::int32_t) + sizeof(float);
  const std::size_t steps = body.size() / kStepBytes;
  std::vector<std::int32_t> classes(steps);
  std::vector<float> chances(steps);
  std::memcpy(classes.data(), body.data(), steps * sizeof(std::int32_t));
  std::memcpy(chances.data(), body.data() + steps * sizeof(std::int32_t), steps * sizeof(float));
  DecodedLine line;
  int before = 0;
  for (std::size_t t = 0; t < steps; ++t) {
    if (classes[t] < 0 || classes[t] >= alphabet_.classes()) {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} finds class {}, and the dictionary has {}", options_.backend,
                               classes[t], alphabet_.classes())};
    }
    if (classes[t] != 0 && classes[t] != before) {
      line.classes.push_back(classes[t]);
      line.confidence += static_cast<double>(chances[t]);
    }
    before = classes[t];
  }
  if (!line.classes.empty()) line.confidence /= static_cast<double>(line.classes.size());
  return line;
}

Result<std::vector<Frame>> FrameworkRecognizer::answers_to(const Batch& batch) {
  std::string head;
  for (const int number : {batch.count, batch.height, batch.width}) {
    append_number(head, static_cast<std::uint32_t>(number));
  }
  const std::string_view pixels(reinterpret_cast<const char*>(batch.images.data()),
                                batch.images.size() * sizeof(float));
  // Of a process that has just ended its last frame says why, not the broken pipe.
  if (write_frames(requests_.number, head)) (void)write_frames(requests_.number, pixels);
  std::vector<Frame> frames;
  for (int i = 0; i < batch.count; ++i) {
    frames.push_back(OCRTUNE_TRY(next_frame()));
    if (frames.back().kind == 'L') continue;
    return Error{ErrorKind::unsupported, options_.backend + ": " + frames.back().body};
  }
  return frames;
}

Result<std::vector<DecodedLine>> FrameworkRecognizer::ask(const Batch& batch, std::size_t lines) {
  const auto frames = OCRTUNE_TRY(answers_to(batch));
  // A batch is filled up with empty lines; their answers are dropped.
  std::vector<DecodedLine> decoded;
  for (std::size_t i = 0; i < lines; ++i) {
    decoded.push_back(OCRTUNE_TRY(line_of(frames[i].body)));
  }
  return decoded;
}

Status FrameworkRecognizer::quantize(std::span<const Image> images) {
  // What they read is not asked.
  const auto show = [this](const Batch& batch,
                           std::size_t lines) -> Result<std::vector<DecodedLine>> {
    OCRTUNE_TRY(answers_to(batch));
    return std::vector<DecodedLine>(lines);
  };
  OCRTUNE_TRY(read_in_batches(options_, alphabet_, images, batch_, show));
  requests_ = Descriptor();  // the end of the lines
  const Frame end = OCRTUNE_TRY(next_frame());
  if (end.kind == 'Q') return Status();
  return Error{ErrorKind::unsupported, end.body};
}

}  // namespace

Result<std::unique_ptr<Recognizer>> make_framework_recognizer(const RecognizerOptions& options,
                                                              const Alphabet& alphabet) {
  auto recognizer = std::make_unique<FrameworkRecognizer>(options, alphabet);
  OCRTUNE_TRY(recognizer->start());
  return std::unique_ptr<Recognizer>(std::move(recognizer));
}

Status quantize_recognizer(const RecognizerOptions& options,
                           const std::vector<std::string>& pictures, const std::string& file) {
  std::vector<Image> images;
  for (const std::string& picture : pictures) images.push_back(OCRTUNE_TRY(read_image(picture)));
  RecognizerOptions alone = options;
  alone.batch = 1;  // a batch would be filled up with empty lines
  FrameworkRecognizer recognizer(alone, OCRTUNE_TRY(Alphabet::from_text("0")));
  OCRTUNE_TRY(recognizer.start({"--quantize", file}));
  return recognizer.quantize(images);
}

}  // namespace ocrtune
