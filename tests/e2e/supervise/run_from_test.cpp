// What was measured is what is started: tune, then `run --from`, `verify` and `tune --resume`, with
// a client that writes down how it was started and ends once a file called end is there.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "tests/support/answered.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr const char* kJobClient = R"(
echo "in $PWD args $* mode $MODE token $HF_TOKEN threads $OMP_NUM_THREADS" >> )";

// PaddleOCR's line; the shell script stands for python and takes the place of tools/train.py.
constexpr const char* kSteps = R"(
[ -e DIR/end ] && exit 0
n=0
while :; do
  echo "[2026/01/01 00:00:00] ppocr INFO: epoch: [1/9], global_step: $((n+=2)), loss: 1.5, avg_samples: 4, ips: 100.0 samples/s, eta: 0:10:00"
  sleep 0.05
done
)";

class RunFrom : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("run_from");
    std::string steps = kSteps;
    steps.replace(steps.find("DIR"), 3, folder_);
    put("job/client.sh", kJobClient + folder_ + "/started\n" + steps);
    put("job/tools/train.py", kJobClient + folder_ + "/started\n" + steps);
    std::string lines;
    for (int i = 0; i < 400; ++i) lines += "a.png\tb\n";
    put("job/labels.txt", lines);
    put("job/cfg.yml",
        "Global:\n  use_gpu: false\n  epoch_num: 20\nTrain:\n  dataset:\n    name: SimpleDataSet\n"
        "    label_file_list: [labels.txt]\n  loader:\n    batch_size_per_card: 16\n"
        "    num_workers: 1\n");
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  void put(const std::string& name, const std::string& text) const {
    const std::string path = join_path(folder_, name);
    ASSERT_TRUE(make_directories(parent_path(path)));
    ASSERT_TRUE(write_file(path, text));
  }
  // Exit code, or -1; the words are in output_.
  int ocrtune(std::vector<std::string> arguments, const std::string& token = "",
              const std::string& directory = "") {
    ProcessOptions options;
    const bool tunes = arguments.front() == "tune";
    arguments.insert(arguments.begin(), OCRTUNE_BINARY);
    options.arguments = std::move(arguments);
    options.directory = directory.empty() ? folder_ : directory;
    options.environment.emplace_back("XDG_DATA_HOME", folder_ + "/home");
    options.environment.emplace_back("OMP_NUM_THREADS", std::nullopt);
    if (!token.empty()) options.environment.emplace_back("HF_TOKEN", token);
    Process process = std::move(Process::start(options)).value();
    const auto& exit = process.wait(120);
    output_ = process.output().contents();
    const int code = exit && exit->signal == 0 ? exit->code : -1;
    // Other load may leave a short tune open.
    return tunes && answered(code, output_) ? 0 : code;
  }
  int tune(const std::vector<std::string>& flags, const std::vector<std::string>& command,
           const std::string& token = "") {
    std::vector<std::string> all = {"tune",  "--cwd",     "job", "--budget", "12s", "--trial-time",
                                    "200ms", "--out",     "out", "--nproc",  "1",   "--threads",
                                    "1",     "--binding", "none"};
    all.insert(all.end(), flags.begin(), flags.end());
    all.emplace_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return ocrtune(all, token);
  }
  int run(const std::vector<std::string>& more, const std::string& token = "") {
    put("end", "");
    [[maybe_unused]] const Status none = remove_tree(folder_ + "/started");
    std::vector<std::string> all = {"run", "--run-dir", folder_ + "/run", "--tries", "1"};
    all.insert(all.end(), more.begin(), more.end());
    return ocrtune(all, token);
  }
  std::string started() const { return read_file(folder_ + "/started").value_or(""); }

  std::string folder_, output_;
};

const std::vector<std::string> kCommand = {"sh",      "client.sh",       "{nproc}",
                                           "{batch}", "{workers}",       "{trial_dir}",
                                           "p{port}", "g{global_batch}", "{{x}}"};

