#include "diagnosis/advice.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string advice_on(const std::string& log) {
  const Diagnosis diagnosis = diagnose_text(log);
  return diagnosis.causes.empty() ? "" : join(diagnosis.causes[0].fixes, "\n");
}

const std::string kFull = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB.\n";

TEST(Advice, SpeaksTheFlagsOfTheProgramThatWroteTheLog) {
  struct Row {
    const char* line;
    const char* flag;
  };
  for (const Row& row : {Row{"INFO 10-22 [core.py:1] Initializing a V1 LLM engine, vllm 0.9\n",
                             "--gpu-memory-utilization"},
                         Row{"[2025-09-12 06:10:02] server_args=ServerArgs(model_path='x')\n",
                             "--mem-fraction-static"},
                         Row{"  File \"/x/site-packages/pytorch_lightning/trainer.py\", line 1\n",
                             "accumulate_grad_batches"},
                         Row{"2021-09-26 10:02:11 - mmocr - INFO - x\n", "--cfg-options"},
                         Row{"ketos train -f binary lines.arrow\n", "ketos train"}}) {
    const std::string advice = advice_on(row.line + kFull);
    EXPECT_THAT(advice, HasSubstr(row.flag));
    EXPECT_THAT(advice, Not(HasSubstr("Train.loader"))) << row.line;
    EXPECT_THAT(advice, Not(HasSubstr("FLAGS_"))) << row.line;
  }
}

// The words of a message decide what is worth trying first.
TEST(Advice, BeginsWithWhatTheMessageAsksFor) {
  struct Row {
    const char* log;
    const char* first;
  };
  for (const Row& row : {
           Row{"ValueError: numpy.dtype size changed, may indicate binary incompatibility. "
               "Expected 96 from C header, got 88 from PyObject\n",
               "'numpy>=2'"},
           Row{"ValueError: numpy.dtype size changed, may indicate binary incompatibility. "
               "Expected 88 from C header, got 96 from PyObject\n",
               "'numpy<2'"},
           Row{"RuntimeError: Gloo connectFullMesh failed with [../gloo/pair.cc:144] no error\n",
               "GLOO_SOCKET_IFNAME"},
           Row{"[c10d] The client socket has timed out after 600000ms while trying to connect to "
               "(job-master-0, 23456).\n[c10d] The IPv4 network addresses of (job-master-0, 23456) "
               "cannot be retrieved (gai error: -2 - Name or service not known).\n",
               "headless Service"},
           Row{"OSError: [Errno 122] Disk quota exceeded: 'out/1.box'\n", "number of files"},
           Row{"PermissionError: [Errno 13] Permission denied: '/.cache'\n", "HOME"},
           Row{"Cannot connect to https://huggingface.co\n< HTTP/1.1 407 Proxy Authentication "
               "Required\n",
               "USER:PASSWORD@PROXY"},
           Row{"lmdb.PageNotFoundError: mdb_get: MDB_PAGE_NOTFOUND: Requested page not found\n",
               "the whole LMDB"},
           Row{"requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://x/y\n"
               "huggingface_hub.errors.GatedRepoError: 403 Client Error.\n",
               "accept its licence"},
           Row{"NCCL WARN Error: failed to extend /dev/shm/nccl-Ab to 9637892 bytes\n"
               "  File \"/x/site-packages/torch/nn/parallel/distributed.py\", line 1\n"
               "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-Ab, error: No "
               "space left on device (28)\n",
               "--shm-size"},
           Row{"Traceback (most recent call last):\n"
               "  File \"/w/train.py\", line 9, in <module>\n"
               "  File \"/x/site-packages/transformers/trainer.py\", line 4379, in "
               "evaluation_loop\n"
               "  File \"/x/site-packages/transformers/trainer_pt_utils.py\", line 136, in add\n"
               "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 28.65 GiB.\n",
               "eval_accumulation_steps"},
       }) {
    EXPECT_THAT(split(advice_on(row.log), '\n').at(0), HasSubstr(row.first)) << row.log;
  }
}

