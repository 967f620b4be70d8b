#include "core/comm/shm_comm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "core/comm/gradient_mean.h"
#include "tests/support/forked_ranks.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ShmCommOptions options_of(const std::string& segment, int rank, int world_size) {
  ShmCommOptions options;
  options.segment = segment;
  options.place = RankPlace{rank, world_size, rank, world_size, 0, 1};
  return options;
}

// What rank r holds at index i in the tests: a different small number everywhere, exact in a float.
float element_at(int rank, std::size_t i) {
  return static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 1024);
}

std::string reduce_and_compare(const std::string& segment, int rank, int world_size,
                               std::size_t count) {
  auto comm = make_shm_comm(options_of(segment, rank, world_size));
  if (!comm) return comm.error().what;
  auto buffer = (*comm)->gradient_buffer(count);
  if (!buffer) return buffer.error().what;
  if (buffer->size() != count) return "wrong size";
  if (reinterpret_cast<std::uintptr_t>(buffer->data()) % 64 != 0) return "not aligned";
  for (float value : *buffer) {
    if (value != 0) return "not zeroed";
  }
  const std::size_t first = count / 3;  // ranges that are not the whole, nor aligned
  for (int step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < count; ++i) (*buffer)[i] = element_at(rank + step, i);
    double wait_seconds = -1;
    for (const auto& [from, length] : {std::pair{std::size_t{0}, first}, {first, count - first}}) {
      const Status status = (*comm)->all_reduce_mean(from, length, &wait_seconds);
      if (!status) return status.error().what;
    }
    if (wait_seconds < 0) return "no waiting time";
    for (std::size_t i = 0; i < count; ++i) {
      double mean = 0;
      for (int r = 0; r < world_size; ++r)
        mean += static_cast<double>(element_at(r + step, i)) / world_size;
      if (std::abs((*buffer)[i] - mean) > 1e-3) return "wrong mean at " + std::to_string(i);
    }
    if (Status status = (*comm)->barrier(); !status) return status.error().what;
  }
  return "fine";
}

bool segment_is_gone(const std::string& name) { return !path_exists("/dev/shm" + name); }

TEST(ShmComm, MeanOverEveryWorldSize) {
  for (int world_size : {1, 2, 3, 5, 8}) {
    for (std::size_t count : {1UL, 17UL, 5000UL, 100'003UL}) {
      const std::string segment = new_segment_name();
      for (const RankEnd& end : fork_ranks(world_size, [&](int rank) {
             return reduce_and_compare(segment, rank, world_size, count);
           })) {
        EXPECT_EQ(end.said, "fine") << world_size << " ranks, " << count << " numbers";
      }
      EXPECT_TRUE(segment_is_gone(segment));
    }
  }
}

TEST(ShmComm, SixtyFourRanks) {
  const std::string segment = new_segment_name();
  for (const RankEnd& end :
       fork_ranks(64, [&](int rank) { return reduce_and_compare(segment, rank, 64, 1000); })) {
    EXPECT_EQ(end.said, "fine");
  }
}

// Kernels of ARM have pages of 4, 16 or 64 KiB, and map a file from the start of one alone.
TEST(ShmComm, IsMappedFromWhereThePagesOfAnyKernelBegin) {
  const std::string segment = new_segment_name();
  const auto comm = make_shm_comm(options_of(segment, 0, 1)).value();
  ASSERT_TRUE(comm->gradient_buffer(1000));
  std::vector<std::uint64_t> offsets;
  for (const std::string& line : split(read_file("/proc/self/maps", 4 << 20).value(), '\n')) {
    if (line.find(segment) != std::string::npos) {
      offsets.push_back(std::stoull(words(line)[2], nullptr, 16) % (64 << 10));
    }
  }
  EXPECT_EQ(offsets, (std::vector<std::uint64_t>{0, 0})) << "what ranks say, and their gradients";
}

TEST(ShmComm, AllRanksEndWithTheSameBits) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(3, [&](int rank) {
    auto comm = make_shm_comm(options_of(segment, rank, 3));
    auto buffer = (*comm)->gradient_buffer(1000);
    for (std::size_t i = 0; i < 1000; ++i) {
      (*buffer)[i] = 1.0F / static_cast<float>(i + 1 + static_cast<std::size_t>(rank) * 1000);
    }
    (void)(*comm)->all_reduce_mean(0, 1000, nullptr);
    return std::string(reinterpret_cast<const char*>(buffer->data()), 1000 * sizeof(float));
  });
  EXPECT_EQ(ends[0].said.size(), 4000U);
  EXPECT_EQ(ends[0].said, ends[1].said);
  EXPECT_EQ(ends[0].said, ends[2].said);
}

