#include "probes/host/allocators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Allocators : public testing::Test {
 protected:
  void SetUp() override { folder_ = make_temporary_directory("allocators").value(); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }

  void put(const std::string& path, const std::string& bytes) const {
    ASSERT_TRUE(make_directories(parent_path(folder_ + path)).ok());
    ASSERT_TRUE(write_file(folder_ + path, bytes).ok());
  }
  FileRoot root() const { return FileRoot(folder_); }

  std::string own_ = read_file("/proc/self/exe", 64).value_or("");
  std::string folder_;
};

TEST_F(Allocators, NoneIsOfferedThatIsNotInstalled) {
  EXPECT_THAT(installed_allocators(root()), IsEmpty());
  EXPECT_EQ(allocator_library("jemalloc", root()), "");
  EXPECT_EQ(allocator_library("default", root()), "");
}

TEST_F(Allocators, AreFoundWhereTheLoaderHasThemOrInTheUsualFolders) {
  put("/opt/far/libjemalloc.so.2", own_);
  put("/usr/lib64/libmimalloc.so.2", own_);
  const std::string zero(1, '\0');
  put("/etc/ld.so.cache", "glibc-ld.so.cache1.1" + zero + "libjemalloc.so.2" + zero +
                              "/gone/libjemalloc.so.2" + zero + "/opt/far/libjemalloc.so.2" + zero);
  EXPECT_EQ(allocator_library("jemalloc", root()), "/opt/far/libjemalloc.so.2");
  EXPECT_EQ(allocator_library("mimalloc", root()), "/usr/lib64/libmimalloc.so.2");
  EXPECT_THAT(installed_allocators(root()), ElementsAre("jemalloc", "mimalloc"));
}

TEST_F(Allocators, ALibraryForAnotherKindOfProgramIsNone) {
  std::string other = own_;
  other[4] = other[4] == 1 ? 2 : 1;  // words of 32 bits
  put("/usr/lib/libjemalloc.so.2", other);
  put("/usr/lib/libtcmalloc.so.4", "INPUT(-ltcmalloc)");
  EXPECT_THAT(installed_allocators(root()), IsEmpty());
}

TEST(PreloadedAllocator, IsKnownByItsName) {
  EXPECT_EQ(preloaded_allocator("/opt/trace.so:/usr/lib/libjemalloc.so.2")->name,
            std::string("jemalloc"));
  EXPECT_EQ(preloaded_allocator("/opt/trace.so"), nullptr);
}

}  // namespace
}  // namespace ocrtune
