#include "base/process_tree.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/support/refused_calls.h"

namespace ocrtune {
namespace {

ProcessOptions shell_process(const std::string& script) {
  ProcessOptions options;
  options.arguments = {"sh", "-c", script};
  return options;
}

// Scans until the tree has `count` members or five seconds have passed.
std::size_t wait_for_members(ProcessTree& tree, std::size_t count) {
  for (int i = 0; i < 500 && tree.scan().size() != count; ++i) steady_clock().sleep_seconds(0.01);
  return tree.members().size();
}

TEST(ProcessStat, SurvivesNamesWithParentheses) {
  const auto facts = parse_process_stat(
      "42 (a) b (c) R 7 42 9 0 -1 4194304 93 0 0 0 150 50 30 10 20 0 1 0 12345 2646016 201\n");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->pid, 42);
  EXPECT_EQ(facts->name, "a) b (c");
  EXPECT_EQ(facts->state, 'R');
  EXPECT_EQ(facts->parent, 7);
  EXPECT_EQ(facts->session, 9);
  EXPECT_EQ(facts->start_ticks, 12345u);
  EXPECT_DOUBLE_EQ(facts->cpu_seconds, 200.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  EXPECT_DOUBLE_EQ(facts->children_cpu_seconds, 40.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

TEST(ProcessStat, RefusesGarbage) {
  for (const char* line : {"", "42", "42 (x", "x (y) R 1 2 3", "42 (y) R 1", ") ("}) {
    EXPECT_FALSE(parse_process_stat(line).ok()) << line;
  }
}

TEST(ProcessTree, StopsPolitelyFirst) {
  ProcessTree tree;
  auto root = tree.start(
      shell_process("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done"));
  ASSERT_TRUE(root.ok());
  while ((*root)->output().contents().empty()) (*root)->read_output({});
  const StopReport report = tree.stop(5);
  EXPECT_EQ(report.killed, 0);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_EQ((*root)->poll_exit()->code, 7);
  EXPECT_EQ((*root)->output().tail(1), "bye");
}

TEST(ProcessTree, KillsWhoIgnoresSigterm) {
  ProcessTree tree;
  auto root = tree.start(shell_process("trap '' TERM; echo up; while :; do sleep 0.01; done"));
  ASSERT_TRUE(root.ok());
  while ((*root)->output().contents().empty()) (*root)->read_output({});
  const StopReport report = tree.stop(0.1);
  EXPECT_GE(report.killed, 1);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_EQ((*root)->poll_exit()->signal, SIGKILL);
}

TEST(ProcessTree, FindsDoubleForkedSessions) {
  ProcessTree tree;
  // Two generations gone, a session of its own, the environment wiped: only adoption finds it.
  auto root =
      tree.start(shell_process("(setsid env -i sleep 100 &) ; (setsid sleep 100 &) ; exit 0"));
  ASSERT_TRUE(root.ok());
  ASSERT_TRUE((*root)->wait(10).has_value());
  EXPECT_EQ(wait_for_members(tree, 2), 2u);
  const StopReport report = tree.stop(0.5);
  EXPECT_EQ(report.killed, 0);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_TRUE(tree.scan().empty());
}

TEST(ProcessTree, FindsThoseWhoseParentsEndWhileItLooks) {
  ProcessTree tree;
  ASSERT_TRUE(tree.start(shell_process("for i in $(seq 60); do (setsid sleep 100 &); done; "
                                       "exec sleep 100"))
                  .ok());
  EXPECT_EQ(wait_for_members(tree, 61), 61u);
  EXPECT_TRUE(tree.stop(0.1).survivors.empty());
}

TEST(ProcessTree, SparesTheBystanderAndTheOtherTree) {
  auto bystander = Process::start(shell_process("exec sleep 100"));
  ASSERT_TRUE(bystander.ok());
  ProcessTree other;
  auto kept = other.start(shell_process("(setsid sleep 100 &) ; exec sleep 100"));
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(wait_for_members(other, 2), 2u);
  {
    ProcessTree tree;
    auto root = tree.start(shell_process("(setsid sleep 100 &) ; sleep 100 & exec sleep 100"));
    ASSERT_TRUE(root.ok());
    ASSERT_EQ(wait_for_members(tree, 3), 3u);
    const StopReport report = tree.stop(0.1);
    EXPECT_TRUE(report.survivors.empty());
    EXPECT_TRUE(tree.scan().empty());
  }
  EXPECT_FALSE(bystander->poll_exit().has_value());
  EXPECT_EQ(other.scan().size(), 2u);
  EXPECT_TRUE(other.stop(0.1).survivors.empty());
  EXPECT_FALSE(bystander->poll_exit().has_value());
}

// Exit code of `work` in a forked child, which is a process without trees and children so far.
int in_own_process(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// As a script's background job before `exec`: a child that nobody here has started.
pid_t sidecar(const std::string& script) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  return pid;
}

TEST(ProcessTree, SparesWhatWasThereBeforeIt) {
  EXPECT_EQ(in_own_process([] {
              const auto folder = make_temporary_directory("sidecar");
              const std::string note = join_path(*folder, "pid");
              // The sidecar leaves a daemon behind once the tree lives: it is reparented to us.
              const pid_t before = sidecar("while [ ! -e " + note +
                                           ".go ]; do sleep 0.01; done; (setsid sleep 100 & echo "
                                           "$! > " +
                                           note + "); exec sleep 100");
              int daemon = 0;
              {
                ProcessTree tree;
                auto root = tree.start(shell_process("(setsid sleep 100 &) ; exec sleep 100"));
                if (!root || wait_for_members(tree, 2) != 2) return 1;
                if (!write_file(note + ".go", "")) return 2;
                for (int i = 0; i < 500 && daemon == 0; ++i) {
                  daemon = std::atoi(read_file(note).value_or("0").c_str());
                  steady_clock().sleep_seconds(0.01);
                }
                if (wait_for_members(tree, 2) != 2) return 3;
                if (!tree.stop(0).survivors.empty()) return 4;
              }
              const bool spared = ::kill(before, 0) == 0 && daemon > 0 && ::kill(daemon, 0) == 0;
              ::kill(before, SIGKILL);
              if (daemon > 0) ::kill(daemon, SIGKILL);
              (void)remove_tree(*folder);
              return spared ? 0 : 5;
            }),
            0);
}

TEST(ProcessTree, TellsTheTrainingUnderAShellToEnd) {
  const auto folder = make_temporary_directory("wrapped");
  const std::string note = join_path(*folder, "saved");
  ProcessTree tree;
  // The script dies of SIGTERM at once. The training needs a second to save, and cannot if its
  // worker dies before; the worker would die at once.
  auto root = tree.start(shell_process(
      "sh -c 'sleep 100 & worker=$!; "
      "trap \"sleep 1; kill -0 $worker && echo saved > " +
      note + "; kill $worker; exit\" TERM; echo up; while :; do sleep 0.05; done'; exit 0"));
  ASSERT_TRUE(root.ok());
  while ((*root)->output().contents().empty()) (*root)->read_output({});
  const StopReport report = tree.stop(20);
  EXPECT_EQ(report.killed, 0) << (report.forced.empty() ? "" : report.forced[0]);
  EXPECT_TRUE(path_exists(note));
  EXPECT_TRUE(remove_tree(*folder).ok());
}

TEST(ProcessTree, TellsTheTrainingUnderAShellThatWaitsForIt) {
  ProcessTree tree;
  // A trap runs once the foreground child has ended, so the child must hear of it as well.
  auto root =
      tree.start(shell_process("trap 'echo end; exit' TERM; sh -c 'trap \"exit 3\" TERM; echo up; "
                               "while :; do sleep 0.05; done'; echo code $?"));
  ASSERT_TRUE(root.ok());
  while ((*root)->output().contents().empty()) (*root)->read_output({});
  const StopReport report = tree.stop(4);
  EXPECT_EQ(report.killed, 0) << (report.forced.empty() ? "" : report.forced[0]);
  EXPECT_NE((*root)->output().contents().find("end"), std::string::npos);
}

TEST(ProcessTree, OutrunsAForkingTree) {
  ProcessTree tree;
  auto root = tree.start(shell_process(
      "trap '' TERM; f() { while :; do (setsid sleep 0.05 &); sleep 0.005; done; }; f & f & f"));
  ASSERT_TRUE(root.ok());
  wait_for_members(tree, 6);
  const StopReport report = tree.stop(0.05);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_TRUE(tree.scan().empty());
}

TEST(ProcessTree, KnowsWhoHasEndedAndWasNotWaitedFor) {
  ProcessTree tree;
  ASSERT_TRUE(tree.start(shell_process("sh -c 'exit 0' & exec sleep 100")).ok());
  for (int i = 0; i < 1000 && tree.unreaped().empty(); ++i) {
    steady_clock().sleep_seconds(0.01);
    tree.scan();
  }
  ASSERT_EQ(tree.unreaped().size(), 1U);
  EXPECT_EQ(tree.members().size(), 1U);
}

TEST(ProcessTree, ARootDoesNotOutliveItsGuard) {
  ProcessTree tree;
  auto root = tree.start(shell_process("echo up; exec sleep 100"));
  ASSERT_TRUE(root.ok());
  EXPECT_TRUE(started_here((*root)->guard_pid()));
  ::kill((*root)->guard_pid(), SIGKILL);
  const auto& exit = (*root)->wait(30);
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->signal, SIGKILL);
  EXPECT_TRUE(tree.stop(0).survivors.empty());
}

TEST(ProcessTree, AStoppedGuardHidesNoEnd) {
  ProcessTree tree;
  auto root = tree.start(shell_process("sleep 0.5; exit 7"));
  ASSERT_TRUE(root.ok());
  ::kill((*root)->guard_pid(), SIGSTOP);
  const auto& exit = (*root)->wait(30);
  ASSERT_TRUE(exit.has_value());
  EXPECT_EQ(exit->code, 7);
  EXPECT_TRUE(tree.stop(0).survivors.empty());
}

// pkill -f with a word of our command line must not take the guard as well.
TEST(ProcessTree, AGuardHasNoneOfOurWords) {
  ProcessTree tree;
  auto root = tree.start(shell_process("exec sleep 100"));
  ASSERT_TRUE(root.ok());
  const std::string path = "/proc/" + std::to_string((*root)->guard_pid()) + "/cmdline";
  std::string words;  // it takes its name after the child is there
  for (int i = 0; i < 1000; ++i) {
    words = read_file(path).value_or("");
    if (words.find("tests") == std::string::npos) break;
    steady_clock().sleep_seconds(0.01);
  }
  EXPECT_EQ(words.substr(0, words.find('\0')), "orphan-guard");
  EXPECT_EQ(words.find_first_not_of('\0', words.find('\0')), std::string::npos) << words;
}

// Runs a tree in a process that dies by SIGKILL; nothing of it may be left, the guard included.
// All of them become children of this process, which is a subreaper.
void expect_no_orphans(const std::function<bool()>& prepare, bool stop_guards = false) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto folder = make_temporary_directory("guard");
  ASSERT_TRUE(folder.ok());
  const std::string note = join_path(*folder, "pid");
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    if (!prepare()) ::_exit(9);
    ProcessTree tree;
    // In another session; without environment; and a daemon without parent and environment. No scan
    // has seen any.
    const auto write_pid = [&](const char* name) {
      return "echo $$ > " + note + name + "; exec sleep 100";
    };
    const bool started =
        tree.start(shell_process("setsid sh -c '" + write_pid(".session") + "' & exec sleep 100"))
            .ok() &&
        tree.start(shell_process("env -i sh -c '" + write_pid(".bare") +
                                 "' & (env -i setsid sh -c '" + write_pid(".daemon") +
                                 "' &) ; exec sleep 100"))
            .ok();
    if (!started) ::_exit(1);
    for (const char* name : {".session", ".bare", ".daemon"}) {
      while (!path_exists(note + name)) steady_clock().sleep_seconds(0.01);
    }
    for (const auto& root : tree.roots()) {
      if (stop_guards) ::kill(root->guard_pid(), SIGSTOP);
    }
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 9) GTEST_SKIP() << "no seccomp filters here";
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  pid_t left = 0;
  for (int i = 0; i < 1000 && left >= 0; ++i) {
    left = ::waitpid(-1, nullptr, WNOHANG);
    if (left == 0) steady_clock().sleep_seconds(0.01);
  }
  EXPECT_EQ(left, -1) << "a process outlived its parent";
  EXPECT_TRUE(remove_tree(*folder).ok());
}

TEST(ProcessTree, GuardKillsTheTreeOfADeadParent) {
  expect_no_orphans([] { return true; });
}

TEST(ProcessTree, AStoppedGuardGoesOnWhenItsParentDies) {
  expect_no_orphans([] { return true; }, true);
}

TEST(ProcessTree, GuardNeedsNoNewSystemCalls) {
  for (const int error : {ENOSYS, EPERM}) {
    expect_no_orphans([error] {
      return refuse_calls({SYS_close_range, SYS_pidfd_open, SYS_pidfd_send_signal}, error);
    });
  }
}

TEST(ProcessTree, NoProcessToSpareIsAFullMachineAndNoWrongSetting) {
  EXPECT_EQ(in_own_process([] {
              if (!refuse_calls({SYS_clone, SYS_clone3}, EAGAIN)) return 0;
              ProcessTree tree;
              const auto root = tree.start(shell_process("exit 0"));
              return !root && root.error().kind == ErrorKind::exhausted ? 0 : 1;
            }),
            0);
}

TEST(ProcessTree, StopsWithoutNewSystemCalls) {
  for (const int error : {ENOSYS, EPERM, EMFILE}) {
    EXPECT_EQ(in_own_process([error] {
                if (!refuse_calls({SYS_close_range, SYS_pidfd_open}, error)) return 0;
                ProcessTree tree;
                auto root = tree.start(shell_process("trap '' TERM; sleep 100 & exec sleep 100"));
                if (!root || wait_for_members(tree, 2) != 2) return 1;
                return tree.stop(0.1).survivors.empty() && tree.scan().empty() ? 0 : 2;
              }),
              0)
        << error;
  }
}

}  // namespace
}  // namespace ocrtune
