#include "reports/markup/table.h"

#include <limits>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(Table, CsvQuotesOnlyWhereNecessary) {
  Table table({"a", "b,c", "d"});
  table.add_row({std::int64_t{3}, 1.5, std::string("plain")});
  table.add_row({Cell(), std::string("say \"x\""), std::string("two\nlines")});
  EXPECT_EQ(csv_text(table), "a,\"b,c\",d\n3,1.5,plain\n,\"say \"\"x\"\"\",\"two\nlines\"\n");
}

TEST(Table, CsvDisarmsFormulasInTextButNotNegativeNumbers) {
  Table table({"a"});
  table.add_row({std::string("=HYPERLINK(\"x\")")});
  table.add_row({std::string("-2+cmd")});
  table.add_row({-2.5});
  EXPECT_EQ(csv_text(table), "a\n\"'=HYPERLINK(\"\"x\"\")\"\n\"'-2+cmd\"\n-2.5\n");
}

TEST(Table, CsvLeavesUnknownAndInfiniteEmpty) {
  Table table({"a", "b"});
  table.add_row({std::numeric_limits<double>::quiet_NaN(), Cell()});
  EXPECT_EQ(csv_text(table), "a,b\n,\n");
}

TEST(Table, ConsoleAlignsNumbersRightAndCutsToTheWidth) {
  Table table({"name", "n", "text"});
  table.add_row({std::string("long name"), std::int64_t{5}, std::string(80, 'x')});
  table.add_row({std::string("b"), std::int64_t{123}, std::string("y")});
  EXPECT_EQ(console_table(table, 30),
            "name         n  text\n"
            "long name    5  xxxxxxxxxxx...\n"
            "b          123  y\n");
}

TEST(TableDeathTest, ARowHasOneCellForEachColumn) {
  Table table({"a", "b"});
  EXPECT_DEATH(table.add_row({std::int64_t{1}}), "cells.size");
}

}  // namespace
}  // namespace ocrtune
