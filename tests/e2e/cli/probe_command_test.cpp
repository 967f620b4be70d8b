// ocrtune probe as a user types it.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/process.h"
#include "probes/machine/machine_json.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Ran probe(std::vector<std::string> flags, const std::string& verb = "probe") {
  flags.insert(flags.begin(), verb);
  return run_ocrtune(flags);
}

std::string machine_folder(const char* name) {
  return std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/machines/" + name;
}

TEST(ProbeCommand, JsonIsOneDocumentThatReadsBack) {
  const Ran said = probe({"--quick", "--json"});
  EXPECT_EQ(said.code, 0);
  const auto machine = parse_machine_json(said.out);
  ASSERT_TRUE(machine) << machine.error().what << said.out;
  EXPECT_TRUE(machine->cpu.usable_cpus.known());
}

TEST(ProbeCommand, TheFlagFormIsTheSameCommand) {
  const Ran flag = probe({"--root", machine_folder("two-socket-server")}, "--probe");
  const Ran verb = probe({"--root", machine_folder("two-socket-server")});
  EXPECT_EQ(flag.code, 0);
  EXPECT_EQ(flag.out, verb.out);
  EXPECT_THAT(verb.out, HasSubstr("16 usable of 16"));
}

// Where it ends within two seconds it says nothing: cli/shell/progress.h.
TEST(ProbeCommand, MeasuringSaysSoInAPipeToo) {
  const double begin = steady_seconds();
  const Ran said = probe({});
  const bool surely = steady_seconds() - begin > 4;  // its start included
  EXPECT_EQ(said.code, 0);
  const auto measuring = StartsWith("measuring CPUs and memory\n");
  EXPECT_THAT(said.out, AnyOf(measuring, StartsWith(surely ? "measuring" : "Machine ")));
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
    const Ran said = probe(wrong.flags);
    EXPECT_EQ(said.code, wrong.code) << said.out;
    EXPECT_THAT(said.out, HasSubstr(wrong.says));
    EXPECT_THAT(said.out, StartsWith("ocrtune"));
    EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 1) << said.out;
  }
}

}  // namespace
}  // namespace ocrtune
