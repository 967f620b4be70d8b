#include "trial/workloads/command/copy_number.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(FillCopy, AddsToAPortAboveNine) {
  EXPECT_EQ(fill_copy("http://127.0.0.1:808{copy}/", 0), "http://127.0.0.1:8080/");
  EXPECT_EQ(fill_copy("http://127.0.0.1:808{copy}/", 9), "http://127.0.0.1:8089/");
  EXPECT_EQ(fill_copy("http://127.0.0.1:808{copy}/", 10), "http://127.0.0.1:8090/");
  EXPECT_EQ(fill_copy("--port=1808{copy} --id {copy}", 31), "--port=18111 --id 31");
  EXPECT_EQ(fill_copy("pages/{copy}/a{copy}", 12), "pages/12/a12");
}

}  // namespace
}  // namespace ocrtune
