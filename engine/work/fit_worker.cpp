// The process that trains: see trial/workloads/engine_train/fit_process.h.
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "core/gpu/device_footprint.h"
#include "trial/ipc/json_fields.h"
#include "trial/observe/step_mark.h"
#include "trial/workloads/engine_train/fit_process.h"
#include "trial/workloads/engine_train/fit_spec.h"

namespace ocrtune {
namespace {

// FitOptions::silent_seconds, after which the starter gives up, is far above this.
constexpr double kWordSeconds = 5;  // a sign of life at least so often

class Speaker {
 public:
  explicit Speaker(int descriptor) : descriptor_(descriptor) {}
  void say(const FieldsJson& json) {
    const std::string line = json_line(json) + "\n";
    // Where nobody listens the starter is gone, and this process with it.
    if (!write_all(descriptor_, line, "a word")) return;
    said_ = steady_clock().now_seconds();
  }
  void be_alive(std::int64_t step) {
    if (steady_clock().now_seconds() - said_ > kWordSeconds)
      say({{"fit", "alive"}, {"step", step}});
  }

 private:
  int descriptor_;
  double said_ = -kWordSeconds;
};

// Says after each call that there was one.
class SpokenTrainer final : public Trainer {
 public:
  SpokenTrainer(std::unique_ptr<Trainer> inner, Speaker& speaker, StepMark& mark)
      : inner_(std::move(inner)), speaker_(speaker), mark_(mark) {}
  Result<StepReport> step(const Batch& batch) override {
    mark_.set({inner_->steps(), true});
    auto report = inner_->step(batch);
    if (report) mark_.set({inner_->steps(), false});
    speaker_.be_alive(inner_->steps());
    return report;
  }
  Result<double> check_against_reference() override { return inner_->check_against_reference(); }
  Result<std::vector<float>> logits(const Batch& batch) override {
    auto made = inner_->logits(batch);
    speaker_.be_alive(inner_->steps());
    return made;
  }
  std::size_t parameter_count() const override { return inner_->parameter_count(); }
  std::int64_t steps() const override { return inner_->steps(); }
  Status save(const std::string& path) const override { return inner_->save(path); }
  Status load(const std::string& path) override { return inner_->load(path); }

 private:
  std::unique_ptr<Trainer> inner_;
  Speaker& speaker_;
  StepMark& mark_;
};

FieldsJson outcome_json(const TrainingOutcome& outcome) {
  FieldsJson json = fields_json(kOutcomeFields, outcome);
  json["fit"] = "outcome";
  return json;
}

Result<TrainingOutcome> run(const FitSpec& spec, FitDevice& device, Speaker& speaker) {
  TrainingRunOptions options = spec.run;
  options.planned_bytes = device_training_bytes;
  StepMark mark;
  if (!spec.folder.empty()) {
    mark = OCRTUNE_TRY(StepMark::create(step_mark_path(spec.folder, spec.run.place.rank)));
  }
  bool opened = false;
  const auto open = [&]() -> Status {
    if (opened) return Status();
    opened = true;
    speaker.say({{"fit", "alive"}, {"step", 0}});
    return device.open();
  };
  options.make_comm = [&]() -> Result<std::unique_ptr<Comm>> {
    OCRTUNE_TRY(open());
    mark.set({0, true});  // waits for the others
    auto comm = device.make_comm();
    mark.set({0, false});
    return comm;
  };
  options.make_trainer = [&](const TrainerOptions& trainer,
                             Comm& comm) -> Result<std::unique_ptr<Trainer>> {
    OCRTUNE_TRY(open());
    speaker.say({{"fit", "alive"}, {"step", 0}});
    auto made = OCRTUNE_TRY(device.make_trainer(trainer, comm));
    return std::unique_ptr<Trainer>(
        std::make_unique<SpokenTrainer>(std::move(made), speaker, mark));
  };
  try {
    return run_training(options, [&](const TrainingProgress& progress) {
      speaker.say({{"fit", "progress"},
                   {"step", progress.step},
                   {"loss", progress.loss},
                   {"label_error_rate", progress.label_error_rate},
                   {"samples_per_second", progress.samples_per_second},
                   {"data_share", progress.data_share}});
    });
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::exhausted, "an allocation failed"};
  }
}

}  // namespace

bool run_fit_on(const FitSpec& spec, FitDevice& device, int descriptor) {
  Speaker speaker(descriptor);
  const auto outcome = run(spec, device, speaker);
  if (!outcome) {
    speaker.say({{"fit", "error"},
                 {"kind", static_cast<int>(outcome.error().kind)},
                 {"what", outcome.error().what}});
    return false;
  }
  speaker.say(outcome_json(*outcome));
  return true;
}

}  // namespace ocrtune
