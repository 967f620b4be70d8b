// Real launchers over the hosts of scripts/hosts: torchrun with gloo, mpirun, and Slurm. Skipped
// with the reason where they are not installed (Debian: python3-torch, openmpi-bin, slurm-wlm and
// munge).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/cpu_set.h"
#include "base/files.h"
#include "tests/support/answered.h"
#include "tests/support/host_bed.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

const std::string kSource = OCRTUNE_SOURCE_DIR;

class SlowLaunchers : public HostBedTest {
 protected:
  std::string tune(const std::string& flags) const {
    return "$OCRTUNE tune --db " + folder_ + "/runs.sqlite --cwd " + folder_ +
           " --nproc 1 --threads 1 --batch 8 " + flags;
  }

  // Its compute is a sleep.
  static std::string job() {
    return " --metric ips --metric-of job -- python3 " + kSource +
           "/tests/support/host_job.py --nodes {nodes} --rank {node_rank} --master {master_addr} "
           "--port {master_port} --batch {batch}";
  }
};

// Both counts of hosts were measured, and one of them is recommended.
void expect_both_measured(const BedSaid& said) {
  ASSERT_TRUE(answered(said.code, said.text)) << said.text;
  const Json json = Json::parse(said.text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.text;
  EXPECT_THAT(measured_nodes(json), testing::ElementsAre("1", "2")) << said.text;
  EXPECT_THAT(json["recommendation"]["command"].get<std::string>(), Not(HasSubstr("{")));
}

TEST_F(SlowLaunchers, TorchrunWithGlooToARecommendation) {
  auto found = run_in_bed({"a"}, kSource + "/tests/clients/install torch " + folder_);
  if (found.code != 0) GTEST_SKIP() << found.text;
  found.text.pop_back();
  // torch 1.13 fails under Python 3.11 with --redirects=0, its default.
  expect_both_measured(run_in_bed(
      {"a", "b"},
      tune("--hosts a,b --budget 40s --preset torchrun --log-reader torch --json") + " -- " +
          found.text + " -m torch.distributed.run --redirects=1 --tee=1 --log_dir={trial_dir} " +
          kSource + "/tests/clients/torch_train.py --batch {batch} 2>" + folder_ + "/errors"));
}

TEST_F(SlowLaunchers, MpirunToARecommendation) {
  if (!find_executable("mpirun")) GTEST_SKIP() << "no mpirun here";
  expect_both_measured(run_in_bed(
      {"a", "b"}, tune("--hosts a,b --launcher mpirun --budget 15s --trial-time 500ms --json") +
                      job() + " 2>/dev/null"));
}

class SlowSlurm : public SlowLaunchers {
 protected:
  void SetUp() override {
    SlowLaunchers::SetUp();
    if (folder_.empty()) return;
    const BedSaid said = in_slurm("true");
    if (said.code != 0) GTEST_SKIP() << said.text;
  }

  // A script on the first host. `flags`: of scripts/slurm.
  BedSaid in_slurm(const std::string& script, const std::string& flags = "") const {
    EXPECT_TRUE(write_file(folder_ + "/script", script + "\n"));
    return run_in_bed({"a", "b"},
                      kSource + "/scripts/slurm " + flags + "a b -- sh " + folder_ + "/script");
  }
};

// Where Slurm binds, a step gets one core unless its line asks for more. What was tuned in a job on
// all of its CPUs, exported and submitted runs on all CPUs of the new job: each process says on
// which it may run, and the job's control group (where Slurm makes one) which it was given.
TEST_F(SlowSlurm, AnExportedScriptHasTheCpusThatWereTuned) {
  const int cpus = current_affinity().count();
  if (cpus < 2) GTEST_SKIP() << "one CPU: nothing to bind to";
  ASSERT_TRUE(write_file(
      folder_ + "/job",
      "#!/bin/sh\n"
      "mine=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)\n"
      "group=$(sed -n 's|^[0-9]*:cpuset:\\(.*/job_[0-9]*\\)/.*|\\1|p' /proc/self/cgroup)\n"
      "job=$(cat /sys/fs/cgroup/cpuset$group/cpuset.cpus)\n"
      "[ -z \"$group\" ] || [ \"$job\" = \"$mine\" ] || mine=\"$mine of the job's $job\"\n"
      "echo CPUs $mine >> " +
          folder_ + "/cpus\nfor i in 1 2 3 4 5 6 7 8 9; do echo ips: $1; sleep 0.2; done\n"));
  const std::string db = " --db " + folder_ + "/runs.sqlite ";
  std::string script = "cd " + folder_ + "\nchmod +x job\n";
  for (const std::string& count : {fmt::format("{}", cpus), std::string("1")}) {
    script += "sbatch -Q --wait -N1 -n1 --mem=800 -o out -c" + count + " --wrap \"$OCRTUNE tune" +
              db + "--nproc 1 --threads " + count + " --budget 10s --metric ips --name on" + count +
              " -- ./job {threads}\"\n"
              "echo -c" +
              count +
              " tuned on $(sort -u cpus); rm cpus\n"
              "$OCRTUNE export on" +
              count + db +
              "--format sbatch | sed 's/<TIME>/5/; s/<PARTITION>/all/' > batch\n"
              "sbatch -Q --wait -o out batch\necho -c" +
              count + " submitted on $(cat cpus); rm cpus\n";
  }
  script += "sbatch -Q --wait -N1 -c" + fmt::format("{}", cpus) +
            " -o out --wrap \"srun $OCRTUNE probe --quick --json\"\n"
            "grep -o 'of the [0-9]* that a task was to have' out\n";
  const BedSaid said = in_slurm(script, "--bind ");
  const std::string all = current_affinity().text(), asked = fmt::format("-c{}", cpus);
  EXPECT_THAT(said.text, AllOf(HasSubstr(asked + " tuned on CPUs " + all + "\n"),
                               HasSubstr(asked + " submitted on CPUs " + all + "\n"),
                               testing::ContainsRegex("-c1 tuned on CPUs [0-9]+\n"),
                               testing::ContainsRegex("-c1 submitted on CPUs [0-9]+\n"),
                               Not(HasSubstr("of the job's")),
                               HasSubstr(fmt::format("of the {} that a task was to have", cpus))));
}

TEST_F(SlowSlurm, TuneWithinAnAllocationToARecommendation) {
  expect_both_measured(in_slurm("exec salloc -Q -N2 " +
                                tune("--hosts --budget 15s --trial-time 500ms --json") + job() +
                                " 2>" + folder_ + "/errors"));
}

TEST_F(SlowSlurm, ACancelledJobLeavesNothing) {
  ASSERT_TRUE(write_file(folder_ + "/batch", "#!/bin/sh\n" +
                                                 tune("--hosts --nodes 2 --budget 60s "
                                                      "--trial-time 20s") +
                                                 job() + "\n"));
  const BedSaid said = in_slurm(
      "running() { for host in a b; do ssh $host ps -e -o args | grep -e '[h]ost_job' "
      "-e 'ocrtune [n]ode' -e 'ocrtune [t]une'; done; }\n"
      "up() { for i in $(seq 300); do ssh b ps -e -o args | grep -q '[h]ost_job' && return; "
      "sleep 0.1; done; echo never ran; }\n"
      "gone() { for i in $(seq 200); do [ -z \"$(running)\" ] && echo nothing left && return; "
      "sleep 0.1; done; running; }\n"
      "sbatch -N2 -o " +
      folder_ + "/said " + folder_ +
      "/batch\n"
      "up; scancel --user=root; gone\n"
      "salloc -Q -N2 sh " +
      folder_ + "/batch >" + folder_ +
      "/held 2>&1 & pid=$!\n"
      "up; scancel --user=root; gone; wait $pid; cat " +
      folder_ + "/said " + folder_ + "/held");
  EXPECT_THAT(said.text,
              AllOf(HasSubstr("nothing left\nnothing left\n"), Not(HasSubstr("never ran"))));
}

}  // namespace
}  // namespace ocrtune
