#include "extras/supervise/checkpoints.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "extras/supervise/supervised_attempt.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Checkpoints : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("checkpoints"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  // A file of the folder, written `second` seconds after 1970.
  void put(const std::string& name, int second, const std::string& text = "weights") {
    const std::string path = join_path(folder_, name);
    ASSERT_TRUE(make_directories(parent_path(path)));
    ASSERT_TRUE(write_file(path, text));
    const timespec when[2] = {{second, 0}, {second, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), when, 0), 0);
  }
  // Below the folder, the newest first; a cut one with "!".
  std::vector<std::string> found() const {
    std::vector<std::string> names;
    for (const Checkpoint& state : find_checkpoints(folder_)) {
      names.push_back((state.whole ? "" : "!") + state.path.substr(folder_.size()));
    }
    return names;
  }
  std::string newest(const SavedStates& states) const {
    return states.newest() == nullptr ? "" : states.newest()->path.substr(folder_.size());
  }

  std::string folder_;
};

TEST_F(Checkpoints, AreWhatTheProgramIsToResumeFrom) {
  put("best_accuracy.pdparams", 20);
  put("best_accuracy.pdopt", 40);
  put("iter_epoch_3.pdparams", 60);
  put("sub/last.ckpt", 80);
  put("model.pt", 100);
  put("rec_v3/latest.pdparams", 120);
  put("epoch=3-step=300.ckpt", 140);
  put("train.log", 160);
  put("config.yml", 160);
  put("vdl/vdlrecords.1.log", 160);
  EXPECT_THAT(found(), ElementsAre("/epoch=3-step=300.ckpt", "/rec_v3/latest", "/model.pt",
                                   "/sub/last.ckpt", "/iter_epoch_3", "/best_accuracy"));
  EXPECT_EQ(find_checkpoints(folder_)[0].number, 300);
  EXPECT_EQ(find_checkpoints(folder_)[4].number, 3);
  EXPECT_THAT(find_checkpoints(folder_ + "/none"), IsEmpty());
  EXPECT_THAT(find_checkpoints(""), IsEmpty());
  EXPECT_EQ(find_checkpoints(folder_ + "/best_accuracy")[0].seconds, 40);
  EXPECT_EQ(find_checkpoints(folder_ + "/model.pt")[0].path, folder_ + "/model.pt");
}

TEST_F(Checkpoints, AFolderOfOneStateIsThatFolder) {
  for (const char* step : {"200", "300"}) {
    const std::string one = "checkpoint-" + std::string(step);
    put(one + "/optimizer.pt", std::atoi(step));
    put(one + "/pytorch_model.bin", std::atoi(step) + 1);
    put(one + "/global_step" + step + "/rank_0.pt", std::atoi(step) + 2);
    put(one + "/trainer_state.json", std::atoi(step) + 3, "{}");
  }
  EXPECT_THAT(found(), ElementsAre("/checkpoint-300", "/checkpoint-200"));
  EXPECT_EQ(find_checkpoints(folder_)[0].number, 300);
}

// Hugging Face's Trainer writes trainer_state.json last.
TEST_F(Checkpoints, AFolderWithoutTheFilesOfTheOneBeforeItIsCut) {
  for (const char* name : {"model.bin", "optimizer.pt", "trainer_state.json", "rng_state_0.pth"}) {
    put("checkpoint-200/" + std::string(name), 1, "{}{}{}");
  }
  put("checkpoint-300/model.bin", 2, "{}{}{}");
  EXPECT_THAT(found(), ElementsAre("!/checkpoint-300", "/checkpoint-200"));
  put("checkpoint-300/optimizer.pt", 2, "{}{}{}");
  put("checkpoint-300/trainer_state.json", 2, "{}{}{}");  // one rank less now
  EXPECT_THAT(found(), ElementsAre("/checkpoint-300", "/checkpoint-200"));
  put("iter_1.pdopt", 3);
  put("iter_1.pdparams", 3);
  put("iter_2.pdopt", 4);
  EXPECT_THAT(found(), ElementsAre("!/iter_2", "/iter_1", "/checkpoint-300", "/checkpoint-200"));
}

