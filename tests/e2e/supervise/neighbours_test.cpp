// ocrtune beside processes that are not its own: whatever it runs and however it ends, every
// bystander lives, and nothing of its own is left.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "base/process_tree.h"
#include "base/text.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

// What every script begins with. A bystander has our name, session and process group; where the
// script goes on with `exec ocrtune`, it is a child of ours too.
constexpr const char* kPrelude = R"(
bystander() { (exec -a "$OCRTUNE tune" sleep 300 >/dev/null 2>&1) & echo $! > bystander.$1; }
bystander before
(setsid sleep 300 >/dev/null 2>&1 & echo $! > bystander.session)
)";

// What a training leaves behind: children in its session, in another one, and without environment.
constexpr const char* kLeaveDaemons = R"(
sh $FOLDER/daemon.sh & setsid sh $FOLDER/daemon.sh >/dev/null 2>&1 &
env -i setsid sh $FOLDER/daemon.sh >/dev/null 2>&1 &
)";

// Starts a command as on a kernel without newer system calls; built beside the tests.
std::string refused_calls() { return parent_path(OCRTUNE_BINARY) + "/tests/refused_calls"; }

class Neighbours : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("neighbours");
    write("daemon.sh", "while :; do sleep 1; done\n");
    write(
        "client.sh",
        kLeaveDaemons +
            std::string("echo up > $FOLDER/up\nwhile :; do echo \"step 1 speed: $(($2 * 100 / $1)) "
                        "lines/s\"; sleep 0.02; done\n"));
    write("train.sh", kLeaveDaemons + std::string("echo up > $FOLDER/up\nsleep ${1:-300}\n"));
    write(
        "server.sh",
        kLeaveDaemons + std::string("exec sed -u 's/.*\"id\": *\\([0-9]*\\).*/{\"id\": \\1}/'\n"));
  }
  void TearDown() override {
    for (const int pid : bystanders()) ::kill(pid, SIGKILL);
    for (const int pid : ours()) ::kill(pid, SIGKILL);
    EXPECT_TRUE(remove_tree(folder_));
  }

  std::string at(const std::string& name) const { return join_path(folder_, name); }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(at(name), text));
  }
  int number_in(const std::string& name) const {
    return static_cast<int>(parse_integer(trim(read_file(at(name)).value_or(""))).value_or(0));
  }

  // Begins a script of bash in a session of its own, in the test's folder.
  Process begin(const std::string& script) const {
    write("script.sh", kPrelude + script);
    ProcessOptions options;
    options.arguments = {"bash", at("script.sh")};
    options.directory = folder_;
    options.environment = {{"FOLDER", folder_}, {"OCRTUNE", OCRTUNE_BINARY}};
    return std::move(Process::start(options)).value();
  }
  int end_of(Process& script, double seconds = 120) const {
    const auto& exit = script.wait(seconds);
    if (!exit) return -1;
    return exit->signal != 0 ? 128 + exit->signal : exit->code;
  }

  static bool alive(int pid) {
    const auto line = read_file("/proc/" + std::to_string(pid) + "/stat");
    const auto facts = parse_process_stat(line.value_or(""));
    return facts && facts->state != 'Z';
  }
  std::vector<int> bystanders() const {
    std::vector<int> pids;
    for (const char* name : {"bystander.before", "bystander.session"}) {
      if (number_in(name) > 0) pids.push_back(number_in(name));
    }
    return pids;
  }
  // Everything of this test but the bystanders: each names the folder in its line or environment.
  std::vector<int> ours() const {
    std::vector<int> pids;
    const std::vector<int> others = bystanders();
    for (const ProcessFacts& process : all_processes()) {
      const std::string here = "/proc/" + std::to_string(process.pid);
      const std::string text =
          read_file(here + "/cmdline").value_or("") + read_file(here + "/environ").value_or("");
      const bool other = std::count(others.begin(), others.end(), process.pid) > 0;
      if (process.state != 'Z' && !other && text.find(folder_) != std::string::npos) {
        pids.push_back(process.pid);
      }
    }
    return pids;
  }
  static bool comes_true(const std::function<bool()>& fact, double seconds = 30) {
    const double end = steady_clock().now_seconds() + seconds;
    while (!fact() && steady_clock().now_seconds() < end) steady_clock().sleep_seconds(0.02);
    return fact();
  }
  // The guard takes a moment.
  void expect_peace() const {
    EXPECT_EQ(bystanders().size(), 2u);
    for (const int pid : bystanders()) EXPECT_TRUE(alive(pid)) << "a bystander was killed";
    EXPECT_TRUE(comes_true([this] { return ours().empty(); })) << names(ours());
  }
  static std::string names(const std::vector<int>& pids) {
    std::string text;
    for (const int pid : pids) {
      const auto line = read_file("/proc/" + std::to_string(pid) + "/cmdline").value_or("");
      text += "left over: " + std::to_string(pid) + " " + replace_all(line, '\0', ' ') + "\n";
    }
    return text;
  }
  static std::string replace_all(std::string text, char from, char to) {
    std::replace(text.begin(), text.end(), from, to);
    return text;
  }

  // Runs ocrtune under a shell that stays, ends it by `number` once the training is up.
  void end_a_run_by(int number, const std::string& prefix = "") {
    Process script = begin(prefix +
                           " $OCRTUNE run --run-dir run -- sh train.sh >run.log 2>&1 & "
                           "echo $! > pid; wait $!");
    const bool up = comes_true([&] { return path_exists(at("up")) || script.poll_exit(); });
    ASSERT_TRUE(up);
    if (script.poll_exit() && script.poll_exit()->code == 77) GTEST_SKIP() << "no seccomp filters";
    ::kill(number_in("pid"), number);
    const int code = end_of(script);
    EXPECT_EQ(code, number == SIGKILL ? 128 + SIGKILL : 130)
        << read_file(at("run.log")).value_or("");
    expect_peace();
  }

  std::string folder_;
};

