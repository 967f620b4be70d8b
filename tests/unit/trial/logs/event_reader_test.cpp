// The events of ranks on two hosts, as one output of mpirun brings them.
#include "trial/logs/event_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string hello(int rank, const char* host) {
  HelloEvent event;
  event.rank = rank;
  event.world_size = 2;
  event.host = host;
  return event_line(event);
}

// Of 0.4 s, in which nothing but gradients moves beside these.
std::string step(int rank, double computing, double waiting) {
  StepEvent event;
  event.rank = rank;
  event.samples = 8;
  event.seconds = 0.4;
  event.times = {0, computing, 0.4 - computing - waiting, waiting};
  return event_line(event);
}

struct Heard {
  std::vector<StepEvent> steps;
  std::string note;
  SlowHost slow;
  std::vector<ErrorEvent> errors;
  int ready = 0;
};

Heard heard(const std::vector<std::string>& lines) {
  EventReader reader(2);
  std::vector<Event> events;
  for (const std::string& line : lines) reader.read_line(line, events);
  Heard all;
  for (const Event& event : events) {
    if (const auto* one = std::get_if<StepEvent>(&event)) all.steps.push_back(*one);
    if (const auto* one = std::get_if<NoteEvent>(&event)) all.note += one->text + "\n";
    if (const auto* one = std::get_if<ErrorEvent>(&event)) all.errors.push_back(*one);
    if (const auto* one = std::get_if<SlowHostEvent>(&event)) all.slow = one->host;
    all.ready += std::holds_alternative<ReadyEvent>(event) ? 1 : 0;
  }
  return all;
}

std::vector<std::string> run_of(double computing_on_b) {
  std::vector<std::string> lines = {hello(0, "a"), hello(1, "b"), event_line(ReadyEvent{1, 0}),
                                    event_line(ReadyEvent{0, 0})};
  for (int i = 0; i < 10; ++i) {
    lines.push_back(step(1, computing_on_b, 0));
    lines.push_back(step(0, 0.2, computing_on_b - 0.2));
  }
  return lines;
}

TEST(EventReader, AJobsStepIsOfAllRanks) {
  const Heard all = heard(run_of(0.3));
  EXPECT_EQ(all.ready, 1);
  ASSERT_EQ(all.steps.size(), 10U);
  EXPECT_EQ(all.steps[0].samples, 16);
  EXPECT_EQ(all.steps[0].rank, 0);
  EXPECT_NEAR(all.steps[0].times.compute_seconds, 0.25, 1e-9);
  EXPECT_NEAR(all.steps[0].times.wait_seconds, 0.05, 1e-9);
}

TEST(EventReader, TheHostThatTheOthersWaitForIsNamedWithWhatItCosts) {
  const std::string note = heard(run_of(0.3)).note;
  EXPECT_THAT(
      note, HasSubstr("a: of a step, computing 200 ms, moving gradients 100 ms, waiting 100 ms\n"));
  EXPECT_THAT(note, HasSubstr("b: of a step, computing 300 ms"));
  const SlowHost slow = heard(run_of(0.3)).slow;
  EXPECT_EQ(slow.name, "b");
  EXPECT_NEAR(slow.cost_share, 0.25, 1e-9);
  EXPECT_EQ(heard(run_of(0.201)).slow.name, "");
}

TEST(EventReader, OneHostHasNoSplitAndOtherOutputMeansNothing) {
  std::vector<std::string> lines = {hello(0, "a"), hello(1, "a"), "mpirun: {noise", "",
                                    "{\"event\": \"unheard of\"}"};
  for (int i = 0; i < 10; ++i) lines.push_back(step(0, 0.2, 0));
  const Heard all = heard(lines);
  EXPECT_EQ(all.steps.size(), 10U);
  EXPECT_EQ(all.note, "");
}

TEST(EventReader, ReportsThatNoRankOfTheJobCanGiveMeanNothing) {
  StepEvent event;
  event.seconds = 0.4;
  std::vector<std::string> lines;
  for (const auto& [rank, samples] :
       {std::pair<int, std::int64_t>(-1, 8), {2, 8}, {0, -8}, {0, std::int64_t{1} << 62}}) {
    event.rank = rank;
    event.samples = samples;
    lines.push_back(event_line(event));
  }
  EXPECT_TRUE(heard(lines).steps.empty());
}

TEST(EventReader, AFailureHasItsHost) {
  const Heard all =
      heard({hello(0, "a"), hello(1, "b"),
             event_line(ErrorEvent{1, Outcome::out_of_memory, "process", "no room"})});
  ASSERT_EQ(all.errors.size(), 1U);
  EXPECT_EQ(all.errors[0].reason, "b: no room");
  EXPECT_EQ(all.errors[0].outcome, Outcome::out_of_memory);
}

}  // namespace
}  // namespace ocrtune
