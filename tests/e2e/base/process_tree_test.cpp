#include "base/process_tree.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

ProcessOptions shell(const std::string& script) {
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
      "42 (a) b (c) R 7 42 9 0 -1 4194304 93 0 0 0 150 50 0 0 20 0 1 0 12345 2646016 201\n");
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->pid, 42);
  EXPECT_EQ(facts->name, "a) b (c");
  EXPECT_EQ(facts->state, 'R');
  EXPECT_EQ(facts->parent, 7);
  EXPECT_EQ(facts->session, 9);
  EXPECT_EQ(facts->start_ticks, 12345u);
  EXPECT_DOUBLE_EQ(facts->cpu_seconds, 200.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

TEST(ProcessStat, RefusesGarbage) {
  for (const char* line : {"", "42", "42 (x", "x (y) R 1 2 3", "42 (y) R 1", ") ("}) {
    EXPECT_FALSE(parse_process_stat(line).ok()) << line;
  }
}

TEST(ProcessTree, StopsPolitelyFirst) {
  ProcessTree tree;
  auto root =
      tree.start(shell("trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.01; done"));
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
  auto root = tree.start(shell("trap '' TERM; echo up; while :; do sleep 0.01; done"));
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
  auto root = tree.start(shell("(setsid env -i sleep 100 &) ; (setsid sleep 100 &) ; exit 0"));
  ASSERT_TRUE(root.ok());
  ASSERT_TRUE((*root)->wait(10).has_value());
  EXPECT_EQ(wait_for_members(tree, 2), 2u);
  const StopReport report = tree.stop(0.5);
  EXPECT_EQ(report.killed, 2);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_TRUE(tree.scan().empty());
}

TEST(ProcessTree, SparesTheBystanderAndTheOtherTree) {
  auto bystander = Process::start(shell("exec sleep 100"));
  ASSERT_TRUE(bystander.ok());
  ProcessTree other;
  auto kept = other.start(shell("(setsid sleep 100 &) ; exec sleep 100"));
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(wait_for_members(other, 2), 2u);
  {
    ProcessTree tree;
    auto root = tree.start(shell("(setsid sleep 100 &) ; sleep 100 & exec sleep 100"));
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

TEST(ProcessTree, OutrunsAForkingTree) {
  ProcessTree tree;
  auto root = tree.start(shell(
      "trap '' TERM; f() { while :; do (setsid sleep 0.05 &); sleep 0.005; done; }; f & f & f"));
  ASSERT_TRUE(root.ok());
  wait_for_members(tree, 6);
  const StopReport report = tree.stop(0.05);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_TRUE(tree.scan().empty());
}

TEST(ProcessTree, GuardKillsTheTreeOfADeadParent) {
  const auto folder = make_temporary_directory("guard");
  ASSERT_TRUE(folder.ok());
  const std::string note = join_path(*folder, "pid");
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    // A process of its own that dies by SIGKILL: no destructor runs. The mark is made anew by exec
    // in real life; here the fork keeps ours, so the guard of this child must be the one started.
    ProcessTree tree;
    auto root = tree.start(shell("(setsid sh -c 'echo $$ > " + note +
                                 "; exec sleep 100' &) ; "
                                 "exec sleep 100"));
    if (!root) ::_exit(1);
    while (!path_exists(note) || tree.scan().size() < 2) steady_clock().sleep_seconds(0.01);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto text = read_file(note);
  ASSERT_TRUE(text.ok());
  const int orphan = std::stoi(*text);
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    const auto all = all_processes();
    gone = std::none_of(all.begin(), all.end(), [&](const ProcessFacts& process) {
      return process.pid == orphan && process.state != 'Z';
    });
    steady_clock().sleep_seconds(0.01);
  }
  EXPECT_TRUE(gone) << "process " << orphan << " outlived its parent";
  EXPECT_TRUE(remove_tree(*folder).ok());
}

}  // namespace
}  // namespace ocrtune