using SlowNeighbours = Neighbours;

constexpr const char* kTune =
    "$OCRTUNE tune --db runs.sqlite --trial-time 200ms --budget 5s --nproc 1 --batch 2,4 --metric "
    "speed --json -- sh client.sh {nproc} {batch}";

TEST_F(Neighbours, TuneAfterExecKeepsTheJobsAndTheLogOfItsScript) {
  Process script = begin("exec > >(tee run.log) 2>stderr.log; exec " + std::string(kTune));
  const int code = end_of(script);
  EXPECT_TRUE(code == 0 || code == 1) << code;
  nlohmann::json answer;
  EXPECT_TRUE(comes_true([&] {
    answer = nlohmann::json::parse(read_file(at("run.log")).value_or(""), nullptr, false);
    return answer.is_object();
  })) << read_file(at("stderr.log")).value_or("");
  EXPECT_TRUE(answer.contains("recommendation")) << answer.dump();
  expect_peace();
}

TEST_F(Neighbours, TuneThatIsInterrupted) {
  Process script = begin(std::string(kTune) + " >run.log 2>&1 & echo $! > pid; wait $!");
  ASSERT_TRUE(comes_true([&] { return path_exists(at("up")) || script.poll_exit(); }));
  ::kill(number_in("pid"), SIGTERM);
  EXPECT_EQ(end_of(script), 130) << read_file(at("run.log")).value_or("");
  expect_peace();
}

TEST_F(Neighbours, WorkerAfterExec) {
  Process script = begin("exec $OCRTUNE worker nproc=1 threads=1 batch=2 >run.log 2>&1");
  EXPECT_EQ(end_of(script), 0) << read_file(at("run.log")).value_or("");
  expect_peace();
}

TEST_F(Neighbours, RunToItsEnd) {
  Process script = begin("exec $OCRTUNE run --run-dir run -- sh train.sh 2.5 >run.log 2>&1");
  EXPECT_EQ(end_of(script), 0) << read_file(at("run.log")).value_or("");
  expect_peace();
}

TEST_F(Neighbours, RunThatIsInterrupted) { end_a_run_by(SIGTERM); }
TEST_F(Neighbours, RunThatIsKilled) { end_a_run_by(SIGKILL); }

// No look at the tree comes between the birth of a daemon without environment and parent, and the
// kill.
TEST_F(Neighbours, RunThatIsKilledAsADaemonIsBorn) {
  write("daemon.sh", "echo up > ${0%/*}/up; while :; do sleep 1; done\n");
  write("train.sh",
        "(env -i setsid sh $FOLDER/daemon.sh >/dev/null 2>&1 &)\n"
        "env -i setsid sh $FOLDER/daemon.sh >/dev/null 2>&1 &\nsleep 300\n");
  for (int i = 0; i < 10 && !HasFailure(); ++i) {
    for (const int pid : bystanders()) ::kill(pid, SIGKILL);
    (void)::unlink(at("up").c_str());
    end_a_run_by(SIGKILL);
  }
}