TEST(Advice, AScriptOfTheSameNameIsNotPaddleOCRs) {
  const std::string labels = "IndexError: Target 92 is out of bounds.\n";
  const std::string mmocr = "mmocr - INFO - x\n  File \"tools/train.py\", line 114, in <module>\n";
  EXPECT_THAT(advice_on(mmocr + labels), Not(HasSubstr("Global.")));
  EXPECT_THAT(advice_on("$ python tools/train.py -c configs/rec.yml\n" + labels),
              HasSubstr("Global."));
}

TEST(Advice, AProgramThatIsUnknownGetsWhatIsTrueOfAll) {
  const std::string advice = advice_on("MemoryError\n");
  EXPECT_THAT(advice, Not(HasSubstr("Train.loader")));
  EXPECT_THAT(advice, HasSubstr("fewer processes"));
}

TEST(Advice, AWrongOptionIsNoMatterOfAConfigurationFile) {
  const std::string wrong = "train.py: error: unrecognized arguments: --batchsize 8\n";
  EXPECT_THAT(advice_on(wrong), Not(HasSubstr("ocrtune check")));
  EXPECT_THAT(advice_on(wrong), HasSubstr("--help"));
  EXPECT_THAT(advice_on("[2024/05/01 10:00:01] ppocr INFO: train with paddle 3.0.0\n" + wrong),
              HasSubstr("ocrtune check"));
}

TEST(Advice, ABoundNodeThatWasFullIsToldFromAFullMachine) {
  const auto killed = [](const std::string& constraint) {
    return advice_on("[1.2] oom-kill:constraint=CONSTRAINT_" + constraint +
                     ",cpuset=/,mems_allowed=0-1,task=python3,pid=31,uid=0\n");
  };
  EXPECT_TRUE(starts_with(killed("MEMORY_POLICY,nodemask=1"), "numactl --interleave=all"));
  EXPECT_TRUE(starts_with(killed("CPUSET,nodemask=1"), "more nodes in cpuset.mems"));
  EXPECT_THAT(killed("NONE,nodemask=(null)"), Not(HasSubstr("NUMA")));
}

TEST(Advice, ALoaderOfOneCpuIsBoundToIt) {
  const auto first = [](const char* cpus) {
    return diagnose_text(
               "UserWarning: This DataLoader will create 10 worker processes in total. Our "
               "suggested max number of worker in current system is " +
               std::string(cpus) +
               ", which is smaller than what this DataLoader is going to create.\n")
        .causes.at(0);
  };
  EXPECT_STREQ(first("1").row->name, "narrow_cpu_mask");
  EXPECT_THAT(first("1").fixes[0], HasSubstr("srun --cpus-per-task"));
  EXPECT_STREQ(first("8").row->name, "thread_oversubscription");
}

TEST(Advice, WhatAnEnginesExitCodeOrAFilterEndsIsNoSecondCause) {
  FailureEvidence engine;
  engine.exit_code = 126;
  const Diagnosis undelegated = diagnose_text(
      "Error: OCI runtime error: crun: controller `cpuset` is not available under "
      "/sys/fs/cgroup/user.slice/user-1000.slice/libpod-1f.scope/container/cgroup.controllers\n",
      engine);
  ASSERT_EQ(undelegated.causes.size(), 1u);
  EXPECT_STREQ(undelegated.causes[0].row->name, "container_setup_failed");
  EXPECT_THAT(undelegated.causes[0].fixes[0], HasSubstr("Delegate=cpu cpuset"));
  const Diagnosis filtered = diagnose_text(
      "OpenBLAS blas_thread_init: pthread_create failed for thread 1 of 24: Operation not "
      "permitted\nRuntimeError: can't start new thread\n");
  EXPECT_STREQ(filtered.causes.at(0).row->name, "seccomp_refused");
  for (std::size_t i = 1; i < filtered.causes.size(); ++i) EXPECT_TRUE(filtered.causes[i].follows);
}

TEST(Advice, TheMessagesOwnCureComesFirst) {
  const std::string text =
      "ValueError: Free memory on device (9.32/23.65 GiB) on startup is less than desired GPU "
      "memory utilization (0.9, 21.28 GiB). Decrease gpu_memory_utilization or end other "
      "processes.";
  EXPECT_EQ(cure_in_message(text), "Decrease gpu_memory_utilization or end other processes");
  EXPECT_TRUE(starts_with(advice_on(text + "\n"), "as the message says: Decrease"));
  EXPECT_EQ(cure_in_message("Please try to increase --mem-fraction-static."),
            "Please try to increase --mem-fraction-static");
  for (const char* vague :
       {"Please check the stack trace above", "try \"date -d @1715669996\" if you are using GNU",
        "run with NCCL_DEBUG=INFO for details", "Please report this issue to the developers"}) {
    EXPECT_EQ(cure_in_message(vague), "") << vague;
  }
}