std::string reduce_until_error(Comm& comm) {
  for (int step = 0; step < 1'000'000; ++step) {
    if (Status status = comm.all_reduce_mean(0, 4096, nullptr); !status) {
      return status.error().what;
    }
  }
  return "no error";
}

// Means in parts with other work between them, against the plain mean on a second segment.
std::string reduce_in_parts(const std::string& one, const std::string& two, int rank, int ranks) {
  constexpr std::size_t kCount = 5000;
  auto parts = make_shm_comm(options_of(one, rank, ranks));
  auto whole = make_shm_comm(options_of(two, rank, ranks));
  if (!parts || !whole) return "no comm";
  const auto ours = (*parts)->gradient_buffer(kCount), theirs = (*whole)->gradient_buffer(kCount);
  if (!ours || !theirs) return "no buffer";
  for (int step = 0; step < 20; ++step) {
    for (std::size_t i = 0; i < kCount; ++i) {
      (*theirs)[i] = 1.0F / (1.0F + element_at(rank + step, i));
    }
    std::fill(ours->begin(), ours->end(), 0.0F);
    std::size_t end = kCount;
    for (const std::size_t from :
         {std::size_t{4992}, std::size_t{3200}, std::size_t{16}, std::size_t{0}}) {
      // Written just before it is handed over, as backward does; ranks arrive in turns.
      std::copy(theirs->begin() + static_cast<std::ptrdiff_t>(from),
                theirs->begin() + static_cast<std::ptrdiff_t>(end),
                ours->begin() + static_cast<std::ptrdiff_t>(from));
      if ((step + rank) % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      if (!(*parts)->start_mean(from, end - from)) return "not started";
      if (!(*parts)->advance()) return "not advanced";
      end = from;
    }
    double wait_seconds = -1;
    if (Status done = (*parts)->finish_means(&wait_seconds); !done) return done.error().what;
    if (wait_seconds < 0) return "no waiting time";
    if (Status done = (*whole)->all_reduce_mean(0, kCount, nullptr); !done) {
      return done.error().what;
    }
    if (std::memcmp(ours->data(), theirs->data(), kCount * sizeof(float)) != 0) {
      return "other bits in step " + std::to_string(step);
    }
  }
  return "fine";
}

TEST(ShmComm, MeansInPartsHaveTheBitsOfTheWhole) {
  for (const int ranks : {1, 2, 3, 8, 64}) {
    const std::string one = new_segment_name(), two = new_segment_name();
    for (const RankEnd& end :
         fork_ranks(ranks, [&](int rank) { return reduce_in_parts(one, two, rank, ranks); })) {
      EXPECT_EQ(end.said, "fine") << ranks << " ranks";
    }
  }
}

TEST(ShmComm, DifferentPartsAreRefused) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(2, [&](int rank) -> std::string {
    auto comm = make_shm_comm(options_of(segment, rank, 2));
    (void)(*comm)->gradient_buffer(128);
    (void)(*comm)->start_mean(64, 64);
    if (rank == 0) (void)(*comm)->start_mean(0, 64);
    const Status status = (*comm)->finish_means(nullptr);
    return status ? "accepted" : status.error().what;
  });
  for (const RankEnd& end : ends) EXPECT_THAT(end.said, HasSubstr("other parts"));
}

TEST(ShmComm, KilledRankEndsMeansInParts) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(3, [&](int rank) -> std::string {
    auto comm = make_shm_comm(options_of(segment, rank, 3));
    (void)(*comm)->gradient_buffer(128);
    (void)(*comm)->start_mean(0, 128);
    if (rank == 1) ::raise(SIGKILL);
    (void)(*comm)->advance();
    const Status status = (*comm)->finish_means(nullptr);
    return status ? "accepted" : status.error().what;
  });
  for (const std::size_t rank : {0U, 2U}) EXPECT_THAT(ends[rank].said, HasSubstr("rank 1"));
}

