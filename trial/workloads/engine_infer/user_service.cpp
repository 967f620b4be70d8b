// Space and memory are those of a command that is started (user_command.h); only requests are
// measured in another way.
#include "trial/workloads/engine_infer/user_service.h"

#include <utility>
#include <vector>

#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/service/served_target.h"

namespace ocrtune {
namespace {

constexpr double kSlowAnswers = 600;  // seconds

class UserService : public Workload {
 public:
  UserService(InferenceWorkload inference, UserCommandOptions command)
      : inference_(std::move(inference)), command_(std::move(command)) {}

  Unit unit() const override { return Unit::request_rate; }

  WorkloadSpace space(const Machine& machine) const override {
    return command_space(command_, machine);
  }

  // It may load its model for long, and answer slowly.
  TrialLimits limits(double measure_seconds) const override {
    TrialLimits limits = Workload::limits(measure_seconds);
    const double start = std::max(kBusyStartSeconds, inference_.start_timeout_seconds);
    limits.max_seconds += kSlowAnswers + (starts() ? start : 0);
    return limits;
  }

  // What a server of another's holds is not stopped by us.
  WorkloadMemory memory() const override {
    return command_memory(command_, inference_.url.empty());
  }

  Result<std::unique_ptr<Runner>> runner(const Machine& machine) const override {
    std::vector<std::string> files = inference_.inputs;
    files.push_back(inference_.trace);
    OCRTUNE_TRY(check_measured_files(files));
    InferenceWorkload inference = inference_;
    // A server that runs already needs no command, and has no setting of ours.
    if (starts()) {
      inference.command = OCRTUNE_TRY(prepared_command(command_, machine));
    }
    return make_infer_runner(inference, machine);
  }

  Result<Launch> launch(const Machine& machine, const Knobs& knobs,
                        const SeenOfProgram& seen) const override {
    InferenceWorkload inference = inference_;
    if (starts()) {
      inference.command = OCRTUNE_TRY(kept_command(command_, machine));
      leave_out_unused(inference.command.workload, seen);
    }
    return infer_launch(inference, machine, knobs);
  }

 private:
  bool starts() const { return !command_.command.command.empty(); }

  InferenceWorkload inference_;
  UserCommandOptions command_;
};

}  // namespace

std::unique_ptr<const Workload> make_user_service(InferenceWorkload inference,
                                                  UserCommandOptions command) {
  return std::make_unique<UserService>(std::move(inference), std::move(command));
}

}  // namespace ocrtune
