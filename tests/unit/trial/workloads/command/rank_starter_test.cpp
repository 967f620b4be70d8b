#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "trial/workloads/command/command_fill.h"

namespace ocrtune {
namespace {

std::string started(const std::string& line) {
  const auto command = with_rank_starter(words(line), "/bin/ocrtune");
  return command ? join(*command, " ") : "";
}

TEST(RankStarter, StandsBetweenTheLauncherAndTheScript) {
  EXPECT_EQ(
      started("/v/bin/python3 -u -m paddle.distributed.launch --nproc_per_node=2 tools/train.py "
              "-c cfg.yml"),
      "/v/bin/python3 -u -m paddle.distributed.launch --nproc_per_node=2 /bin/ocrtune "
      "rank-exec -- /v/bin/python3 -u tools/train.py -c cfg.yml");
  EXPECT_EQ(
      started("python3 -m torch.distributed.run --nproc_per_node 2 train.py --batch=4"),
      "python3 -m torch.distributed.run --nproc_per_node 2 --no_python /bin/ocrtune rank-exec "
      "-- python3 -u train.py --batch=4");
}

TEST(RankStarter, LeavesAloneWhatItDoesNotKnow) {
  for (const char* line :
       {"mpirun -n 2 python train.py", "python train.py", "./launch.sh train.py", "",
        "python -m torch.distributed.run --nproc_per_node=2 -m package.train",
        "python -m torch.distributed.run --no_python ./rank.sh train.py",
        "python -m paddle.distributed.launch ./rank.sh", "env -m paddle.distributed.launch a.py"}) {
    EXPECT_EQ(started(line), "") << line;
  }
}

}  // namespace
}  // namespace ocrtune