TEST(ShmComm, KilledRankEndsTheOthersByName) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(4, [&](int rank) -> std::string {
    auto comm = make_shm_comm(options_of(segment, rank, 4));
    if (!comm) return comm.error().what;
    auto buffer = (*comm)->gradient_buffer(4096);
    for (int step = 0; step < 20; ++step) (void)(*comm)->all_reduce_mean(0, 4096, nullptr);
    if (rank == 2) ::raise(SIGKILL);
    return reduce_until_error(**comm);
  });
  EXPECT_TRUE(ends[2].killed());
  for (int rank : {0, 1, 3}) {
    EXPECT_THAT(ends[static_cast<std::size_t>(rank)].said,
                AllOf(HasSubstr("rank 2 (pid "), HasSubstr("died")));
  }
  EXPECT_TRUE(segment_is_gone(segment));
}

TEST(ShmComm, SilentRankEndsTheOthersByName) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(
      3,
      [&](int rank) -> std::string {
        ShmCommOptions options = options_of(segment, rank, 3);
        options.silence_seconds = 0.3;
        auto comm = make_shm_comm(options);
        if (!comm) return comm.error().what;
        auto buffer = (*comm)->gradient_buffer(4096);
        if (rank == 1) ::raise(SIGSTOP);
        return reduce_until_error(**comm);
      },
      [](const std::vector<int>& pids) {
        for (int rank : {0, 2}) {  // both peers end by themselves
          siginfo_t how = {};
          ::waitid(P_PID, static_cast<id_t>(pids[static_cast<std::size_t>(rank)]), &how,
                   WEXITED | WNOWAIT);
        }
        ::kill(pids[1], SIGKILL);
      });
  for (std::size_t rank : {0U, 2U}) {
    EXPECT_THAT(ends[rank].said,
                AllOf(HasSubstr("rank 1 (pid "), HasSubstr("did not come"), HasSubstr("stopped")));
  }
}

TEST(ShmComm, RankThatLeavesEarlyIsNamed) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(2, [&](int rank) -> std::string {
    auto comm = make_shm_comm(options_of(segment, rank, 2));
    auto buffer = (*comm)->gradient_buffer(4096);
    (void)(*comm)->all_reduce_mean(0, 4096, nullptr);
    if (rank == 1) return "left";
    return reduce_until_error(**comm);
  });
  EXPECT_THAT(ends[0].said, AllOf(HasSubstr("rank 1"), HasSubstr("left the job")));
}

TEST(ShmComm, LeavingAfterTheLastBarrierIsFine) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(3, [&](int rank) -> std::string {
    auto comm = make_shm_comm(options_of(segment, rank, 3));
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const Status status = (*comm)->barrier();
    return status ? "fine" : status.error().what;
  });
  for (const RankEnd& end : ends) EXPECT_EQ(end.said, "fine");
}

TEST(ShmComm, MissingRankIsNamedAndNothingIsLeft) {
  const std::string segment = new_segment_name();
  ShmCommOptions options = options_of(segment, 0, 3);
  options.attach_seconds = 0.05;
  const auto comm = make_shm_comm(options);
  ASSERT_FALSE(comm);
  EXPECT_THAT(comm.error().what, HasSubstr("rank 1, 2 did not attach"));
  EXPECT_TRUE(segment_is_gone(segment));
}

TEST(ShmComm, RankThatDiesBeforeAllAreThere) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(2, [&](int rank) -> std::string {
    if (rank == 1) {
      const int child = ::fork();  // attaches as rank 1 of 3, then dies waiting for rank 2
      if (child == 0) {
        ::alarm(1);
        (void)make_shm_comm(options_of(segment, 1, 3));
        ::_exit(0);
      }
      ::waitpid(child, nullptr, 0);
      return "";
    }
    const auto comm = make_shm_comm(options_of(segment, 0, 3));
    return comm ? "attached" : comm.error().what;
  });
  EXPECT_THAT(ends[0].said, AllOf(HasSubstr("rank 1"), HasSubstr("died")));
  EXPECT_TRUE(segment_is_gone(segment));
}

