#include "probes/p2p/steps/nccl_log.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/random.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string log_text(const std::string& name) {
  return read_file(std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/nccl_logs/" + name).value();
}

NcclLog parse(const std::string& name) { return parse_nccl_log(log_text(name)); }

TEST(NcclLog, PeerToPeerByCumem) {
  const NcclLog log = parse("2.28-p2p-cumem.log");
  EXPECT_EQ(log.version, "2.28.9");
  ASSERT_EQ(log.channels.size(), 2U);
  EXPECT_EQ(log.channels[1].from, 0);
  EXPECT_EQ(log.channels[1].to, 1);
  EXPECT_TRUE(log.uses(NcclTransport::p2p));
  EXPECT_FALSE(log.uses(NcclTransport::shm));
  EXPECT_EQ(log.transports_text(), "P2P x 2");
  EXPECT_THAT(log.environment,
              ElementsAre(Pair("NCCL_DEBUG", "INFO"), Pair("NCCL_RUNTIME_CONNECT", "0")));
}

TEST(NcclLog, PeerToPeerOffIsProvedBySharedMemory) {
  const NcclLog log = parse("2.28-p2p-off-shm.log");
  EXPECT_FALSE(log.uses(NcclTransport::p2p));
  EXPECT_EQ(log.channel_counts().at(NcclTransport::shm), 4);
  EXPECT_THAT(log.environment, Contains(Pair("NCCL_P2P_DISABLE", "1")));
}

TEST(NcclLog, EveryVersionsForms) {
  const NcclLog newest = parse("2.30-shm.log");
  EXPECT_EQ(newest.version, "2.30.7");
  EXPECT_EQ(newest.transports_text(), "SHM x 1");

  const NcclLog sockets = parse("2.18-socket.log");
  EXPECT_EQ(sockets.version, "2.18.5");
  EXPECT_EQ(sockets.transports_text(), "NET x 3");
  EXPECT_THAT(sockets.environment, Contains(Pair("NCCL_SOCKET_IFNAME", "eth0")));

  const NcclLog oldest = parse("2.7-legacy.log");
  EXPECT_EQ(oldest.version, "2.7.8");
  EXPECT_EQ(oldest.transports_text(), "P2P x 2, SHM x 1");
  EXPECT_EQ(oldest.channels[2].from, 3);
}

TEST(NcclLog, FaultsAndCutLines) {
  const NcclLog log = parse("2.26-faults.log");
  EXPECT_THAT(log.warnings, ElementsAre(HasSubstr("Could not enable P2P between dev 0"),
                                        HasSubstr("failed to extend /dev/shm/nccl-aBcDeF")));
  EXPECT_FALSE(log.uses(NcclTransport::p2p));  // a line without a transport proves nothing
}

TEST(NcclLog, AnyTextIsSurvived) {
  const std::string sample = log_text("2.28-p2p-cumem.log");
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = sample;
    for (int i = 0; i < 40; ++i) {
      const auto at = static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(damaged.size()) - 1));
      damaged[at] = static_cast<char>(random.integer(0, 255));
    }
    const NcclLog log = parse_nccl_log(damaged);
    EXPECT_LE(log.channels.size(), 2U);
  }
  EXPECT_EQ(parse_nccl_log("").channels.size(), 0U);
  EXPECT_EQ(parse_nccl_log("hello\nworld").channels.size(), 0U);
  EXPECT_EQ(parse_nccl_log("NCCL version unknown").version, "");
  EXPECT_EQ(
      parse_nccl_log("a NCCL INFO Channel 99999999999 : 0[0] -> 1[1] via P2P").channels.size(), 0U);
}

TEST(NcclLog, RanksLogsAddUp) {
  NcclLog both = parse("2.28-p2p-cumem.log");
  merge_nccl_log(both, parse("2.28-p2p-off-shm.log"));
  EXPECT_EQ(both.transports_text(), "P2P x 2, SHM x 4");
  EXPECT_EQ(both.environment.size(), 3U);
}

// Beside it the line that says how long all took, and one that is no finding.
TEST(NcclLog, ItsOwnDiagnostics) {
  const NcclDiagnostics fine =
      parse_nccl_log(
          "n1:77 NCCL DIAG === NCCL Diagnostics ===\n"
          "n1:77 NCCL DIAG [INFO] p2p: temporarily enabled context-wide CUDA peer access "
          "rank=0 cudaDev=0\n"
          "n1:77 NCCL DIAG [OK]   p2p: verified P2P access in both directions between "
          "every GPU pair (12 peer accesses)\n"
          "n1:77 NCCL DIAG NCCL diagnostics completed in 9.8 ms across 4 ranks\n")
          .diagnostics;
  EXPECT_EQ(fine.tested, 12);
  EXPECT_EQ(fine.passed, 12);
  EXPECT_TRUE(fine.faults.empty());

  const NcclDiagnostics first =  // 2.31
      parse_nccl_log(
          "n1:77 NCCL DIAG [INFO] p2p: 3/4 directed GPU P2P edges verified (skipped "
          "indirect=2)\n"
          "n1:78 NCCL DIAG [INFO] p2p: read mismatch srcRank=1 srcCudaDev=1 srcNvmlDev=5 "
          "dstRank=3 dstCudaDev=3 dstNvmlDev=7 path=SYS handle=CUMEM_POSIX_FD "
          "expected=0x1 got=0x0; look\n")
          .diagnostics;
  EXPECT_EQ(first.tested, 4);
  EXPECT_EQ(first.passed, 3);
  ASSERT_EQ(first.faults.size(), 1U);
  EXPECT_EQ(first.faults[0].from, 1);
  EXPECT_EQ(first.faults[0].to, 3);
  EXPECT_EQ(first.faults[0].text, "read mismatch");

  const NcclDiagnostics second =  // 2.32
      parse_nccl_log(
          "n1:77 NCCL DIAG [INFO] p2p: only 54/56 GPU-to-GPU peer accesses passed "
          "verification\n")
          .diagnostics;
  EXPECT_EQ(second.tested, 56);
  EXPECT_EQ(second.passed, 54);
  EXPECT_EQ(parse_nccl_log("NCCL DIAG [INFO] p2p: only / peer accesses").diagnostics.tested, 0);
}

}  // namespace
}  // namespace ocrtune
