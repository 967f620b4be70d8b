// Files of this test, written, read into the page cache and dropped.
#include "trial/stages/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

constexpr std::size_t kBytes = 1 << 20;

void write_synced(const std::string& path) {
  ASSERT_TRUE(write_file(path, std::string(kBytes, 'x')));
  ASSERT_EQ(read_file(path)->size(), kBytes);
}

// Of its pages, that are in memory.
long resident_pages(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  void* begin = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file, 0);
  std::vector<unsigned char> pages(kBytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(::mincore(begin, kBytes, pages.data()), 0);
  ::munmap(begin, kBytes);
  ::close(file);
  return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1U; });
}

bool keeps_files_in_memory(const std::string& folder) {
  constexpr long kTmpfs = 0x01021994;
  struct statfs facts {};
  return ::statfs(folder.c_str(), &facts) == 0 && static_cast<long>(facts.f_type) == kTmpfs;
}

TEST(PageCache, DropsTheFileAndThoseOfItsKindBesideIt) {
  const std::string folder = *make_temporary_directory("page_cache");
  const std::string seen = join_path(folder, "1.jpg"), beside = join_path(folder, "2.jpg"),
                    other = join_path(folder, "labels.txt");
  for (const std::string& path : {seen, beside, other}) write_synced(path);
  EXPECT_GT(resident_pages(seen), 0);
  EXPECT_EQ(drop_from_memory({seen, folder, join_path(folder, "gone.jpg")}), 2 * kBytes);
  if (!keeps_files_in_memory(folder)) {
    EXPECT_EQ(resident_pages(seen), 0);
    EXPECT_EQ(resident_pages(beside), 0);
  }
  EXPECT_GT(resident_pages(other), 0);
  EXPECT_TRUE(remove_tree(folder));
}

TEST(PageCache, FoldersOfClassesAreDroppedTogether) {
  const std::string folder = *make_temporary_directory("page_cache");
  std::vector<std::string> files;
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(make_directories(join_path(folder, name)));
    files.push_back(join_path(join_path(folder, name), "1.jpg"));
    write_synced(files.back());
  }
  EXPECT_EQ(drop_from_memory({files[0], files[1]}), 3 * kBytes);
  EXPECT_EQ(drop_from_memory({files[0]}), kBytes) << "one folder says nothing of others";
  EXPECT_TRUE(remove_tree(folder));
}

}  // namespace
}  // namespace ocrtune
