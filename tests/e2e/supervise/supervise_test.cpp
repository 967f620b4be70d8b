#include "extras/supervise/supervise.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process_tree.h"
#include "base/text.h"

namespace ocrtune {
namespace {

struct NoWait : Clock {
  double now = 0;
  double now_seconds() override { return now; }
  void sleep_seconds(double seconds) override { now += seconds; }
};

class Supervise : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = *make_temporary_directory("supervise");
    options_.run_directory = join_path(directory_, "run");
    options_.setting.workload.command = {"train", "--num_workers", "8", "--nproc_per_node", "4"};
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(directory_)); }

  // Attempts that write these logs and end with code 1, as Python does, then one that ends well.
  SuperviseEnd scripted(const std::vector<std::string>& logs) {
    std::size_t next = 0;
    const auto attempt = [&](const AttemptPlan& plan,
                             const AttemptListeners&) -> Result<AttemptEnd> {
      commands_.push_back(join(plan.process.arguments, " "));
      if (on_attempt_ && next < logs.size()) on_attempt_();
      AttemptEnd end;
      if (next < logs.size()) {
        EXPECT_TRUE(write_file(plan.log_path, logs[next]));
        end.exit.code = 1;
        end.evidence.exit_code = 1;
        if (on_end_) on_end_(end);
      }
      next += 1;
      return end;
    };
    NoWait clock;
    auto end = supervise(options_, attempt, {}, clock);
    EXPECT_TRUE(end);
    return *end;
  }

  std::string directory_;
  SuperviseOptions options_;
  std::vector<std::string> commands_;
  std::function<void()> on_attempt_;  // of those that fail, like the next
  std::function<void(AttemptEnd&)> on_end_;
};

const char* const kMissing = "FileNotFoundError: [Errno 2] No such file or directory\n";

const char* const kCrashed = "Fatal Python error: Segmentation fault\n";
const char* const kKilled = "DataLoader process (pid 5) exited is killed by signal: Killed.\n";

TEST_F(Supervise, EachFailureGetsTheNextSaferSetting) {
  const SuperviseEnd end = scripted({kKilled, kKilled, "CUDA out of memory\n"});
  EXPECT_EQ(end.state, SuperviseState::done);
  EXPECT_THAT(commands_, testing::ElementsAre("train --num_workers 8 --nproc_per_node 4",
                                              "train --num_workers 4 --nproc_per_node 4",
                                              "train --num_workers 2 --nproc_per_node 4",
                                              "train --num_workers 2 --nproc_per_node 2"));
  EXPECT_EQ(end.attempts[0].cause, "host_out_of_memory");
  EXPECT_EQ(end.attempts[2].cause, "gpu_out_of_memory");
  EXPECT_EQ(end.attempts[0].change, "loader workers 8 -> 4");
  EXPECT_THAT(*read_file(join_path(options_.run_directory, "journal.jsonl")),
              testing::HasSubstr("\"event\":\"done\""));
}

// A process of another job was killed for memory meanwhile.
TEST_F(Supervise, AKillOfOthersChangesNoSetting) {
  on_end_ = [](AttemptEnd& end) { end.evidence.host_oom_kills = 1; };
  const SuperviseEnd end = scripted(
      std::vector<std::string>(2, "Traceback (most recent call last):\nKeyError: 'image'\n"));
  EXPECT_EQ(end.attempts[0].cause, "python_exception");
  for (const std::string& command : commands_) {
    EXPECT_EQ(command, "train --num_workers 8 --nproc_per_node 4");
  }
}

TEST_F(Supervise, WhatARestartCannotCureEndsAtOnce) {
  const SuperviseEnd end = scripted({"FileNotFoundError: [Errno 2] No such file or directory\n"});
  EXPECT_EQ(end.state, SuperviseState::gave_up);
  EXPECT_EQ(end.attempts.size(), 1u);
  EXPECT_THAT(end.reason, testing::HasSubstr("missing_file"));
}

