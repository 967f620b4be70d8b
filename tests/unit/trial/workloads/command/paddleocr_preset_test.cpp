#include "trial/workloads/command/paddleocr_preset.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/paddleocr_config.h"

namespace ocrtune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(MergeOverrides, OneGroupAtTheEndAndOursWin) {
  int groups = 0;
  EXPECT_THAT(merge_overrides({"python", "train.py", "-o", "A.a=1", "B.b=[0, 1]", "-c", "x.yml",
                               "-o", "A.a=2", "C.c=3"},
                              {{"C.c", "{batch}"}, {"D.d", "4"}}, &groups),
              ElementsAre("python", "train.py", "-c", "x.yml", "-o", "A.a=2", "B.b=[0, 1]",
                          "C.c={batch}", "D.d=4"));
  EXPECT_EQ(groups, 2);
  EXPECT_THAT(merge_overrides({"train.py"}, {}, nullptr), ElementsAre("train.py"));
}

class PaddleOcrPreset : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = make_temporary_directory("preset");
    ASSERT_TRUE(folder.ok());
    folder_ = *folder;
    std::string lines;
    for (int i = 0; i < 100; ++i) lines += "a.png\tb\n";
    ASSERT_TRUE(write_file(folder_ + "/labels.txt", lines).ok());
    config("");
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }

  void config(const std::string& sampler, const std::string& global = "") {
    ASSERT_TRUE(write_file(folder_ + "/cfg.yml",
                           "Global:\n  use_gpu: true\n  use_amp: true\n  epoch_num: 20\n" + global +
                               "Train:\n  dataset:\n    name: SimpleDataSet\n"
                               "    label_file_list: [labels.txt]\n    transforms:\n"
                               "      - RecResizeImg:\n          image_shape: [3, 48, 320]\n" +
                               sampler +
                               "  loader:\n    batch_size_per_card: 64\n    num_workers: 4\n")
                    .ok());
  }

  CommandWorkload workload() const {
    CommandWorkload workload;
    workload.command = {"sh", "-m", "paddle.distributed.launch", "tools/train.py", "-c", "cfg.yml"};
    workload.directory = folder_;
    workload.preset = "paddleocr";
    workload.knobs = {"nproc", "batch", "workers"};
    return workload;
  }

  std::string folder_;
};

TEST_F(PaddleOcrPreset, SetsTheKeysOfAShortTrialAndOnlyThoseOfTheLaunch) {
  const auto prepared = prepare_command(workload(), Machine());
  ASSERT_TRUE(prepared.ok()) << prepared.error().what;
  const std::string trial = join(prepared->workload.command, " ");
  for (const char* part :
       {"--nproc_per_node={nproc}", "--log_dir={trial_dir}/log",
        "Train.loader.batch_size_per_card={batch}", "Train.loader.num_workers={workers}",
        "Global.eval_batch_step=[0,100000000000]", "Global.print_batch_step=2",
        "Global.save_model_dir={trial_dir}/output", "Global.use_gpu=False"}) {
    EXPECT_THAT(trial, HasSubstr(part));
  }
  EXPECT_THAT(trial, Not(HasSubstr("first_bs")));
  const std::string launch = join(prepared->launch, " ");
  EXPECT_THAT(launch, HasSubstr("Train.loader.batch_size_per_card={batch}"));
  EXPECT_THAT(launch, Not(HasSubstr("eval_batch_step")));
  EXPECT_THAT(launch, Not(HasSubstr("trial_dir")));
  EXPECT_EQ(prepared->workload.log_reader, "paddleocr");
  EXPECT_EQ(prepared->workload.log_file, "{trial_dir}/log/workerlog.0");
  ASSERT_TRUE(prepared->current.has_value());
  EXPECT_EQ(prepared->current->batch, 64);
  EXPECT_EQ(prepared->current->workers, 4);
  EXPECT_EQ(prepared->current->nproc, 1);
  EXPECT_THAT(prepared->warnings, Contains(HasSubstr("use_amp does nothing")));
  EXPECT_THAT(prepared->warnings, Contains(HasSubstr("asks for a GPU")));
}

