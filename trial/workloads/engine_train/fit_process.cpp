// Each rank's output is a stream of JSON lines; any other line is a library's words and is kept for
// the error. When something fails, the question is who failed first: a rank that died silently,
// before one that complains of its peers. Marks in a shared folder tell who is behind when all are
// silent.
#include "trial/workloads/engine_train/fit_process.h"

#include <poll.h>

#include <cmath>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/line_splitter.h"
#include "base/process_tree.h"
#include "probes/gpu/gpu_ids.h"
#include "trial/ipc/json_fields.h"
#include "trial/observe/step_mark.h"
#include "trial/workloads/engine_train/fit_spec.h"

namespace ocrtune {
namespace {

constexpr int kTurnMilliseconds = 50;
constexpr int kLastReads = 2;           // of 1 MiB, which is what the pipe holds
constexpr double kSettleSeconds = 0.3;  // after a first failure, to hear what the others say
constexpr std::size_t kBucketBytes = std::size_t{4} << 20;  // parts of the gradients' mean

TrainingProgress parse_progress(const FieldsJson& json) {
  // A loss that is no number is null in JSON.
  const auto number = [&](const char* name) {
    const FieldsJson& at = json.at(name);
    return at.is_number() ? at.get<double>() : std::nan("");
  };
  return {json.at("step").get<std::int64_t>(), number("loss"), number("label_error_rate"),
          number("samples_per_second"), number("data_share")};
}

Error parse_error(const FieldsJson& json) {
  const int kind = json.at("kind").get<int>();
  const bool known = kind >= 0 && kind <= static_cast<int>(ErrorKind::failed);
  return Error{known ? static_cast<ErrorKind>(kind) : ErrorKind::failed,
               json.at("what").get<std::string>()};
}

struct Rank {
  explicit Rank(Process* started, std::string gpu_uuid, double now)
      : process(started), gpu(std::move(gpu_uuid)), heard(now) {}
  Process* process;  // of the run's tree
  std::string gpu;
  LineSplitter lines;
  double heard;
  bool stepped = false, ended = false;
  std::string noise, end;  // its last strange words; how it ended
  std::optional<TrainingOutcome> outcome;
  std::optional<Error> error;
};

class Watch {
 public:
  Watch(std::vector<Rank> ranks, std::string folder, const FitOptions& options,
        const std::function<void(const TrainingProgress&)>& report)
      : ranks_(std::move(ranks)), folder_(std::move(folder)), options_(options), report_(report) {}

  Result<TrainingOutcome> run() {
    while (true) {
      for (Rank& rank : ranks_) look_at(rank);
      const Rank& leader = ranks_[0];
      // Whatever the others say of each other: rank 0's answer is the run's.
      if (leader.ended && leader.outcome) return *leader.outcome;
      if (interrupted() && stopping_ < 0) {
        // The others wait with it until it has saved.
        stopping_ = steady_seconds();
        // Rank 0 saves the checkpoint; the others are ended with the tree.
        ranks_[0].process->signal(SIGTERM);
      }
      if (const auto error = stopping_ >= 0 ? shutdown_grace() : failure()) return *error;
      wait_for_news();
    }
  }

 private:
  std::string name(const Rank& rank) const {
    if (ranks_.size() == 1) return "the GPU's process";
    return fmt::format("rank {} on {}", &rank - ranks_.data(), rank.gpu);
  }
  double allowed(const Rank& rank) const {
    return rank.stepped ? options_.silent_seconds : options_.start_seconds;
  }

  void look_at(Rank& rank) {
    read(rank);
    if (rank.ended || !rank.process->poll_exit()) return;
    rank.ended = true;
    rank.end = rank.process->poll_exit()->text();
    // What it wrote last is still in the pipe.
    for (int more = 0; more < kLastReads && read(rank) > 0; ++more) {
    }
    const bool fine = rank.outcome && !rank.outcome->interrupted;
    if (!fine && failed_at_ < 0) failed_at_ = steady_seconds();
  }

  std::size_t read(Rank& rank) {
    return rank.process->read_output([&](std::string_view bytes) {
      rank.lines.add(bytes, [&](const std::string& line) { hear(rank, line); });
    });
  }

  void hear(Rank& rank, const std::string& line) {
    try {
      const FieldsJson json = FieldsJson::parse(line);
      const std::string what = json.at("fit").get<std::string>();
      // Every line that is ours is a sign of life.
      rank.heard = steady_seconds();
      if (what == "progress") report_(parse_progress(json));
      if (what == "outcome") rank.outcome = read_fields<TrainingOutcome>(kOutcomeFields, json);
      if (what == "error") rank.error = parse_error(json);
      const bool step = what == "alive" && json.value("step", std::int64_t{0}) > 0;
      rank.stepped = rank.stepped || step || what == "progress";
    } catch (const std::exception&) {
      rank.noise = line;  // a library's words
    }
  }

  // After an interrupt: only rank 0 has something to say.
  std::optional<Error> shutdown_grace() const {
    if (ranks_[0].ended) return end_of(ranks_[0]);
    if (steady_seconds() - stopping_ <= options_.shutdown_grace_seconds) return std::nullopt;
    return Error{ErrorKind::failed, name(ranks_[0]) +
                                        " was interrupted and did not end: the last checkpoint "
                                        "that was written is kept"};
  }

