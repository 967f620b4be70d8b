#include "trial/workloads/command/command_runner.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/orphan_guard.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "probes/host/allocators.h"
#include "tests/support/limited_group.h"
#include "tests/support/memory_tree.h"
#include "tests/support/this_machine.h"
#include "trial/observe/pid_namespace.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/kept_folder.h"

namespace ocrtune {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;

CommandWorkload script(const std::string& text, std::vector<std::string> knobs = {"nproc"}) {
  CommandWorkload workload;
  workload.command = {"sh", "-c", text, "client", "{nproc}", "{batch}"};
  workload.log_reader = "torch";
  workload.knobs = std::move(knobs);
  workload.stop_grace_seconds = 0.3;
  return workload;
}

const char* kTrain = "while :; do echo \"loss 1.5 80.0 samples/s\"; sleep 0.05; done";

SilenceRule impatient() {
  SilenceRule silence;
  silence.min_seconds = silence.start_seconds = 0.5;
  silence.busy_factor = 2;
  return silence;
}

int count_survivors() {
  int found = 0;
  for (const ProcessFacts& process : all_processes()) {
    if (process.state == 'Z' || process.pid == ::getpid()) continue;
    const auto environment = read_file("/proc/" + std::to_string(process.pid) + "/environ");
    if (environment && environment->find(process_mark()) != std::string::npos) ++found;
  }
  return found;
}

Trial run(const CommandWorkload& workload, const Knobs& knobs = Knobs(), double max_seconds = 20,
          const SilenceRule& silence = SilenceRule()) {
  const auto prepared = prepare_command(workload, this_machine());
  EXPECT_TRUE(prepared.ok()) << prepared.error().what;
  if (!prepared) return Trial();
  TrialLimits limits;
  limits.measure_seconds = 0.3;
  limits.max_seconds = max_seconds;
  const Trial trial = make_command_runner(*prepared, this_machine(), silence)->run(knobs, limits);
  EXPECT_EQ(count_survivors(), 0);
  return trial;
}

// Also the first window of a program whose steps are long: it begins with the first line.
TEST(CommandRunner, NoWindowIsCleanThatNobodyWatched) {
  const Trial trial = run(script("while :; do echo '80.0 samples/s'; sleep 0.6; done"));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason << trial.log_tail;
  for (const Sample& sample : trial.samples) {
    if (!sample.clean()) continue;
    EXPECT_GT(sample.interference.observed_seconds, 0.5 * sample.seconds);
    EXPECT_GE(sample.interference.available_cpus, 1);
  }
  EXPECT_GT(trial.samples[0].interference.observed_seconds, 0.5);
}

TEST(CommandRunner, MeasuresAndMultipliesByTheRanks) {
  Knobs knobs;
  knobs.nproc = 3;
  const Trial trial = run(script(kTrain), knobs);
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason << trial.log_tail;
  ASSERT_GE(trial.samples.size(), 3u);
  EXPECT_NEAR(trial.samples[0].samples_per_second(), 240, 1) << "one rank's 80/s, three ranks";
  CommandWorkload whole = script(kTrain);
  whole.per_rank = false;
  const Trial job = run(whole, knobs);
  ASSERT_FALSE(job.samples.empty());
  EXPECT_NEAR(job.samples[0].samples_per_second(), 80, 1);
}

TEST(CommandRunner, PassesKnobsAndGivesAFreshFolder) {
  CommandWorkload workload = script(
      "test -z \"$(ls -A \"$3\")\" || exit 9; touch \"$3/used\"; "
      "test \"$OMP_NUM_THREADS $MODE $1 $2\" = '4 fast 2 64' || exit 8; " +
          std::string(kTrain),
      {"nproc", "batch", "threads", "mode"});
  workload.command.push_back("{trial_dir}");
  workload.environment = {{"MODE", "{mode}"}};
  Knobs knobs;
  knobs.nproc = 2;
  knobs.batch = 64;
  knobs.threads = 4;
  knobs.dims = {{"mode", "fast"}};
  EXPECT_EQ(run(workload, knobs).outcome, Outcome::ok);
  EXPECT_EQ(run(workload, knobs).outcome, Outcome::ok) << "the second trial's folder is fresh too";
}

// Batch 64 trains to "nan" here after its first steps, as a precision or batch too large does.
TEST(CommandRunner, ALossThatIsLostIsNoTrainingUnlessTheStartLosesItToo) {
  CommandWorkload workload = script(
      "loss=1.5; while :; do echo \"loss $loss 80.0 samples/s\"; sleep 0.05; "
      "test \"$2\" = 64 && loss=nan; done",
      {"nproc", "batch"});
  Knobs start, lost;
  lost.batch = 64;
  const auto trial_of = [&](const Knobs& present) {
    workload.present = present;
    return run(workload, lost);
  };
  const Trial other = trial_of(start);
  EXPECT_EQ(other.outcome, Outcome::wrong_result);
  EXPECT_EQ(other.cause, "loss");
  EXPECT_THAT(other.reason, HasSubstr("loss nan"));
  EXPECT_GT(other.samples_per_second, 0) << "its rate stays";
  EXPECT_EQ(trial_of(lost).outcome, Outcome::ok) << "the user's own start";
  workload.present = start;
  EXPECT_EQ(run(workload, start).outcome, Outcome::ok);
}

TEST(CommandRunner, LeavesThreadsAloneUnlessTurned) {
  ::setenv("OMP_NUM_THREADS", "7", 1);
  const Trial trial =
      run(script("test \"$OMP_NUM_THREADS\" = 7 || exit 8; " + std::string(kTrain)));
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(trial.outcome, Outcome::ok) << trial.reason;
}

TEST(CommandRunner, SetupAndCleanupAreRunEachTime) {
  const auto folder = make_temporary_directory("setup");
  ASSERT_TRUE(folder.ok());
  CommandWorkload workload = script("cat " + *folder + "/made || exit 8; " + kTrain);
  workload.setup = {"sh -c 'echo yes > " + *folder + "/made'"};
  workload.cleanup = {"rm " + *folder + "/made"};
  EXPECT_EQ(run(workload).outcome, Outcome::ok);
  EXPECT_FALSE(path_exists(*folder + "/made"));
  workload.setup = {"sh -c 'echo broken >&2; exit 4'"};
  workload.cleanup.clear();
  const Trial trial = run(workload);
  EXPECT_EQ(trial.outcome, Outcome::crashed);
  EXPECT_EQ(trial.cause, "setup");
  EXPECT_THAT(trial.reason, HasSubstr("broken"));
  EXPECT_TRUE(remove_tree(*folder).ok());
}

TEST(CommandRunner, FaultsHaveTheirOutcomes) {
  Trial trial =
      run(script("echo '80 samples/s'; echo '80 samples/s'; sleep 100"), Knobs(), 20, impatient());
  EXPECT_EQ(trial.outcome, Outcome::hung) << trial.reason;
  trial = run(script("echo starting; exit 3"));
  EXPECT_EQ(trial.outcome, Outcome::crashed);
  EXPECT_THAT(trial.reason, HasSubstr("exit code 3"));
  EXPECT_THAT(trial.log_tail, HasSubstr("starting"));
  trial = run(script("kill -SEGV $$"));
  EXPECT_EQ(trial.reason, "the command: killed by SIGSEGV");
  EXPECT_EQ(trial.cause, "segmentation_fault");
  trial = run(script("sh -c 'kill -SEGV $$'; exit $?"));
  EXPECT_THAT(trial.reason, HasSubstr("exit code 139 (a child was killed by SIGSEGV)"));
  trial = run(script("echo epoch done; exit 0"));
  EXPECT_EQ(trial.cause, "no_metric") << trial.reason;
  trial = run(script("while :; do echo no number here; sleep 0.05; done"), Knobs(), 1.0);
  EXPECT_EQ(trial.outcome, Outcome::timed_out);
  EXPECT_EQ(trial.cause, "no_metric");
  EXPECT_THAT(trial.reason, HasSubstr("log reader 'torch'"));
  EXPECT_EQ(trial.samples_per_second, 0);
  trial =
      run(script("echo '80 samples/s'; while :; do echo waiting; sleep 0.05; done"), Knobs(), 1.0);
  EXPECT_EQ(trial.outcome, Outcome::timed_out);
  EXPECT_NE(trial.cause, "no_metric");
  EXPECT_THAT(trial.reason, HasSubstr("1 line held a speed"));
  trial =
      run(script("echo 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB'; exit 1"));
  EXPECT_EQ(trial.outcome, Outcome::out_of_memory) << trial.cause << trial.reason;
}

// The log alone would blame memory; the kernel's counters, which stood still, know better.
TEST(CommandRunner, CountersSayWhetherAKillWasMemory) {
  const std::string killed =
      "echo 'DataLoader process (pid 5) exited is killed by signal: Killed.'; exit 1";
  const Trial trial = run(script(killed));
  EXPECT_EQ(trial.counters.exit_code, 1);
  if (!trial.counters.host_oom_kills) GTEST_SKIP() << "this kernel counts no kills";
  if (*trial.counters.host_oom_kills > 0) GTEST_SKIP() << "somebody else ran out of memory";
  EXPECT_EQ(trial.outcome, Outcome::crashed);
  EXPECT_EQ(trial.cause, "killed_by_other") << trial.reason;
  const Trial own = run(script("kill -9 $$"));
  EXPECT_EQ(own.counters.exit_code, -9);
  EXPECT_EQ(own.cause, "killed_by_other") << own.reason;
}

// The machine counts the kill while the trial runs; it struck somebody else.
TEST(CommandRunner, AKillByMemoryInANeighbouringGroupExplainsNoError) {
  const LimitedGroup group("neighbour", 40 << 20);
  if (!group.why_not().empty()) GTEST_SKIP() << group.why_not();
  ProcessOptions neighbour = memory_tree("wait 1 own 200 wait 60");
  neighbour.join_groups = {group.processes_file()};
  auto killed = Process::start(neighbour);
  ASSERT_TRUE(killed.ok());
  const std::string stat = "/proc/" + std::to_string(killed->pid()) + "/stat";
  const Trial trial =
      run(script("until grep -q ') Z' " + stat + "; do sleep 0.05; done; sleep 0.3; " +
                 "echo 'ValueError: not enough values'; exit 2"));
  const auto& end = killed->wait(30);
  ASSERT_TRUE(end.has_value());
  ASSERT_EQ(end->signal, SIGKILL) << "the group has no limit";
  EXPECT_EQ(trial.counters.exit_code, 2);
  EXPECT_EQ(trial.outcome, Outcome::crashed) << trial.cause << " " << trial.reason;
}

TEST(CommandRunner, NoiseInTheLogDoesNoHarm) {
  EXPECT_EQ(run(script("printf '\\377\\376 \\200 x/s\\n'; head -c 3000000 /dev/urandom; echo; " +
                       std::string(kTrain)))
                .outcome,
            Outcome::ok);
  EXPECT_EQ(
      run(script("head -c 50000000 /dev/zero | tr '\\0' y; echo; " + std::string(kTrain))).outcome,
      Outcome::ok);
}

TEST(CommandRunner, KillsProcessesThatIgnoreSigterm) {
  EXPECT_EQ(run(script("trap '' TERM; " + std::string(kTrain))).outcome, Outcome::ok);
  EXPECT_EQ(
      run(script("(setsid sleep 1000 &); (setsid env -i sleep 1000 &); " + std::string(kTrain)))
          .outcome,
      Outcome::ok);
}

TEST(CommandRunner, SeesThatTheCommandIgnoresNproc) {
  Knobs knobs;
  knobs.nproc = 2;
  const Trial trial =
      run(script("export LOCAL_RANK=0; exec sh -c '" + std::string(kTrain) + "'"), knobs);
  EXPECT_EQ(trial.outcome, Outcome::unsupported) << trial.reason;
  EXPECT_THAT(trial.reason, HasSubstr("runs 1 rank, not 2"));
}

TEST(CommandRunner, BindsRanksFromOutside) {
  if (current_affinity().count() < 2) GTEST_SKIP() << "needs two CPUs";
  CommandWorkload workload =
      script("for r in 0 1; do LOCAL_RANK=$r sh -c '" + std::string(kTrain) + "' & done; wait",
             {"nproc", "binding"});
  Knobs knobs;
  knobs.nproc = 2;
  knobs.binding = "compact";
  const Trial trial = run(workload, knobs);
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason;
  const std::vector<int> cpus = current_affinity().cpus();
  EXPECT_EQ(trial.placement, "0:" + std::to_string(cpus[0]) + " 1:" + std::to_string(cpus[1]));
}

TEST(CommandRunner, RankExecBindsBeforeTheProgramStarts) {
  ProcessOptions options;
  const int cpu = current_affinity().cpus().back();
  options.arguments = {OCRTUNE_BINARY, "rank-exec",         "--",
                       "grep",         "Cpus_allowed_list", "/proc/self/status"};
  options.environment = {{"OCRTUNE_RANK_CPUS", ";" + std::to_string(cpu)}, {"LOCAL_RANK", "1"}};
  auto process = Process::start(options);
  ASSERT_TRUE(process.ok());
  process->wait(20);
  EXPECT_EQ(process->output().contents(), "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
  options.environment[1].second = "2";
  process = Process::start(options);
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->wait(20)->code, 2);
  EXPECT_THAT(process->output().contents(), HasSubstr("has no CPUs for rank 2"));
}

TEST(CommandRunner, RemovesItsOwnSharedMemoryOnly) {
  const std::string own = std::to_string(::getpid());
  const std::string used = "/dev/shm/ocrtune-test-used-" + own;
  const std::string external = "/dev/shm/ocrtune-test-foreign-" + own;
  const std::string folder = "/dev/shm/ocrtune-test-folder-" + own;
  const Trial trial = run(script("echo x > /dev/shm/paddle_$$_0; echo x > " + external +
                                 "_$$; mkdir " + folder + "_$$; exec 7> " + used + "; " + kTrain));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason;
  EXPECT_FALSE(path_exists(used)) << "a member had it open";
  std::string pid;
  for (const std::string& name : list_directory("/dev/shm").value_or({})) {
    const std::string path = join_path("/dev/shm", name);
    if (starts_with(path, external) || starts_with(path, folder)) {
      pid = name.substr(name.rfind('_') + 1);
    }
  }
  ASSERT_FALSE(pid.empty()) << "a number in a name proves nothing";
  EXPECT_TRUE(path_exists(external + "_" + pid));
  EXPECT_TRUE(path_exists(folder + "_" + pid));
  EXPECT_NE(path_exists("/dev/shm/paddle_" + pid + "_0"), in_initial_pid_namespace());
  ::unlink(("/dev/shm/paddle_" + pid + "_0").c_str());
  ::unlink((external + "_" + pid).c_str());
  ::rmdir((folder + "_" + pid).c_str());
}

TEST(PrepareCommand, FindsMistakesBeforeAnyTrial) {
  const auto what = [](const CommandWorkload& workload) {
    const auto prepared = prepare_command(workload, this_machine());
    return prepared ? std::string("fine") : prepared.error().what;
  };
  CommandWorkload workload = script("exit");
  EXPECT_EQ(what(workload), "fine");
  workload.command.emplace_back("{nprocs}");
  EXPECT_THAT(what(workload), HasSubstr("unknown placeholder {nprocs}"));
  EXPECT_THAT(what(workload), HasSubstr("did you mean {nproc}?"));
  workload = script("exit");
  workload.command = {"no-such-trainer", "{nproc}"};
  EXPECT_EQ(what(workload), "'no-such-trainer' is not in PATH");
  workload.command = {"sh", "train.sh"};
  EXPECT_THAT(what(workload), HasSubstr("ignores nproc: put {nproc}"));
  workload = script("exit");
  workload.log_reader = "";
  EXPECT_EQ(what(workload), "fine") << "its first lines will show how it prints its speed";
  workload.log_reader = "tensorflow";
  EXPECT_THAT(what(workload), HasSubstr("log reader 'tensorflow'"));
  workload.log_reader = "regex:speed ([0-9.]+)";
  EXPECT_THAT(what(workload), HasSubstr("names no number"));
  workload.log_reader = "regex:(?<samples_per_second>[0-9.+";
  EXPECT_THAT(what(workload), HasSubstr("does not compile"));
  workload = script("exit");
  workload.directory = "/no/such/folder";
  EXPECT_THAT(what(workload), HasSubstr("no folder /no/such/folder"));
  workload = script("exit");
  workload.setup = {"echo 'open"};
  EXPECT_THAT(what(workload), HasSubstr("not closed"));
  workload = script("exit");
  workload.preset = "paddle";
  EXPECT_THAT(what(workload), HasSubstr("no preset 'paddle'"));
  workload = CommandWorkload();
  EXPECT_THAT(what(workload), AnyOf(HasSubstr("--log-reader"), HasSubstr("no command")));
}

TEST(PrepareCommand, ShowsWhatItWouldRun) {
  CommandWorkload workload = script("echo '{{x}} $HOME'", {"nproc", "threads"});
  workload.setup = {"mkdir {trial_dir}/a"};
  const auto prepared = prepare_command(workload, this_machine());
  ASSERT_TRUE(prepared.ok());
  Knobs knobs;
  knobs.nproc = 2;
  knobs.threads = 3;
  const auto lines = dry_run_lines(*prepared, this_machine(), knobs);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("mkdir"));
  EXPECT_THAT(lines[1], HasSubstr("GOMAXPROCS=3 sh -c"));
  EXPECT_THAT(lines[1], HasSubstr("{x} $HOME"));
  EXPECT_THAT(launch_text(*launch_of(*prepared, this_machine(), knobs)), HasSubstr("client 2 16"));
}

