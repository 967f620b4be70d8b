// `ocrtune tune ... -- CMD` as a user types it: a client of a few shell lines, and the mistakes
// that are found before anything is started.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "cli/hosts_door.h"
#include "tests/support/answered.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class TuneOwnCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("own_command");
    db_ = join_path(folder_, "runs.sqlite");
    // Prints the rate of one rank: the batch times a hundred, divided by the ranks. It holds its
    // batch, as a batch that costs nothing is none.
    write("client.sh",
          "#!/bin/sh\nheld=$(head -c ${2:-1}000000 /dev/zero | tr '\\0' x)\n"
          "while :; do echo \"step 1 speed: $(($2 * 100 / $1)) lines/s\"; sleep 0.02; done\n");
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(join_path(folder_, name), text));
  }

  Ran run(const std::string& arguments) const {
    return ocrtune("tune --db " + db_ + " --trial-time 200ms --cwd " + folder_ + " " + arguments);
  }

  static Ran ocrtune(const std::string& arguments) {
    return run_line(OCRTUNE_BINARY + " " + arguments);
  }

  // What a terminal of this kind gets to see.
  std::string on_terminal(const std::string& term, const std::string& arguments) const {
    const std::string line =
        OCRTUNE_BINARY + " tune --db " + db_ + " --cwd " + folder_ + " " + arguments;
    struct winsize size {
      24, 100, 0, 0
    };
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
    if (child == 0) {
      ::setenv("TERM", term.c_str(), 1);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    std::string seen;
    char block[4096];
    for (ssize_t got = 0; (got = ::read(terminal, block, sizeof block)) > 0;) {
      seen.append(block, static_cast<std::size_t>(got));
    }
    ::close(terminal);
    int status = 0;
    ::waitpid(child, &status, 0);
    return seen;
  }

  // One line on stderr, exit code 2 or 3, before any trial.
  void expect_refused(const std::string& arguments, const std::string& words, int code = 2) const {
    const Ran ran = run(arguments + " 2>&1");
    EXPECT_EQ(ran.code, code) << arguments << "\n" << ran.out;
    EXPECT_THAT(ran.out, HasSubstr(words)) << arguments;
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << ran.out;
  }

  std::string folder_, db_;
};

constexpr const char* kClient = " -- sh client.sh {nproc} {batch}";

TEST_F(TuneOwnCommand, FindsTheLargestBatchByAMetricOfItsOwn) {
  const Ran ran =
      run("--nproc 1,2 --batch 2,4 --metric speed --metric-of rank --budget 20s --json "
          "--baseline 'nproc=1 batch=2 threads=1' 2>/dev/null" +
          std::string(kClient));
  ASSERT_TRUE(answered(ran.code, ran.out)) << ran.out;
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.out;
  EXPECT_EQ(json["recommendation"]["knobs"]["batch"], 4);
  // This rate is the same however long the client waits for a CPU; trials beside other load, whose
  // rates are put right for that wait, say nothing of it.
  const auto holds = [&](const nlohmann::json& interval, double truth) {
    if (json["verdict"] == "inconclusive") return;
    EXPECT_LT(interval["low"].get<double>(), 1.1 * truth) << interval;
    EXPECT_GT(interval["high"].get<double>(), 0.9 * truth) << interval;
  };
  holds(json["recommendation"]["samples_per_second"], 400);
  holds(json["gain"], 2);
  EXPECT_THAT(json["recommendation"]["command"].get<std::string>(), HasSubstr("sh client.sh"));
}

TEST_F(TuneOwnCommand, TimesWholeRunsOfACommandThatEnds) {
  const std::string line = "--log-reader runs:3 --threads 1,2 --budget 4s --json ";
  const Ran ran = run(line + "2>/dev/null -- sh -c 'sleep 0.05'");
  ASSERT_TRUE(answered(ran.code, ran.out)) << ran.out;
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.out;
  EXPECT_GT(json["recommendation"]["samples_per_second"]["median"].get<double>(), 0);
  EXPECT_THAT(json["recommendation"]["command"].get<std::string>(),
              HasSubstr("sh -c 'sleep 0.05'"));
  const Ran failed =
      run("--log-reader runs --threads 1 --budget 4s 2>&1 -- "
          "sh -c 'test ! -e once || exit 7; sleep 0.05; echo its own words; touch once'");
  EXPECT_EQ(failed.code, 1) << failed.out;
  EXPECT_THAT(failed.out, HasSubstr("exit code 7"));
  EXPECT_THAT(failed.out, HasSubstr("printed:\nits own words\n"));
  EXPECT_THAT(failed.out, Not(HasSubstr("once more")));
  expect_refused("--log-reader runs:all -- sh -c true", "runs:200");
}

