// What follows from what where the order of the lines does not say it: a pod's state, a scheduler's
// verdict; and the commands that tell the remaining suspects apart.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/diagnosis.h"
#include "diagnosis/next_steps.h"

namespace ocrtune {
namespace {

std::string first_cause(const std::string& text) {
  const Diagnosis diagnosis = diagnose_text(text);
  return diagnosis.failed ? diagnosis.causes[0].row->name : "none";
}

TEST(OrderOfCauses, APodsStateHasNoPlaceInTheOrderOfLines) {
  const std::string pending =
      "  Warning  FailedScheduling  16m  default-scheduler  0/2 nodes are available: 2 "
      "Insufficient "
      "nvidia.com/gpu.\n";
  const std::string waited = "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n";
  EXPECT_EQ(first_cause(waited + pending), "not_scheduled");
  EXPECT_EQ(first_cause(pending + waited), "not_scheduled");
}

TEST(OrderOfCauses, AVerdictOfASchedulerHasACause) {
  const std::string node = "srun: error: Node failure on n7\n";
  EXPECT_EQ(first_cause(node), "preempted_or_evicted");
  EXPECT_EQ(
      first_cause("n7: mce: [Hardware Error]: CPU 1: Machine Check Exception: 5 Bank 7\n" + node),
      "host_hardware_fault");
  const std::string deadline = "Job was active longer than specified deadline\n";
  EXPECT_EQ(first_cause(deadline), "time_limit");
  EXPECT_EQ(first_cause("  Warning  FailedMount  kubelet  MountVolume.SetUp failed for volume\n" +
                        deadline),
            "container_setup_failed");
  EXPECT_EQ(first_cause("RuntimeError: Sizes of tensors must match\n" + deadline), "time_limit");
}

TEST(OrderOfCauses, ARunThatWasTakenUpAgainAndEndedWellDidNotFail) {
  FailureEvidence well;
  well.exit_code = 0;
  const LogScan scan = scan_text(
      "log",
      "slurmstepd: error: *** JOB 5 ON c3 CANCELLED AT 2025-03-03T02:00:00 DUE TO PREEMPTION ***\n"
      "resuming\nepoch 8 loss 0.3\ntraining finished\n");
  EXPECT_FALSE(diagnose({scan}, well).failed);
}

TEST(OrderOfCauses, ACompilerThatWasKilledIsAKill) {
  const std::string killed =
      "c++: fatal error: Killed signal terminated program cc1plus\n"
      "ninja: build stopped: subcommand failed.\n"
      "RuntimeError: Error building extension 'ops'\n";
  EXPECT_EQ(first_cause(killed), "host_out_of_memory");
}

TEST(NextSteps, CausesOfServersContainersAndVersionsHaveAPair) {
  for (const char* cause : {"driver_mismatch", "checkpoint_refused", "shape_mismatch",
                            "remote_unreachable", "access_refused", "clock_wrong", "tls_failed",
                            "image_pull_failed", "container_setup_failed", "not_scheduled",
                            "health_check_failed", "request_too_large", "gpu_busy"}) {
    const std::vector<Cause> alone = {{&find_cause(cause), 0.7, Role::primary, {}, {}, {}}};
    ASSERT_FALSE(next_steps(alone).empty()) << cause;
    EXPECT_STRNE(next_steps(alone)[0].code, "confirm_first") << cause;
  }
}

}  // namespace
}  // namespace ocrtune
