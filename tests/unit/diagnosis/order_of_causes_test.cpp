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

constexpr const char* kGaveUp =
    "[rank0]:[E114 03:30:01.112 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=9911, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=1800000) ran for 1800012 milliseconds before timing out.\n";

TEST(OrderOfCauses, ATaskThatHungWhileOthersWaitedIsStorage) {
  const auto first = [](const std::string& clock) {
    const Diagnosis diagnosis = diagnose(
        {scan_text("train.log", kGaveUp),
         scan_text("kern.log", "Jan 14 " + clock +
                                   " n7 kernel: INFO: task python3:55120 blocked for more than 122 "
                                   "seconds.\n")},
        {});
    return std::string(diagnosis.causes[0].row->name);
  };
  EXPECT_EQ(first("03:03:12"), "storage_failure");
  EXPECT_EQ(first("01:03:12"), "collective_timeout");  // long before they began to wait
  EXPECT_EQ(first("04:03:12"), "collective_timeout");  // after they gave up
}

TEST(OrderOfCauses, AnEndIsNoneWhereSomethingFailedAfterIt) {
  const std::string last = "n1:9:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read\n";
  EXPECT_EQ(first_cause(last), "nccl_init_hang");
  EXPECT_EQ(first_cause(last + "Test NCCL failure common.cu:958 'internal error'\n"), "nccl_error");
}

TEST(OrderOfCauses, AWatchdogThatHandsOnAnotherErrorDidNotTimeOut) {
  EXPECT_NE(first_cause("[rank2]:[E412 03:21:40.112 ProcessGroupNCCL.cpp:2057] [Rank 2] Process "
                        "group watchdog thread terminated with exception: NCCL error: remote "
                        "process exited or there was a network error, NCCL version 2.24.3\n"),
            "collective_timeout");
}

TEST(OrderOfCauses, AnAddressOfAnotherHostIsNoPortInUse) {
  const std::string listen =
      "torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
      "network address. port: 29501, useIpv6: 0, code: ";
  EXPECT_EQ(first_cause(listen + "-98, name: EADDRINUSE, message: address already in use\n"),
            "port_in_use");
  EXPECT_EQ(first_cause(listen + "-99, name: EADDRNOTAVAIL, message: Cannot assign requested "
                                 "address\n"),
            "rendezvous_failed");
}

TEST(OrderOfCauses, AWarningOfAnotherVersionExplainsACrash) {
  EXPECT_EQ(first_cause("W1012 10:10:10.110000 914 device_context.cc:377] WARNING: device: 0. The "
                        "installed Paddle is compiled with CUDNN 7.6, but CUDNN version in your "
                        "machine is 7.3\nSegmentation fault (core dumped)\n"),
            "library_conflict");
}

TEST(OrderOfCauses, WhatIsWrongWithASettingStandsBelowTheValidationsHeader) {
  const std::string header = "pydantic_core.ValidationError: 1 validation error for ModelConfig\n";
  EXPECT_EQ(first_cause(header), "bad_configuration");
  EXPECT_EQ(first_cause(header + "  Value error, Model architectures ['NewOCRForCausalLM'] are not "
                                 "supported for now.\n"),
            "library_conflict");
}

TEST(OrderOfCauses, AWorkerThatAnotherTookOverFromIsNoAlarm) {
  std::string log =
      "[ERROR/MainProcess] Process 'ForkPoolWorker-3' exited with 'signal 9 (SIGKILL)'\n";
  EXPECT_EQ(first_cause(log), "host_out_of_memory");
  for (int i = 0; i < 4; ++i)
    log += "[INFO/ForkPoolWorker-4] Task ocr.page[1f] succeeded in 2.9s\n";
  const Diagnosis diagnosis = diagnose_text(log);
  EXPECT_LT(diagnosis.causes[0].confidence, 0.5);
}

TEST(OrderOfCauses, AnExceptionMayBeCalledAfterTheConfiguration) {
  EXPECT_EQ(first_cause("Traceback (most recent call last):\n"
                        "  File \"/opt/train.py\", line 10, in <module>\n"
                        "fabric.exceptions.MisconfigurationException: You requested gpu: [0, 1]\n"),
            "bad_configuration");
}

TEST(OrderOfCauses, ACompilerThatWasKilledIsAKill) {
  const std::string killed =
      "c++: fatal error: Killed signal terminated program cc1plus\n"
      "ninja: build stopped: subcommand failed.\n"
      "RuntimeError: Error building extension 'ops'\n";
  EXPECT_EQ(first_cause(killed), "host_out_of_memory");
}

TEST(Story, RanksThatDisagreeAreToldWithWhatEachWaitedIn) {
  std::string log = kGaveUp;
  std::string other = kGaveUp;
  other.replace(other.find("[rank0]"), 7, "[rank1]").replace(other.find("[Rank 0]"), 8, "[Rank 1]");
  other.replace(other.find("NumelIn=1"), 9, "NumelIn=64");
  const Diagnosis diagnosis = diagnose_text(log + other);
  EXPECT_STREQ(diagnosis.causes[0].row->name, "rank_mismatch");
  ASSERT_FALSE(diagnosis.story.empty());
  EXPECT_EQ(diagnosis.story[0].text, "ALLREDUCE 9911 [1] / ALLREDUCE 9911 [64]");
}

TEST(Story, AnErrorOfNcclTellsOfALostPeer) {
  const Diagnosis diagnosis = diagnose_text(
      "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB.\n"
      "[rank0]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268, remote "
      "process exited or there was a network error, NCCL version 2.23.4\n");
  ASSERT_EQ(diagnosis.story.size(), 2);
  EXPECT_EQ(diagnosis.story[1].code, StoryCode::lost_peer);
  EXPECT_EQ(diagnosis.story[1].ranks, std::vector<int>{0});
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
