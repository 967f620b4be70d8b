#include "extras/supervise/safer_setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "trial/workloads/command/command_template.h"

namespace ocrtune {
namespace {

using testing::ElementsAre;

LaunchSetting setting(const std::string& command) {
  LaunchSetting launch;
  launch.workload.command = words(command);
  return launch;
}

TEST(SaferSetting, ArgumentsAreHalved) {
  LaunchSetting launch = setting("python -m paddle.distributed.launch --nproc_per_node=8 t.py");
  EXPECT_EQ(make_safer(launch, Remedy::fewer_ranks), "processes 8 -> 4");
  EXPECT_EQ(launch.workload.command[3], "--nproc_per_node=4");
  launch = setting("torchrun --nproc-per-node 3 t.py --batch_size 16");
  EXPECT_EQ(make_safer(launch, Remedy::fewer_ranks), "processes 3 -> 1");
  EXPECT_EQ(make_safer(launch, Remedy::smaller_batch), "batch 16 -> 8");
  EXPECT_EQ(join(launch.workload.command, " "), "torchrun --nproc-per-node 1 t.py --batch_size 8");
}

TEST(SaferSetting, PlaceholdersChangeTheKnob) {
  LaunchSetting launch = setting("train --procs {nproc} --w {workers}");
  launch.knobs.nproc = 6;
  launch.knobs.workers = 4;
  EXPECT_EQ(make_safer(launch, Remedy::fewer_workers), "loader workers 4 -> 2");
  const auto filled = fill_for(launch.workload, Machine(), launch.knobs, TrialPlace());
  EXPECT_THAT(filled->launch.arguments, ElementsAre("train", "--procs", "6", "--w", "2"));
}

TEST(SaferSetting, TheLadderGoesOnWhenOneStepIsUsedUp) {
  LaunchSetting launch = setting("x --num_workers 1 --nproc_per_node 2");
  EXPECT_EQ(make_safer(launch, Remedy::fewer_workers), "loader workers 1 -> 0");
  EXPECT_EQ(make_safer(launch, Remedy::fewer_workers), "processes 2 -> 1");
  EXPECT_EQ(make_safer(launch, Remedy::fewer_workers), "");
}

TEST(SaferSetting, PaddleOcrGetsAnOverride) {
  LaunchSetting launch = setting("python tools/train.py -c x.yml -o Global.epoch_num=3");
  EXPECT_EQ(make_safer(launch, Remedy::fewer_workers), "loader workers -> 2");
  EXPECT_EQ(join(launch.workload.command, " "),
            "python tools/train.py -c x.yml -o Train.loader.num_workers=2 Global.epoch_num=3");
  EXPECT_EQ(make_safer(launch, Remedy::fewer_workers), "loader workers 2 -> 1");
}

TEST(SaferSetting, VariablesAreSetOnce) {
  LaunchSetting launch = setting("x");
  EXPECT_EQ(make_safer(launch, Remedy::p2p_off), "NCCL_P2P_DISABLE=1");
  EXPECT_EQ(make_safer(launch, Remedy::p2p_off), "");
  EXPECT_EQ(make_safer(launch, Remedy::retry), "");
}

TEST(ResumingCommand, AppendsOnce) {
  const auto once = resuming_command(words("python tools/train.py -c x.yml"),
                                     "Global.checkpoints={checkpoint}", "out/latest");
  EXPECT_EQ(join(once, " "), "python tools/train.py -c x.yml -o Global.checkpoints=out/latest");
  EXPECT_EQ(resuming_command(once, "Global.checkpoints={checkpoint}", "out/latest"), once);
  EXPECT_THAT(resuming_command({"train"}, "--resume {checkpoint}", "a b"),
              ElementsAre("train", "--resume", "a b"));
  EXPECT_THAT(resuming_command({"train", "--output_dir", "out"}, "--resume {checkpoint}", "out"),
              ElementsAre("train", "--output_dir", "out", "--resume", "out"));
  EXPECT_THAT(resuming_command({"train", "--resume", "old", "-v"}, "--resume {checkpoint}", "new"),
              ElementsAre("train", "--resume", "new", "-v"));
  EXPECT_THAT(resuming_command({"train", "--resume=old"}, "--resume={checkpoint}", "new"),
              ElementsAre("train", "--resume=new"));
}

TEST(ResumingCommand, APathMayHoldAnEqualsSign) {
  const std::string path = "out/epoch=3-step=300.ckpt";
  EXPECT_THAT(resuming_command({"train", "-o", "out"}, "--ckpt_path {checkpoint}", path),
              ElementsAre("train", "-o", "out", "--ckpt_path", path));
  EXPECT_THAT(
      resuming_command({"train", "--ckpt_path", "pre.ckpt"}, "--ckpt_path {checkpoint}", path),
      ElementsAre("train", "--ckpt_path", path));
  EXPECT_THAT(resuming_command({"train", "-o", "out"}, "trainer.ckpt={checkpoint}", path),
              ElementsAre("train", "-o", "out", "trainer.ckpt=" + path));
  EXPECT_THAT(resuming_command({"main", "-o", "a=1"}, "b={checkpoint}", path),
              ElementsAre("main", "-o", "b=" + path, "a=1"));
}

TEST(ResumingCommand, IsAskedForWhereACheckpointIsNamedAlone) {
  EXPECT_THAT(untold_checkpoint("ck/state.json", ""),
              testing::AllOf(testing::HasSubstr("goes on from ck/state.json, it begins again"),
                             testing::HasSubstr("--resume-arg")));
  EXPECT_EQ(untold_checkpoint("ck/state.json", "--resume {checkpoint}"), "");
  EXPECT_EQ(untold_checkpoint("", ""), "");
}

TEST(ResumingCommand, BracesInAPathAreNoPlaceholders) {
  const auto resumed =
      resuming_command({"train", "{nproc}"}, "--resume={checkpoint} {a}", "{run}/{{b}}");
  EXPECT_THAT(*fill_command(resumed, {{"nproc", "2"}}),
              ElementsAre("train", "2", "--resume={run}/{{b}}", "{a}"));
}

}  // namespace
}  // namespace ocrtune
