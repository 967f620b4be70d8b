// Training on the own core under `ocrtune run`, its processes killed at random moments: one that
// trains alone with loader workers, and two ranks that exchange gradients.
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "base/process_tree.h"
#include "base/random.h"
#include "base/text.h"
#include "core/graph/checkpoint.h"

namespace ocrtune {
namespace {

constexpr int kSaveEvery = 2;

class Kills : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("kills");
    Process draw = start({"make-data", folder_ + "/lines", "--count", "24", "--max-length", "2"});
    const auto& exit = draw.wait(60);
    if (!exit || !exit->clean()) FAIL() << draw.output().contents();
  }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  static Process start(const std::vector<std::string>& arguments) {
    ProcessOptions options;
    options.arguments = {OCRTUNE_BINARY};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    return std::move(Process::start(options)).value();
  }

  // The supervised training of `name`, not yet waited for.
  Process train(const std::string& name) const {
    const std::string checkpoint = folder_ + "/" + name + ".ckpt";
    if (exchange_) {
      return start({"run", "--run-dir", folder_ + "/" + name, "--pause", "0.001s", "--tries", "40",
                    "--checkpoint", checkpoint, "--resume-arg=--resume", "--",
                    OCRTUNE_EXCHANGE_WORKER, checkpoint, std::to_string(steps_)});
    }
    return start({"run",
                  "--run-dir",
                  folder_ + "/" + name,
                  "--pause",
                  "0.001s",
                  "--tries",
                  "40",
                  "--checkpoint",
                  checkpoint,
                  "--resume-arg",
                  "--resume auto",
                  "--",
                  OCRTUNE_BINARY,
                  "train",
                  folder_ + "/lines",
                  "--batch",
                  "2",
                  "--width",
                  "32",
                  "--threads",
                  "1",
                  "--workers",
                  "1",
                  "--report-every",
                  "1",
                  "--steps",
                  std::to_string(steps_),
                  "--save-every",
                  std::to_string(kSaveEvery),
                  "--checkpoint",
                  checkpoint});
  }

  // step -> loss as printed; a step that two attempts reached must have the same loss in both.
  std::map<int, std::string> losses(const std::string& name) const {
    std::map<int, std::string> all;
    int last = 0;
    for (int attempt = 1;; ++attempt) {
      const auto log =
          read_file(folder_ + "/" + name + "/attempt-" + std::to_string(attempt) + ".log");
      if (!log) break;
      int first = 0, step = 0;
      for (const std::string& line : split(*log, '\n')) {
        char loss[32];
        if (std::sscanf(line.c_str(), "step %d loss %31s", &step, loss) != 2) continue;
        if (first == 0) first = step;
        EXPECT_EQ(all.emplace(step, loss).first->second, loss) << "step " << step;
      }
      if (first == 0) continue;
      EXPECT_GT(first + kSaveEvery, last) << "lost more than what came after the last checkpoint";
      last = step;
    }
    return all;
  }

  // Processes of this training: launcher, trainers and loader workers, not the supervisor.
  std::vector<int> victims(const std::string& name, int supervisor) const {
    std::vector<int> pids;
    for (const ProcessFacts& process : all_processes()) {
      const auto line = read_file("/proc/" + std::to_string(process.pid) + "/cmdline").value_or("");
      const bool guard = line.find("--run-dir") != std::string::npos;  // the supervisor's own
      if (process.pid != supervisor && !guard &&
          line.find(folder_ + "/" + name + ".ckpt") != std::string::npos) {
        pids.push_back(process.pid);
      }
    }
    return pids;
  }

  void through_kills(int kills) {
    steps_ = 40 * kills;
    Process calm = train("calm");
    ASSERT_TRUE(calm.wait(100));
    Process wild = train("wild");
    Random random(11);
    int killed = 0;
    while (killed < kills && !wild.poll_exit()) {
      wild.wait(0.15 + 0.5 * random.uniform());
      const auto pids = victims("wild", wild.pid());
      if (pids.empty()) continue;
      ::kill(pids[static_cast<std::size_t>(random.integer(0, static_cast<int>(pids.size()) - 1))],
             SIGKILL);
      killed += 1;
    }
    const auto& exit = wild.wait(200);
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, 0) << wild.output().tail(20);
    EXPECT_EQ(killed, kills) << "it ended before all kills: make it longer";
    const auto undisturbed = losses("calm");
    EXPECT_EQ(undisturbed.size(), static_cast<std::size_t>(steps_));
    EXPECT_EQ(losses("wild"), undisturbed);
    EXPECT_TRUE(victims("wild", wild.pid()).empty()) << "left over";
    RecordProperty("kills", killed);
  }

  std::string folder_;
  int steps_ = 0;
  bool exchange_ = false;
};

using PlainKills = Kills;
using SlowKills = Kills;

TEST_F(PlainKills, RanksThatExchangeGradientsToo) {
  exchange_ = true;
  through_kills(2);
}
TEST_F(SlowKills, RanksThatExchangeGradientsTwentyTimes) {
  exchange_ = true;
  through_kills(20);
}
TEST_F(PlainKills, TheLossCurveIsTheUndisturbedOne) { through_kills(2); }
TEST_F(SlowKills, TwentyTimes) { through_kills(20); }

}  // namespace
}  // namespace ocrtune
