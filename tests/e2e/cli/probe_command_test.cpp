// ocrtune probe as a user types it.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process.h"
#include "probes/machine/machine_json.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Said {
  int code = -1;
  std::string text;
};

Said probe(std::vector<std::string> flags, const std::string& verb = "probe") {
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY, verb};
  options.arguments.insert(options.arguments.end(), flags.begin(), flags.end());
  auto process = Process::start(options);
  if (!process) return Said{-1, process.error().what};
  const auto& exit = process->wait(60);
  if (!exit || exit->signal != 0) return Said{-2, process->output().contents()};
  return Said{exit->code, process->output().contents()};
}

std::string machine_folder(const char* name) {
  return std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/machines/" + name;
}

TEST(ProbeCommand, JsonIsOneDocumentThatReadsBack) {
  const Said said = probe({"--quick", "--json"});
  EXPECT_EQ(said.code, 0);
  const auto machine = parse_machine_json(said.text);
  ASSERT_TRUE(machine) << machine.error().what << said.text;
  EXPECT_TRUE(machine->cpu.usable_cpus.known());
}

TEST(ProbeCommand, TheFlagFormIsTheSameCommand) {
  const Said flag = probe({"--root", machine_folder("two-socket-server")}, "--probe");
  const Said verb = probe({"--root", machine_folder("two-socket-server")});
  EXPECT_EQ(flag.code, 0);
  EXPECT_EQ(flag.text, verb.text);
  EXPECT_THAT(verb.text, HasSubstr("16 usable of 16"));
}

TEST(ProbeCommand, MeasuringSaysSoInAPipeToo) {
  const Said said = probe({});
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, StartsWith("measuring CPUs and memory\n"));
}

TEST(ProbeCommand, BadInputIsOneLineAndItsExitCode) {
  struct Case {
    std::vector<std::string> flags;
    int code;
    const char* says;
  };
  const Case cases[] = {{{"--root", "/no/such"}, 3, "/no/such: no such folder"},
                        {{"--root", "/etc/passwd"}, 2, "not a folder"},
                        {{"--root", "/etc"}, 3, "neither proc/ nor sys/"},
                        {{"--root"}, 2, "--root"},
                        {{"--topology", "pack:2 foo:3"}, 2, "pack:2 foo:3"},
                        {{"--topology", "gone.xml"}, 3, "gone.xml"},
                        {{"--quik"}, 2, "--quik"},
                        {{"surplus"}, 2, "surplus"}};
  for (const Case& wrong : cases) {
    const Said said = probe(wrong.flags);
    EXPECT_EQ(said.code, wrong.code) << said.text;
    EXPECT_THAT(said.text, HasSubstr(wrong.says));
    EXPECT_THAT(said.text, StartsWith("ocrtune"));
    EXPECT_EQ(std::count(said.text.begin(), said.text.end(), '\n'), 1) << said.text;
  }
}

}  // namespace
}  // namespace ocrtune