TEST_F(Supervise, WhatHoldsItBackIsSaidOnceForEachCause) {
  HeldBack slow{reason<ReasonCode::held_by_data>(in_percent(0.7)),
                reason<ReasonCode::next_faster_disk>()};
  HeldBack disk{reason<ReasonCode::held_by_disk>(decimal(1, 1), in_bytes(40e6), in_bytes(0)),
                reason<ReasonCode::next_faster_disk>()};
  const auto attempt = [&](const AttemptPlan&,
                           const AttemptListeners& given) -> Result<AttemptEnd> {
    AttemptEnd end;
    for (const auto& held : {std::vector{slow}, {slow}, {slow, disk}, {}}) {
      end.last.held = held;
      given.on_status(end.last);
    }
    end.last.held = {disk};
    return end;
  };
  std::vector<ReasonCode> told;
  SuperviseListeners listeners;
  listeners.on_held = [&](const HeldBack& held) { told.push_back(held.cause.code); };
  NoWait clock;
  const auto end = supervise(options_, attempt, listeners, clock);
  ASSERT_TRUE(end);
  EXPECT_THAT(told, testing::ElementsAre(ReasonCode::held_by_data, ReasonCode::held_by_disk));
  ASSERT_EQ(end->attempts[0].held.size(), 1u);
  EXPECT_THAT(*read_file(join_path(options_.run_directory, "journal.jsonl")),
              testing::HasSubstr("\"cause\":\"held_by_disk\""));
}

TEST_F(Supervise, FailuresInARowAreBounded) {
  options_.max_failures = 3;
  const SuperviseEnd end = scripted(std::vector<std::string>(50, kKilled));
  EXPECT_EQ(end.state, SuperviseState::gave_up);
  EXPECT_EQ(end.attempts.size(), 3u);
}

TEST_F(Supervise, OneTryIsOneAttempt) {
  options_.max_failures = 1;
  const SuperviseEnd end = scripted({kKilled, kKilled});
  EXPECT_EQ(end.attempts.size(), 1u);
  EXPECT_THAT(end.reason, testing::HasSubstr("1 failure in a row"));
}

TEST_F(Supervise, LogsInTheCheckpointFolderAreNoCheckpoint) {
  const std::string folder = join_path(directory_, "out");
  ASSERT_TRUE(make_directories(folder));
  options_.checkpoint = folder;
  options_.resume_argument = "Global.checkpoints={checkpoint}";
  on_attempt_ = [&] {
    for (const char* name : {"train.log", "config.yml", "events.out.tfevents.1"}) {
      ASSERT_TRUE(write_file(join_path(folder, name), std::to_string(commands_.size())));
    }
  };
  const SuperviseEnd end = scripted(std::vector<std::string>(9, kMissing));
  EXPECT_EQ(end.attempts.size(), 1u);
  EXPECT_THAT(commands_[0], testing::Not(testing::HasSubstr("Global.checkpoints")));
}

TEST_F(Supervise, ResumesFromWhatTheFolderHolds) {
  const std::string folder = join_path(directory_, "out");
  ASSERT_TRUE(make_directories(folder));
  options_.checkpoint = folder;
  options_.resume_argument = "Global.checkpoints={checkpoint}";
  on_attempt_ = [&] { ASSERT_TRUE(write_file(join_path(folder, "latest.pdparams"), "weights")); };
  scripted({kKilled});
  ASSERT_EQ(commands_.size(), 2u);
  EXPECT_THAT(commands_[0], testing::Not(testing::HasSubstr("Global.checkpoints")));
  EXPECT_THAT(commands_[1], testing::HasSubstr("Global.checkpoints=" + folder + "/latest"));
}

// It saves and then fails for a reason that no restart cures, each time.
TEST_F(Supervise, ACheckpointDoesNotMakeAnIncurableFailureEndless) {
  const std::string folder = join_path(directory_, "out");
  ASSERT_TRUE(make_directories(folder));
  options_.checkpoint = folder;
  options_.max_failures = 3;
  on_attempt_ = [&] {
    const std::string name = "epoch_" + std::to_string(commands_.size()) + ".pt";
    ASSERT_TRUE(write_file(join_path(folder, name), "weights"));
  };
  on_end_ = [&](AttemptEnd& end) {  // a step further each time
    end.last.progress_lines = 1;
    end.last.furthest.global_step = static_cast<double>(commands_.size());
  };
  const SuperviseEnd end = scripted(std::vector<std::string>(50, kMissing));
  EXPECT_EQ(end.state, SuperviseState::gave_up);
  EXPECT_EQ(end.attempts.size(), 3u);
}

