// Accessors over the five kinds. A kind that lacks a part answers with a static plain default, so
// that callers need no branch for it.
#include "tuner/job/job.h"

#include <type_traits>

namespace ocrtune {
namespace {

// For the accessors that a const and a changeable job share.
template <typename Kind>
auto user_in(Kind& kind) {
  using User =
      std::conditional_t<std::is_const_v<Kind>, const UserCommandOptions, UserCommandOptions>;
  return std::visit(
      [](auto& one) -> User* {
        if constexpr (requires { one.user; }) return &one.user;
        return nullptr;
      },
      kind);
}

template <typename Kind>
auto inference_in(Kind& kind) {
  using Inference =
      std::conditional_t<std::is_const_v<Kind>, const InferenceWorkload, InferenceWorkload>;
  return std::visit(
      [](auto& one) -> Inference* {
        if constexpr (requires { one.reading; }) return &one.reading;
        if constexpr (requires { one.requests; }) return &one.requests;
        return nullptr;
      },
      kind);
}

}  // namespace

bool Job::infers() const {
  const auto* command = std::get_if<CommandJob>(&kind);
  // A command alone says by a flag what it does. Training kinds hold no inference workload, and the
  // other two do.
  return command != nullptr ? !command->user.trains : inference() != nullptr;
}

bool Job::serves() const { return std::holds_alternative<ServiceJob>(kind); }

bool Job::prints() const {
  return std::holds_alternative<CommandJob>(kind) || std::holds_alternative<ExternalJob>(kind);
}

UserCommandOptions* Job::user() { return user_in(kind); }
const UserCommandOptions* Job::user() const { return user_in(kind); }
InferenceWorkload* Job::inference() { return inference_in(kind); }
const InferenceWorkload* Job::inference() const { return inference_in(kind); }

const CommandWorkload& Job::program() const {
  static const CommandWorkload kNone;
  const UserCommandOptions* own = user();
  return own != nullptr ? own->command : kNone;
}

const InferenceWorkload& Job::requests() const {
  static const InferenceWorkload kNone;
  const InferenceWorkload* asked = inference();
  return asked != nullptr ? *asked : kNone;
}

const TrainingWorkload& Job::training() const {
  static const TrainingWorkload kNone;
  if (const auto* trains = std::get_if<TrainingJob>(&kind)) return trains->engine.training;
  const auto* external = std::get_if<ExternalJob>(&kind);
  return external != nullptr ? external->training : kNone;
}

const CommandJob& Job::command_job() const {
  static const CommandJob kNone;
  if (const auto* external = std::get_if<ExternalJob>(&kind)) return *external;
  const auto* command = std::get_if<CommandJob>(&kind);
  return command != nullptr ? *command : kNone;
}

const std::string& Job::model() const {
  const InferenceWorkload* asked = inference();
  return asked != nullptr ? asked->model : training().model;
}

int Job::height() const {
  const InferenceWorkload* asked = inference();
  return asked != nullptr ? asked->height : training().height;
}

int Job::width() const {
  const InferenceWorkload* asked = inference();
  return asked != nullptr ? asked->width : training().width;
}

const std::string& Job::label_file() const {
  const UserCommandOptions* own = user();
  return own != nullptr ? own->label_file : training().label_file;
}

std::int64_t Job::lines() const {
  if (const auto* trains = std::get_if<TrainingJob>(&kind)) return trains->engine.lines;
  const UserCommandOptions* own = user();
  return own != nullptr ? own->lines : 0;
}

double Job::max_change() const { return prints() ? program().max_change : requests().max_change; }

const std::vector<std::string>& Job::gpus() const {
  static const std::vector<std::string> kNone;
  if (const auto* trains = std::get_if<TrainingJob>(&kind)) return trains->engine.gpus;
  const InferenceWorkload* asked = inference();
  return asked != nullptr ? asked->gpus : kNone;
}

std::uint64_t Job::gpu_memory_bytes() const {
  if (const auto* reads = std::get_if<ReadingJob>(&kind)) return reads->gpu_memory_bytes;
  const auto* trains = std::get_if<TrainingJob>(&kind);
  return trains != nullptr ? trains->gpu_memory_bytes : 0;
}

int Job::command_gpus() const {
  const UserCommandOptions* own = user();
  return own != nullptr ? own->gpus : 0;
}

std::uint64_t limit_bytes(const Job& job, const SearchRequest& search) {
  return job.on_gpus() ? job.gpu_memory_bytes() : search.memory_limit_bytes;
}

}  // namespace ocrtune