TEST_F(RunFrom, FillsEverythingThatWasMeasured) {
  ASSERT_EQ(tune({"--batch", "8", "--workers", "2", "--log-reader", "paddleocr", "--env",
                  "MODE=n{nproc}b{batch}"},
                 kCommand),
            0)
      << output_;
  EXPECT_EQ(run({"last"}), 0) << output_;
  EXPECT_NE(started(), "") << "the run of that name, not the program";
  ASSERT_EQ(run({"--from", "last"}), 0) << output_;
  EXPECT_THAT(started(),
              MatchesRegex("in " + folder_ + "/job args 1 8 2 " + folder_ +
                           "/run/files p[0-9]+ g8 \\{x\\} mode n1b8 token  threads 1\n"));
  // Another command gets the same environment, folder and knobs.
  ASSERT_EQ(run({"--from", "last", "--", "sh", "client.sh", "other", "{batch}", "{workers}"}), 0)
      << output_;
  EXPECT_EQ(started(), "in " + folder_ + "/job args other 8 2 mode n1b8 token  threads 1\n");
  EXPECT_EQ(run({"--from", "last", "--", "sh", "client.sh", "{batsh}"}), 2);
  EXPECT_THAT(output_, HasSubstr("unknown placeholder {batsh}"));
}

TEST_F(RunFrom, AKnobThatTheRunDidNotTryHasNoValue) {
  ASSERT_EQ(tune({"--workers", "2", "--log-reader", "paddleocr"}, {"sh", "client.sh", "{workers}"}),
            0)
      << output_;
  EXPECT_EQ(run({"--from", "last", "--", "sh", "client.sh", "{workers}", "{batch}"}), 2);
  EXPECT_THAT(output_, HasSubstr("--set batch=N"));
}

TEST_F(RunFrom, ACommandThatIgnoresARecommendedKnobIsRefused) {
  ASSERT_LE(tune({"--batch", "8,16", "--workers", "2", "--log-reader", "paddleocr"}, kCommand), 1)
      << output_;
  EXPECT_EQ(run({"--from", "last", "--", "sh", "client.sh", "other", "{workers}"}), 2);
  EXPECT_THAT(output_, HasSubstr("the command ignores batch"));
  const std::ptrdiff_t notes = output_.find("note: the run is not conclusive") != std::string::npos;
  EXPECT_EQ(std::count(output_.begin(), output_.end(), '\n'), 1 + notes) << output_;
}

TEST_F(RunFrom, ThePresetTellsThePaddleOcrCommandBatchAndWorkers) {
  ASSERT_LE(ocrtune({"tune",
                     "--cwd",
                     "job",
                     "--budget",
                     "12s",
                     "--trial-time",
                     "200ms",
                     "--threads",
                     "1",
                     "--batch",
                     "8",
                     "--workers",
                     "3",
                     "--preset",
                     "paddleocr",
                     "--baseline",
                     "nproc=1 threads=1 batch=8 workers=3",
                     "--",
                     "sh",
                     "tools/train.py",
                     "-c",
                     "cfg.yml",
                     "-o",
                     "Global.epoch_num=2"}),
            1)
      << output_;
  EXPECT_THAT(output_, HasSubstr("-o Global.epoch_num=2 Train.loader.batch_size_per_card=8"));
  const std::string keys = "Train.loader.batch_size_per_card=8 Train.loader.num_workers=3";
  ASSERT_EQ(run({"--from", "last"}), 0) << output_;
  EXPECT_THAT(started(), HasSubstr("args -c cfg.yml -o Global.epoch_num=2 " + keys + " mode"));
  ASSERT_EQ(run({"--from", "last", "--", "sh", "tools/train.py", "-c", "cfg.yml"}), 0) << output_;
  EXPECT_THAT(started(), HasSubstr("args -c cfg.yml -o " + keys + " mode"));
  // The answer does not depend on a config that has gone since.
  ASSERT_TRUE(remove_tree(folder_ + "/job/cfg.yml"));
  ASSERT_LE(ocrtune({"show", "last"}), 1) << output_;  // other load may leave it open
  EXPECT_THAT(output_, HasSubstr(keys));
}

