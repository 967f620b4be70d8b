#include "diagnosis/context/log_encoding.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

// "设备上没有空间\r\n"
const std::string kFullUtf16 =
    std::string("\xBE\x8B\x07\x59\x0A\x4E\xA1\x6C\x09\x67\x7A\x7A\xF4\x95\r\0\n\0", 18);
const std::string kFullGbk = "\xC9\xE8\xB1\xB8\xC9\xCF\xC3\xBB\xD3\xD0\xBF\xD5\xBC\xE4";
const std::string kFull = "设备上没有空间";

std::string wide(const std::string& ascii) {
  std::string out;
  for (const char c : ascii) out += std::string{c, '\0'};
  return out;
}

TEST(LogEncoding, Utf16IsKnownByItsMarkOrItsZeros) {
  EXPECT_TRUE(Utf16Decoder::of_first_bytes("\xFF\xFE"));
  EXPECT_TRUE(Utf16Decoder::of_first_bytes(wide("python train.py\r\n")));
  EXPECT_FALSE(Utf16Decoder::of_first_bytes("python train.py\r\n"));
  EXPECT_FALSE(Utf16Decoder::of_first_bytes(std::string(64, '\0')));
  EXPECT_FALSE(Utf16Decoder::of_first_bytes(""));
}

TEST(LogEncoding, CharactersCutBetweenTwoReadsAreWhole) {
  const std::string bytes = "\xFF\xFE" + kFullUtf16 + std::string("\x3D\xD8\x00\xDE", 4);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    auto decoder = *Utf16Decoder::of_first_bytes("\xFF\xFE");
    std::string read = decoder.decode(bytes.substr(0, cut));
    read += decoder.decode(bytes.substr(cut));
    EXPECT_EQ(read, kFull + "\r\n😀") << cut;
  }
}

TEST(LogEncoding, OnlyLinesOfGbkAreRead) {
  EXPECT_FALSE(without_gbk("loss 0.5\n设备\n"));
  EXPECT_FALSE(without_gbk("0123456789 设备上没有空间 █ 😀"));
  EXPECT_FALSE(without_gbk("Ger\xE4t\n"));
  const auto read = without_gbk("设备 a\n" + kFullGbk + "\nb");
  if (!read) GTEST_SKIP() << "this C library reads no GB18030";
  EXPECT_EQ(*read, "设备 a\n" + kFull + "\nb");
}

TEST(LogEncoding, AFailureIsKnownInEitherEncoding) {
  const auto first = [](const std::string& text) {
    const Diagnosis diagnosis = diagnose({scan_text("log", text)}, {});
    return diagnosis.failed ? std::string(diagnosis.causes[0].row->name) : "none";
  };
  EXPECT_EQ(first("\xFF\xFE" + kFullUtf16), "disk_full");
  EXPECT_EQ(first(wide("python tools/train.py -c rec.yml\r\n") + kFullUtf16), "disk_full");
  if (!without_gbk(kFullGbk)) GTEST_SKIP() << "this C library reads no GB18030";
  EXPECT_EQ(first("tools/train.py\r\n" + kFullGbk + "\r\n"), "disk_full");
}

}  // namespace
}  // namespace ocrtune
