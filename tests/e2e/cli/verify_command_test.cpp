// ocrtune verify as a user types it: a launch command whose rate and fate a file decides.
#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "tests/support/loopback_server.h"
#include "tests/support/schema_text.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class VerifyCommand : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("verify_command"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  int run(const std::vector<std::string>& arguments) {
    ProcessOptions options;
    options.arguments = {OCRTUNE_BINARY};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    Process process = std::move(Process::start(options)).value();
    const auto& exit = process.wait(100);
    output_ = process.output().contents();
    return exit && exit->signal == 0 ? exit->code : -1;
  }
  int verify(const std::vector<std::string>& more = {}, const std::string& time = "2s") {
    std::vector<std::string> arguments = {"verify", "last", "--db", db(), "--for", time};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  void tune() {
    const std::string script = "while :; do . " + folder_ +
                               "/fate; printf '{\"samples_per_second\": %s}\\n' $rate; sleep 0.05; "
                               "done";
    ASSERT_TRUE(write_file(folder_ + "/fate", "rate=500\n"));
    ASSERT_LE(run({"tune",
                   "--db",
                   db(),
                   "--nproc",
                   "1",
                   "--threads",
                   "1",
                   "--workers",
                   "0",
                   "--batch",
                   "4",
                   "--binding",
                   "none",
                   "--baseline",
                   "nproc=1 threads=1 batch=4",
                   "--trial-time",
                   "300ms",
                   "--log-reader",
                   "json-lines",
                   "--budget",
                   "6s",
                   "--out",
                   folder_ + "/out",
                   "--",
                   "sh",
                   "-c",
                   script,
                   "{batch} {nproc} {threads} {workers}"}),
              1)
        << output_;
  }
  std::string db() const { return folder_ + "/runs.sqlite"; }

  std::string folder_, output_;
};

// What else it says of which machine: unit/tuner/session/session_test.cpp.
TEST_F(VerifyCommand, TheExitCodeSaysWhetherTheRecommendationHolds) {
  tune();
  ASSERT_FALSE(HasFatalFailure());
  // Other load may spoil the samples of a busy machine; then nothing is called proved.
  int code = verify();
  for (int more = 0; more < 2 && output_.find("UNDECIDED: ") != std::string::npos; ++more) {
    code = verify({}, "6s");
  }
  const bool busy = output_.find("other load spoils most samples") != std::string::npos;
  EXPECT_EQ(code, busy ? 1 : 0) << output_;
  EXPECT_THAT(output_, HasSubstr(busy ? "UNDECIDED: " : "OK: "));

  ASSERT_TRUE(write_file(folder_ + "/fate", "echo 'OSError: [Errno 28] No space left'; exit 1\n"));
  EXPECT_EQ(verify({"--json"}), 1);
  const auto start = output_.find('{');
  const auto json = nlohmann::json::parse(start == std::string::npos ? "" : output_.substr(start),
                                          nullptr, false);
  ASSERT_TRUE(json.is_object()) << output_;
  EXPECT_EQ(schema_fault("verify", json), "");
  EXPECT_EQ(json["state"], "UNSAFE");
}

// A server that runs already has no knob of ours; that it is away says nothing of its setting.
TEST_F(VerifyCommand, AServerThatIsAwayIsNotUnsafe) {
  auto server = std::make_unique<LoopbackServer>("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  run({"tune", "--db", db(), "--mode", "infer", "--url", server->url(), "--budget", "5s",
       "--trial-time", "1s"});
  EXPECT_THAT(output_, Not(HasSubstr("nproc=")));
  server.reset();
  EXPECT_EQ(verify(), 3) << output_;
  EXPECT_THAT(output_, HasSubstr("127.0.0.1"));
  EXPECT_THAT(output_, Not(HasSubstr("UNSAFE")));
  EXPECT_EQ(std::count(output_.begin(), output_.end(), '\n'), 1) << output_;
}

TEST_F(VerifyCommand, WrongUseIsOneLine) {
  ASSERT_TRUE(write_file(folder_ + "/text.sqlite", "not a store\n"));
  const std::vector<std::tuple<std::vector<std::string>, int, std::string>> cases = {
      {{"verify", "last", "--db", folder_ + "/none.sqlite"}, 3, "none.sqlite"},
      {{"verify", "last", "--db", folder_ + "/text.sqlite"}, 3, "text.sqlite"},
      {{"verify", "last", "--for", "soon"}, 2, "soon"},
      {{"verify", "last", "--tolerance", "7"}, 2, "tolerance"},
  };
  for (const auto& [arguments, code, word] : cases) {
    EXPECT_EQ(run(arguments), code) << word << ": " << output_;
    EXPECT_THAT(output_, HasSubstr(word));
    EXPECT_EQ(std::count(output_.begin(), output_.end(), '\n'), 1) << output_;
  }
}

}  // namespace
}  // namespace ocrtune
