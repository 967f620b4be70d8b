// `ocrtune tune --mode infer` as a user types it: the core, a command that answers, and misuse.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/support/answered.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

Ran run(const std::string& arguments) { return run_line(OCRTUNE_BINARY + " " + arguments); }

nlohmann::json json_of(const Ran& ran) { return nlohmann::json::parse(ran.out, nullptr, false); }

// Answers every request with its number.
const std::string kEcho = " -- sed -u 's/.*\"id\": *\\([0-9]*\\).*/{\"id\": \\1}/'";

class TuneInference : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("tune_infer");
    db_ = join_path(folder_, "runs.sqlite");
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }
  std::string tune(const std::string& more) const {
    return "tune --mode infer --width 64 --db " + db_ + " " + more;
  }
  std::string folder_, db_;
};

TEST_F(TuneInference, TheCoreIsSweptAndRecommended) {
  const Ran ran = run(
      tune("--nproc 1,2 --threads 1 --batch 4 --precision fp32 --binding none --trial-time 200ms "
           "--budget 5s --json 2>/dev/null"));
  ASSERT_TRUE(answered(ran.code, ran.out)) << ran.out;
  const auto json = json_of(ran);
  ASSERT_TRUE(json.is_object()) << ran.out;
  EXPECT_GT(json["recommendation"]["samples_per_second"]["median"].get<double>(), 0);
  EXPECT_THAT(json["recommendation"]["command"].get<std::string>(),
              HasSubstr("ocrtune infer LINES --nproc "));
  EXPECT_GT(json["recommendation"]["peak_bytes"].get<double>(), 10e6);
}

TEST_F(TuneInference, AnSloThatNoSettingMeetsSaysByHowMuch) {
  const Ran ran =
      run(tune("--slo p99=0.02ms --nproc 1 --threads 1 --batch 1,2 --precision fp32 --binding none "
               "--queue shared --trial-time 500ms --budget 5s --json 2>/dev/null"));
  ASSERT_EQ(ran.code, 1) << ran.out;
  EXPECT_THAT(json_of(ran)["answer"].get<std::string>(), HasSubstr("ms too long"));
  EXPECT_THAT(json_of(ran)["answer"].get<std::string>(), HasSubstr("p99 under 0.02 ms"));
}

TEST_F(TuneInference, ACommandThatAnswersIsATarget) {
  const Ran most = run(tune("--trial-time 300ms --budget 4s --json" + kEcho + " 2>/dev/null"));
  ASSERT_TRUE(answered(most.code, most.out)) << most.out;
  EXPECT_GT(json_of(most)["recommendation"]["samples_per_second"]["median"].get<double>(), 100);
  EXPECT_THAT(json_of(most)["recommendation"]["command"].get<std::string>(), HasSubstr("sed -u"));
  const Ran ended =
      run(tune("--trial-time 300ms --budget 4s --json -- sh -c 'exit 3' 2>/dev/null"));
  ASSERT_EQ(ended.code, 1) << ended.out;
  EXPECT_THAT(json_of(ended)["answer"].get<std::string>(), HasSubstr("exit code 3"));
}

// A stand-in that takes the flags of vLLM and SGLang and speaks their protocol.
TEST_F(TuneInference, ServersOfChatsAreTunedByTheirPresets) {
  ASSERT_TRUE(write_file(folder_ + "/page.png", "no picture, but bytes"));
  ASSERT_TRUE(
      write_file(folder_ + "/page.request.toml",
                 "file = \"page.png\"\nanswer = [\"choices.0.message.content=21 bytes\"]\n"
                 "json = '''{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": [\n"
                 "{\"type\": \"image_url\", \"image_url\": {\"url\": \"{data_uri}\"}}]}]}'''\n"));
  const std::string server = OCRTUNE_SOURCE_DIR + "/tests/clients/chat_server.py";
  const struct {
    std::string preset, command, knob, flag, metric;
  } kinds[] = {
      {"vllm", " serve m", "max_num_seqs", "--max-num-seqs=", "vllm:num_requests_running "},
      {"sglang", " --model-path m --enable-metrics", "max_running_requests",
       "--max-running-requests=", "sglang:num_running_reqs "},
  };
  for (const auto& kind : kinds) {
    const Ran ran =
        run(tune("--preset " + kind.preset + " --input " + folder_ +
                 "/page.request.toml --trial-time 600ms --budget 20s --dim " + kind.knob +
                 "=1,16 --json -- python3 " + server + kind.command + " 2>/dev/null"));
    ASSERT_TRUE(answered(ran.code, ran.out)) << ran.out;
    const auto recommended = json_of(ran)["recommendation"];
    EXPECT_GT(recommended["samples_per_second"]["median"].get<double>(), 10) << ran.out;
    EXPECT_THAT(recommended["command"].get<std::string>(), HasSubstr(kind.flag));
    EXPECT_THAT(recommended["reasons"].dump(), HasSubstr("Of the server: " + kind.metric));
    EXPECT_THAT(recommended["reasons"].dump(), HasSubstr(" in flight: p50 "));
  }
}

TEST_F(TuneInference, WrongUseIsOneLine) {
  const std::string trace = join_path(folder_, "trace.txt");
  ASSERT_TRUE(write_file(trace, "0\nabc\n"));
  ASSERT_TRUE(make_directories(folder_ + "/empty"));
  const std::vector<std::tuple<std::string, int, std::string>> cases = {
      {tune("--slo p99"), 2, "--slo"},
      {tune("--slo p99=0ms"), 2, "--slo"},
      {tune("--trace " + trace), 2, "--slo"},
      {tune("--slo p99=50ms --trace " + trace), 3, "trace.txt"},
      {tune("--data " + folder_ + "/none"), 3, "none"},
      {tune("--data " + folder_ + "/empty"), 3, "no PNG or JPEG"},
      {tune("--input a.png"), 2, "--data"},
      {tune("--checkpoint " + folder_ + "/none.ckpt"), 3, "none.ckpt"},
      {tune("--url http://127.0.0.1:1/"), 3, "127.0.0.1:1"},
      {tune("--url ftp://x"), 2, "HTTP"},
      {tune("--binding compact" + kEcho), 2, "--binding"},
      {tune("--nproc 1,2" + kEcho), 2, "ignores nproc"},
      {tune("--slo p99=50ms --log-reader rate" + kEcho), 2, "--log-reader"},
      {"tune --mode train --slo p99=50ms --db " + db_, 2, "are for --mode infer"},
      {"tune --url http://127.0.0.1:1/ --db " + db_, 3, "127.0.0.1:1"},
      {tune("--mode both"), 2, "--mode"},
      {tune("--objective latency"), 2, "--slo p99=50ms"},
      {tune("--max-latency 50ms"), 2, "--slo p99=50ms"},
  };
  for (const auto& [arguments, code, word] : cases) {
    const Ran ran = run(arguments + " 2>&1 >/dev/null");
    EXPECT_EQ(ran.code, code) << arguments << "\n" << ran.out;
    EXPECT_THAT(ran.out, HasSubstr(word)) << arguments;
  }
}

}  // namespace
}  // namespace ocrtune