// An interpreter that finds Paddle is played by a script: whether Paddle trains is not asked here.
TEST_F(TuneOwnCommand, TheEngineInPaddleIsACommandOfItsLauncher) {
  write("python3", "#!/bin/sh\necho 'ocrtune: paddle 3.2.2'\n");
  const std::string make = "cd " + folder_ + " && chmod +x python3 && PATH=" + folder_ + ":$PATH ";
  const std::string tune =
      OCRTUNE_BINARY + " tune --db " + db_ + " --model crnn-mv3 --width 100 --engine paddle ";
  const Ran ran = run_line(make + tune + "--nproc 1,2 --batch 8 --dry-run 2>/dev/null");
  ASSERT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("OMP_NUM_THREADS=1"));
  EXPECT_THAT(ran.out, HasSubstr("-m paddle.distributed.launch --nproc_per_node=2"));
  EXPECT_THAT(ran.out, HasSubstr("crnn-mv3.json --height=32 --width=100 --batch=8"));
  const auto refused = [&](const std::string& rest, const char* why) {
    const Ran no = run_line(make + tune + rest + " 2>&1");
    EXPECT_NE(no.code, 0);
    EXPECT_THAT(no.out, HasSubstr(why));
  };
  refused("-- sh client.sh", "leave a command of yours out");
  refused("--mode infer", "a framework reads with --model FILE.onnx");
  refused("--heights 32,48", "--heights is for the built-in engine");
  refused("--preset paddleocr", "leave --preset out");
  refused("--log-reader torch", "leave --log-reader out");
  refused("--precision bf16", "leave --precision out");
  refused("--hosts a,b", hosts_door() == nullptr ? "no option --hosts" : "leave --hosts out");
  write("python3", "#!/bin/sh\necho 'ocrtune: why libgomp.so.1: cannot open shared object file'\n");
  refused("--dry-run", "cannot import paddle");
}

TEST_F(TuneOwnCommand, DryRunPrintsEveryCommandAndTheCost) {
  const Ran ran =
      run("--nproc 1,2 --batch 2 --threads 3 --metric speed --env 'MODE=b{batch}' "
          "--setup 'mkdir {trial_dir}/x' --setup 'true' --cleanup 'rmdir {trial_dir}/x' "
          "--dry-run 2>/dev/null" +
          std::string(kClient));
  ASSERT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("the budget of"));
  EXPECT_THAT(ran.out, HasSubstr("nproc=1 threads=3 batch=2 (baseline)\n"));
  EXPECT_THAT(ran.out, HasSubstr("GOMAXPROCS=3 MODE=b2 sh client.sh 2 2\n"));
  EXPECT_THAT(ran.out, HasSubstr("mkdir '<trial_dir>/x'\n  true\n"));
  EXPECT_FALSE(path_exists(db_));
}

// What is tried instead does not change what runs today.
TEST_F(TuneOwnCommand, ABaselineThatIsNamedHoldsBesideAPinnedKnob) {
  const std::string command = " --metric speed --dry-run 2>/dev/null" + std::string(kClient);
  const Ran ran = run("--nproc 1,2 --threads 1,2 --batch 4 --baseline 'nproc=1,batch=2'" + command);
  EXPECT_THAT(ran.out, HasSubstr("nproc=1 threads=1 batch=2 (baseline)\n"));
  EXPECT_THAT(run("--nproc 2 --batch 4 --baseline batch=2" + command).out,
              HasSubstr("nproc=2 batch=2 (baseline)\n"));
}

TEST_F(TuneOwnCommand, WhatIsNeverToldABatchIsShownWithoutOne) {
  const std::string line = "--nproc 1,2 --metric speed --dry-run ";
  const std::string command = "2>/dev/null -- sh client.sh {nproc} 8";
  EXPECT_THAT(run(line + command).out, Not(HasSubstr("batch=")));
  EXPECT_THAT(run(line + "--baseline 'nproc=2' " + command).out, Not(HasSubstr("batch=")));
  EXPECT_THAT(run(line + "--baseline 'nproc=2 batch=8' " + command).out, HasSubstr("batch=8"));
  EXPECT_THAT(run(line + "2>/dev/null -- sh client.sh {nproc} {batch}").out, HasSubstr("batch="));
}

