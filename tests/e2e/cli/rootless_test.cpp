// Tune, export and paste in a container that an ordinary user makes (bubblewrap: a user namespace,
// no rights outside): what was measured and what is pasted run on the CPUs that the container got.
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/process.h"
#include "tests/support/paths.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SlowRootlessContainer, WhatIsPastedHasTheCpusThatWereMeasured) {
  if (!find_executable("bwrap")) GTEST_SKIP() << "no bwrap here (Debian: bubblewrap)";
  const auto folder = make_temporary_directory("rootless");
  ASSERT_TRUE(folder);
  const std::string own = fmt::format("{}", current_affinity().cpus().back());
  ASSERT_TRUE(write_file(*folder + "/job",
                         "#!/bin/sh\n"
                         "read inside outside count < /proc/self/uid_map\n"
                         "mine=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)\n"
                         "echo CPUs $mine as $inside of $outside >> cpus\n"
                         "for i in 1 2 3 4 5 6 7 8 9; do echo ips: $1; sleep 0.2; done\n"));
  ASSERT_TRUE(write_file(*folder + "/inside",
                         "cd " + *folder + "; o=" + OCRTUNE_BINARY +
                             "; export HOME=$PWD TMPDIR=$PWD OCRTUNE_LOCK_DIR=$PWD\n"
                             "$o probe --quick --json | grep engine_rootless -A2 | grep value\n"
                             "$o tune --db runs.sqlite --nproc 1 --threads 1 --budget 8s --metric "
                             "ips --name one -- ./job {threads} >tuned 2>&1 || cat tuned\n"
                             "echo measured on $(sort -u cpus); rm cpus\n"
                             "$o export one --db runs.sqlite --format env >launch\n"
                             "sed -n '$s/^# //p' launch >line; . ./launch; . ./line >said\n"
                             "echo pasted on $(cat cpus)\n"));
  for (const std::string& path : {*folder, *folder + "/job"}) {
    ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  }
  ProcessOptions options;
  std::vector<std::string>& words = options.arguments;
  words = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  if (::getuid() != 0) words.clear();
  for (const std::string& word : std::vector<std::string>{"bwrap",
                                                          "--unshare-user",
                                                          "--unshare-pid",
                                                          "--unshare-ipc",
                                                          "--uid",
                                                          "0",
                                                          "--gid",
                                                          "0",
                                                          "--ro-bind",
                                                          "/",
                                                          "/",
                                                          "--bind",
                                                          *folder,
                                                          *folder,
                                                          "--proc",
                                                          "/proc",
                                                          "--dev",
                                                          "/dev",
                                                          "taskset",
                                                          "-c",
                                                          own,
                                                          "sh",
                                                          *folder + "/inside"}) {
    words.push_back(word);
  }
  auto process = Process::start(options);
  ASSERT_TRUE(process) << process.error().what;
  const int code = finish(*process);
  const std::string said = process->output().contents();
  EXPECT_TRUE(remove_tree(*folder));
  if (code != 0) GTEST_SKIP() << "no user namespace for an ordinary user: " << said;
  const std::string where =
      fmt::format("on CPUs {} as 0 of {}", own, ::getuid() == 0 ? 65534 : ::getuid());
  EXPECT_THAT(said, AllOf(HasSubstr("\"value\": \"no\""), HasSubstr("measured " + where),
                          HasSubstr("pasted " + where)));
}

}  // namespace
}  // namespace ocrtune