TEST(ShmComm, TooSmallSharedMemoryIsAnErrorWithTheFigure) {
  struct statvfs facts = {};
  ASSERT_EQ(::statvfs("/dev/shm", &facts), 0);
  if (facts.f_blocks == 0) GTEST_SKIP() << "/dev/shm has no size limit here";
  const std::size_t bytes = facts.f_blocks * facts.f_frsize + (1UL << 20);
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(2, [&](int rank) -> std::string {
    auto comm = make_shm_comm(options_of(segment, rank, 2));
    const auto buffer = (*comm)->gradient_buffer(bytes / sizeof(float));
    if (buffer) return "reserved";
    return buffer.error().kind == ErrorKind::exhausted ? buffer.error().what : "wrong kind";
  });
  for (const RankEnd& end : ends) {
    EXPECT_THAT(end.said, AllOf(HasSubstr("of 2 ranks needs"), HasSubstr("GiB"),
                                HasSubstr("/dev/shm had"), HasSubstr("--shm-size")));
  }
}

TEST(ShmComm, DifferentModelsAreRefused) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(2, [&](int rank) -> std::string {
    auto comm = make_shm_comm(options_of(segment, rank, 2));
    const auto buffer = (*comm)->gradient_buffer(rank == 0 ? 100 : 200);
    return buffer ? "accepted" : buffer.error().what;
  });
  EXPECT_THAT(ends[0].said, HasSubstr("rank 1 has 200 parameters, rank 0 has 100"));
  EXPECT_THAT(ends[1].said, HasSubstr("rank 0 has 100 parameters, rank 1 has 200"));
}

TEST(ShmComm, DifferentRangesAreRefused) {
  const std::string segment = new_segment_name();
  const auto ends = fork_ranks(2, [&](int rank) -> std::string {
    auto comm = make_shm_comm(options_of(segment, rank, 2));
    (void)(*comm)->gradient_buffer(100);
    const Status status = (*comm)->all_reduce_mean(rank == 0 ? 0 : 50, 50, nullptr);
    return status ? "accepted" : status.error().what;
  });
  for (const RankEnd& end : ends) EXPECT_THAT(end.said, HasSubstr("another range"));
}

TEST(ShmComm, WrongUseIsRefused) {
  for (const auto& [rank, world_size] : {std::pair{0, 0}, {0, 65}, {2, 2}, {-1, 2}}) {
    const auto comm = make_shm_comm(options_of(new_segment_name(), rank, world_size));
    ASSERT_FALSE(comm);
    EXPECT_EQ(comm.error().kind, ErrorKind::usage);
  }
  ShmCommOptions two_nodes = options_of(new_segment_name(), 0, 2);
  two_nodes.place.node_count = 2;
  EXPECT_FALSE(make_shm_comm(two_nodes));
}

TEST(ShmComm, ForeignSegmentIsRefused) {
  const std::string segment = new_segment_name();
  const int file = ::shm_open(segment.c_str(), O_CREAT | O_RDWR, 0600);
  const std::string other(100'000, 'x');
  ASSERT_EQ(::write(file, other.data(), other.size()), static_cast<ssize_t>(other.size()));
  ::close(file);
  const auto comm = make_shm_comm(options_of(segment, 0, 1));
  remove_segment(segment);
  ASSERT_FALSE(comm);
  EXPECT_EQ(comm.error().kind, ErrorKind::invalid);
  EXPECT_TRUE(segment_is_gone(segment));
}

TEST(GradientMean, EqualsThePlainMean) {
  for (std::size_t ranks : {1U, 2U, 3U, 7U}) {
    for (int threads : {1, 2}) {
      const std::size_t count = 600'001;
      std::vector<std::vector<float>> arrays(ranks, std::vector<float>(count));
      std::vector<float*> slices;
      for (std::size_t r = 0; r < ranks; ++r) {
        for (std::size_t i = 0; i < count; ++i) arrays[r][i] = element_at(static_cast<int>(r), i);
        slices.push_back(arrays[r].data());
      }
      average_slices(slices, 1, count - 2, threads);
      for (std::size_t i :
           {std::size_t{0}, std::size_t{1}, std::size_t{2047}, count / 2, count - 2, count - 1}) {
        const bool inside = i > 0 && i < count - 1;
        double mean = 0;
        for (std::size_t r = 0; r < ranks; ++r) mean += element_at(static_cast<int>(r), i);
        for (std::size_t r = 0; r < ranks; ++r) {
          const double want =
              inside ? mean / static_cast<double>(ranks) : element_at(static_cast<int>(r), i);
          EXPECT_NEAR(arrays[r][i], want, 1e-3) << ranks << " ranks at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ocrtune