TEST_F(TuneOwnCommand, ALearningRateIsToBeScaledWhereTheRecipeIsFree) {
  const std::string line = "--metric speed --nproc 1 --dry-run ";
  const std::string command = "2>&1 -- sh client.sh 1 {batch}";
  EXPECT_THAT(run(line + "--batch 2,4 " + command).out,
              HasSubstr("scale it with the global batch"));
  EXPECT_THAT(run(line + "--baseline batch=2 " + command).out,
              Not(HasSubstr("scale it with the global batch")));
}

// torchrun's flags tell the processes, and nothing tells the batch that a script has by itself.
TEST_F(TuneOwnCommand, NoBatchIsCalledTheUsersThatNobodyNamed) {
  write("torchrun", "#!/bin/sh\nexit 0\n");
  const std::string command =
      " --log-reader progress --dry-run 2>&1 -- " + folder_ + "/torchrun client.sh --batch {batch}";
  ASSERT_EQ(run_line("chmod +x " + folder_ + "/torchrun").code, 0);
  const Ran listed = run("--preset torchrun --nproc 1,2 --batch 8,32" + command);
  ASSERT_EQ(listed.code, 0) << listed.out;
  EXPECT_THAT(listed.out, HasSubstr("batch=8 (the first value"));
  EXPECT_THAT(listed.out, Not(HasSubstr("batch=16")));
  const Ran one = run("--preset torchrun --nproc 1,2 --batch 32" + command);
  EXPECT_THAT(one.out, HasSubstr("batch=32 (read from the command"));
}

// The faster mode reads an O as an o.
TEST_F(TuneOwnCommand, AFasterSettingThatReadsOtherwiseIsNotRecommended) {
  write(
      "read.sh",
      "for i in 1 2 3 4 5 6; do [ $1 = fast ] && echo \"$i.png: order $i\" || echo \"$i.png: Order "
      "$i\"; done; [ $1 = fast ] || sleep 0.2\n");
  const Ran ran =
      run("--budget 15s --soak 0s --log-reader runs:6 --dim mode=exact,fast --json "
          "--answers 'regex:(?<input>[0-9].png): (?<text>.*)' 2>/dev/null -- sh read.sh {mode}");
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.out;
  EXPECT_EQ(json["recommendation"]["knobs"]["dims"]["mode"], "exact");
  EXPECT_EQ(json["text"]["claim"], "same");
  const auto& other = json["text"]["other"];
  ASSERT_TRUE(other.is_object()) << ran.out;
  EXPECT_EQ(other["knobs"]["dims"]["mode"], "fast");
  EXPECT_EQ(other["differing_inputs"], 6);
  EXPECT_EQ(other["examples"][0]["expected"].get<std::string>().substr(0, 1), "O");
}

// A page's name and its text stand on lines apart, and one process prints them, as --nproc says.
TEST_F(TuneOwnCommand, OneProcessNamesItsInputsOnLinesOfTheirOwn) {
  write("read.sh",
        "while :; do for i in 1 2 3 4 5 6; do echo \"page $i.png\"; echo \"text $1 $i\"; "
        "echo 'speed 60'; sleep 0.02; done; done\n");
  const Ran ran =
      run("--budget 10s --soak 0s --nproc 1 --metric speed --dim mode=Order,order --json "
          "--answers 'regex:page (?<input>.*)' --answers 'regex:text (?<text>.*)' 2>/dev/null -- "
          "sh read.sh {mode}");
  const auto json = nlohmann::json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << ran.out;
  EXPECT_EQ(json["recommendation"]["knobs"]["dims"]["mode"], "Order");
  EXPECT_GE(json["outcomes"].value("wrong_result", 0), 1) << ran.out;
}

TEST_F(TuneOwnCommand, TakesADimensionOfItsOwnEvenIfOursHasTheName) {
  const Ran ran =
      run("--dim backend=tch,ndarray --batch 2 --metric speed --dry-run 2>/dev/null -- "
          "sh client.sh 1 {batch} {backend}");
  ASSERT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("sh client.sh 1 2 ndarray"));
  expect_refused("--dim backend=tch,ndarray", "that is a knob", 2);
}

