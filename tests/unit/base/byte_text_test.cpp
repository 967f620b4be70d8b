#include "base/byte_text.h"

#include <string>

#include <gtest/gtest.h>

#include "base/text.h"

namespace ocrtune {
namespace {

TEST(ByteText, CarriesEveryStringThroughUtf8) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& bytes :
       {std::string(), std::string("plain"), std::string("\u4e2d\u6587"), all,
        std::string("\xD6\xD0/labels.txt"), std::string("\xEE\xBE\x80"), utf8_of_bytes(all)}) {
    const std::string text = utf8_of_bytes(bytes);
    EXPECT_EQ(valid_utf8(text), text);
    EXPECT_EQ(bytes_of_utf8(text), bytes);
  }
  EXPECT_EQ(utf8_of_bytes("plain \u4e2d"), "plain \u4e2d");
  EXPECT_EQ(bytes_of_utf8("\xEE\xBE"), "\xEE\xBE");
}

TEST(ShellQuote, QuotesBracesThatBashExpands) {
  EXPECT_EQ(shell_quote("a{2,3}"), "'a{2,3}'");
  EXPECT_EQ(shell_quote("{1..3}"), "'{1..3}'");
  EXPECT_EQ(shell_quote("--nproc={nproc}"), "--nproc={nproc}");
}

}  // namespace
}  // namespace ocrtune