// The message wants more of what the row of the program would lower.
TEST(Advice, NoFixContradictsTheMessage) {
  const std::string message =
      "vllm ValueError: 6.8 GiB KV cache is needed, which is larger than the available KV cache "
      "memory (2.3 GiB). Try increasing `gpu_memory_utilization` when initializing the engine.\n";
  const Diagnosis told = diagnose_text(message);
  ASSERT_FALSE(told.causes.empty());
  EXPECT_THAT(join(told.causes[0].fixes, "\n"), Not(HasSubstr("--gpu-memory-utilization 0.8")));
  EXPECT_THAT(advice_on("vllm torch.OutOfMemoryError: CUDA out of memory. Tried 2.00 GiB\n"),
              HasSubstr("--gpu-memory-utilization 0.8"));
}

TEST(Advice, SaysWhatToDoFirstAndWhatIsNotWorthTrying) {
  const Diagnosis disk =
      diagnose_text("blk_update_request: I/O error, dev nvme0n1, sector 1\nloss: 1\n");
  ASSERT_FALSE(disk.causes.empty());
  EXPECT_THAT(disk.causes[0].first, HasSubstr("copy"));
  EXPECT_THAT(disk.causes[0].not_worth, HasSubstr("batch size"));
  EXPECT_THAT(disk.causes[0].fixes[0], HasSubstr("smartctl"));
}

// The version, where the message names it; else the library, by the message or by its frame.
TEST(Advice, PinsTheLibraryWhoseNameIsGone) {
  const auto first = [](const std::string& log) { return split(advice_on(log), '\n').at(0); };
  EXPECT_THAT(first("AttributeError: `np.trapz` was removed in the NumPy 2.4 release.\n"),
              HasSubstr("'numpy<2.4'"));
  EXPECT_THAT(first("ImportError: cannot import name 'Base' from 'docling_core.types' (/e/lib/"
                    "python3.12/site-packages/docling_core/types/__init__.py)\n"),
              HasSubstr("docling_core=="));
  EXPECT_THAT(
      first("Traceback (most recent call last):\n  File \"/w/read.py\", line 2, in <module>\n"
            "  File \"/e/lib/python3.12/site-packages/paddleocr/ocr.py\", line 63, in __init__\n"
            "TypeError: parse_args() got an unexpected keyword argument 'show_log'\n"),
      HasSubstr("paddleocr=="));
}

TEST(Advice, IsInTheWordsOfTheEngineThatIsSeen) {
  const std::string full = "Memory cgroup out of memory: Killed process 31 (python3)\n";
  const std::string all = "docker run --memory=64g | resources.limits.memory | sbatch --mem=64G";
  EXPECT_THAT(advice_on(full), HasSubstr(all));
  struct Row {
    const char* line;
    const char* limit;
  };
  for (const Row& row : {Row{"docker: Error response from daemon\n", "limit: docker run"},
                         Row{"Trying to pull docker.io/x with podman\n", "limit: podman run"},
                         Row{"kubelet: containerd started\n", "limit: resources.limits.memory"},
                         Row{"slurmstepd: error: x\n", "limit: sbatch --mem"},
                         Row{"lxc-start: web: x\n", "limit: lxc config set"}}) {
    EXPECT_THAT(advice_on(row.line + full), HasSubstr(row.limit));
    EXPECT_THAT(advice_on(row.line + full), Not(HasSubstr(all))) << row.line;
  }
  EXPECT_THAT(advice_on("slurmstepd: error: x\nkubelet: x\n" + full), HasSubstr(all));
}