TEST_F(PaddleOcrPreset, ARehearsalHasItsEvaluation) {
  EXPECT_FALSE(prepare_command(workload(), Machine())->evaluation_steps) << "no Eval section";
  config("", "  eval_batch_step: [4000, 500]\nEval: {loader: {}}\n");
  CommandWorkload rehearsal = workload();
  rehearsal.rehearses = true;
  const auto prepared = prepare_command(rehearsal, Machine());
  ASSERT_TRUE(prepared) << prepared.error().what;
  EXPECT_EQ(prepared->evaluation_steps, 500);
  const std::string trial = join(prepared->workload.command, " ");
  EXPECT_THAT(trial, HasSubstr("Global.eval_batch_step=[0,6]"));
  EXPECT_THAT(trial, HasSubstr("Global.save_model_dir={trial_dir}/output"));
  config("", "  eval_batch_epoch: 2\nEval: {loader: {}}\n");
  const auto by_epoch = prepare_command(rehearsal, Machine());
  ASSERT_TRUE(by_epoch) << by_epoch.error().what;
  EXPECT_EQ(by_epoch->evaluation_steps, 0);
  EXPECT_THAT(join(by_epoch->workload.command, " "), HasSubstr("Global.eval_batch_epoch=null"));
}

TEST_F(PaddleOcrPreset, GpusThatAreNotThereAreLeftOut) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--gpus", "0,1"}, {"--devices=0,1"}}) {
    CommandWorkload one = workload();
    one.command.insert(one.command.begin() + 3, flags.begin(), flags.end());
    const auto prepared = prepare_command(one, Machine());
    ASSERT_TRUE(prepared) << prepared.error().what;
    EXPECT_THAT(prepared->warnings, Contains(HasSubstr("is given GPUs (0,1) and there is none")));
    for (const auto* command : {&prepared->workload.command, &prepared->launch}) {
      const std::string line = join(*command, " ");
      EXPECT_THAT(line, Not(HasSubstr("0,1 "))) << line;
      EXPECT_THAT(line, HasSubstr("--nproc_per_node={nproc}"));
    }
  }
}

TEST_F(PaddleOcrPreset, SamplersTakeTheirOwnBatch) {
  config(
      "  sampler:\n    name: MultiScaleSampler\n    scales: [[320, 32], [320, 48]]\n"
      "    first_bs: 192\n");
  const auto prepared = prepare_command(workload(), Machine());
  ASSERT_TRUE(prepared.ok());
  EXPECT_THAT(join(prepared->workload.command, " "), HasSubstr("Train.sampler.first_bs={batch}"));
  EXPECT_EQ(prepared->current->batch, 192);
  EXPECT_EQ(prepared->print_interval.value_or(0), 6);
}

TEST_F(PaddleOcrPreset, TheUsersOverridesWinOverTheFile) {
  config(
      "  sampler:\n    name: MultiScaleSampler\n    scales: [[320, 32], [320, 48]]\n"
      "    first_bs: &bs 192\n");
  CommandWorkload one = workload();
  one.command.insert(one.command.end(), {"-o", "Global.use_gpu=false", "Train.loader.num_workers=2",
                                         "Train.sampler.first_bs=24", "Global.use_amp=False",
                                         "Global.eval_batch_epoch=1", "Global.epoch_num=5000"});
  const auto prepared = prepare_command(one, Machine());
  ASSERT_TRUE(prepared.ok()) << prepared.error().what;
  EXPECT_EQ(prepared->current->batch, 24);
  EXPECT_EQ(prepared->current->workers, 2);
  EXPECT_THAT(prepared->warnings, Not(Contains(HasSubstr("asks for a GPU"))));
  EXPECT_THAT(prepared->warnings, Not(Contains(HasSubstr("use_amp"))));
  const std::string trial = join(prepared->workload.command, " ");
  EXPECT_THAT(trial, HasSubstr("Global.eval_batch_epoch=100000"));
  EXPECT_THAT(trial, HasSubstr("Global.epoch_num=5000"));
  EXPECT_THAT(join(prepared->launch, " "), HasSubstr("Global.eval_batch_epoch=1"));
}

TEST_F(PaddleOcrPreset, NamesBadOverrides) {
  const auto what = [&](const std::string& item) {
    CommandWorkload one = workload();
    one.command.insert(one.command.end(), {"-o", item});
    const auto prepared = prepare_command(one, Machine());
    return prepared ? std::string("fine") : prepared.error().what;
  };
  EXPECT_THAT(what("Global.use_gpu"), HasSubstr("-o Global.use_gpu: PaddleOCR wants KEY=VALUE"));
  EXPECT_THAT(what("Global.a=b=c"), HasSubstr("with one '='"));
  EXPECT_THAT(what("Evl.loader.num_workers=0"), HasSubstr("the config has no section Evl"));
  EXPECT_THAT(what("Train.dataset.label_file_list=[other.txt]"), HasSubstr("other.txt"));
  EXPECT_EQ(what("Train.loader.batch_size_per_card={batch}"), "fine");
  EXPECT_EQ(what("Global.new.deep=1"), "fine");
  EXPECT_EQ(what("Global.checkpoints="), "fine");
}