// The name of a kept folder is not one that is removed with its process.
TEST(CommandRunner, AFailedTrialKeepsItsFiles) {
  const auto base = make_temporary_directory("base");
  ASSERT_TRUE(base.ok());
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TMPDIR", base->c_str(), 1);
  EXPECT_EQ(run(script("exit 3")).outcome, Outcome::crashed);
  EXPECT_TRUE(list_directory(*base)->empty()) << "an empty folder is not kept";
  CommandWorkload workload = script("echo x > $3/log; exit 3");
  workload.command.push_back("{trial_dir}");
  const Trial trial = run(workload);
  before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  const auto names = list_directory(*base);
  ASSERT_EQ(names->size(), 1u);
  EXPECT_EQ((*names)[0].rfind("ocrtune.trial.", 0), 0u) << (*names)[0];
  EXPECT_EQ(trial.kept_folder, join_path(*base, (*names)[0]));
  EXPECT_THAT(trial.evidence, testing::Contains("its files: " + trial.kept_folder));
  // A store may name anything.
  const std::string link = join_path(*base, "ocrtune.trial.ABCDEF");
  ASSERT_EQ(::symlink(trial.kept_folder.c_str(), link.c_str()), 0);
  for (const std::string& other : {*base, link, join_path(*base, "none"), std::string()}) {
    EXPECT_FALSE(remove_kept_folder(other)) << other;
  }
  EXPECT_EQ(list_directory(trial.kept_folder)->size(), 1U);
  EXPECT_TRUE(remove_kept_folder(trial.kept_folder));
  EXPECT_FALSE(path_exists(trial.kept_folder));
  EXPECT_TRUE(remove_tree(*base));
}