TEST_F(TuneOwnCommand, RefusesMistakesBeforeAnyTrial) {
  const std::string client = "--nproc 1,2 --metric speed";
  expect_refused(client + " -- sh client.sh {nprocs} {nproc}", "unknown placeholder {nprocs}");
  expect_refused(client + " -- no-such-program {nproc}", "'no-such-program' is not in PATH", 3);
  expect_refused(client + " -- ./gone.sh {nproc}", "gone.sh", 3);
  expect_refused(client + " -- sh client.sh", "the command ignores nproc");
  expect_refused("--metric speed:furlongs" + std::string(kClient), "not a unit of speed");
  expect_refused("--metric speed --log-reader torch" + std::string(kClient),
                 "leave one of the two");
  expect_refused("--hosts a,b --log-reader steps" + std::string(kClient),
                 hosts_door() == nullptr ? "no option --hosts" : "of one host");
  expect_refused("--log-reader torhc" + std::string(kClient), "did you mean 'torch'");
  expect_refused(client + " --env =x" + std::string(kClient), "--env =x: needs NAME or NAME=VALUE");
  expect_refused(client + " --env OCRTUNE_NOT_SET" + std::string(kClient),
                 "OCRTUNE_NOT_SET is not in the environment", 3);
  expect_refused(client + " --setup 'no-such-setup'" + std::string(kClient), "no-such-setup", 3);
  expect_refused("--metric speed", "--metric is for a command of your own");
  folder_ += "/no/such/folder";
  expect_refused(client + std::string(kClient), "/no/such/folder", 3);
  folder_ = parent_path(parent_path(parent_path(folder_)));
}

// A launcher takes seconds to print its help: asked for an offered flag, for the log reader and by
// each stage of the run, it would be asked for a minute.
TEST_F(TuneOwnCommand, ThePresetLooksAtTheCommandOnce) {
  ASSERT_TRUE(make_directories(join_path(folder_, "ocrtune/presets")));
  write("ocrtune/presets/flavoured.toml",
        "help = \"a client that has flavours\"\nbehind = [\"flavoured.sh\"]\n[knobs.flavour]\n"
        "flags = { \"--flavour\" = \"{flavour}\" }\nvalues = [\"mild\", \"hot\"]\n"
        "needs = [\"help\"]\n[knobs.sauce]\nflags = { \"--sauce\" = \"{sauce}\" }\n"
        "values = [\"none\", \"red\"]\nneeds = [\"help\"]\n");
  write("flavoured.sh",
        "case \"$*\" in *--help*) echo asked >> asked; echo ' --flavour F'; exit;; esac\n"
        "while :; do echo 'step 1 speed: 100 lines/s'; sleep 0.02; done\n");
  const Ran ran = run_line("XDG_CONFIG_HOME=" + folder_ + " " + OCRTUNE_BINARY + " tune --db " +
                           db_ + " --trial-time 200ms --cwd " + folder_ +
                           " --budget 3s --json --preset flavoured -- sh flavoured.sh page 2>&1");
  EXPECT_EQ(read_file(join_path(folder_, "asked")).value_or(""), "asked\nasked\n")
      << "once for each flag\n"
      << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("\"flavour\": \"hot\"")) << "what it offers is tried";
}

TEST_F(TuneOwnCommand, FindsByItselfHowTheCommandTellsItsSpeed) {
  write(
      "ranks.sh",
      "#!/bin/sh\nfor i in $(seq $1); do LOCAL_RANK=$((i - 1)) sh client.sh $1 $2 & done; wait\n");
  const Ran ran =
      run("--nproc 1,2 --budget 6s --json 2>&1 1>/dev/null -- sh ranks.sh {nproc} {batch}");
  EXPECT_THAT(ran.out, HasSubstr("lines/s' as samples/s of each rank (--log-reader torch)"));
  EXPECT_THAT(ran.out, HasSubstr("it is that of all ranks"));
  EXPECT_THAT(ocrtune("show --json --db " + db_).out, HasSubstr("\"ok\""));
  const Ran told =
      run("--nproc 1,2 --budget 6s --metric-of job --json 2>&1 1>/dev/null -- "
          "sh ranks.sh {nproc} {batch}");
  EXPECT_THAT(told.out, HasSubstr("as samples/s of the job (--log-reader torch --metric-of job)"));
  EXPECT_THAT(told.out, Not(HasSubstr("nothing in its lines shows"))) << "it was told";
}

