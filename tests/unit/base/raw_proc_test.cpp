#include "base/raw_proc.h"

#include <set>

#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

std::set<int> numbers_in(const std::string& folder) {
  std::set<int> found;
  for_each_number(
      folder.c_str(),
      [](int number, void* context) { static_cast<std::set<int>*>(context)->insert(number); },
      &found);
  return found;
}

// In a container pids are as small as the number of the descriptor that reads them.
TEST(RawProc, APidMayBeTheNumberOfADescriptor) {
  const auto folder = make_temporary_directory("numbers");
  ASSERT_TRUE(folder.ok());
  std::set<int> pids;
  for (int pid = 1; pid <= 64; ++pid) {
    pids.insert(pid);
    ASSERT_TRUE(write_file(join_path(*folder, std::to_string(pid)), ""));
  }
  ASSERT_TRUE(write_file(join_path(*folder, "self"), ""));
  EXPECT_EQ(numbers_in(*folder), pids);
  EXPECT_TRUE(remove_tree(*folder).ok());
}

}  // namespace
}  // namespace ocrtune
