#include "tuner/store/columns.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "trial/ipc/trial_fields.h"

namespace ocrtune {
namespace {

// A store of other columns is refused by its version, in one line, and not by a statement that
// fails: kSchemaVersion of tuner/store/store_file.cpp and this change with each column.
TEST(StoreColumns, AreThoseOfVersion11) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : column_types<Trial>(kSearchFields) + column_types<Trial>(kObservedFields) +
                          column_types<Sample>(kSampleFields)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  EXPECT_EQ(hash, 2146501226U);
}

}  // namespace
}  // namespace ocrtune