// A temporary folder may be memory: a search with many failures keeps the last three.
TEST(CommandRunner, OnlyTheLastFailedTrialsKeepTheirFiles) {
  const auto base = make_temporary_directory("base");
  ASSERT_TRUE(base.ok());
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TMPDIR", base->c_str(), 1);
  CommandWorkload workload = script("echo x > $3/log; exit 3");
  workload.command.push_back("{trial_dir}");
  std::vector<std::string> last;
  for (int i = 0; i < 5; ++i) {
    const Trial trial = run(workload);
    if (i >= 2) last.push_back(trial.kept_folder);
  }
  before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  std::vector<std::string> there = list_directory(*base).value_or({});
  for (std::string& name : there) name = join_path(*base, name);
  EXPECT_EQ(last.size(), 3U);
  EXPECT_THAT(there, testing::UnorderedElementsAreArray(last));
  EXPECT_TRUE(remove_tree(*base));
}

// Paddle's launcher writes its environment there, which may hold secrets.
TEST(CommandRunner, AnEnvironmentInTheLogFolderIsNotQuoted) {
  CommandWorkload workload = script(
      "echo TOKEN=hidden | tee $3/envlog.0 > $3/default.abc.log; echo told > $3/workerlog.0; exit "
      "3");
  workload.command.push_back("{trial_dir}");
  const Trial trial = run(workload);
  EXPECT_THAT(trial.log_tail, HasSubstr("told"));
  EXPECT_THAT(trial.log_tail, testing::Not(HasSubstr("hidden")));
  EXPECT_TRUE(remove_kept_folder(trial.kept_folder));
}