TEST_F(PaddleOcrPreset, RefusesWhatCannotWork) {
  Machine machine;
  machine.memory.shm_bytes.value = 64 << 20;
  const auto prepared = prepare_command(workload(), machine);
  ASSERT_TRUE(prepared.ok());
  Knobs knobs;
  knobs.batch = 16;
  EXPECT_FALSE(prepared->refuse(knobs).has_value());
  knobs.nproc = 8;
  const auto small = prepared->refuse(knobs);
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->outcome, Outcome::unsupported);
  EXPECT_THAT(small->reason, HasSubstr("12 training lines for each of 8 processes (100 in all)"));
  knobs.nproc = 1;
  knobs.batch = 90;
  knobs.workers = 8;
  const auto shm = prepared->refuse(knobs);
  ASSERT_TRUE(shm.has_value());
  EXPECT_EQ(shm->outcome, Outcome::out_of_memory);
  EXPECT_THAT(shm->reason, HasSubstr("/dev/shm, which holds 64.0 MiB"));
}

TEST_F(PaddleOcrPreset, NamesBadConfigs) {
  const auto what = [&](const CommandWorkload& one) {
    const auto prepared = prepare_command(one, Machine());
    return prepared ? std::string("fine") : prepared.error().what;
  };
  CommandWorkload one = workload();
  one.command.back() = "none.yml";
  EXPECT_THAT(what(one), HasSubstr("none.yml: No such file"));
  one.command.resize(4);
  EXPECT_THAT(what(one), HasSubstr("needs -c CONFIG.yml"));
  ASSERT_TRUE(write_file(folder_ + "/cfg.yml", "Global:\n  a: [1, 2\nTrain: }\n").ok());
  EXPECT_THAT(what(workload()), HasSubstr("cfg.yml:"));
  EXPECT_THAT(what(workload()), HasSubstr("not YAML"));
  ASSERT_TRUE(write_file(folder_ + "/cfg.yml", "just a word\n").ok());
  EXPECT_THAT(what(workload()), HasSubstr("no Train.loader"));
  ASSERT_TRUE(write_file(folder_ + "/cfg.yml", "\xff\xfe\x01").ok());
  EXPECT_NE(what(workload()), "fine");
  config("");
  ASSERT_TRUE(remove_tree(folder_ + "/labels.txt").ok());
  EXPECT_THAT(what(workload()), HasSubstr("label_file_list"));
  ASSERT_TRUE(write_file(folder_ + "/labels.txt", "a\tb\n").ok());
  one = workload();
  one.command = {"sh", "tools/train.py", "-c", "cfg.yml"};
  EXPECT_THAT(what(one), HasSubstr("needs the launcher"));
}

// A job without its dictionary dies at its start; some images may be missing.
TEST_F(PaddleOcrPreset, LooksForDictionaryAndImagesBeforeAnyTrial) {
  CommandWorkload one = workload();
  EXPECT_THAT(prepare_command(one, Machine())->warnings,
              Contains(HasSubstr("labels.txt: a.png not found in . (100 of the first 100")));
  ASSERT_TRUE(write_file(folder_ + "/a.png", "").ok());
  EXPECT_THAT(prepare_command(one, Machine())->warnings, Not(Contains(HasSubstr("a.png"))));
  one.command.insert(one.command.end(), {"-o", "Global.character_dict_path=dict.txt"});
  const auto without = prepare_command(one, Machine());
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().kind, ErrorKind::missing);
  EXPECT_EQ(without.error().what, "dictionary dict.txt not found (Global.character_dict_path)");
  ASSERT_TRUE(write_file(folder_ + "/dict.txt", "a\n").ok());
  EXPECT_TRUE(prepare_command(one, Machine()).ok());
}

TEST_F(PaddleOcrPreset, TrialsHaveLogFoldersOfTheirOwnAndSaySo) {
  CommandWorkload one = workload();
  one.command.insert(one.command.begin() + 3, "--log_dir=mine");
  const auto prepared = prepare_command(one, Machine());
  ASSERT_TRUE(prepared.ok()) << prepared.error().what;
  EXPECT_THAT(prepared->warnings, Contains(HasSubstr("not to mine")));
  EXPECT_THAT(join(prepared->workload.command, " "), HasSubstr("--log_dir={trial_dir}/log"));
  EXPECT_THAT(join(prepared->launch, " "), HasSubstr("--log_dir=mine"));
}

// Nothing is asked for, and batch and ranks are turned all the same.
TEST_F(PaddleOcrPreset, ThePlainFormTurnsTheGlobalBatch) {
  CommandWorkload one = workload();
  one.knobs.clear();
  const auto prepared = prepare_command(one, Machine());
  ASSERT_TRUE(prepared) << prepared.error().what;
  EXPECT_TRUE(turns_global_batch(*prepared, one));
}

}  // namespace
}  // namespace ocrtune