// A rootless engine that was not given the controller.
TEST(Advice, OfPodmanNamesNoPod) {
  const Diagnosis diagnosis = diagnose_text(
      "Error: crun: controller `cpuset` is not available under "
      "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers: OCI runtime "
      "error\n");
  ASSERT_FALSE(diagnosis.causes.empty());
  const Cause& cause = diagnosis.causes[0];
  EXPECT_STREQ(cause.row->name, "container_setup_failed");
  EXPECT_THAT(cause.fixes[0], HasSubstr("Delegate=cpu cpuset io memory pids"));
  EXPECT_EQ(cause.confirm, "podman inspect NAME; podman logs NAME");
  std::string said = join(cause.fixes, "\n") + cause.confirm;
  for (const NextStep& step : diagnosis.next_steps) said += step.command;
  EXPECT_THAT(said, Not(HasSubstr("kubectl")));
  EXPECT_THAT(said, Not(HasSubstr("docker")));
}

TEST(Advice, EngineWordsStandForRowsThatAre) {
  std::set<std::string> general;
  for (const CauseRow& row : cause_table()) {
    general.insert(row.confirm);
    general.insert(row.fixes.begin(), row.fixes.end());
  }
  for (const Fix& fix : fix_table()) general.insert(fix.words);
  for (const NextStep& step : next_step_table()) general.insert(step.command);
  for (const EngineWords& row : engine_words()) {
    EXPECT_EQ(general.count(row.general), 1U) << row.general;
    EXPECT_STREQ(words_for(row.general, row.engine), row.own);
    EXPECT_STREQ(words_for(row.general, "none"), row.general);
  }
}

TEST(Advice, RowsNameCausesAndSignaturesThatAre) {
  std::set<std::string_view> names;
  for (const CauseRow& row : cause_table()) names.insert(row.name);
  for (const SignatureRow& row : signature_table()) names.insert(row.id);
  const auto expect_names = [&](const char* of) {
    for (const std::string& name : words(of)) EXPECT_EQ(names.count(name), 1U) << name;
  };
  for (const Fix& fix : fix_table()) expect_names(fix.of);
  for (const Care& row : care_table()) expect_names(row.causes);
}

// What a limit's message names is the one to raise; what another program would need is left out.
TEST(Advice, FollowsWhatTheLineHolds) {
  const std::string readers = advice_on("lmdb.ReadersFullError: MDB_READERS_FULL: limit reached\n");
  EXPECT_TRUE(starts_with(readers, "lmdb.open(PATH, max_readers"));
  EXPECT_THAT(readers, Not(HasSubstr("map_size")));
  EXPECT_TRUE(starts_with(advice_on("EncryptedPdfError: Input PDF is encrypted.\n"), "qpdf"));
  EXPECT_THAT(advice_on("wgpu: Buffer size 6 is greater than the maximum buffer size (2)\n"),
              Not(HasSubstr("nginx")));
  EXPECT_TRUE(starts_with(advice_on("ModuleNotFoundError: No module named 'pyclipper'\n"),
                          "pip install pyclipper "));
  EXPECT_EQ(cure_in_message("x requires more. To install them, run `pip install \"x[ocr]\"`."),
            "run `pip install \"x[ocr]\"`");
}

TEST(Advice, AServerIsNotAskedForItsLoader) {
  const std::string stalled =
      "[2025-08-04 22:15:12 TP2] Watchdog timeout (self.watchdog_timeout=300)\n";
  EXPECT_THAT(advice_on("server_args=ServerArgs(model_path='x')\n" + stalled),
              Not(HasSubstr("num_workers")));
  const std::string crash = "Fatal Python error: Segmentation fault\n";
  EXPECT_THAT(advice_on("  File \"/x/torch/nn.py\", line 1\n" + crash), HasSubstr("num_workers"));
}

TEST(Advice, WhereNoLineShowsTheCauseItIsWhatHelpsEverybody) {
  EXPECT_FALSE(fixes_of("illegal_instruction", "step 1 of 300\n").empty());
  EXPECT_TRUE(fixes_of("no_such_cause", "step 1 of 300\n").empty());
  const auto by_the_line =
      fixes_of("missing_module", "ModuleNotFoundError: No module named 'pyclipper'\n");
  ASSERT_FALSE(by_the_line.empty());
  EXPECT_THAT(by_the_line[0], HasSubstr("pip install pyclipper"));
}

}  // namespace
}  // namespace ocrtune
