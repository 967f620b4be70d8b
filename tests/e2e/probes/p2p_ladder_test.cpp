// The ladder over machines that a stub library describes, with a worker that fails in named ways:
// every rung's every end, and that nothing of it outlives a step.
#include "probes/p2p/p2p_ladder.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "probes/gpu/gpu.h"
#include "probes/machine_gpus.h"
#include "probes/p2p/ladder_rungs.h"
#include "probes/p2p/p2p_static.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class LadderRun {
 public:
  LadderRun(const std::string& box, const std::string& faults)
      : folder_(make_temporary_directory("ladder").value()) {
    EXPECT_TRUE(write_file(join_path(folder_, "faults"), faults));
    environment_ = process_environment();
    environment_["OCRTUNE_GPU_WORKER"] = OCRTUNE_FAKE_GPU_WORKER;
    environment_["OCRTUNE_NVML_PATH"] = OCRTUNE_NVML_STUB_LIBRARY;
    environment_["OCRTUNE_NVML_STUB"] =
        OCRTUNE_SOURCE_DIR + "/tests/fixtures/gpu_boxes/" + box + ".txt";
    environment_["OCRTUNE_FAKE_GPU"] = join_path(folder_, "faults");
    environment_["OCRTUNE_FAKE_STATE"] = folder_;
  }
  ~LadderRun() {
    for (const ProcessFacts& process : all_processes()) {
      const auto block = read_file("/proc/" + std::to_string(process.pid) + "/environ");
      const bool left = block && block->find(folder_) != std::string::npos && process.state != 'Z';
      EXPECT_FALSE(left) << process.pid << " " << process.name << " was left behind";
    }
    static_cast<void>(remove_tree(folder_));
  }

  Result<LadderAnswer> climb(LadderOptions options = {}) {
    if (options.deadline_seconds == 0) options.deadline_seconds = 20;
    const GpuReport report = probe_gpus(GpuProbeOptions{"", 20}, environment_);
    Machine machine;
    machine.gpus = report.gpus;
    machine.gpu_links = report.links;
    std::vector<LadderGpu> gpus;
    for (const GpuFacts& gpu : report.gpus) gpus.push_back({gpu.index, gpu.uuid});
    LadderWorld world;
    world.run = [this](const GpuStep& step) {
      GpuStepPlace place;
      place.environment = environment_;
      place.grace_seconds = 0.2;
      place.last_rank_seconds = 0.3;
      begin(step);
      GpuStepResult result = run_gpu_step(step, place);
      end(step);
      return result;
    };
    world.look = [this] { return probe_gpus(GpuProbeOptions{"", 20}, environment_); };
    world.pause = [](double) {};
    Environment clean = environment_;
    std::erase_if(clean, [](const auto& row) { return starts_with(row.first, "NCCL_"); });
    return climb_p2p_ladder(static_p2p_facts(machine, FileRoot(folder_), clean), gpus, report.gpus,
                            options, world);
  }

  void set(const std::string& name, const std::string& value) { environment_[name] = value; }
  int max_at_once() const { return max_at_once_; }
  // Steps of this kind during which no other ran.
  int steps_alone(const std::string& kind) const {
    return static_cast<int>(std::count(alone_.begin(), alone_.end(), kind));
  }
  int steps(const std::string& kind) const {
    return static_cast<int>(std::count(steps_.begin(), steps_.end(), kind));
  }

 private:
  void begin(const GpuStep& step) {
    const std::lock_guard<std::mutex> lock(mutex_);
    steps_.push_back(step.kind);
    for (const std::string& device : step.devices) {
      EXPECT_TRUE(busy_.insert(device).second) << device << " is in two steps at once";
    }
    crowded_ = running_ > 0 || crowded_;
    max_at_once_ = std::max(max_at_once_, ++running_);
  }
  void end(const GpuStep& step) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::string& device : step.devices) busy_.erase(device);
    if (!crowded_) alone_.push_back(step.kind);
    if (--running_ == 0) crowded_ = false;
  }

  std::string folder_;
  Environment environment_;
  std::mutex mutex_;
  std::vector<std::string> steps_, alone_;
  std::set<std::string> busy_;
  int running_ = 0, max_at_once_ = 0;
  bool crowded_ = false;
};

