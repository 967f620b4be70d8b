// An agent outlives what is not meant for it: fields of other types, unknown requests, torn lines.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/line_splitter.h"
#include "base/process.h"
#include "probes/host/machine_lock.h"
#include "tests/support/asked_agent.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

using nlohmann::json;

TEST(AgentLines, OfAnyKindAreAnsweredOrLeftOut) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY, "node"};
  options.input = ends[0];
  Process agent = std::move(Process::start(options)).value();
  ::close(ends[0]);
  const std::string long_word(300000, 'x');  // beyond what a pipe holds
  const std::string lines[] = {
      "no json",
      "[1, 2]",
      R"({"ask": 5, "id": 1})",
      R"({"ask": "no such", "id": 2})",
      R"({"ask": "step", "threads": "many", "id": "three"})",
      R"({"tell": 3})",
      R"({"tell": {"end": 1}})",
      R"({"ask": "listen", "address": 7, "id": 4})",
      R"({"ask": "listen", "address": "not an address", "id": 5})",
      R"({"ask": "receive", "token": [], "seconds": "long", "id": 6})",
      R"({"ask": "send", "to": null, "port": "x", "id": 7})",
      R"({"ask": "card", "quick": "yes", "names": 3, "configs": {}, "python": [], "id": 8})",
      R"({"ask": "trial", "knobs": 3, "id": 9})",
      R"({"ask": "attempt", "plan": [], "id": 10})",
      R"({"ask": "clock", "silence_seconds": "long", "id": 11, "word": ")" + long_word + "\"}",
      R"({"ask": "clock", "id": 12})",
  };
  for (const std::string& line : lines) {
    const std::string text = line + "\n";
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t put = ::write(ends[1], text.data() + done, text.size() - done);
      ASSERT_GT(put, 0) << "it ended at: " << line.substr(0, 80);
      done += static_cast<std::size_t>(put);
      agent.read_output({});
    }
  }
  std::map<std::int64_t, json> replies;
  const double end = steady_seconds() + 60;
  while (replies.count(12) == 0 && steady_seconds() < end && !agent.poll_exit()) {
    ASSERT_EQ(::write(ends[1], "\n", 1), 1);  // the launcher's sign of life
    agent.wait(0.05);
    replies.clear();
    LineSplitter lines_of_all;
    lines_of_all.add(agent.output().contents(), [&](const std::string& line) {
      const json reply = json::parse(line, nullptr, false);
      if (reply.is_object() && reply.contains("id")) replies[reply["id"]] = reply;
    });
  }
  EXPECT_FALSE(agent.poll_exit()) << agent.output().contents();
  for (const int id : {2, 5, 9, 10}) EXPECT_TRUE(replies[id].contains("error")) << id;
  EXPECT_THAT(replies[5].dump(), ::testing::HasSubstr("not an address"));
  EXPECT_TRUE(replies[11].contains("unix_seconds"));
  EXPECT_TRUE(replies[12].contains("unix_seconds"));
  ::close(ends[1]);
  const auto& exit = agent.wait(20);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 0);
}

// The listening thread takes requests while the other one finds that nobody reads and ends.
TEST(AgentLines, WhomNobodyReadsEndsInTheMidstOfRequests) {
  const std::string folder = *make_temporary_directory("agent_lines");
  const std::string code = folder + "/code";
  for (int i = 0; i < 5; ++i) {
    run_line("yes '{\"ask\": \"clock\", \"id\": 1}' | { " + std::string(OCRTUNE_BINARY) +
             " node 2>&1; echo $? >" + code + "; } | head -c 1000");
    EXPECT_THAT(read_file(code).value_or("none"), testing::AnyOf("0\n", "3\n"));
  }
  EXPECT_TRUE(remove_tree(folder));
}

// An agent that is asked for its turn by a launcher of another machine.
class AgentOfAnother : public AskedAgent {
 public:
  // Who has the turn; "": this agent has it now.
  std::string holder(const std::string& launcher_boot) {
    ask({{"ask", "turn"}, {"launcher_boot", launcher_boot}, {"id", ++asked_}});
    const FieldsJson said = reply(asked_);
    return said.is_object() ? said.value("holder", "") : "no answer";
  }

 private:
  int asked_ = 0;
};

TEST(AgentTurn, OneLauncherMeasuresOnAHostAtATime) {
  const std::string folder = *make_temporary_directory("agent_turn");
  ::setenv("OCRTUNE_LOCK_DIR", folder.c_str(), 1);
  {
    AgentOfAnother first, second, own;
    EXPECT_EQ(first.holder("another machine"), "");
    EXPECT_EQ(first.holder("another machine"), "") << "it keeps it";
    EXPECT_THAT(second.holder("another machine"), testing::StartsWith("ocrtune node (process "));
    EXPECT_EQ(own.holder(boot_id()), "") << "its launcher has the machine's turn";
    first.hang_up();
    EXPECT_EQ(second.holder("another machine"), "");
  }
  ::unsetenv("OCRTUNE_LOCK_DIR");
  EXPECT_TRUE(remove_tree(folder));
}

}  // namespace
}  // namespace ocrtune