TEST_F(Checkpoints, AFormatOfItsOwnIsCutAtHalfTheSize) {
  put("iter_1.ckpt", 1, std::string(100, 'w'));
  put("iter_2.ckpt", 2, std::string(60, 'w'));
  put("other.ckpt", 3, std::string(20, 'w'));
  EXPECT_THAT(found(), ElementsAre("/other.ckpt", "/iter_2.ckpt", "/iter_1.ckpt"));
  put("iter_2.ckpt", 2, std::string(8, 'w'));
  EXPECT_THAT(found(), ElementsAre("/other.ckpt", "!/iter_2.ckpt", "/iter_1.ckpt"));
}

TEST_F(Checkpoints, FormatsSayWhereTheyEnd) {
  const auto whole = [&](const std::string& name, const std::string& text) {
    put(name, 1, text);
    return is_whole_file(join_path(folder_, name));
  };
  std::string tensors = R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})";
  const std::uint64_t length = tensors.size();
  std::string head(8, '\0');
  std::memcpy(head.data(), &length, 8);
  tensors = head + tensors + std::string(8, 'w');
  const std::string zip = "PK\3\4 tensors PK\5\6 directory";
  const std::string pickle = std::string("\x80\4", 2) + "weights.";
  for (const auto& [name, text] : {std::pair<std::string, std::string>("a.safetensors", tensors),
                                   {"a.pt", zip},
                                   {"a.pdparams", pickle}}) {
    EXPECT_TRUE(whole(name, text)) << name;
    for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
      const bool directory_is_there = name == "a.pt" && bytes >= text.size() - 10;
      if (directory_is_there) continue;  // only its comment is cut
      EXPECT_FALSE(whole(name, text.substr(0, bytes))) << name << " " << bytes;
    }
  }
  EXPECT_TRUE(whole("old.pth", std::string("\x80\2\x8a\nmagic", 9)));  // tensors behind its pickles
  EXPECT_TRUE(whole("own", "a format of its own"));
  EXPECT_TRUE(whole("trainer_state.json", "{\"global_step\": 9}\n"));
  EXPECT_FALSE(whole("trainer_state.json", "{\"global_step\": "));
  EXPECT_FALSE(whole("trainer_state.json", ""));
  EXPECT_TRUE(whole("mark", ""));
  EXPECT_FALSE(is_whole_file(folder_ + "/none"));
  EXPECT_FALSE(whole("huge.safetensors", std::string(8, '\xff')));
}

TEST_F(Checkpoints, ANamedStateThatIsCutHasWholeOnesBesideIt) {
  const std::string whole = std::string("\x80\x02") + "weights.";
  put("rec/latest.pdparams", 9, whole);
  put("rec/iter_epoch_3.pdparams", 3, whole);
  put("rec/best_accuracy.pdparams", 2, whole);
  SavedStates states(folder_ + "/rec/latest");
  EXPECT_EQ(newest(states), "/rec/latest");
  put("rec/latest.pdparams", 12, whole.substr(0, 5));
  states.look();
  EXPECT_EQ(newest(states), "/rec/iter_epoch_3");
  EXPECT_THAT(states.passed_over(), ElementsAre(folder_ + "/rec/latest"));
  put("rec/latest.pdparams", 15, whole);
  states.look();
  EXPECT_EQ(newest(states), "/rec/latest");
}

TEST_F(Checkpoints, TheNewestIsTheOneThatCameLastWhateverTheClockSays) {
  put("iter_1.pdparams", 100);
  SavedStates states(folder_);
  EXPECT_EQ(newest(states), "/iter_1");
  states.look();
  EXPECT_FALSE(states.saved());
  put("iter_2.pdparams", 50);  // the clock was set back
  states.look();
  EXPECT_TRUE(states.saved());
  EXPECT_EQ(newest(states), "/iter_2");
  put("iter_3.pdparams", 60, "wei");
  states.look();
  EXPECT_FALSE(states.saved());
  EXPECT_EQ(newest(states), "/iter_2");
  EXPECT_TRUE(states.refuse());
  EXPECT_EQ(newest(states), "/iter_1");
  EXPECT_FALSE(states.refuse());
  EXPECT_EQ(newest(states), "/iter_1");
  states.look();
  EXPECT_EQ(newest(states), "/iter_1");
  put("iter_2.pdparams", 70);  // written anew
  states.look();
  EXPECT_EQ(newest(states), "/iter_2");
}