// Ranks that share the batch they are given take as many steps to an epoch as one process would.
TEST_F(TuneOwnCommand, ABatchThatRanksShareCountsOnce) {
  write("ranks.sh",
        "#!/bin/sh\nfor i in $(seq 2 $1); do LOCAL_RANK=$((i - 1)) sleep 1000 & done\n"
        "LOCAL_RANK=0 exec sh rank.sh $1 $2\n");
  write("rank.sh",
        "n=$((256 / $2)); while :; do for s in $(seq $n); do echo \"step $s/$n loss 2\"; "
        "sleep 0.1; done; done\n");
  const std::string line =
      "--nproc 1,2 --batch 4,8 --budget 6s 2>&1 -- sh ranks.sh {nproc} {batch}";
  EXPECT_THAT(run(line).out, AllOf(HasSubstr("a count of steps"), HasSubstr("--metric-of job)")));
  write("rank.sh",
        "n=$((256 / $2 / $1)); while :; do for s in $(seq $n); do echo \"step $s/$n loss 2\"; "
        "sleep 0.1; done; done\n");
  EXPECT_THAT(run(line).out, HasSubstr(": --metric-of job where they share one"));
}

// Workers of its own, counted where they are started: twice as many make twice the rate, not four
// times.
TEST_F(TuneOwnCommand, WhatAProgramSaysOfItsOwnProcessesIsTheJobs) {
  write("pool.sh",
        "#!/bin/sh\nfor i in $(seq $1); do sleep 1000 & done\n"
        "n=0\nwhile :; do n=$((n + $1)); echo \"pages $n, $((50 * $1)).0 pages/s\"; sleep 0.02; "
        "done\n");
  const Ran ran = run("--nproc 1,2 --budget 6s --json 2>&1 1>/dev/null -- sh pool.sh {nproc}");
  EXPECT_THAT(ran.out, HasSubstr("as samples/s of the job (--log-reader torch --metric-of job)"));
  const auto shown = nlohmann::json::parse(ocrtune("show --json --db " + db_).out);
  EXPECT_LE(shown["gain"]["low"], 2.1) << shown["answer"];
  EXPECT_GE(shown["gain"]["high"], 1.9) << shown["answer"];
}

// As many steps by any batch: runs of a small one are short, and no faster.
TEST_F(TuneOwnCommand, ATrainingThatEndsAfterItsStepsIsNotTimedByRuns) {
  write("short.sh", "for i in 1 2 3 4; do echo \"iteration $i, loss 2\"; sleep 0.1; done\n");
  expect_refused("--batch 2,4 -- sh short.sh {batch}", "take more samples");
  const Ran ran = run("--budget 4s --json 2>&1 1>/dev/null -- sh short.sh");
  EXPECT_THAT(ran.out, HasSubstr("timed whole runs"));
}

TEST_F(TuneOwnCommand, ACommandWithoutASpeedIsRefusedWithALineAndAWayOut) {
  write("mute.sh", "#!/bin/sh\ni=0\nwhile :; do i=$((i+7)); echo \"loss 0.$i\"; sleep 0.2; done\n");
  const Ran mute = run("2>&1 -- sh mute.sh");
  EXPECT_EQ(mute.code, 2) << mute.out;
  EXPECT_THAT(mute.out, HasSubstr("holds a speed, such as 'loss 0."));
  write("slow.sh", "#!/bin/sh\nwhile :; do echo \"page.png 3.58 s\"; sleep 0.4; done\n");
  const Ran slow = run("2>&1 -- sh slow.sh");
  EXPECT_EQ(slow.code, 2) << slow.out;
  EXPECT_THAT(slow.out, HasSubstr("--metric s:s/image"));
}

TEST_F(TuneOwnCommand, ACommandThatDoesNotStartIsRefusedInItsOwnWords) {
  write("broken.sh", "#!/bin/sh\necho broken: no such option >&2\nexit 2\n");
  expect_refused("-- sh broken.sh", "broken: no such option", 3);
  write("leaves.sh", "#!/bin/sh\nsleep 60 &\necho started\n");
  expect_refused("-- sh leaves.sh", "in the background", 3);
}

TEST_F(TuneOwnCommand, ACommandThatDiesAtItsStartIsHelped) {
  write("dies.sh",
        "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'pyclipper'\"; exit 1\n");
  const Ran tuned = run("2>&1 -- sh dies.sh");
  EXPECT_THAT(tuned.out, HasSubstr("What may help: pip install pyclipper"));
  const Ran looked = ocrtune("doctor --cwd " + folder_ + " -- sh dies.sh");
  EXPECT_THAT(looked.out, HasSubstr("What may help: pip install pyclipper"));
  write("ill.sh", "#!/bin/sh\necho started\nkill -ILL $$\n");
  const Ran killed = ocrtune("doctor --cwd " + folder_ + " -- sh ill.sh");
  EXPECT_THAT(killed.out, HasSubstr("What may help: "));
}