// `pkill -9 -f` with words of its command line: the guard has none of them, and cleans up.
TEST_F(Neighbours, RunThatIsKilledByItsWords) {
  Process script = begin("$OCRTUNE run --run-dir run -- sh train.sh >run.log 2>&1; true");
  ASSERT_TRUE(comes_true([this] { return path_exists(at("up")); }));
  for (const ProcessFacts& process : all_processes()) {
    const std::string here = "/proc/" + std::to_string(process.pid);
    if (read_file(here + "/environ").value_or("").find(folder_) == std::string::npos) continue;
    const std::string line = read_file(here + "/cmdline").value_or("");
    const bool hit = line.find(OCRTUNE_BINARY) != std::string::npos &&
                     line.find("--run-dir") != std::string::npos;
    if (hit) ::kill(process.pid, SIGKILL);
  }
  EXPECT_EQ(end_of(script), 0);
  expect_peace();
}

TEST_F(Neighbours, RunOnAnOldKernel) { end_a_run_by(SIGKILL, refused_calls() + " ENOSYS"); }
TEST_F(Neighbours, RunUnderAnOldSeccompProfile) {
  end_a_run_by(SIGINT, refused_calls() + " EPERM");
}

TEST_F(Neighbours, RunWhoseStarterIgnoresSigchld) {
  Process script = begin(
      "exec env --ignore-signal=CHLD $OCRTUNE run --run-dir run -- "
      "sh -c 'exit 0' >run.log 2>&1");
  EXPECT_EQ(end_of(script), 0) << read_file(at("run.log")).value_or("");
  expect_peace();
}

// The shell around the training dies of SIGTERM at once; the training gets its time to save.
TEST_F(Neighbours, RunWithATrainingUnderAShell) {
  write("train.py.sh",
        "trap 'sleep 1; echo saved > $FOLDER/saved; exit 0' TERM\necho up > "
        "$FOLDER/up\nwhile :; do sleep 0.05; done\n");
  Process script = begin(
      "$OCRTUNE run --run-dir run -- sh -c 'sh train.py.sh; echo never' "
      ">run.log 2>&1 & echo $! > pid; wait $!");
  ASSERT_TRUE(comes_true([&] { return path_exists(at("up")); }));
  ::kill(number_in("pid"), SIGTERM);
  EXPECT_EQ(end_of(script), 130) << read_file(at("run.log")).value_or("");
  EXPECT_TRUE(path_exists(at("saved")));
  expect_peace();
}

TEST_F(Neighbours, RunWhoseCommandLeavesAFloodBehind) {
  Process script = begin(
      "exec $OCRTUNE run --run-dir run --tries 1 -- sh -c '(sleep 0.2; exec yes) "
      "& sleep 0.25; exit 1' >run.log 2>&1");
  EXPECT_EQ(end_of(script, 60), 1) << read_file(at("run.log")).value_or("");
  expect_peace();
}

TEST_F(Neighbours, SloOfAServerWithChildren) {
  Process script =
      begin("exec $OCRTUNE slo p90=500ms --budget 2s --json -- sh server.sh >run.log 2>&1");
  const int code = end_of(script);
  EXPECT_TRUE(code == 0 || code == 1) << read_file(at("run.log")).value_or("");
  expect_peace();
}

// As the entry point of a container, where every orphan of the namespace becomes our child.
TEST_F(Neighbours, PidOneSparesWhoCameFromOutside) {
  Process script = begin(
      "unshare -p -f --mount-proc true || exit 77\n"
      "unshare -p -f --mount-proc sh -c 'mount -t tmpfs none /dev/shm && exec $OCRTUNE run "
      "--run-dir run --pause 0.1s --tries 9 -- "
      "sh -c \"sh daemon.sh & sleep 2; kill -9 \\$\\$\"' >run.log 2>&1 &\n"
      "unshared=$!\n"
      "until [ -e run/attempt-1.log ]; do sleep 0.05; done\n"
      "init=$(cat /proc/$unshared/task/$unshared/children); init=${init% }; echo $init > pid\n"
      "nsenter -t $init -p -m sh -c '(setsid sh $FOLDER/daemon.sh stranger >/dev/null 2>&1 &)\n"
      "for i in $(seq 2 60); do\n"
      "  echo x > /dev/shm/torch_${i}_1; echo x > /dev/shm/cache_$i; mkdir /dev/shm/job_$i\n"
      "done'\n"
      "wait $unshared");
  ASSERT_TRUE(
      comes_true([&] { return path_exists(at("run/attempt-3.log")) || script.poll_exit(); }, 60))
      << read_file(at("run.log")).value_or("");
  if (script.poll_exit() && script.poll_exit()->code == 77) GTEST_SKIP() << "no PID namespaces";
  const auto all = ours();
  const bool spared = std::any_of(all.begin(), all.end(), [](int pid) {
    const auto line = read_file("/proc/" + std::to_string(pid) + "/cmdline").value_or("");
    return line.find("stranger") != std::string::npos;
  });
  EXPECT_TRUE(spared) << read_file(at("run.log")).value_or("");
  // Its files have ids of the namespace in their names, which are those of the runs as well.
  const std::string shm = "/proc/" + std::to_string(number_in("pid")) + "/root/dev/shm";
  EXPECT_EQ(list_directory(shm).value_or({}).size(), 3 * 59u);
  ::kill(number_in("pid"), SIGTERM);
  EXPECT_EQ(end_of(script), 130) << read_file(at("run.log")).value_or("");
  expect_peace();  // the stranger ends with its namespace
}