TEST_F(RunFrom, ASecretIsNeitherStoredNorTold) {
  ASSERT_EQ(tune({"--batch", "8", "--workers", "2", "--log-reader", "paddleocr", "--env",
                  "HF_TOKEN=hf_Very5ecret", "--env", "MODE"},
                 {"env", "sh", "client.sh", "{batch}", "{workers}", "--api-key=An0ther5ecret"}),
            3);
  EXPECT_THAT(output_, HasSubstr("MODE is not in the environment"));
  ASSERT_EQ(tune({"--batch", "8", "--workers", "2", "--log-reader", "paddleocr", "--env",
                  "HF_TOKEN=hf_Very5ecret"},
                 {"env", "sh", "client.sh", "{batch}", "{workers}", "--api-key=An0ther5ecret"}),
            0)
      << output_;
  EXPECT_THAT(started(), HasSubstr("--api-key=An0ther5ecret mode  token hf_Very5ecret"));
  EXPECT_THAT(output_, HasSubstr("HF_TOKEN=\"$HF_TOKEN\""));
  std::vector<std::string> files = {folder_ + "/home/ocrtune/runs.sqlite",
                                    folder_ + "/home/ocrtune/runs.sqlite-wal"};
  for (const std::string& name : list_directory(folder_ + "/out").value_or({})) {
    files.push_back(folder_ + "/out/" + name);
  }
  ASSERT_GT(files.size(), 5u);
  for (const std::string& file : files) {
    EXPECT_EQ(read_file(file).value_or("").find("5ecret"), std::string::npos) << file;
  }
  EXPECT_THAT(output_, Not(HasSubstr("5ecret")));
  // It is asked for where it is needed again.
  EXPECT_EQ(run({"--from", "last", "--", "sh", "client.sh", "{batch}", "{workers}"}), 3);
  EXPECT_THAT(output_, HasSubstr("HF_TOKEN is not in the environment"));
  EXPECT_EQ(run({"--from", "last"}, "hf_Very5ecret"), 2);
  EXPECT_THAT(output_, HasSubstr("--api-key=***"));
  EXPECT_EQ(run({"--from", "last", "--", "sh", "client.sh", "{batch}", "{workers}"}, "hf_Later"), 0)
      << output_;
  EXPECT_THAT(started(), HasSubstr("token hf_Later"));
}

TEST_F(RunFrom, PlaceholdersWithoutValuesAreRefused) {
  EXPECT_EQ(run({"--", "echo", "{batch}"}), 2);
  EXPECT_THAT(output_, HasSubstr("{batch} in the command has no value"));
  EXPECT_EQ(run({"--set", "nproc=2", "--", "echo", "{nproc}", "{batch}"}), 2);
  EXPECT_THAT(output_, HasSubstr("{batch} in the command has no value"));
  EXPECT_EQ(run({"--", "echo", "{foo}"}), 2);
  EXPECT_THAT(output_, HasSubstr("unknown placeholder {foo}"));
  EXPECT_EQ(run({"--set", "thread=2", "--", "echo", "{threads}"}), 2);
  EXPECT_THAT(output_, AllOf(HasSubstr("--set: no knob thread;"), HasSubstr(" threads?")));
  EXPECT_EQ(run({"--set", "batch=4", "--", "echo", "none"}), 2);
  EXPECT_THAT(output_, HasSubstr("the command ignores batch"));
  EXPECT_EQ(run({"--set", "batch=4", "--", "sh", "-c", "A=b; echo ${A}{batch} {{x}}"}), 0)
      << output_;
  EXPECT_THAT(output_, HasSubstr("b4 {x}\n"));
}

TEST_F(RunFrom, OneTryIsOneAttempt) {
  EXPECT_EQ(run({"--", "sh", "-c", "echo once >> " + folder_ + "/tries; exit 1"}), 1) << output_;
  EXPECT_EQ(read_file(folder_ + "/tries").value_or(""), "once\n");
}

TEST_F(RunFrom, MissingDataEndsVerifyAndResumeBeforeATrial) {
  ASSERT_EQ(ocrtune({"make-data", "lines", "--count", "64"}), 0) << output_;
  ASSERT_LE(
      ocrtune({"tune", "--data", "lines", "--budget", "4s", "--trial-time", "200ms", "--nproc", "1",
               "--threads", "1", "--batch", "4", "--workers", "0", "--backend", "onednn"}),
      1)
      << output_;
  // From another folder the data are found.
  EXPECT_NE(ocrtune({"verify", "--for", "1s"}, "", "/"), 3) << output_;
  EXPECT_THAT(output_, Not(HasSubstr("UNSAFE")));
  EXPECT_EQ(ocrtune({"tune", "--resume", "--nproc", "2"}), 2);
  EXPECT_THAT(output_, HasSubstr("leave --nproc out"));
  ASSERT_TRUE(remove_tree(folder_ + "/lines"));
  for (const std::vector<std::string>& again :
       {std::vector<std::string>{"verify", "--for", "1s"},
        std::vector<std::string>{"tune", "--resume", "--budget", "4s"}}) {
    EXPECT_EQ(ocrtune(again), 3) << output_;
    EXPECT_THAT(output_, HasSubstr(folder_ + "/lines/labels.txt, which is not there"));
  }
}

