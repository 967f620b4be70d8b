// The lines of a chunk are decoded by the team, read in batches of one width, and answered when the
// chunk is done. The recogniser is opened and checked before 'H' says that the worker is ready.
#include "trial/workloads/engine_infer/infer_worker.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/cpu_set.h"
#include "base/interrupt.h"
#include "core/data/image_file.h"
#include "engine/work/framework_recognizer.h"
#include "trial/ipc/frames.h"
#include "trial/workloads/engine_infer/framework_table.h"
#include "trial/workloads/engine_infer/infer_process.h"

namespace ocrtune {
namespace {

// The value is a guess.
constexpr std::size_t kMaxPendingBytes = std::size_t{64} << 20;  // of decoded pictures

struct Request {
  std::uint32_t line = 0;
  std::string path;
};

class InferWorker {
 public:
  InferWorker(const InferSpec& spec, InferDevice* device) : spec_(spec), device_(device) {}

  Status run();
  Status say(char kind, std::string_view body) {
    std::string frame;
    append_frame(frame, kind, body);
    return write_frames(spec_.result_descriptor, frame);
  }

 private:
  Status check();
  Status read_chunk();
  Status read_pending(std::string& answers);
  void decode(std::size_t first, std::size_t count);

  Result<std::unique_ptr<Recognizer>> open(const Alphabet& alphabet);

  InferSpec spec_;
  InferDevice* device_;  // null: the CPUs
  std::unique_ptr<Recognizer> recognizer_;
  std::vector<Request> chunk_;
  // Decoded and not read yet.
  std::vector<Image> images_;
  std::vector<std::uint32_t> lines_;
  std::size_t pending_bytes_ = 0;
  // Of the chunk's requests, by their place.
  std::vector<Image> decoded_;
  std::vector<std::string> problems_;
  std::vector<int> cpus_;
};

// Every thread of the team notes on which CPU it worked.
void InferWorker::decode(std::size_t first, std::size_t count) {
  decoded_.assign(count, {});
  problems_.assign(count, {});
#pragma omp parallel
  {
    std::vector<int> here;
#pragma omp for schedule(dynamic)
    for (std::size_t i = 0; i < count; ++i) {
      Result<Image> image = read_image(chunk_[first + i].path);
      if (image) {
        decoded_[i] = std::move(image).value();
      } else {
        problems_[i] = image.error().what;
      }
      here.push_back(::sched_getcpu());
    }
#pragma omp critical
    cpus_.insert(cpus_.end(), here.begin(), here.end());
  }
}

Status InferWorker::read_pending(std::string& answers) {
  const auto texts = OCRTUNE_TRY(recognizer_->read(images_));
  cpus_.push_back(::sched_getcpu());
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    std::string body;
    append_number(body, lines_[i]);
    append_number(body, static_cast<std::uint32_t>(std::lround(texts[i].confidence * 1e6)));
    append_frame(answers, 'R', body + texts[i].text);
  }
  images_.clear();
  lines_.clear();
  pending_bytes_ = 0;
  return Status();
}

// A few pictures are decoded at a time, so that a chunk of huge ones never lies in memory whole.
Status InferWorker::read_chunk() {
  cpus_.clear();
  std::string answers;
  const auto together = 2 * static_cast<std::size_t>(spec_.recognizer.threads);
  for (std::size_t first = 0; first < chunk_.size(); first += together) {
    decode(first, std::min(together, chunk_.size() - first));
    for (std::size_t i = 0; i < decoded_.size(); ++i) {
      const std::uint32_t line = chunk_[first + i].line;
      if (problems_[i].empty()) {
        pending_bytes_ += decoded_[i].pixels.size();
        images_.push_back(std::move(decoded_[i]));
        lines_.push_back(line);
        continue;
      }
      std::string body;
      append_number(body, line);
      append_frame(answers, 'B', body + problems_[i]);
    }
    if (pending_bytes_ < kMaxPendingBytes && first + together < chunk_.size()) continue;
    OCRTUNE_TRY(read_pending(answers));
  }
  // The place is said again after each chunk, as it tells the memory that is taken by now.
  if (device_ != nullptr) append_frame(answers, 'P', gpu_place_body(device_->place()));
  append_frame(answers, 'D', CpuSet(cpus_).text());
  chunk_.clear();
  return write_frames(spec_.result_descriptor, answers);
}

Status InferWorker::check() {
  const auto error = OCRTUNE_TRY(recognizer_->check_against_reference());
  const std::string& precision = spec_.recognizer.precision;
  const double most = max_reading_error(precision);
  if (error <= most) return Status();
  return say('W', fmt::format("{} {} differs from the reference by {:.2g} (limit {:.2g})",
                              device_ != nullptr ? "cuda" : spec_.recognizer.backend,
                              spec_.recognizer.precision, error, most));
}

Result<std::unique_ptr<Recognizer>> InferWorker::open(const Alphabet& alphabet) {
  if (device_ == nullptr) {
    return find_framework(spec_.recognizer.backend) != nullptr
               ? make_framework_recognizer(spec_.recognizer, alphabet)
               : Recognizer::create(spec_.recognizer, alphabet);
  }
  OCRTUNE_TRY(device_->open());
  return Recognizer::create_on(spec_.recognizer, alphabet, device_->maker());
}

Status InferWorker::run() {
  const auto alphabet = OCRTUNE_TRY(Alphabet::from_text(spec_.alphabet));
  recognizer_ = OCRTUNE_TRY(open(alphabet));
  omp_set_num_threads(spec_.recognizer.threads);
  if (spec_.check) OCRTUNE_TRY(check());
  if (device_ != nullptr) OCRTUNE_TRY(say('P', gpu_place_body(device_->place())));
  OCRTUNE_TRY(say('H', ""));
  FrameReader reader;
  while (!reader.ended() && !interrupted()) {
    auto frames = OCRTUNE_TRY(reader.read(spec_.request_descriptor));
    for (Frame& frame : frames) {
      std::string_view body = frame.body;
      if (frame.kind == 'I') {
        const std::uint32_t line = take_number(body);
        chunk_.push_back({line, std::string(body)});
      } else if (Status read = read_chunk(); !read) {
        return read;
      }
    }
  }
  return Status();
}

bool ran(InferWorker& worker) {
  const Status status = worker.run();
  if (!status) (void)worker.say('E', error_body(status.error()));
  return status.ok();
}

}  // namespace

bool run_infer_worker(const InferSpec& spec) {
  InferWorker worker(spec, nullptr);
  return ran(worker);
}

bool run_infer_worker_on(const InferSpec& spec, InferDevice& device) {
  InferWorker worker(spec, &device);
  return ran(worker);
}

}  // namespace ocrtune