  std::optional<Error> failure() const {
    if (failed_at_ >= 0) {
      if (ranks_.size() > 1 && steady_seconds() - failed_at_ < kSettleSeconds) return std::nullopt;
      return first_failure();
    }
    const Rank* silent = nullptr;
    for (const Rank& rank : ranks_) {
      if (rank.ended || steady_seconds() - rank.heard <= allowed(rank)) continue;
      if (silent == nullptr || rank.heard < silent->heard) silent = &rank;
    }
    if (silent == nullptr) return std::nullopt;
    if (ranks_.size() == 1) {
      return Error{ErrorKind::failed,
                   fmt::format("{} was silent for {:.3g} s and was ended; the last checkpoint is "
                               "kept",
                               name(*silent), allowed(*silent))};
    }
    return Error{ErrorKind::failed,
                 fmt::format("{}; silent for {:.3g} s, so all ranks were ended; the last "
                             "checkpoint is kept",
                             who_holds_up(*silent), allowed(*silent))};
  }

  // Where ranks wait for each other all are silent: the one that is behind made them wait.
  std::string who_holds_up(const Rank& silent) const {
    const Rank* behind = nullptr;
    bool even = true;  // all in the same place
    std::int64_t least = 0, most = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].ended) continue;
      const auto place = read_step_mark(step_mark_path(folder_, static_cast<int>(i)));
      // Twice the steps, plus one within a step: the smallest is the one behind.
      const std::int64_t at = place ? 2 * place->steps + (place->inside ? 1 : 0) : -1;
      even = behind == nullptr || (even && at == least);
      if (behind == nullptr || at < least) {
        behind = &ranks_[i];
        least = at;
      }
      most = std::max(most, at);
    }
    if (!even) {
      const std::string where = most <= 1 ? "the start" : fmt::format("step {}", most / 2 + 1);
      return fmt::format("{} did not come to {}, where the others wait for it", name(*behind),
                         where);
    }
    return least % 2 != 0 ? fmt::format("no rank came out of step {}, {} the longest silent",
                                        least / 2 + 1, name(silent))
                          : name(silent) + " fell silent first";
  }

  // One that died without a word made its peers complain, not the other way round.
  std::optional<Error> first_failure() const {
    const Rank* speaker = nullptr;
    for (const Rank& rank : ranks_) {
      if (!rank.ended || rank.outcome) continue;
      // It died without a word: the others only noticed.
      if (!rank.error) return end_of(rank);
      const bool of_peers = rank.error->kind == ErrorKind::failed;
      if (speaker == nullptr || (speaker->error->kind == ErrorKind::failed && !of_peers)) {
        speaker = &rank;
      }
    }
    if (speaker != nullptr) return end_of(*speaker);
    for (const Rank& rank : ranks_) {
      if (!rank.ended || !rank.outcome->interrupted) continue;
      return Error{ErrorKind::failed,
                   name(rank) + " was interrupted alone; the last checkpoint is kept"};
    }
    return std::nullopt;
  }

  Error end_of(const Rank& rank) const {
    if (rank.error && ranks_.size() == 1) return *rank.error;
    if (rank.error) return Error{rank.error->kind, name(rank) + ": " + rank.error->what};
    return Error{ErrorKind::failed, name(rank) + " ended without an answer: " + rank.end +
                                        (rank.noise.empty() ? "" : "; it said: " + rank.noise)};
  }

  void wait_for_news() const {
    std::vector<pollfd> polls;
    for (const Rank& rank : ranks_) {
      if (rank.process->output_descriptor() < 0) continue;
      polls.push_back({rank.process->output_descriptor(), POLLIN, 0});
    }
    ::poll(polls.data(), polls.size(), kTurnMilliseconds);
  }

  std::vector<Rank> ranks_;
  std::string folder_;  // where they meet
  const FitOptions& options_;
  const std::function<void(const TrainingProgress&)>& report_;
  double stopping_ = -1, failed_at_ = -1;
};

// Whatever becomes of the ranks, their folder goes.
struct MeetingFolder {
  std::string folder;
  ~MeetingFolder() {
    if (!folder.empty()) (void)remove_tree(folder);
  }
};

}  // namespace

Result<TrainingOutcome> run_fit_processes(
    const TrainingRunOptions& run, const std::vector<std::string>& gpus, const FitOptions& options,
    const std::function<void(const TrainingProgress&)>& report) {
  OCRTUNE_CHECK(!gpus.empty());
  MeetingFolder place;
  if (gpus.size() > 1) place.folder = OCRTUNE_TRY(make_temporary_directory("ranks"));
  ProcessTree tree;  // ends before the folder goes
  std::vector<Rank> ranks;
  for (const std::string& gpu : gpus) {
    FitSpec spec{run, gpu, place.folder};
    const auto rank = static_cast<int>(ranks.size()), count = static_cast<int>(gpus.size());
    // All ranks are on this machine.
    spec.run.place = {rank, count, rank, count, 0, 1};
    if (count > 1) spec.run.trainer.bucket_bytes = kBucketBytes;
    ProcessOptions start;
    start.arguments = {options.program, "fit", "--spec", fit_spec_text(spec)};
    for (auto& variable : gpu_environment({0, -1, gpu, ""}, GpuVendor::nvidia)) {
      start.environment.push_back(std::move(variable));
    }
    const auto process = OCRTUNE_TRY(tree.start(start));
    ranks.emplace_back(process, gpu, steady_clock().now_seconds());
  }
  return Watch(std::move(ranks), place.folder, options, report).run();
}

}  // namespace ocrtune