// Not skipped: the search would propose the same setting for ever.
TEST(CommandRunner, ATrialWithoutItsFolderHasFailed) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TMPDIR", "/no/such/folder", 1);
  const Trial trial = run(script(kTrain));
  before != nullptr ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_EQ(trial.outcome, Outcome::crashed);
  EXPECT_EQ(trial.cause, "trial_dir");
}

TEST(CommandRunner, AnAllocatorIsInTheProgramOrTheTrialSaysWhyNot) {
  const auto installed = installed_allocators();
  if (installed.empty()) GTEST_SKIP() << "no allocator library is installed";
  const char* busy =
      "while :; do echo '80.0 samples/s'; i=0; while [ $i -lt 9999 ]; do i=$((i+1)); done; done";
  Knobs knobs;
  knobs.malloc = installed[0];
  CommandWorkload workload = script(busy, {"malloc"});
  const Trial with = run(workload, knobs);
  EXPECT_EQ(with.outcome, Outcome::ok) << with.reason << with.log_tail;
  EXPECT_THAT(with.reproduce, HasSubstr("LD_PRELOAD=" + allocator_library(installed[0])));
  workload.command = {"env", "-u", "LD_PRELOAD", "sh", "-c", busy};
  const Trial without = run(workload, knobs);
  EXPECT_EQ(without.outcome, Outcome::unsupported);
  EXPECT_EQ(without.cause, "malloc");
  EXPECT_THAT(without.reason, HasSubstr("runs without lib" + installed[0]));
}

}  // namespace
}  // namespace ocrtune