TEST_F(Neighbours, AServerOfOthersOnOurPortIsNotMeasured) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 16), 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  Process script = begin(
      "exec $OCRTUNE tune --db runs.sqlite --mode infer --budget 30s --url "
      "http://127.0.0.1:" +
      std::to_string(ntohs(address.sin_port)) + "/ -- sh train.sh >run.log 2>&1");
  EXPECT_EQ(end_of(script), 3);
  const std::string said = read_file(at("run.log")).value_or("");
  EXPECT_THAT(said, HasSubstr("another program listens at"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_FALSE(path_exists(at("up"))) << "the command was started";
  expect_peace();
  ::close(listener);
}

TEST_F(Neighbours, AUserWithoutProcessesToSpareGetsAnAnswer) {
  Process script = begin(
      "chmod 777 .; as=\"setpriv --reuid 61357 --regid 61357 --clear-groups\"\n"
      "$as test -x $OCRTUNE || exit 77\n"
      "export HOME=$FOLDER; exec $as bash -c 'ulimit -u 2; exec $OCRTUNE probe' >run.log 2>&1");
  const int code = end_of(script);
  if (code == 77) GTEST_SKIP() << "no other user can be taken here";
  EXPECT_TRUE(code == 0 || code == 3) << code << "\n" << read_file(at("run.log")).value_or("");
  expect_peace();
}

// /proc with hidepid=2, in namespaces of its own.
TEST_F(Neighbours, AUserWhoSeesNobodyElsesProcesses) {
  write("inner.sh",
        "mount -t proc -o hidepid=2 proc /proc || exit 77\n"
        "$as $OCRTUNE run --run-dir run -- sh train.sh 1\n");
  Process script = begin(
      "chmod 777 .; export as=\"setpriv --reuid 61357 --regid 61357 --clear-groups\"\n"
      "$as test -x $OCRTUNE || exit 77\n"
      "export HOME=$FOLDER; unshare -m -p -f --kill-child bash inner.sh >run.log 2>&1");
  const int code = end_of(script);
  if (code == 77) GTEST_SKIP() << "no namespaces and no other user here";
  EXPECT_EQ(code, 0) << read_file(at("run.log")).value_or("");
  EXPECT_TRUE(path_exists(at("up")));
  expect_peace();
}

// Every command, every end, with and without the newer system calls.
TEST_F(SlowNeighbours, EveryCommandAndEveryEnd) {
  const std::vector<std::string> commands = {
      kTune,
      "$OCRTUNE worker nproc=1 threads=1 batch=2",
      "$OCRTUNE run --run-dir run --tries 2 -- sh train.sh 6",
      "$OCRTUNE probe",
      "$OCRTUNE slo p90=500ms --budget 4s -- sh server.sh",
      "$OCRTUNE train lines --steps 60 --batch 2 --width 32 --threads 1 --workers 2",
      "$OCRTUNE infer lines --nproc 2 --batch 1 --output results.tsv"};
  Process draws = begin("exec $OCRTUNE make-data lines --count 32 >run.log 2>&1");
  ASSERT_EQ(end_of(draws), 0) << read_file(at("run.log")).value_or("");
  for (const std::string& prefix :
       {std::string(), refused_calls() + " ENOSYS ", refused_calls() + " EPERM "}) {
    for (const std::string& command : commands) {
      for (const int number : {0, SIGINT, SIGTERM, SIGKILL}) {
        for (const double seconds : {0.2, 1.5, 3.0}) {
          if (number == 0 && seconds > 0.2) continue;
          SCOPED_TRACE(prefix + command + " signal " + std::to_string(number));
          for (const int pid : bystanders()) ::kill(pid, SIGKILL);
          Process script = begin(prefix + command + " >run.log 2>&1 & echo $! > pid; wait $!");
          if (number != 0) {
            script.wait(seconds);
            ::kill(number_in("pid"), number);
          }
          EXPECT_NE(end_of(script), -1);
          expect_peace();
        }
      }
    }
  }
}

}  // namespace
}  // namespace ocrtune