std::string env_text(const P2pVerdict& verdict) {
  std::string text;
  for (const auto& [name, value] : verdict.env) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

TEST(P2pLadder, EveryWayARungCanEnd) {
  struct Case {
    const char* box;
    const char* faults;
    const char* verdict;
    const char* env;
    const char* evidence;  // in some pair's or the whole's
    int nccl_runs;
  };
  const Case cases[] = {
      {"2x4090-old-driver", "", "P2P_OK", "", "NCCL with P2P on passed", 3},
      {"2x4090", "copy mode=zeros", "UNSUPPORTED", "", "does not allow", 1},
      {"2x3090-bridge", "", "P2P_OK", "", "joined by NVLink", 3},
      {"2x3090-broken-bridge", "", "NVLINK_FAULT", "", "does not allow", 1},
      {"2x4090-old-driver", "copy mode=zeros", "BROKEN", "NCCL_P2P_DISABLE=1", "zeros", 2},
      {"2x4090-old-driver", "copy mode=stale from=1", "BROKEN", "NCCL_P2P_DISABLE=1", "stale", 2},
      {"2x4090-old-driver", "copy mode=canary", "BROKEN", "NCCL_P2P_DISABLE=1", "canary", 2},
      {"2x4090-old-driver", "handshake mode=mirror ranks=2", "BROKEN", "NCCL_P2P_DISABLE=1",
       "in two processes: first bad byte at 0, mirror", 2},
      {"2x4090-old-driver", "handshake mode=unsupported ranks=2", "P2P_OK", "",
       "in one process alone; in two: not to be had here", 3},
      {"2x4090-old-driver", "copy mode=flaky", "FLAKY", "NCCL_P2P_DISABLE=1", "in 1 of 2 tries", 2},
      {"2x4090-old-driver", "handshake mode=segv ranks=1", "BROKEN", "NCCL_P2P_DISABLE=1",
       "SIGSEGV", 2},
      {"2x4090-old-driver", "handshake mode=exit ranks=1", "BROKEN", "NCCL_P2P_DISABLE=1",
       "exit code 3, last words: CUDA error 719", 2},
      {"2x4090-old-driver", "copy mode=garbage", "BROKEN", "NCCL_P2P_DISABLE=1",
       "without an answer", 2},
      {"2x4090-old-driver", "copy mode=partial_line", "BROKEN", "NCCL_P2P_DISABLE=1",
       "without an answer", 2},
      {"2x4090-old-driver", "copy mode=silent", "BROKEN", "NCCL_P2P_DISABLE=1", "without an answer",
       2},
      {"2x4090-old-driver", "copy mode=huge_output", "P2P_OK", "", "passed", 3},
      {"2x4090-old-driver", "copy mode=double_fork", "P2P_OK", "", "passed", 3},
      {"2x4090-old-driver", "nccl mode=killed rank=1 with=NCCL_P2P_LEVEL", "BROKEN",
       "NCCL_P2P_DISABLE=1", "SIGKILL", 3},
      {"2x4090-old-driver", "nccl mode=zeros with=NCCL_P2P_LEVEL", "BROKEN", "NCCL_P2P_DISABLE=1",
       "all-reduce of 1 MiB: zeros", 3},
      {"2x4090-old-driver", "nccl mode=log_only", "INCONCLUSIVE", "", "NCCL with P2P off passed",
       2},
      {"2x4090-old-driver", "nccl mode=slow", "SLOW", "NCCL_P2P_DISABLE=1", "5.0 GB/s by P2P", 4},
      {"2x4090-old-driver", "nccl mode=fail with=NCCL_P2P_DISABLE", "INCONCLUSIVE", "",
       "NCCL with P2P off crashed", 3},
      {"2x4090-old-driver", "nccl mode=fail without=NCCL_SHM_DISABLE", "SHM_BROKEN",
       "NCCL_SHM_DISABLE=1", "without shared memory passed", 5},
      {"2x4090-old-driver", "nccl mode=fail without=NCCL_CUMEM_HOST_ENABLE", "SHM_BROKEN",
       "NCCL_CUMEM_HOST_ENABLE=0", "without cuMem host buffers passed", 5},
      // NCCL never runs with P2P over a link that failed, nor to prove another variable.
      {"2x4090-old-driver", "copy mode=zeros\nnccl mode=fail without=NCCL_CUMEM_HOST_ENABLE",
       "SHM_BROKEN", "NCCL_CUMEM_HOST_ENABLE=0 NCCL_P2P_DISABLE=1", "zeros", 4},
      {"2x4090-old-driver", "nccl mode=warns", "INCONCLUSIVE", "",
       "unhandled system error; NCCL says: failed to extend /dev/shm", 3},
      {"2x4090-old-driver", "nccl mode=diag_ok", "P2P_OK", "", "NCCL's own diagnostics passed", 3},
      {"2x4090-old-driver", "nccl mode=diag_mismatch", "BROKEN", "NCCL_P2P_DISABLE=1",
       "NCCL's own diagnostics gave wrong data: write mismatch", 3},
      {"2x4090-old-driver", "nccl mode=diag_import", "BROKEN", "NCCL_P2P_DISABLE=1",
       "NCCL's own diagnostics crashed: peer-memory import failed", 3},
      {"2x4090-old-driver", "devices mode=one_device", "INCONCLUSIVE", "", "", 0},
      {"2x4090-old-driver", "devices mode=unsupported", "INCONCLUSIVE", "", "", 0},
  };
  for (const Case& given : cases) {
    LadderRun ladder(given.box, given.faults);
    const auto answer = ladder.climb();
    ASSERT_TRUE(answer) << given.faults << ": " << answer.error().what;
    const P2pVerdict& verdict = answer->verdict;
    EXPECT_EQ(p2p_class_name(verdict.verdict), given.verdict) << given.box << ": " << given.faults;
    EXPECT_EQ(env_text(verdict), given.env) << given.faults << ": " << verdict.proof;
    EXPECT_EQ(verdict.env.empty(), verdict.proof.empty()) << given.faults;
    std::string evidence = join(verdict.evidence, "; ");
    for (const auto& pair : verdict.pairs) evidence += "; " + join(pair.evidence, "; ");
    EXPECT_THAT(evidence, HasSubstr(given.evidence)) << given.faults;
    EXPECT_EQ(ladder.steps("nccl"), given.nccl_runs) << given.faults;
  }
}

TEST(P2pLadder, AHungStepIsCutAndNcclNeverRunsOverThatLink) {
  for (const char* mode : {"hang", "ignore_sigterm"}) {
    LadderRun ladder("2x4090-old-driver", std::string("handshake ranks=1 mode=") + mode);
    LadderOptions options;
    options.deadline_seconds = 1;
    const auto answer = ladder.climb(options);
    ASSERT_TRUE(answer);
    EXPECT_EQ(p2p_class_name(answer->verdict.verdict), "BROKEN") << mode;
    EXPECT_THAT(answer->verdict.pairs[0].evidence,
                Contains(HasSubstr("hung: no answer within 1.0 s")));
    EXPECT_EQ(ladder.steps("handshake"), 1) << "a hang is not repeated";
    EXPECT_EQ(ladder.steps("nccl"), 2) << "the control arm and the proof";
  }
}

TEST(P2pLadder, AWedgedGpuStopsEverything) {
  LadderRun ladder("2x4090-old-driver", "copy mode=wedge");
  LadderOptions options;
  options.deadline_seconds = 1;
  const auto answer = ladder.climb(options);
  ASSERT_TRUE(answer);
  EXPECT_EQ(p2p_class_name(answer->verdict.verdict), "GPU_WEDGED");
  EXPECT_TRUE(answer->verdict.env.empty());
  EXPECT_THAT(answer->verdict.evidence, Contains(AllOf(HasSubstr("GPU 0 stays 100 % busy"),
                                                       HasSubstr("after: GPUs 0 and 1: copies"))));
  EXPECT_EQ(ladder.steps("handshake") + ladder.steps("nccl"), 1);
}

TEST(P2pLadder, PartialWorksUpToALevel) {
  LadderRun ladder("4xa40-pcie",
                   "copy pair=0-2 mode=zeros\ncopy pair=0-3 mode=zeros\n"
                   "copy pair=1-2 mode=zeros\ncopy pair=1-3 mode=zeros\n");
  const auto answer = ladder.climb();
  ASSERT_TRUE(answer);
  EXPECT_EQ(p2p_class_name(answer->verdict.verdict), "PARTIAL");
  ASSERT_EQ(answer->verdict.env.size(), 1U);
  EXPECT_EQ(answer->verdict.env[0].first, "NCCL_P2P_LEVEL");
  EXPECT_THAT(answer->verdict.proof, HasSubstr("passed"));
}

// Proved by no P2P between the GPUs that are farther apart, not by the variable's echo.
TEST(P2pLadder, ALevelIsProvedByTheTransports) {
  LadderRun ladder("4xa40-pcie",
                   "copy pair=0-2 mode=zeros\ncopy pair=0-3 mode=zeros\n"
                   "copy pair=1-2 mode=zeros\ncopy pair=1-3 mode=zeros\n"
                   "nccl mode=too_far with=NCCL_P2P_LEVEL\n");
  const auto answer = ladder.climb();
  ASSERT_TRUE(answer);
  EXPECT_EQ(p2p_class_name(answer->verdict.verdict), "PARTIAL");
  EXPECT_TRUE(answer->verdict.env.empty());
  EXPECT_THAT(answer->verdict.proof, HasSubstr("does not show the change"));
}

TEST(P2pLadder, ABoxOfEightTakesUnderThreeMinutesByPlan) {
  struct Box {
    const char* name;
    int distances;
  };
  for (const Box& box : {Box{"8xh100-nvswitch", 1}, Box{"8xl40s-pcie", 3}}) {
    LadderRun ladder(box.name, "copy pair=2-5 mode=slow");
    LadderOptions options;
    options.force = true;  // somebody's desktop
    const auto answer = ladder.climb(options);
    ASSERT_TRUE(answer) << box.name << ": " << answer.error().what;
    EXPECT_EQ(p2p_class_name(answer->verdict.verdict), "P2P_OK") << box.name;
    EXPECT_LT(answer->planned_seconds, 180) << box.name;
    EXPECT_GT(answer->planned_seconds, 60) << box.name;
    EXPECT_LE(ladder.max_at_once(), 4);
    EXPECT_EQ(ladder.steps("copy"), 28 + box.distances);
    EXPECT_EQ(ladder.steps("handshake"), 2 * 28);
    EXPECT_EQ(ladder.steps("nccl"), 1 + 28 + 2 * box.distances) << "control, P2P on, the rates";
    EXPECT_EQ(ladder.steps_alone("copy"), box.distances) << "rates are measured alone";
    ASSERT_EQ(answer->verdict.pairs.size(), 56U);
    for (const P2pPairVerdict& pair : answer->verdict.pairs) {
      for (const P2pStep* step : {&pair.facts.copy, &pair.facts.handshake, &pair.facts.nccl}) {
        EXPECT_EQ(step->result, StepResult::passed) << pair.from << ">" << pair.to;
      }
      EXPECT_GT(pair.facts.p2p_bytes_per_second, 0);
      EXPECT_GT(pair.facts.shm_bytes_per_second, 0);
    }
  }
}

// The slowest pair of a distance speaks for it, so that a bad link is not averaged away.
TEST(P2pLadder, RatesAreThoseOfTheSlowestPairAtADistance) {
  LadderRun ladder("8xl40s-pcie", "copy pair=0-6 mode=slow");
  const auto answer = ladder.climb();
  ASSERT_TRUE(answer);
  int told = 0;
  for (const P2pPairVerdict& pair : answer->verdict.pairs) {
    const bool across = pair.from / 4 != pair.to / 4;
    EXPECT_EQ(pair.facts.copy_bytes_per_second, across ? 1e9 : 2.1e10);
    if (!across || pair.facts.rates_from < 0) continue;
    ++told;
    EXPECT_THAT(
        pair.evidence,
        Contains(pair.from < pair.to ? "rates of GPUs 0 and 6, the slowest pair at this distance"
                                     : "rates of GPUs 6 and 0, the slowest pair at this distance"));
  }
  EXPECT_EQ(told, 2 * 16 - 2) << "all pairs across the sockets but the one measured";
}

TEST(LadderPlan, EverybodyMeetsEverybodyOnceAndNobodyTwiceInARound) {
  for (int count = 0; count <= 9; ++count) {
    std::set<std::pair<int, int>> met;
    for (const auto& round : disjoint_rounds(count)) {
      std::set<int> here;
      for (const auto& [a, b] : round) {
        EXPECT_TRUE(0 <= a && a < b && b < count) << count;
        EXPECT_TRUE(here.insert(a).second && here.insert(b).second) << count;
        EXPECT_TRUE(met.insert({a, b}).second) << count;
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(count * (count - 1) / 2)) << count;
    EXPECT_LE(disjoint_rounds(count).size(), static_cast<std::size_t>(std::max(1, count)));
  }
}

TEST(P2pLadder, SaysWhatItMeasuredAndWhatIsMissing) {
  LadderRun good("2x4090-old-driver", "devices mode=no_nccl");
  const auto answer = good.climb();
  ASSERT_TRUE(answer);
  const P2pPairFacts& pair = answer->verdict.pairs[0].facts;
  EXPECT_EQ(pair.round_trip_seconds, 2.5e-6);
  EXPECT_EQ(pair.copy_bytes_per_second, 2.1e10);
  EXPECT_THAT(answer->verdict.pairs[0].evidence, Contains(HasSubstr("takes 2.5 us")));
  EXPECT_THAT(answer->verdict.hints, Contains(HasSubstr("libnccl.so.2")));
  LadderRun hidden("2x4090-old-driver", "devices mode=one_device");
  const auto open = hidden.climb();
  ASSERT_TRUE(open);
  EXPECT_THAT(open->verdict.hints, Contains(HasSubstr("CUDA shows 1 of these 2 GPUs")));
}

TEST(P2pLadder, ARecommendationThatIsNotProvedIsWithdrawn) {
  for (const char* fault : {"nccl mode=no_log with=NCCL_P2P_DISABLE", "nccl mode=ok"}) {
    LadderRun ladder("2x4090-old-driver", std::string("copy mode=zeros\n") + fault);
    const auto answer = ladder.climb();
    ASSERT_TRUE(answer);
    EXPECT_EQ(p2p_class_name(answer->verdict.verdict), "BROKEN");
    const bool proved = std::string(fault) == "nccl mode=ok";
    EXPECT_EQ(answer->verdict.env.empty(), !proved) << fault;
    EXPECT_THAT(answer->verdict.proof,
                HasSubstr(proved ? "its log shows SHM" : "does not show the change"));
  }
}

TEST(P2pLadder, WhatStopsItBeforeItStarts) {
  struct Case {
    const char* faults;
    ErrorKind kind;
    const char* says;
  };
  const Case cases[] = {
      {"devices mode=old_driver", ErrorKind::unsupported, "too old"},
      {"devices mode=little_memory", ErrorKind::exhausted, "GPU 0 has 286.1 MiB of memory free"}};
  for (const Case& given : cases) {
    LadderRun ladder("2x4090-old-driver", given.faults);
    const auto answer = ladder.climb();
    ASSERT_FALSE(answer) << given.faults;
    EXPECT_EQ(answer.error().kind, given.kind);
    EXPECT_THAT(answer.error().what, HasSubstr(given.says));
    EXPECT_EQ(ladder.steps("nccl"), 0);
  }
}

TEST(P2pLadder, AGpuInUseIsLeftAlone) {
  for (const bool force : {false, true}) {
    LadderRun ladder("2x3090-busy", "");
    LadderOptions options;
    options.force = force;
    const auto answer = ladder.climb(options);
    EXPECT_EQ(answer.ok(), force);
    if (!answer) {
      EXPECT_THAT(answer.error().what, HasSubstr("GPU 1 is in use by process 4321"));
    }
  }
}

// Another container's work has no process here. With --force it is no sign of a wedge either.
TEST(P2pLadder, WorkOfAnotherContainerIsNoWedge) {
  for (const bool force : {false, true}) {
    LadderRun ladder("2x4090-old-driver", "copy mode=zeros");
    ladder.set("OCRTUNE_FAKE_BUSY", "1");
    LadderOptions options;
    options.force = force;
    const auto answer = ladder.climb(options);
    ASSERT_EQ(answer.ok(), force);
    if (!answer) {
      EXPECT_THAT(answer.error().what, HasSubstr("GPU 0 is 97 % busy with no process in sight"));
    } else {
      EXPECT_EQ(p2p_class_name(answer->verdict.verdict), "BROKEN");
    }
  }
}

TEST(P2pLadder, SoakRunsOnlyOverLinksThatHold) {
  for (const bool broken : {false, true}) {
    LadderRun ladder("2x3090-bridge", broken ? "copy mode=zeros" : "soak mode=hang");
    LadderOptions options;
    options.soak_seconds = 0.2;
    options.deadline_seconds = broken ? 20 : 1.5;
    const auto answer = ladder.climb(options);
    ASSERT_TRUE(answer);
    EXPECT_EQ(ladder.steps("soak"), broken ? 0 : 1);
    EXPECT_EQ(p2p_class_name(answer->verdict.verdict), broken ? "BROKEN" : "FLAKY");
  }
}

TEST(StepProtocol, FindingsSurviveNoiseAndHalfLines) {
  GpuFinding one;
  one.what = "copy";
  one.outcome = "wrong_data";
  one.from = 1;
  one.detail = "bad \xff byte";
  one.figures["bytes_per_second"] = 1.5e9;
  const std::string line = gpu_finding_line(one);
  const auto found = find_gpu_findings("noise" + line + "{\"ocrtune_gpu_finding\":3}\n" + line +
                                       line.substr(0, line.size() - 5));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].from, 1);
  EXPECT_EQ(found[1].figure("bytes_per_second"), 1.5e9);
  EXPECT_TRUE(find_gpu_findings("").empty());
}

// A launch that waits for its kernel would let every handshake fail.
TEST(StepProtocol, LaunchesNeverWaitForTheirKernels) {
  LadderRun ladder("2x4090-old-driver", "handshake with=CUDA_LAUNCH_BLOCKING mode=fail");
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  const auto answer = ladder.climb();
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
  ASSERT_TRUE(answer);
  EXPECT_EQ(p2p_class_name(answer->verdict.verdict), "P2P_OK");
}

TEST(StepProtocol, OnlySettingsOfTheMachineReachIt) {
  GpuStep step;
  step.kind = "nccl";
  step.devices = {"GPU-a", "GPU-b"};
  step.environment = {{"NCCL_P2P_DISABLE", "1"}};
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : step_environment(step, "/x")) variables[name] = value;
  EXPECT_EQ(variables["CUDA_VISIBLE_DEVICES"], "GPU-a,GPU-b");
  EXPECT_EQ(variables["NCCL_P2P_DISABLE"], "1");
  EXPECT_EQ(variables["NCCL_RUNTIME_CONNECT"], "0");
}

}  // namespace
}  // namespace ocrtune
