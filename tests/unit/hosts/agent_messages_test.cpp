// Another host's words are read with care: none of them ends the launcher.
#include "extras/hosts/agent_messages.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

TEST(AgentLine, IsAHelloAnEventAReplyOrSomebodysWords) {
  const AgentLine hello =
      parse_agent_line(R"({"event": "hello", "version": "1.2", "protocol": 3, "pid": 7})");
  EXPECT_EQ(hello.kind, AgentLine::Kind::hello);
  EXPECT_EQ(hello.version, "1.2");
  EXPECT_EQ(hello.protocol, 3);
  const AgentLine event = parse_agent_line(R"({"event": "output", "text": "a"})");
  EXPECT_EQ(event.kind, AgentLine::Kind::event);
  EXPECT_EQ(event.event, "output");
  const AgentLine reply = parse_agent_line(R"({"id": 41, "port": 9})");
  EXPECT_EQ(reply.kind, AgentLine::Kind::reply);
  EXPECT_EQ(reply.id, 41);
  for (const char* words : {"", "Last login: today", "[1]", "7", "{\"event\": ", "\"hello\""}) {
    EXPECT_EQ(parse_agent_line(words).kind, AgentLine::Kind::words) << words;
  }
}

TEST(AgentLine, FieldsOfAnotherTypeAreMissing) {
  const AgentLine hello =
      parse_agent_line(R"({"event": "hello", "version": 3, "protocol": 4294967299})");
  EXPECT_EQ(hello.version, "?");
  EXPECT_EQ(hello.protocol, 0);
  EXPECT_EQ(parse_agent_line(R"({"event": 3, "id": "x"})").id, 0);
  EXPECT_EQ(parse_agent_line(R"({"event": ["hello"]})").kind, AgentLine::Kind::reply);
}

TEST(MessageField, IsWhatWasSaidOrTheDefault) {
  const FieldsJson said = parse_message(R"({"error": 5, "port": -1.5, "rates": [1, "a"], "n": 2})");
  EXPECT_EQ(message_field<std::string>(said, "error", "none"), "none");
  EXPECT_EQ(message_field(said, "port", 8), 8);
  EXPECT_EQ(message_field(said, "rates", std::vector<double>{7}), std::vector<double>{7});
  EXPECT_EQ(message_field(said, "n", 0), 2);
  for (const char* text : {"", "[]", "3", "not JSON"}) {
    EXPECT_EQ(message_field(parse_message(text), "n", 4), 4) << text;
  }
}

TEST(AttemptMessages, GoThroughJson) {
  AttemptEnd end;
  end.exit = {0, SIGKILL, 0, 0};
  end.stop = AttemptStop::memory;
  end.peak_bytes = 1ULL << 40;
  end.last.last_progress = "caf\xe9 1";
  end.last.places = {{0, "0-3"}, {1, "4-7"}};
  end.evidence.killed_why = "memory 9 GiB";
  end.kernel_log = {"Killed process 7"};
  const auto read = parse_attempt_end(attempt_end_json(end));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->exit.signal, SIGKILL);
  EXPECT_EQ(read->stop, AttemptStop::memory);
  EXPECT_EQ(read->peak_bytes, 1ULL << 40);
  EXPECT_EQ(read->last.last_progress, "caf\xe9 1");
  EXPECT_EQ(read->last.places, end.last.places);
  EXPECT_EQ(read->evidence.killed_why, "memory 9 GiB");
  EXPECT_EQ(read->kernel_log, end.kernel_log);
  const auto status = parse_attempt_status(attempt_status_json(end.last));
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(status->places, end.last.places);
}

TEST(AttemptMessages, BrokenOnesAreErrors) {
  for (const char* text : {"", "{}", "[1]", R"({"event": "status"})"}) {
    EXPECT_FALSE(parse_attempt_end(text).ok()) << text;
    EXPECT_FALSE(parse_attempt_status(text).ok()) << text;
  }
  FieldsJson json = FieldsJson::parse(attempt_end_json(AttemptEnd()));
  for (const FieldsJson& stop :
       {FieldsJson(6), FieldsJson(-1), FieldsJson(1e30), FieldsJson("memory")}) {
    json["stop"] = stop;
    const auto end = parse_attempt_end(json.dump());
    ASSERT_FALSE(end.ok()) << stop;
    EXPECT_THAT(end.error().what, HasSubstr("stop")) << stop;
  }
}

}  // namespace
}  // namespace ocrtune
