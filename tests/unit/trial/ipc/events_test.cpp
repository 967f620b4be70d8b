#include "trial/ipc/events.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

template <typename T>
T round_trip(const T& event) {
  const std::string line = event_line(event);
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto parsed = parse_event(line);
  EXPECT_TRUE(parsed.ok());
  return std::get<T>(*parsed);
}

TEST(Events, SurviveALine) {
  const auto hello =
      round_trip(HelloEvent{1, 4, 77, "0-3,8", 5, {{"onednn", "2.6"}}, 1ULL << 40, "GPU-a"});
  EXPECT_EQ(hello.gpu, "GPU-a");
  const auto memory = round_trip(MemoryEvent{2, 1ULL << 33, 1ULL << 34, "NVML"});
  EXPECT_EQ(memory.rank, 2);
  EXPECT_EQ(memory.bytes, 1ULL << 33);
  EXPECT_EQ(memory.total_bytes, 1ULL << 34);
  EXPECT_EQ(memory.source, "NVML");
  EXPECT_EQ(hello.rank, 1);
  EXPECT_EQ(hello.world_size, 4);
  EXPECT_EQ(hello.pid, 77);
  EXPECT_EQ(hello.cpus, "0-3,8");
  EXPECT_EQ(hello.team_size, 5);
  EXPECT_EQ(hello.versions.at("onednn"), "2.6");
  EXPECT_EQ(hello.planned_bytes, 1ULL << 40);

  EXPECT_EQ(round_trip(ReadyEvent{2, 1e-5}).check_error, 1e-5);

  const auto step = round_trip(StepEvent{3, 7, 112, 0.25, {0.01, 0.02, 0.03, 0.04}, 3.5});
  EXPECT_EQ(step.steps, 7);
  EXPECT_EQ(step.samples, 112);
  EXPECT_EQ(step.seconds, 0.25);
  EXPECT_EQ(step.times.all_reduce_seconds, 0.03);
  EXPECT_EQ(step.times.wait_seconds, 0.04);
  EXPECT_EQ(step.loss, 3.5);

  EXPECT_EQ(round_trip(DoneEvent{1, 20, 3}).bad_samples, 3);

  const auto error = round_trip(ErrorEvent{1, Outcome::out_of_memory, "shm", "a \"quote\"\nline"});
  EXPECT_EQ(error.outcome, Outcome::out_of_memory);
  EXPECT_EQ(error.cause, "shm");
  EXPECT_EQ(error.reason, "a \"quote\"\nline");

  ServiceEvent service;
  service.facts.loads = {{4, 31.5, 0.1, 0.2, 0.3, 0, 90, 1, ""},
                         {0, 28, 0.1, 0.2, 0.4, 0.2, 80, 2, "kept"}};
  const auto told = round_trip(service).facts.loads;
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].in_flight, 4);
  EXPECT_EQ(told[0].p99_seconds, 0.3);
  EXPECT_EQ(told[1].late, 2);
  EXPECT_EQ(told[1].verdict, "kept");
}

TEST(Events, TakeWhatJsonCannotHold) {
  StepEvent step{0, 1, 4, 0.5, {}, std::nan("")};
  EXPECT_EQ(round_trip(step).loss, 0);
  EXPECT_EQ(round_trip(ErrorEvent{0, Outcome::crashed, "", "\xff!"}).reason, "\xEF\xBF\xBD!");
}

TEST(Events, RefuseGarbage) {
  for (const char* line :
       {"", "{", "[]", "7", "null", "{\"event\":5}", "{\"event\":\"fly\"}", "\xff\xfe",
        "{\"event\":\"step\",\"samples\":4}", "{\"event\":\"service\",\"loads\":[5]}",
        "{\"event\":\"step\",\"samples\":4,\"seconds\":0}",
        "{\"event\":\"step\",\"samples\":4,\"seconds\":-1}",
        "{\"event\":\"step\",\"samples\":-4,\"seconds\":1}",
        "{\"event\":\"step\",\"steps\":0,\"samples\":4,\"seconds\":1}"}) {
    const auto event = parse_event(line);
    EXPECT_FALSE(event.ok()) << line;
    if (!event) {
      EXPECT_EQ(event.error().kind, ErrorKind::invalid);
    }
  }
}

TEST(Events, IgnoreFieldsOfTheWrongKind) {
  const auto event = parse_event(R"({"event":"hello","rank":"one","cpus":7,"versions":[1]})");
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(std::get<HelloEvent>(*event).rank, 0);
  EXPECT_EQ(std::get<HelloEvent>(*event).cpus, "");
}

}  // namespace
}  // namespace ocrtune