// A GBK name: bytes that JSON cannot hold.
TEST_F(RunFrom, APathThatIsNoUtf8IsMeasuredAndStored) {
  const std::string name = "\xD6\xD0\xCE\xC4";
  if (!make_directories(folder_ + "/" + name)) GTEST_SKIP() << "the file system wants UTF-8";
  ASSERT_EQ(ocrtune({"make-data", name, "--count", "64"}), 0) << output_;
  ASSERT_EQ(
      ocrtune({"worker", "nproc=1", "threads=1", "batch=4", "--data", name, "--seconds", "0.2"}), 0)
      << output_;
  ASSERT_LE(
      ocrtune({"tune", "--data", name, "--budget", "4s", "--trial-time", "200ms", "--nproc", "1",
               "--threads", "1", "--batch", "4", "--workers", "0", "--backend", "onednn"}),
      1)
      << output_;
  EXPECT_NE(ocrtune({"verify", "--for", "1s"}, "", "/"), 3) << output_;
  EXPECT_THAT(output_, Not(HasSubstr("UNSAFE")));
  EXPECT_EQ(ocrtune({"run", "--json", "--run-dir", folder_ + "/" + name + "/run", "--", "true"}), 0)
      << output_;
  ASSERT_EQ(ocrtune({"train", name, "--steps", "1", "--batch", "2", "--width", "32", "--workers",
                     "1", "--threads", "1", "--checkpoint", name + "/net"}),
            0)
      << output_;
  EXPECT_EQ(ocrtune({"infer", name, "--checkpoint", name + "/net", "--output", name + "/read"}), 0)
      << output_;
  EXPECT_TRUE(path_exists(folder_ + "/" + name + "/read"));
  EXPECT_LE(
      ocrtune({"tune", "--mode", "infer", "--data", name, "--checkpoint", name + "/net", "--budget",
               "4s", "--trial-time", "200ms", "--nproc", "1", "--threads", "1", "--batch", "4"}),
      1)
      << output_;
}

// Somebody else's folder under /tmp is no place to take a command from.
TEST_F(RunFrom, AStoreThatOthersCanWriteToIsRefused) {
  constexpr ::uid_t kNobody = 64991;
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be another user";
  const std::string theirs = "/tmp/ocrtune-" + std::to_string(kNobody);
  if (path_exists(theirs)) GTEST_SKIP() << theirs << " is there already";
  ASSERT_EQ(::mkdir(theirs.c_str(), 0777), 0);
  ASSERT_TRUE(write_file(theirs + "/runs.sqlite", "not ours").ok());
  const std::string binary = shell_quote(OCRTUNE_BINARY);
  const std::string line = "exec 2>&1; env -u HOME -u XDG_DATA_HOME setpriv --reuid " +
                           std::to_string(kNobody) + " --clear-groups " + binary +
                           " run --from last";
  ProcessOptions options;
  options.arguments = {"sh", "-c", line};
  options.directory = "/tmp";
  Process process = std::move(Process::start(options)).value();
  const auto& exit = process.wait(60);
  const std::string said = process.output().contents();
  ASSERT_TRUE(remove_tree(theirs));
  if (exit && (exit->code == 127 || exit->code == 126)) GTEST_SKIP() << said;
  EXPECT_THAT(said, HasSubstr("is no folder of this user's"));
}

// What the built-in core found out is told to PaddleOCR's trainer, and no knob is dropped in
// silence.
TEST_F(RunFrom, TheCoresAnswerReachesACommand) {
  ASSERT_LE(ocrtune({"tune", "--budget", "4s", "--trial-time", "200ms", "--nproc", "1", "--threads",
                     "1", "--batch", "4", "--workers", "0", "--backend", "onednn"}),
            1)
      << output_;
  EXPECT_EQ(run({"--from", "last"}), 2);
  EXPECT_THAT(output_, HasSubstr("name the command to launch after --"));
  EXPECT_EQ(run({"--from", "last", "--", "true"}), 2);
  EXPECT_THAT(output_, HasSubstr("the command ignores batch"));
  put("tools/train.py", kJobClient + folder_ + "/started\n");
  put("labels.txt", read_file(folder_ + "/job/labels.txt").value_or(""));
  put("cfg.yml", read_file(folder_ + "/job/cfg.yml").value_or(""));
  ASSERT_EQ(run({"--from", "last", "--", "sh", "tools/train.py", "-c", "cfg.yml"}), 0) << output_;
  EXPECT_THAT(started(), HasSubstr("-o Train.loader.batch_size_per_card=4 "
                                   "Train.loader.num_workers=0 mode  token  threads 1"));
}

}  // namespace
}  // namespace ocrtune
