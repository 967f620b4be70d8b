#include "bench/infer_worker.h"

#include <omp.h>
#include <sched.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/cpu_set.h"
#include "base/interrupt.h"
#include "bench/frames.h"
#include "bench/infer_process.h"
#include "core/image_file.h"

namespace ocrtune {
namespace {

struct Request {
  std::uint32_t line = 0;
  std::string path;
};

class InferWorker {
 public:
  explicit InferWorker(const InferSpec& spec) : spec_(spec) {}

  Status run();
  Status say(char kind, std::string_view body) {
    std::string frame;
    append_frame(frame, kind, body);
    return write_frames(spec_.result_descriptor, frame);
  }

 private:
  Status check();
  Status read_chunk();
  void decode(std::vector<Image>& images, std::vector<std::string>& problems,
              std::vector<int>& cpus) const;

  InferSpec spec_;
  std::unique_ptr<Recognizer> recognizer_;
  std::vector<Request> chunk_;
};

// Every thread of the team notes on which CPU it worked.
void InferWorker::decode(std::vector<Image>& images, std::vector<std::string>& problems,
                         std::vector<int>& cpus) const {
#pragma omp parallel
  {
    std::vector<int> here;
#pragma omp for schedule(dynamic)
    for (std::size_t i = 0; i < chunk_.size(); ++i) {
      Result<Image> image = read_image(chunk_[i].path);
      if (image) {
        images[i] = std::move(image).value();
      } else {
        problems[i] = image.error().what;
      }
      here.push_back(::sched_getcpu());
    }
#pragma omp critical
    cpus.insert(cpus.end(), here.begin(), here.end());
  }
}

Status InferWorker::read_chunk() {
  std::vector<Image> images(chunk_.size()), good;
  std::vector<std::string> problems(chunk_.size());
  std::vector<int> cpus;
  decode(images, problems, cpus);
  std::vector<std::uint32_t> lines;
  std::string answers;
  for (std::size_t i = 0; i < chunk_.size(); ++i) {
    if (problems[i].empty()) {
      good.push_back(std::move(images[i]));
      lines.push_back(chunk_[i].line);
      continue;
    }
    std::string body;
    append_number(body, chunk_[i].line);
    append_frame(answers, 'B', body + problems[i]);
  }
  const auto texts = recognizer_->read(good);
  if (!texts) return texts.error();
  cpus.push_back(::sched_getcpu());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string body;
    append_number(body, lines[i]);
    append_number(body, static_cast<std::uint32_t>(std::lround((*texts)[i].confidence * 1e6)));
    append_frame(answers, 'R', body + (*texts)[i].text);
  }
  append_frame(answers, 'D', CpuSet(cpus).text());
  chunk_.clear();
  return write_frames(spec_.result_descriptor, answers);
}

Status InferWorker::check() {
  const auto error = recognizer_->check_against_reference();
  if (!error) return error.error();
  const double most = spec_.recognizer.precision == "bf16" ? 0.25 : 0.002;
  if (*error <= most) return Status();
  return say('W', fmt::format("{} {} differs from the reference by {:.2g} (limit {:.2g})",
                              spec_.recognizer.backend, spec_.recognizer.precision, *error, most));
}

Status InferWorker::run() {
  const auto alphabet = Alphabet::from_text(spec_.alphabet);
  if (!alphabet) return alphabet.error();
  auto recognizer = Recognizer::create(spec_.recognizer, *alphabet);
  if (!recognizer) return recognizer.error();
  recognizer_ = std::move(recognizer).value();
  omp_set_num_threads(spec_.recognizer.threads);
  if (spec_.check) {
    if (Status checked = check(); !checked) return checked;
  }
  if (Status said = say('H', ""); !said) return said;
  FrameReader reader;
  while (!reader.ended() && !interrupted()) {
    auto frames = reader.read(spec_.request_descriptor);
    if (!frames) return frames.error();
    for (Frame& frame : *frames) {
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

}  // namespace

bool run_infer_worker(const InferSpec& spec) {
  InferWorker worker(spec);
  const Status status = worker.run();
  if (!status) (void)worker.say('E', error_body(status.error()));
  return status.ok();
}

}  // namespace ocrtune