// The log is on a full device; what the program said is diagnosed all the same, and it is said
// once.
TEST_F(Supervise, AnUnwritableLogStillGivesTheCause) {
  if (!path_exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  ASSERT_TRUE(make_directories(options_.run_directory));
  ASSERT_EQ(::symlink("/dev/full", join_path(options_.run_directory, "attempt-1.log").c_str()), 0);
  options_.setting.workload.command = {
      "sh", "-c", "echo \"ModuleNotFoundError: No module named 'lmdb'\"; exit 1"};
  int told = 0;
  SuperviseListeners listeners;
  listeners.on_note = [&](const std::string& line) {
    told += line.find("attempt-1.log") != std::string::npos ? 1 : 0;
  };
  const auto end = supervise(options_, run_attempt, listeners, steady_clock());
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_EQ(end->attempts[0].cause, "missing_module");
  EXPECT_EQ(told, 1);
}

// It saves at each start and then fails at the same step: the files are new, the run is not
// further.
TEST_F(Supervise, ASaveAtEachStartIsNoProgress) {
  const std::string folder = join_path(directory_, "out");
  ASSERT_TRUE(make_directories(folder));
  options_.checkpoint = folder;
  options_.max_failures = 3;
  on_attempt_ = [&] {
    ASSERT_TRUE(write_file(join_path(folder, "latest.pdparams"),
                           "weights " + std::to_string(commands_.size())));
  };
  for (const char* line : {"", "epoch: [1/9], global_step: 7, loss: 0.5", "loss: 0.5"}) {
    commands_.clear();
    on_end_ = [&](AttemptEnd& end) {
      if (*line == '\0') return;
      end.last.progress_lines = 1;
      end.last.furthest = position_of(line);
    };
    const SuperviseEnd end = scripted(std::vector<std::string>(50, kCrashed));
    EXPECT_EQ(end.state, SuperviseState::gave_up) << line;
    EXPECT_LE(end.attempts.size(), 4u) << line;
    EXPECT_THAT(end.reason, testing::HasSubstr("without getting further")) << line;
  }
}

// A week of kills from outside, each after some more steps.
TEST_F(Supervise, EachKillAfterProgressIsFollowedByARestartAndOldFilesGo) {
  const std::string folder = join_path(directory_, "out");
  ASSERT_TRUE(make_directories(folder));
  options_.checkpoint = folder;
  options_.max_failures = 3;
  int step = 0;
  on_attempt_ = [&] {
    ASSERT_TRUE(
        write_file(join_path(folder, "latest.pdparams"), "weights " + std::to_string(step)));
  };
  on_end_ = [&](AttemptEnd& end) {
    end.last.progress_lines = 1;
    end.last.furthest.global_step = ++step;
  };
  const SuperviseEnd end = scripted(std::vector<std::string>(120, kCrashed));
  EXPECT_EQ(end.state, SuperviseState::done) << end.reason;
  EXPECT_EQ(end.attempts.size(), 121u);
  const auto kept = list_directory(options_.run_directory);
  ASSERT_TRUE(kept);
  EXPECT_LE(std::count_if(kept->begin(), kept->end(),
                          [](const std::string& name) { return ends_with(name, ".log"); }),
            51);
}

// The program refuses the newest state, and the one before it as well; it is whole to the eye.
TEST_F(Supervise, WhatCannotBeLoadedIsPassedOver) {
  const std::string folder = join_path(directory_, "out");
  ASSERT_TRUE(make_directories(folder));
  for (const char* name : {"iter_1.pdparams", "iter_2.pdparams", "iter_3.pdparams"}) {
    ASSERT_TRUE(write_file(join_path(folder, name), name));
  }
  options_.checkpoint = folder;
  options_.resume_argument = "--resume {checkpoint}";
  const char* const refused = "RuntimeError: PytorchStreamReader failed reading zip archive\n";
  SuperviseEnd end = scripted({refused, refused});
  EXPECT_EQ(end.state, SuperviseState::done) << end.reason;
  ASSERT_EQ(commands_.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(commands_[static_cast<std::size_t>(i)],
                testing::HasSubstr("--resume " + folder + "/iter_" + std::to_string(3 - i)));
  }
  EXPECT_EQ(end.attempts[0].change, "the checkpoint before it: " + folder + "/iter_2");
  commands_.clear();
  end = scripted({refused, refused, refused});
  EXPECT_EQ(end.state, SuperviseState::gave_up);
  EXPECT_THAT(end.reason, testing::HasSubstr("checkpoint_damaged"));
}

TEST_F(Supervise, ACutStateIsNotEvenTried) {
  const std::string folder = join_path(directory_, "out");
  ASSERT_TRUE(make_directories(folder));
  ASSERT_TRUE(write_file(join_path(folder, "epoch_1.pt"), "PK\3\4 tensors PK\5\6 the directory"));
  options_.checkpoint = folder;
  options_.resume_argument = "--resume {checkpoint}";
  on_attempt_ = [&] { ASSERT_TRUE(write_file(join_path(folder, "epoch_2.pt"), "PK\3\4 tens")); };
  const SuperviseEnd end = scripted({kKilled});
  EXPECT_EQ(end.state, SuperviseState::done);
  EXPECT_THAT(commands_[1], testing::HasSubstr("--resume " + folder + "/epoch_1.pt"));
  EXPECT_THAT(*read_file(join_path(options_.run_directory, "journal.jsonl")),
              testing::HasSubstr("\"event\":\"passed over\""));
}

TEST_F(Supervise, NothingLeftToMakeSaferIsSaid) {
  options_.setting.workload.command = {"train"};
  const SuperviseEnd end = scripted(std::vector<std::string>(50, kKilled));
  EXPECT_EQ(end.attempts.size(), 2u);
  EXPECT_THAT(end.reason, testing::HasSubstr("nothing in the command"));
}

TEST_F(Supervise, ACommandThatCannotStartIsAnError) {
  options_.setting.workload.command = {"/nowhere/train"};
  NoWait clock;
  const auto end = supervise(options_, run_attempt, {}, clock);
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().what, testing::HasSubstr("/nowhere/train"));
}

