#include "trial/logs/unread_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/logs/log_reader.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

UnreadLines printed(const std::vector<std::string>& lines, double pause_seconds) {
  UnreadLines unread(1);
  double now = 0;
  for (const std::string& line : lines) unread.add(line, now += pause_seconds);
  return unread;
}

std::string why(const std::string& name, const std::vector<std::string>& lines, int batch = 1,
                const std::string& followed_file = "") {
  LogContext context;
  context.batch = batch;
  const auto reader = make_log_reader(name, context);
  EXPECT_TRUE(reader.ok());
  double now = 0;
  std::vector<Event> events;
  for (const std::string& line : lines) (*reader)->read_line(line, now += 0.5, events);
  EXPECT_TRUE(events.empty());
  return (*reader)->why_unread(followed_file);
}

std::vector<std::string> mnist(int lines, int step) {
  std::vector<std::string> made;
  for (int i = 1; i <= lines; ++i) {
    made.push_back("Epoch 1 [" + std::to_string(i * step) + "/100000 (0%)]\tLoss: 2.31");
  }
  return made;
}

TEST(UnreadLines, AnotherReaderThatKnowsThemIsNamed) {
  const std::vector<std::string> lines(30, "step 40 loss 2.31 412.7 samples/s");
  EXPECT_THAT(why("paddleocr", lines), HasSubstr("--log-reader torch reads 30 of the last 30"));
  const std::vector<std::string> images(5, "ppocr DEBUG: 3  Predict time of a.jpg: 0.122s");
  EXPECT_THAT(why("torch", images), HasSubstr("--log-reader paddleocr-infer reads 5"));
}

TEST(UnreadLines, ACounterInBracketsIsReadByAPattern) {
  const std::string samples = why("torch", mnist(25, 640), 64);
  EXPECT_THAT(samples, HasSubstr("such as 'Epoch 1 [16000/100000"));
  EXPECT_THAT(samples, HasSubstr("--log-reader 'regex:\\[(?<sample>[0-9]+)/'"));
  EXPECT_THAT(why("torch", mnist(25, 10), 64), HasSubstr("(?<step>"));
}

TEST(UnreadLines, AWordOfSpeedIsAMetric) {
  const std::vector<std::string> lines(4, "epoch 3 loss 2.31 page_rate=41.5 ok");
  EXPECT_THAT(why("torch", lines), HasSubstr("--metric page_rate would read it"));
}

TEST(UnreadLines, ARateThatIsNoSpeedIsQuoted) {
  for (const std::string rate : {"nan", "inf", "0", "-5"}) {
    const std::vector<std::string> lines(
        30, "epoch: [1/10], global_step: 7, loss: 1.0, ips: " + rate + " samples/s");
    EXPECT_THAT(why("paddleocr", lines), HasSubstr("ips: " + rate + " samples"));
  }
}

TEST(UnreadLines, WhereNothingFitsTheOptionsAreNamed) {
  EXPECT_THAT(why("torch", {"ready"}), HasSubstr("--log-reader runs"));
  EXPECT_THAT(why("torch", {}), HasSubstr("--log-file"));
  EXPECT_THAT(why("torch", {}, 1, "/tmp/a.log"), HasSubstr("/tmp/a.log"));
}

TEST(UnreadLines, LinesOfTrainingThatComeAgainSayThatThereIsNothingElse) {
  EXPECT_FALSE(printed(mnist(100, 10), 0.1).training_goes_on()) << "ten seconds";
  EXPECT_TRUE(printed(mnist(100, 10), 0.5).training_goes_on());
  std::vector<std::string> options;
  for (int i = 0; i < 300; ++i) options.push_back(std::string(1 + i % 40, 'x') + ": 3");
  EXPECT_FALSE(printed(options, 0.5).training_goes_on()) << "a start that prints its options";
  const std::vector<std::string> loading(100, "Loading image 3 of 500");
  EXPECT_FALSE(printed(loading, 0.5).training_goes_on());
}

}  // namespace
}  // namespace ocrtune
