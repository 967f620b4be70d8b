#include "base/text.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(Text, SplitsAndJoins) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
  EXPECT_EQ(words("  one\ttwo \n"), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(trim(" \t x y \r\n"), "x y");
}

TEST(Text, ParsesNumbersWhole) {
  EXPECT_EQ(*parse_integer(" 42 "), 42);
  for (const char* bad : {"", "4x", "0x10", "1e3", "99999999999999999999", "--1"}) {
    EXPECT_FALSE(parse_integer(bad)) << bad;
  }
  EXPECT_DOUBLE_EQ(*parse_number("1.5e2"), 150);
  for (const char* bad : {"", "nan", "inf", "1.5x", "1 2"}) EXPECT_FALSE(parse_number(bad)) << bad;
}

TEST(Text, ParsesSizes) {
  EXPECT_EQ(*parse_bytes("512"), 512U);
  EXPECT_EQ(*parse_bytes("64M"), 64U << 20);
  EXPECT_EQ(*parse_bytes("1.5GiB"), 3ULL << 29);
  EXPECT_EQ(*parse_bytes("2 GB"), 2'000'000'000U);
  EXPECT_EQ(*parse_bytes("8G"), *parse_bytes("8GiB"));
  for (const char* bad : {"", "G", "-1", "5 apples", "1e30"}) EXPECT_FALSE(parse_bytes(bad)) << bad;
}

TEST(Text, ParsesTimes) {
  EXPECT_DOUBLE_EQ(*parse_duration("90"), 90);
  EXPECT_DOUBLE_EQ(*parse_duration("1h30m"), 5400);
  EXPECT_DOUBLE_EQ(*parse_duration("250ms"), 0.25);
  EXPECT_DOUBLE_EQ(*parse_duration("2m 3s"), 123);
  EXPECT_DOUBLE_EQ(*parse_duration("2w"), 14 * 86400);
  EXPECT_DOUBLE_EQ(*parse_duration("3650d"), 3650 * 86400.0);
  for (const char* bad : {"", "0", "-5s", "5 parsecs", "m", "99999999999999h", "1e300s"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

TEST(Text, FormatsForPeople) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(64ULL << 20), "64.0 MiB");
  EXPECT_EQ(format_bytes((1ULL << 30) - 1), "1.0 GiB");
  EXPECT_EQ(format_duration(0.0124), "12.4 ms");
  EXPECT_EQ(format_duration(0.0999), "99.9 ms");
  EXPECT_EQ(format_duration(0.14), "140 ms");
  EXPECT_EQ(format_duration(0.9996), "1.0 s");
  EXPECT_EQ(format_duration(123), "2 min 03 s");
  EXPECT_EQ(format_duration(3900), "1 h 05 min");
  EXPECT_EQ(format_duration(900 * 365.25 * 86400), "328725 d 00 h");
  EXPECT_EQ(format_duration(1e30), "more than 1000 years");
  EXPECT_EQ(format_count(8.4249), "8.42");
  EXPECT_EQ(format_count(123.44), "123.4");
  EXPECT_EQ(format_count(12345), "12345");
  EXPECT_EQ(format_percent(0.234), "23.4 %");
}

TEST(Text, ShortTimesAreInMicroseconds) {
  EXPECT_EQ(format_duration(0), "0.0 ms");
  EXPECT_EQ(format_duration(0.0000312), "31.2 us");
  EXPECT_EQ(format_duration(0.00006), "0.1 ms");
}

TEST(Text, MakesAnyBytesUtf8) {
  EXPECT_EQ(valid_utf8("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(valid_utf8("\xFF"), "\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("a\xC3"), "a\xEF\xBF\xBD");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // overlong slash
  EXPECT_EQ(valid_utf8("\xED\xA0\x80").substr(0, 3), "\xEF\xBF\xBD");  // surrogate
}

TEST(Text, QuotesTheTwoEndsOfALongLine) {
  EXPECT_EQ(quoted_line(" loss 0.2, 41 img/s\n", 20), "loss 0.2, 41 img/s");
  const std::string line =
      "[2026/11/30 10:11:12] epoch: [3/20], global_step: 410, lr: 0.001, loss: 2.1, ips: 41.5";
  EXPECT_EQ(quoted_line(line, 60),
            "[2026/11/30 10:11:12 ... ep: 410, lr: 0.001, loss: 2.1, ips: 41.5");
  EXPECT_EQ(quoted_line("\xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97\xE7\xAC\xA6", 6), "... \xE7\xAC\xA6");
}

TEST(Text, QuotesForTheShell) {
  EXPECT_EQ(shell_quote("plain-1.2/x"), "plain-1.2/x");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("it's $HOME"), "'it'\\''s $HOME'");
}

TEST(Text, PutsACommandOnOneLine) {
  EXPECT_EQ(shell_line(shell_join({"python", "-c", "import x\nprint('a\\n')"})),
            R"(python -c $'import x\nprint('\''a\n'\'')')");
  EXPECT_EQ(shell_line(shell_join({"sh", "-c", "a\n\tb \\ c\x01"})), R"(sh -c $'a\n\tb \\ c\001')");
  const std::string plain = shell_join({"echo", "it's \\n", "$HOME", ""});
  EXPECT_EQ(shell_line(plain), plain);
}

TEST(Text, TellsTextFromBinary) {
  EXPECT_TRUE(is_text("loss: 0.5\t\x1b[0m\x1b(B\x0f 12 img/s\r"));
  EXPECT_TRUE(is_text("\xD1\xF8\xC1\xB7 12"));  // GBK
  EXPECT_FALSE(is_text("9/S\x01\x93"));
  EXPECT_FALSE(is_text(std::string_view("\0", 1)));
  EXPECT_EQ(without_binary("a\n\x02\x03\n\x04\nb"), "a\n(not text, size in bytes: 5)\nb");
  EXPECT_EQ(without_binary("\x02"), "(not text, size in bytes: 1)\n");
}

TEST(Text, FindsTheNameThatWasMeant) {
  const std::vector<std::string> names = {"probe", "tune", "report"};
  EXPECT_EQ(nearest_name("prob", names), "probe");
  EXPECT_EQ(nearest_name("tnue", names), "tune");
  EXPECT_EQ(nearest_name("xyzzy", names), "");
}

}  // namespace
}  // namespace ocrtune
