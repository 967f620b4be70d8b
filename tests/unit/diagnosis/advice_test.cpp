#include "diagnosis/advice.h"

#include <algorithm>
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

TEST(Advice, AProgramThatIsUnknownGetsWhatIsTrueOfAll) {
  const std::string advice = advice_on("MemoryError\n");
  EXPECT_THAT(advice, Not(HasSubstr("Train.loader")));
  EXPECT_THAT(advice, HasSubstr("fewer processes"));
}

TEST(Advice, ABoundNodeThatWasFullIsToldFromAFullMachine) {
  const auto killed = [](const std::string& constraint) {
    return advice_on("[1.2] oom-kill:constraint=CONSTRAINT_" + constraint +
                     ",cpuset=/,mems_allowed=0-1,task=python3,pid=31,uid=0\n");
  };
  EXPECT_TRUE(starts_with(killed("MEMORY_POLICY,nodemask=1"), "the NUMA nodes after nodemask="));
  EXPECT_TRUE(starts_with(killed("CPUSET,nodemask=1"), "the NUMA nodes after nodemask="));
  EXPECT_THAT(killed("NONE,nodemask=(null)"), Not(HasSubstr("NUMA")));
}

TEST(Advice, FewCpusForALoaderMayBeAMask) {
  EXPECT_THAT(
      advice_on("UserWarning: This DataLoader will create 10 worker processes in total. Our "
                "suggested max number of worker in current system is 1\n"),
      HasSubstr("srun --cpus-per-task"));
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

// NCCL's switch is advised for what has nothing to do with it: said where one could think of it.
TEST(Advice, TheSwitchOfNcclIsNamedOnlyWhereNcclIs) {
  FailureEvidence killed;
  killed.exit_code = 137;
  const auto notes = [&](const char* line) {
    return join(diagnose({scan_text("log", line)}, killed).notes, "\n");
  };
  EXPECT_THAT(notes("Uvicorn running on http://0.0.0.0:8080\n"), Not(HasSubstr("NCCL_P2P")));
  EXPECT_THAT(notes("NCCL version 2.20.5\n"), HasSubstr("NCCL_P2P"));
  EXPECT_THAT(notes("DataLoader worker (pid 5) is killed by signal: Killed.\n"),
              HasSubstr("NCCL_P2P"));
}

TEST(Advice, RowsNameCausesAndSignaturesThatAre) {
  const auto expect_causes = [](const char* names) {
    for (const std::string& name : words(names)) EXPECT_EQ(find_cause(name).name, name);
  };
  for (const ProgramFix& row : program_fixes()) expect_causes(row.causes);
  for (const Care& row : care_table()) expect_causes(row.causes);
  for (const LineCure& cure : line_cures()) {
    const auto& table = signature_table();
    EXPECT_TRUE(std::any_of(table.begin(), table.end(), [&](const SignatureRow& row) {
      return std::string_view(row.id) == cure.signature;
    })) << cure.signature;
  }
}

}  // namespace
}  // namespace ocrtune