// The trainer appends to one log over all attempts.
TEST_F(Supervise, AnErrorOfAnEarlierAttemptIsNotDiagnosedAgain) {
  const std::string log = join_path(directory_, "train.log");
  options_.logs = {log};
  options_.setting.workload.command = {"train", "--batch_size", "64"};
  on_attempt_ = [&] {
    std::FILE* file = std::fopen(log.c_str(), "a");
    ASSERT_NE(file, nullptr);
    std::fputs(commands_.size() == 1 ? "CUDA out of memory\n" : "starts again\n", file);
    ASSERT_EQ(std::fclose(file), 0);
  };
  const SuperviseEnd end = scripted({"", kCrashed, kCrashed});
  ASSERT_EQ(commands_.size(), 4U);
  EXPECT_EQ(end.attempts[0].cause, "gpu_out_of_memory");
  EXPECT_EQ(end.attempts[1].cause, "segmentation_fault");
  for (std::size_t i = 1; i < commands_.size(); ++i) {
    EXPECT_EQ(commands_[i], "train --batch_size 32") << i;
  }
}

// Attempts of which some cannot be started: what they say, "" for one that is killed.
class RestartErrors : public Supervise {
 protected:
  Result<SuperviseEnd> tried(std::vector<std::string> says) {
    std::size_t next = 0;
    const auto attempt = [&](const AttemptPlan& plan,
                             const AttemptListeners&) -> Result<AttemptEnd> {
      commands_.push_back(join(plan.process.arguments, " "));
      AttemptEnd end;
      if (next >= says.size()) return end;
      const std::string& what = says[next++];
      if (!what.empty()) return Error{ErrorKind::missing, what};
      EXPECT_TRUE(write_file(plan.log_path, kCrashed));
      end.exit.code = 1;
      end.evidence.exit_code = 1;
      return end;
    };
    NoWait clock;
    return supervise(options_, attempt, {}, clock);
  }
};

TEST_F(RestartErrors, AreFailuresThatAreTriedAgain) {
  const auto end = tried({"", "no train", "no train"});
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_EQ(end->state, SuperviseState::done);
  ASSERT_EQ(end->attempts.size(), 4U);
  EXPECT_EQ(end->attempts[1].ending, "could not start: no train");
  EXPECT_EQ(commands_[3], commands_[0]) << "the same setting";
}

