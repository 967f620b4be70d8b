// What follows from what where the order of the lines does not say it: a pod's state, a scheduler's
// verdict; and the commands that tell the remaining suspects apart.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/advice.h"
#include "diagnosis/diagnosis.h"

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

TEST(OrderOfCauses, EventsBelowAPodsEndCameBeforeIt) {
  const std::string events =
      "  Warning  FailedMount  8h  kubelet  MountVolume.SetUp failed for volume \"cfg\" : timed "
      "out\n";
  EXPECT_FALSE(diagnose_text("Status:         Succeeded\nEvents:\n" + events).failed);
  EXPECT_EQ(first_cause("Status:         Pending\nEvents:\n" + events), "container_setup_failed");
}

TEST(OrderOfCauses, InATableTheRowOfAnotherIsANeighbours) {
  const std::string table =
      "NAME                 READY   STATUS      RESTARTS      AGE\n"
      "ocr-api-7d9c-abcde   1/1     Running     0             9d\n"
      "postgres-0           0/1     OOMKilled   12 (4m ago)   30d\n";
  const LogScan pods = scan_text("get_pods.txt", table);
  const LogScan ours = scan_text("a/ocr-api.log", "INFO: \"POST /v1/ocr HTTP/1.1\" 200 OK\n");
  EXPECT_FALSE(diagnose({pods, ours}, {}).failed);
  const LogScan theirs = scan_text("a/postgres-0.log", "checkpoint starting\n");
  EXPECT_TRUE(diagnose({pods, theirs}, {}).failed);
  EXPECT_TRUE(diagnose({pods}, {}).failed);
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

// Weak suspects beside a run that ended well are no failure, unless two files tell of the same one.
TEST(OrderOfCauses, WhatOneFileTellsWeaklyOfARunThatEndedWellIsNoFailure) {
  const std::string read = "page 3: fork: Cannot allocate memory\n6 pages done\n";
  const std::string gone =
      "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated "
      "abruptly while the future was running or pending.\nOutput file is a PDF/A-2B\n";
  const std::string kernel =
      "[10.1] Out of memory: Killed process 31 (ocrmypdf) total-vm:9kB, anon-rss:9kB, UID:1000\n";
  EXPECT_TRUE(diagnose_text(read.substr(0, read.find('\n') + 1)).failed);
  EXPECT_FALSE(diagnose_text(read).failed);
  EXPECT_FALSE(diagnose({scan_text("a.log", read), scan_text("dmesg", kernel)}, {}).failed);
  EXPECT_TRUE(diagnose({scan_text("a.log", gone), scan_text("dmesg", kernel)}, {}).failed);
}

constexpr const char* kGaveUp =
    "[rank0]:[E114 03:30:01.112 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=9911, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=1800000) ran for 1800012 milliseconds before timing out.\n";

TEST(OrderOfCauses, WhatSomebodyTypedIsNoEvidence) {
  const std::string said = "python: Illegal instruction (core dumped)\n";
  const std::string typed = "me@vm:/opt/ocr$ docker inspect web --format '{{.State.OOMKilled}}'\n";
  for (const std::string& prompt : {typed, "$ " + typed.substr(typed.find("docker"))}) {
    EXPECT_EQ(first_cause(said + prompt + "false\n"), "illegal_instruction");
    EXPECT_EQ(diagnose_text(said + prompt + "false\n").causes.size(), 1U);
  }
  EXPECT_EQ(first_cause("    Reason: OOMKilled\n"), "cgroup_out_of_memory");
}

TEST(OrderOfCauses, RankZeroMayBeBusyBeforeTheFirstMeeting) {
  const std::string gave_up =
      "RuntimeError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via "
      "c10d key-value store by key '0', but store->get('0') got error: Socket Timeout\n";
  EXPECT_EQ(first_cause(gave_up), "rendezvous_failed");
  const std::string bar = "Running tokenizer on dataset:  88%|####### | 3837/4336 [29:55<03:25]\n";
  EXPECT_EQ(first_cause(bar + gave_up), "rank_busy_alone");
}

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

// Python's logging of three ranks reached the file in another order than they failed in.
constexpr const char* kThreeRanks =
    "[rank2]: ValueError: no boxes in page 7\n"
    "[rank0]: KeyError: 'charset'\n"
    "Root Cause (first observed failure):\n"
    "[0]:\n"
    "  time      : 2025-04-01_10:00:00\n"
    "  host      : n1\n"
    "  rank      : 0 (local_rank: 0)\n"
    "  exitcode  : 1 (pid: 77)\n";

TEST(OrderOfCauses, ALauncherKnowsWhoFailedFirst) {
  const LogScan scan = scan_text("train.log", kThreeRanks);
  ASSERT_EQ(scan.first_failures.size(), 1);
  EXPECT_EQ(scan.first_failures[0].rank, 0);
  EXPECT_EQ(scan.first_failures[0].exit_code, 1);
  EXPECT_TRUE(scan.first_failures[0].when);
  const std::string two_roots =
      "[rank2]: OSError: [Errno 28] No space left on device\n"
      "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n";
  EXPECT_EQ(first_cause(two_roots), "disk_full");
  EXPECT_EQ(first_cause(two_roots + kThreeRanks), "gpu_out_of_memory");
}

TEST(OrderOfCauses, MpiSaysWhichProcessWasFirst) {
  const LogScan scan = scan_text("log",
                                 "the job to be terminated. The first process to do so was:\n\n"
                                 "  Process name: [[41882,1],3]\n  Exit code:    134\n");
  ASSERT_EQ(scan.first_failures.size(), 1);
  EXPECT_EQ(scan.first_failures[0].rank, 3);
  EXPECT_EQ(scan.first_failures[0].exit_code, 134);
}

TEST(OrderOfCauses, WhatWasDamagedDependsOnWhoReadIt) {
  const auto raised = [](const std::string& frame, const std::string& error) {
    return first_cause("Traceback (most recent call last):\n  File \"" + frame +
                       "\", line 9, in f\n" + error + "\n");
  };
  EXPECT_EQ(raised("/app/line_dataset.py", "zipfile.BadZipFile: File is not a zip file"),
            "bad_training_data");
  EXPECT_EQ(raised("/app/restore.py", "zipfile.BadZipFile: File is not a zip file"),
            "checkpoint_damaged");
  EXPECT_EQ(raised("/app/model_loader.py", "EOFError: Ran out of input"), "checkpoint_damaged");
  EXPECT_EQ(first_cause("RuntimeError: Caught EOFError in DataLoader worker process 3.\n"
                        "EOFError: Ran out of input\n"),
            "bad_training_data");
  EXPECT_EQ(first_cause("tarfile.ReadError: unexpected end of data in /s/rec-1.tar\n"),
            "bad_training_data");
  EXPECT_EQ(first_cause("tarfile.ReadError: unexpected end of data in /s/model.pth.tar\n"),
            "checkpoint_damaged");
}

TEST(OrderOfCauses, ARequestThatWasRefusedIsNoFailureOfTheServer) {
  const std::string error =
      "ERROR 10-30 08:31:00 ValueError: Failed to load image: cannot identify image file <x>\n";
  EXPECT_EQ(first_cause(error), "bad_training_data");
  const std::string answered =
      "INFO:     10.3.0.9:50120 - \"POST /v1/chat/completions HTTP/1.1\" 400 Bad Request\n";
  EXPECT_EQ(first_cause(error + answered), "none");
  EXPECT_EQ(first_cause(answered + error), "bad_training_data");
  const std::string panic = "thread 'worker' panicked at src/page.rs:8:14:\n";
  EXPECT_EQ(first_cause(panic), "native_exception");
  EXPECT_EQ(first_cause(panic + "WARN task 7 panicked, again\nINFO task 7 ok on attempt 2\n"),
            "none");
}

TEST(OrderOfCauses, AMountThatWasFollowedByAPullWasOvercome) {
  const std::string mount =
      "  Warning  FailedMount  kubelet  MountVolume.SetUp failed for volume\n";
  EXPECT_EQ(first_cause(mount), "container_setup_failed");
  EXPECT_EQ(first_cause(mount + "  Normal   Pulling  kubelet  Pulling image \"ocr:4\"\n"
                                "  Warning  Failed   kubelet  Error: ErrImagePull\n"),
            "image_pull_failed");
}

TEST(OrderOfCauses, WhatAControllerNotedIsPastedAfterTheEnd) {
  EXPECT_EQ(first_cause("RendezvousConnectionError: The connection to the C10d store has failed.\n"
                        "$ ssh n4 ipmitool sel list\n"
                        " 1a1 | 10/29/2025 | 06:01:58 | Processor #0xfa | IERR | Asserted\n"),
            "host_hardware_fault");
}

TEST(OrderOfCauses, WhoSentASigkillIsInTheAudit) {
  EXPECT_EQ(first_cause("Killed\n"), "host_out_of_memory");
  EXPECT_EQ(first_cause("Killed\n$ sudo ausearch -sc kill -i\n"
                        "type=SYSCALL msg=audit(1) : arch=x86_64 syscall=kill success=yes a0=0x1f "
                        "a1=SIGKILL a2=0x0 auid=root comm=guard exe=/usr/bin/bash\n"),
            "killed_by_other");
}

TEST(OrderOfCauses, ASigkillThatARunSurvivedLeavesNoSuspect) {
  std::string log = "failed (exitcode: -9) local_rank: 0 (pid: 8120) of binary: python3\n";
  EXPECT_TRUE(diagnose_text(log).failed);
  for (int i = 0; i < 60; ++i) log += "step " + std::to_string(i) + " loss 0.9\n";
  EXPECT_FALSE(diagnose_text(log + "worker group successfully finished.\n").failed);
}

// Who, where a collector put a name before each line.
TEST(Story, CollectedLinesNameTheirHosts) {
  const auto story = [](const std::string& text) {
    return diagnose({scan_text("all.log", text)}, {}).story;
  };
  const auto lost = story(
      "w2 | FileNotFoundError: [Errno 2] No such file or directory: '/s/l.tsv'\n"
      "w0 | RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer "
      "[10.4.1.2]:4\n");
  ASSERT_EQ(lost.size(), 2);
  EXPECT_EQ(lost[0].place, "w2");
  EXPECT_EQ(lost[0].text, "FileNotFoundError: [Errno 2] No such file or directory: '/s/l.tsv'");
  EXPECT_EQ(lost[1].place, "w0");
  const auto nccl = story(
      "node-b:901:971 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to "
      "172.17.0.1<47503> failed : Connection refused\n" +
      std::string(kGaveUp));
  ASSERT_EQ(nccl.size(), 2);
  EXPECT_EQ(nccl[0].place, "node-b");
}

TEST(Story, ALauncherNamesTheRankThatTheKernelKilled) {
  const auto story =
      diagnose(
          {scan_text("all.log",
                     "Jul 15 02:52:18 gn204 kernel: Memory cgroup out of memory: Killed process "
                     "81 (python) total-vm:1kB, anon-rss:1kB\n"
                     "Root Cause (first observed failure):\n[0]:\n"
                     "  time      : 2025-07-15_02:52:20\n"
                     "  rank      : 3 (local_rank: 3)\n"
                     "  exitcode  : -9 (pid: 131)\n")},
          {})
          .story;
  ASSERT_EQ(story.size(), 2);
  EXPECT_EQ(story[0].code, StoryCode::reported);
  EXPECT_EQ(story[0].place, "gn204");
  EXPECT_EQ(story[1].code, StoryCode::died);
  EXPECT_EQ(story[1].ranks, std::vector<int>{3});
}

// A launcher's word for a child: DeepSpeed's command line (its last line has that of the last
// child), a pool's name and pid, a worker's own.
TEST(Story, ALauncherNamesItsChild) {
  const std::string kill =
      "[Mon Mar 02 10:00:00 2026] Memory cgroup out of memory: Killed process 88 (python) "
      "total-vm:1kB, anon-rss:1kB\n";
  const auto died = [&](const std::string& line) {
    const auto story = diagnose({scan_text("dmesg.txt", kill), scan_text("a.log", line)}, {}).story;
    return story.size() == 2 && story[1].code == StoryCode::died ? story[1] : StoryEvent();
  };
  EXPECT_EQ(died("[2026-03-02 09:00:02,012] [INFO] [launch.py:256:main] process 88 spawned with "
                 "command: ['python', '-u', 'tune.py', '--local_rank=2', '-c', 'z.json']\n"
                 "[2026-03-02 10:00:02,012] [ERROR] [launch.py:325:sigkill_handler] "
                 "['python', '-u', 'tune.py', '--local_rank=3'] exits with return code = -9\n")
                .ranks,
            std::vector<int>{2});
  EXPECT_EQ(died("10:00:00 INFO reader-4 (pid 88): page_0007.png 31 lines\nCUDA error: x\n").place,
            "reader-4 (pid 88)");
  EXPECT_EQ(died("(Reader pid=88, ip=10.0.0.3) CUDA error: x\n").place, "Reader (pid 88)");
  EXPECT_EQ(died("[2026-03-02 10:00:02,136: ERROR/MainProcess] Process 'ForkPoolWorker-5' pid:31 "
                 "exited with 'signal 9 (SIGKILL)'\n")
                .place,
            "ForkPoolWorker-5 (pid 31)");
}

// Celery names the child above a traceback that has no names of its own, Ray's caller likewise.
TEST(Story, ATracebackIsOfTheProcessThatIsNamedAboveIt) {
  const auto first_place = [](const std::string& text) {
    const auto story = diagnose_text(text).story;
    return story.empty() ? "" : story[0].place;
  };
  const std::string pool =
      "[2026-03-02 10:00:02,136: ERROR/ForkPoolWorker-3] Task pages.read[7a] raised unexpected: x\n"
      "Traceback (most recent call last):\n  File \"/app/pages.py\", line 7, in read\n"
      "OSError: [Errno 28] No space left on device: '/tmp/p.png'\n"
      "[2026-03-02 10:00:09,201: ERROR/ForkPoolWorker-1] Task pages.read[7b] raised unexpected: x\n"
      "Traceback (most recent call last):\n  File \"/app/pages.py\", line 7, in read\n"
      "OSError: [Errno 28] No space left on device: '/tmp/q.png'\n";
  EXPECT_EQ(first_place(pool), "ForkPoolWorker-3");
  EXPECT_EQ(first_place("Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\n"
                        "ray.exceptions.RayTaskError(OSError): ray::Reader.read() (pid=43, ip=10)\n"
                        "  File \"/app/pages.py\", line 7, in read\n"
                        "OSError: [Errno 28] No space left on device: '/tmp/p.png'\n"),
            "Reader pid=43");
  EXPECT_EQ(first_place("(pid=771) page 3\n(pid=902) page 4\n"
                        "(pid=902) RuntimeError: CUDA error: out of memory\n"),
            "pid=902");
}

TEST(Story, WhatAReportEffectsComesBeforeTheLaunchersWord) {
  const auto story =
      diagnose(
          {scan_text("dmesg.txt",
                     "[Tue Dec 08 10:00:00 2026] NVRM: Xid (PCI:0000:a1:00): 79, GPU has fallen "
                     "off the bus.\n"),
           scan_text("slurm.out",
                     "[rank7]:[E1208 10:00:01.40 ProcessGroupNCCL.cpp:1896] CUDA error: "
                     "unspecified launch failure\n"
                     "Root Cause (first observed failure):\n[0]:\n"
                     "  time      : 2026-12-08_10:00:05\n"
                     "  rank      : 1 (local_rank: 1)\n"
                     "  exitcode  : -6 (pid: 131)\n")},
          {})
          .story;
  ASSERT_GE(story.size(), 2);
  EXPECT_EQ(story[1].ranks, std::vector<int>{7});
}

TEST(Story, ARestartThatMeetsItAgainIsNotTheFirst) {
  const auto story =
      diagnose({scan_text("dmesg.txt",
                          "[Tue Jul 28 01:25:13 2026] nfs: server nas1 not responding, still "
                          "trying\n"),
                scan_text("train.log",
                          "2026-07-28 01:55:42 INFO load\n"
                          "[rank0]: OSError: [Errno 116] Stale file handle: '/nas/a.json'\n"
                          "[rank1]: OSError: [Errno 116] Stale file handle: '/nas/a.json'\n"),
                scan_text("old.log", kGaveUp)},
               {})
          .story;
  ASSERT_FALSE(story.empty());
  EXPECT_EQ(story[0].place, "dmesg.txt");
}

TEST(Story, AJobsVerdictIsNoRanks) {
  const auto story =
      diagnose({scan_text("slurm.out",
                          "0: slurmstepd: error: *** STEP 5.0 ON n7 CANCELLED AT "
                          "2026-02-11T15:52:20 DUE TO NODE FAILURE ***\n"
                          "srun: error: Node failure on n8\nsrun: error: n7: tasks 0-3: Killed\n"),
                scan_text("r.log", kGaveUp)},
               {})
          .story;
  ASSERT_FALSE(story.empty());
  EXPECT_TRUE(story[0].ranks.empty());
  EXPECT_EQ(story[0].text, "srun: error: Node failure on n8");
}

TEST(Story, AProcessOfASharedLogIsNamed) {
  const auto story =
      diagnose({scan_text("serve.log",
                          "(Worker_TP1 pid=26) ERROR 09-30 02:22:40 [x.py:6] CUDA error: "
                          "uncorrectable ECC error encountered\n"
                          "(APIServer pid=1) INFO:     Shutting down\n"),
                scan_text("smi.txt", "| 0  On |\n")},
               {})
          .story;
  ASSERT_EQ(story.size(), 1);
  EXPECT_EQ(story[0].place, "Worker_TP1 pid=26");
}

TEST(Story, AFileThatIsOnlyNumberedNamesNoRank) {
  const auto diagnosis = diagnose(
      {scan_text(
          "51.log",
          "rig1:33:35 [0] bootstrap.cc:122 NCCL WARN Mismatched NCCL version detected : rank "
          "1 version 22105 rank 0 version 22602\n" +
              std::string(kGaveUp))},
      {});
  for (const StoryEvent& event : diagnosis.story) EXPECT_NE(event.ranks, std::vector<int>{51});
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

std::string pages(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "page " + std::to_string(i) + " is read\n";
  return text;
}

// What a program went on after for long is hardly what its last exception tells of.
TEST(Order, TheExceptionThatEndsALogDoubtsWhatWasLongBefore) {
  const std::string refused = "OSError: [Errno 98] Address already in use\n";
  const std::string end = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n";
  const Diagnosis alone = diagnose_text(refused + end + "LookupError: no page\n");
  const Diagnosis apart = diagnose_text(refused + pages(100) + end + "LookupError: no page\n");
  ASSERT_STREQ(alone.causes[0].row->name, "port_in_use");
  EXPECT_GT(alone.causes[0].confidence, 0.9);
  EXPECT_LE(apart.causes[0].confidence, 0.7);
}

TEST(Order, AnExceptionThatWasSurvivedIsNotShownForTheLast) {
  const std::string header = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n";
  const Diagnosis diagnosis = diagnose_text(header + "LookupError: page 3\n" + pages(200) + header +
                                            "LookupError: head of 12 classes\n");
  ASSERT_TRUE(diagnosis.failed);
  EXPECT_EQ(diagnosis.causes[0].evidence[0].text, "LookupError: head of 12 classes");
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

TEST(OrderOfCauses, OfWhatAKernelReportsTheRanksOwnWordsSayWhichRank) {
  const LogScan card = scan_text(
      "dmesg", "[1.2] NVRM: Xid (PCI:0000:61:00): 79, pid=5, GPU has fallen off the bus.\n");
  const LogScan own = scan_text("rank3.out", "CUDA error: unspecified launch failure\n");
  const LogScan waits = scan_text(
      "rank0.out",
      "[rank0]: [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8)\n");
  const auto story = diagnose({card, own, waits}, {}).story;
  ASSERT_EQ(story.size(), 3);
  EXPECT_EQ(story[0].code, StoryCode::reported);
  EXPECT_EQ(story[1].code, StoryCode::failed);
  EXPECT_EQ(story[1].ranks, std::vector<int>{3});
  EXPECT_EQ(story[2].code, StoryCode::waited);
}

TEST(OrderOfCauses, OfAKernelsKillTheOnlySilentRankDied) {
  const LogScan kill =
      scan_text("dmesg", "Memory cgroup out of memory: Killed process 71 (python)\n");
  const auto lost = [](const char* file) {
    return scan_text(file, "RuntimeError: [pair.cc:598] Connection closed by peer [10.0.0.1]:33\n");
  };
  const LogScan silent = scan_text("rank_2.log", "4 loss 1.4\n");
  const auto story = diagnose({kill, lost("rank_0.log"), lost("rank_1.log"), silent}, {}).story;
  ASSERT_EQ(story.size(), 3);
  EXPECT_EQ(story[1].code, StoryCode::silent);
  EXPECT_EQ(story[1].ranks, std::vector<int>{2});
}

TEST(OrderOfCauses, TheFirstTaskThatSrunNamesDiedFirst) {
  const std::string lines =
      "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.\n"
      "srun: error: gn12: task 3: Out Of Memory\nsrun: error: gn11: tasks 0-1: Aborted\n";
  const auto story = diagnose_text(lines).story;
  ASSERT_EQ(story.size(), 2);
  EXPECT_EQ(story[1].code, StoryCode::died);
  EXPECT_EQ(story[1].ranks, std::vector<int>{3});
  const std::string limit =
      "slurmstepd: error: *** STEP 8.0 ON gn3 CANCELLED AT 2025-02-02T02:00:12 DUE TO TIME LIMIT\n"
      "srun: error: gn3: task 0: Killed\n";
  for (const StoryEvent& event : diagnose_text(limit).story) EXPECT_NE(event.code, StoryCode::died);
  const LogScan crash = scan_text("stderr.1", "[gx:01201] Signal: Segmentation fault (11)\n");
  const LogScan mpirun = scan_text(
      "mpirun.log",
      "mpirun noticed that process rank 1 with PID 1 on node gx exited on signal 11 (Segmentation "
      "fault).\n");
  ASSERT_EQ(diagnose({crash, mpirun}, {}).story.size(), 1);
  EXPECT_EQ(diagnose({crash, mpirun}, {}).story[0].ranks, std::vector<int>{1});
}

TEST(OrderOfCauses, WhichOfSeveralRanksFailedIsAStory) {
  const LogScan full = scan_text("workerlog.6", "OSError: [Errno 28] No space left on device\n");
  const LogScan other = scan_text("workerlog.0", "epoch 1 loss 0.5\n");
  const auto story = diagnose({other, full}, {}).story;
  ASSERT_EQ(story.size(), 1);
  EXPECT_EQ(story[0].ranks, std::vector<int>{6});
}

TEST(OrderOfCauses, AFramesSourceIsNoMessage) {
  const Diagnosis diagnosis = diagnose_text(
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in load\n"
      "    raise MissingCUDAException(\"CUDA_HOME does not exist\")\n"
      "ds.MissingCUDAException: CUDA_HOME does not exist, unable to compile\n");
  ASSERT_FALSE(diagnosis.causes.empty());
  EXPECT_EQ(diagnosis.causes[0].evidence[0].line, 4);
}

// Two signatures know the last line, though each knew another line first.
TEST(OrderOfCauses, SharedMemoryWithoutRoomIsNoFullDisk) {
  const std::string full = "/dev/shm/nccl-AbCdEf";
  const Diagnosis found = diagnose_text(
      "c:7:9 [1] misc/shmutils.cc:72 NCCL WARN Error: failed to extend " + full +
      " to 963 bytes\n" +
      "c:7:9 [1] misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment " +
      full + " (size 963), error: No space left on device (28)\n");
  ASSERT_FALSE(found.causes.empty());
  EXPECT_STREQ(found.causes[0].row->name, "shm_full");
  for (const Cause& cause : found.causes) EXPECT_STRNE(cause.row->name, "disk_full");
}

}  // namespace
}  // namespace ocrtune