// The largest of a burst is what a run can go on from: the weights beside it were written last.
TEST_F(Checkpoints, OfABurstTheLargerOneComesFirst) {
  put("last.pt", 100, std::string(90, 'w'));
  put("epoch_5.pt", 101, std::string(90, 'w'));
  put("best.pt", 102, std::string(30, 'w'));
  EXPECT_THAT(found(), ElementsAre("/last.pt", "/epoch_5.pt", "/best.pt"));
  put("best.pt", 102, std::string(88, 'w'));
  EXPECT_THAT(found(), ElementsAre("/best.pt", "/epoch_5.pt", "/last.pt")) << "as good";
  put("best.pt", 140, std::string(30, 'w'));
  EXPECT_THAT(found(), ElementsAre("/best.pt", "/epoch_5.pt", "/last.pt")) << "much newer";
}

TEST_F(Checkpoints, AFifoIsNoStateAndHoldsNothingUp) {
  put("one.pt", 1);
  for (const char* name : {"two.pt", "checkpoint-9/pipe", "named"}) {
    const std::string path = join_path(folder_, name);
    ASSERT_TRUE(make_directories(parent_path(path)));
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_FALSE(is_whole_file(path)) << name;
  }
  EXPECT_THAT(found(), ElementsAre("/one.pt"));
  EXPECT_THAT(find_checkpoints(folder_ + "/named"), IsEmpty());
}

TEST_F(Checkpoints, HaveTheEndingsOfManyPrograms) {
  put("vocabulary.pkl", 90);
  put("data/shard-7.tar", 80);
  EXPECT_THAT(found(), ElementsAre("/vocabulary.pkl", "/data/shard-7.tar"));
  put("model_12.pth.tar", 20);
  put("model.keras", 40);
  EXPECT_THAT(found(), ElementsAre("/model.keras", "/model_12.pth.tar")) << "surer than .pkl";
  EXPECT_EQ(find_checkpoints(folder_)[1].number, 12);
}

TEST_F(Checkpoints, WhatIsNotRecognisedIsNamedOnceItChanges) {
  put("state.msgpack", 1);
  put("train.log", 1);
  SavedStates states(folder_);
  EXPECT_THAT(states.unrecognised(), IsEmpty());
  put("state.msgpack", 2);
  put("sub/other.state", 2);
  put("train.log", 2);
  states.look();
  EXPECT_THAT(states.unrecognised(), ElementsAre("state.msgpack", "sub/other.state"));
  states.look();
  EXPECT_THAT(states.unrecognised(), IsEmpty());
  put("state.msgpack", 3);
  put("last.pt", 3);
  states.look();
  EXPECT_THAT(states.unrecognised(), IsEmpty());
}

TEST(TrainingPosition, IsReadFromProgressLines) {
  const auto all = [](const char* line) {
    const TrainingPosition at = position_of(line);
    return std::vector<double>{at.epoch, at.step, at.global_step};
  };
  EXPECT_THAT(all("epoch: [3/500], global_step: 120, lr: 0.001"), ElementsAre(-1, -1, 120));
  EXPECT_THAT(all("Epoch 3 step 17/900 loss 0.5"), ElementsAre(3, 17, -1));
  EXPECT_THAT(all("Epoch [2/10], Step [5/100], Loss: 2.3"), ElementsAre(2, 5, -1));
  EXPECT_THAT(all("{'loss': 0.51, 'epoch': 0.3}"), ElementsAre(0.3, -1, -1));
  EXPECT_THAT(all(" 12%|#  | 120/1000 [00:31<03:00, 4.1it/s]"), ElementsAre(-1, -1, 120));
  EXPECT_THAT(all("step 40 loss 0.5"), ElementsAre(-1, -1, 40));
  EXPECT_THAT(all("samples/s 81.2, loss: 0.5"), ElementsAre(-1, -1, -1));
  TrainingPosition at = position_of("Epoch 3 step 17");
  EXPECT_TRUE(at.known());
  EXPECT_TRUE(position_of("Epoch 4 step 1").beyond(at));
  EXPECT_FALSE(position_of("Epoch 3 step 17").beyond(at));
  EXPECT_FALSE(position_of("Epoch 2 step 90").beyond(at));
  at.advance(position_of("Epoch 2 step 90"));
  EXPECT_EQ(at.step, 17);
}

}  // namespace
}  // namespace ocrtune