TEST_F(RestartErrors, AreBoundedByTheTries) {
  options_.max_failures = 3;
  const auto end = tried({"", "away", "away", "away"});
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_EQ(end->state, SuperviseState::gave_up);
  EXPECT_EQ(end->attempts.size(), 3U);
  EXPECT_THAT(end->reason, testing::HasSubstr("could not start: away"));
  EXPECT_THAT(*read_file(join_path(options_.run_directory, "journal.jsonl")),
              testing::HasSubstr("gave up: 3 failures in a row"));
}

TEST_F(RestartErrors, OfTheFirstAttemptEndTheRun) {
  EXPECT_FALSE(tried({"away"}));
  EXPECT_EQ(commands_.size(), 1U);
}

TEST_F(Supervise, AFolderWithoutARecognisedStateIsNamedOnce) {
  const std::string folder = join_path(directory_, "out");
  ASSERT_TRUE(make_directories(folder));
  options_.checkpoint = folder;
  on_attempt_ = [&] {
    ASSERT_TRUE(
        write_file(join_path(folder, "train_state.msgpack"), std::to_string(commands_.size())));
  };
  scripted({kCrashed, kCrashed});
  const std::string journal = *read_file(join_path(options_.run_directory, "journal.jsonl"));
  const std::size_t at = journal.find("\"event\":\"unrecognised\"");
  ASSERT_NE(at, std::string::npos) << journal;
  EXPECT_THAT(journal.substr(at), testing::HasSubstr("train_state.msgpack"));
  EXPECT_EQ(journal.find("\"event\":\"unrecognised\"", at + 1), std::string::npos);
}

// Losses by step, the last attempt's word counts; how often ranks were killed; who is left.
struct Trained {
  std::map<int, std::string> losses;
  int attempts = 0;
};

Trained train(const std::string& directory, int odds) {
  const std::string work = join_path(directory, "odds" + std::to_string(odds));
  EXPECT_TRUE(make_directories(work));
  SuperviseOptions options;
  options.setting.workload.command = {OCRTUNE_FAULT_WORKER, "train", work, std::to_string(odds)};
  options.run_directory = join_path(work, "run");
  options.checkpoint = join_path(work, "state");
  options.resume_argument = "--resume";
  options.max_failures = 30;
  options.pause_seconds = 1e-6;
  const auto end = supervise(options, run_attempt, {}, steady_clock());
  EXPECT_TRUE(end);
  EXPECT_EQ(end->state, SuperviseState::done) << end->reason;
  Trained trained;
  trained.attempts = static_cast<int>(end->attempts.size());
  for (int i = 1; i <= trained.attempts; ++i) {
    const auto log =
        read_file(join_path(options.run_directory, "attempt-" + std::to_string(i) + ".log"));
    for (const std::string& line : split(log.value_or(""), '\n')) {
      int step = 0;
      char loss[64];
      if (std::sscanf(line.c_str(), "epoch: [1/1], global_step: %d, loss: %63[^,]", &step, loss) ==
          2) {
        trained.losses[step] = loss;
      }
    }
  }
  for (const ProcessFacts& process : all_processes()) {
    const auto line = read_file("/proc/" + std::to_string(process.pid) + "/cmdline");
    EXPECT_EQ(line.value_or("").find(work), std::string::npos) << "left over: " << process.pid;
  }
  return trained;
}

// Trains again and again until so many ranks were killed in all.
void train_through_kills(int odds, int min_kills) {
  const std::string directory = *make_temporary_directory("kills");
  const Trained calm = train(directory, 0);
  EXPECT_EQ(calm.attempts, 1);
  EXPECT_EQ(calm.losses.size(), 40u);
  int kills = 0;
  for (int round = 0; kills < min_kills && round < 40; ++round) {
    const Trained wild = train(join_path(directory, std::to_string(round)), odds);
    EXPECT_EQ(wild.losses, calm.losses);
    kills += wild.attempts - 1;
  }
  EXPECT_GE(kills, min_kills);
  ASSERT_TRUE(remove_tree(directory));
}

TEST(PlainSupervise, KilledRanksLoseNothing) { train_through_kills(15, 2); }

TEST(SlowSupervise, TwentyKillsLoseNothing) { train_through_kills(6, 20); }

}  // namespace
}  // namespace ocrtune