TEST_F(TuneOwnCommand, RefusesAPresetWhoseConfigIsNotOne) {
  const auto launch = [](const std::string& config) {
    return "--preset paddleocr -- sh -m paddle.distributed.launch train.py -c " + config;
  };
  expect_refused(launch("gone.yml"), "gone.yml", 3);
  write("broken.yml", "Global: [1, 2\nTrain: }\n");
  expect_refused(launch("broken.yml"), "not YAML", 3);
  write("other.yml", "jobs: 3\n");
  expect_refused(launch("other.yml"), "no Train.loader", 3);
  expect_refused("--preset paddleocr -- sh train.sh", "needs -c CONFIG.yml");
  expect_refused("--preset paddel -- sh train.sh -c other.yml", "no preset 'paddel'");
}

TEST_F(TuneOwnCommand, ShowsTheEndOfTheLogWhereNoNumberAppears) {
  write("silent.sh", "printf 'loading \\377\\376\\nno such data\\n' >&2; exit 0\n");
  const Ran ran =
      run("--nproc 1,2 --batch 1,2 --metric speed --budget 30s 2>&1 -- sh silent.sh "
          "{nproc} {batch}");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("settings failed in the same way"));
  EXPECT_THAT(ran.out, HasSubstr("log reader 'metric'"));
  EXPECT_THAT(ran.out, HasSubstr("no such data"));
  EXPECT_THAT(ran.out, Not(HasSubstr("\xff"))) << "bytes that are not UTF-8 are replaced";
}

TEST_F(TuneOwnCommand, ProgressAsJsonIsOneObjectATrial) {
  const Ran ran =
      run("--nproc 1 --batch 2,4 --metric speed --budget 6s --progress json 2>&1 >/dev/null" +
          std::string(kClient));
  int trials = 0;
  for (const std::string& line : split(ran.out, '\n')) {
    if (line.empty() || line[0] != '{') continue;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    EXPECT_EQ(json["trial"], ++trials);
    EXPECT_TRUE(json["knobs"].is_object());
  }
  EXPECT_GE(trials, 2) << ran.out;
  EXPECT_THAT(ran.out, Not(HasSubstr("\ntrial ")));
  expect_refused("--progress xml -- sh client.sh {batch}", "--progress");
}

// The time left goes down while a trial runs; where nothing can be drawn anew a trial is a line.
TEST_F(TuneOwnCommand, ProgressTicksOnATerminalAndIsPlainOnADumbOne) {
  const std::string arguments =
      "--nproc 1 --batch 4 --metric speed --trial-time 3s --budget 13s" + std::string(kClient);
  const std::string drawn = on_terminal("xterm", arguments);
  std::set<std::string> lines;
  for (const std::string& part : split(drawn, '\r')) {
    const std::size_t at = part.find("trial 1 [");
    if (at != std::string::npos) lines.insert(part.substr(at, part.find(" left", at) - at));
  }
  EXPECT_GE(lines.size(), 2U) << drawn;
  const std::string plain = on_terminal("dumb", arguments);
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(plain, Not(HasSubstr("trial 1 [")));
  EXPECT_THAT(plain, HasSubstr("trial 1: nproc=1 "));
}

TEST_F(TuneOwnCommand, WaitsForAQuietMachineAndSaysWhoKeepsItBusy) {
  const std::string line = "sh -c 'while :; do :; done' & busy=$!; " + OCRTUNE_BINARY +
                           " tune --db " + db_ + " --metric speed --wait-quiet 1s -- sh " +
                           folder_ + "/client.sh 1 {batch} 2>&1; code=$?; kill $busy; exit $code";
  const auto [code, out] = run_line(line);
  EXPECT_EQ(code, 1) << out;
  EXPECT_THAT(out, HasSubstr("did not become quiet in "));
  EXPECT_THAT(out, HasSubstr("; nothing was measured"));
  EXPECT_THAT(out, Not(HasSubstr("verdict")));
  expect_refused("--wait-quiet soon -- sh client.sh 1 {batch}", "--wait-quiet");
}

}  // namespace
}  // namespace ocrtune
