// ocrtune import as a user types it, and what infer and tune make of the model.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "tests/support/answered.h"
#include "tests/support/onnx_writer.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ImportCommand : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("import_command"); }
  void TearDown() override { (void)remove_tree(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    ASSERT_TRUE(write_file(path(name), bytes).ok());
  }
  int ocrtune(const std::vector<std::string>& arguments) {
    ProcessOptions options;
    options.arguments = {OCRTUNE_BINARY};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.directory = folder_;
    for (const auto& [name, value] : environment_) options.environment.emplace_back(name, value);
    Process process = std::move(Process::start(options)).value();
    const auto& exit = process.wait(300);
    said_ = process.output().contents();
    return exit && exit->signal == 0 ? exit->code : -1;
  }
  // Refused with one line that says `why`; nothing new lies in the folder.
  void expect_refused(const std::vector<std::string>& arguments, int code, const char* why) {
    const auto before = list_directory(folder_).value();
    EXPECT_EQ(ocrtune(arguments), code) << said_;
    EXPECT_THAT(said_, AllOf(HasSubstr("ocrtune import: "), HasSubstr(why)));
    EXPECT_EQ(split(said_, '\n').size(), 2U) << said_;
    EXPECT_EQ(list_directory(folder_).value(), before);
  }
  std::string folder_, said_;
  std::vector<std::pair<std::string, std::string>> environment_;
};

TEST_F(ImportCommand, WritesAModelThatInferReadsWith) {
  write("tiny.onnx", tiny_recognizer(5));
  write("dictionary.txt", "0\n1\n2\n3\n");
  ASSERT_EQ(ocrtune({"import", "tiny.onnx", "--alphabet", "dictionary.txt"}), 0) << said_;
  EXPECT_THAT(
      said_, AllOf(HasSubstr("opset 12"), HasSubstr("parameters  669"), HasSubstr("16 pixels high"),
                   HasSubstr("5 classes"), HasSubstr("written     tiny.ocrtune.onnx")));
  if (ocrtune({"make-data", "lines", "--count", "12", "--alphabet", "0123"}) != 0) {
    FAIL() << said_;
  }
  ASSERT_EQ(ocrtune({"infer", "lines", "--model", "tiny.ocrtune.onnx", "--nproc", "2", "--threads",
                     "1", "--output", "results.tsv"}),
            0)
      << said_;
  EXPECT_THAT(said_, Not(HasSubstr("random weights")));
  EXPECT_EQ(split(*read_file(path("results.tsv")), '\n').size(), 14U);
  // Lines of its own are learned on from the file's weights.
  ASSERT_EQ(ocrtune({"train", "lines", "--model", "tiny.ocrtune.onnx", "--steps", "3", "--batch",
                     "4", "--workers", "1", "--threads", "1", "--checkpoint", "tuned"}),
            0)
      << said_;
  EXPECT_EQ(
      ocrtune({"train", "lines", "--model", "tiny.ocrtune.onnx", "--steps", "5", "--batch", "4",
               "--workers", "1", "--threads", "1", "--checkpoint", "tuned", "--resume", "auto"}),
      0)
      << said_;
  EXPECT_THAT(said_, HasSubstr("holds 5 steps"));
  EXPECT_EQ(ocrtune({"infer", "lines", "--model", "tiny.ocrtune.onnx", "--checkpoint", "tuned",
                     "--nproc", "1", "--output", "tuned.tsv"}),
            0)
      << said_;
  // Written back, it reads without the checkpoint what it read with it.
  EXPECT_EQ(
      ocrtune({"import", "tiny.ocrtune.onnx", "--checkpoint", "tuned", "--output", "tuned.onnx"}),
      0)
      << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("checkpoint  weights of tuned: logits differ"),
                           HasSubstr("written     tuned.onnx")));
  EXPECT_EQ(
      ocrtune({"infer", "lines", "--model", "tuned.onnx", "--nproc", "1", "--output", "back.tsv"}),
      0)
      << said_;
  const auto texts = [&](const char* table) {
    std::vector<std::string> rows = split(*read_file(path(table)), '\n');
    for (std::string& row : rows) row = row.substr(0, row.rfind('\t', row.rfind('\t') - 1));
    return rows;
  };
  EXPECT_EQ(texts("back.tsv"), texts("tuned.tsv"));
  write("other.onnx", tiny_recognizer_with("a\nb\nc\nd", 5));
  expect_refused({"import", "other.onnx", "--checkpoint", "tuned"}, 3, "another alphabet");
  expect_refused({"import", "tiny.ocrtune.onnx", "--checkpoint", "nothing"}, 3, "nothing");
  EXPECT_EQ(ocrtune({"infer", "lines", "--checkpoint", "tuned"}), 2);
  EXPECT_THAT(said_, HasSubstr("name it, --model FILE.onnx"));
  EXPECT_EQ(ocrtune({"train", "lines", "--model", "tiny.ocrtune.onnx", "--device", "gpu"}), 2);
  EXPECT_THAT(said_, HasSubstr("trained on the CPUs"));
  // Without a dictionary of its own it is named, and so are flags that the model answers.
  EXPECT_EQ(ocrtune({"infer", "lines", "--model", "tiny.onnx"}), 3);
  EXPECT_THAT(said_, HasSubstr("tiny.onnx: it has no dictionary"));
  EXPECT_EQ(ocrtune({"infer", "lines", "--model", "tiny.ocrtune.onnx", "--height", "32"}), 2);
  EXPECT_THAT(said_, HasSubstr("16 pixels high, not 32"));
  EXPECT_EQ(ocrtune({"infer", "lines", "--model", "tiny.ocrtune.onnx", "--alphabet", "0123"}), 2);
  EXPECT_THAT(said_, HasSubstr("--alphabet: the dictionary lies in the model"));
}

TEST_F(ImportCommand, TuneMeasuresTheModel) {
  write("tiny.onnx", tiny_recognizer_with("0\n1\n2\n3", 5));
  const int code =
      ocrtune({"tune", "--model",      "tiny.onnx", "--db",        path("runs"), "--budget",
               "5s",   "--trial-time", "200ms",     "--nproc",     "1,2",        "--threads",
               "1",    "--batch",      "4",         "--precision", "fp32",       "--binding",
               "none", "--width",      "64",        "--json"});
  const std::string document = said_.substr(std::min(said_.size(), said_.find('{')));
  ASSERT_TRUE(answered(code, document)) << said_;
  const auto json = nlohmann::json::parse(document, nullptr, false);
  EXPECT_THAT(json["recommendation"]["command"].get<std::string>(),
              AllOf(HasSubstr("--model " + path("tiny.onnx")), HasSubstr("--height 16")));
  EXPECT_EQ(ocrtune({"tune", "--mode", "train", "--model", "tiny.onnx", "--db", path("runs")}), 2);
  EXPECT_THAT(said_, HasSubstr("ONNX files are for --mode infer"));
}

// A framework whose text is that of a picture's width alone, and one that cannot read the model.
TEST_F(ImportCommand, TuneTurnsAwayAnEngineThatReadsOtherwise) {
  if (!find_executable("python3")) GTEST_SKIP() << "no python3 here";
  write("tiny.onnx", tiny_recognizer_with("0\n1\n2\n3", 5));
  if (ocrtune({"make-data", "lines", "--count", "40", "--alphabet", "0123"}) != 0) {
    FAIL() << said_;
  }
  // Its weights are random: beside true texts no engine reads worse.
  ASSERT_EQ(::unlink(path("lines/labels.txt").c_str()), 0);
  ASSERT_TRUE(make_directories(path("env/bin")).ok());
  const std::string played = OCRTUNE_SOURCE_DIR + "/tests/support/played_framework.py";
  write("env/bin/python", "#!/bin/sh\nexec python3 " + played + " \"$@\"\n");
  ASSERT_EQ(::chmod(path("env/bin/python").c_str(), 0755), 0);
  environment_ = {{"VIRTUAL_ENV", path("env")}};
  const std::vector<std::string> tune = {
      "tune", "--mode",   "infer", "--model",   "tiny.onnx", "--data",       "lines", "--db",
      "runs", "--budget", "8s",    "--nproc",   "1",         "--trial-time", "200ms", "--threads",
      "1",    "--batch",  "4",     "--binding", "none",      "--width",      "64",    "--json"};
  std::vector<std::string> engines = tune;
  engines.insert(engines.end(), {"--precision", "fp32,int8"});
  engines.insert(engines.end(), {"--engine", "ocrtune,onnxruntime,openvino"});
  // The present setting is the framework's; the model's own random weights read nothing.
  engines.insert(engines.begin() + 1, {"--baseline", "threads=1 batch=4 backend=onnxruntime"});
  std::vector<std::string> plan = engines;
  plan.emplace_back("--dry-run");
  EXPECT_EQ(ocrtune(plan), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("is not in this plan"));
  EXPECT_FALSE(path_exists(path("tiny.int8.onnx"))) << "a plan makes nothing";
  const int code = ocrtune(engines);
  EXPECT_THAT(said_, HasSubstr("openvino is left out: No conversion rule found"));
  const std::string document = said_.substr(std::min(said_.size(), said_.find('{')));
  const auto json = nlohmann::json::parse(document, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said_;
  EXPECT_TRUE(code == 0 || code == 1) << said_;
  EXPECT_GE(json["outcomes"].value("wrong_result", 0), 1) << said_;
  EXPECT_EQ(json["recommendation"]["knobs"]["backend"], "onnxruntime") << said_;
  // Its int8 computes from a file that is made of the lines.
  EXPECT_THAT(said_, HasSubstr("int8 of onnxruntime: made"));
  EXPECT_EQ(*read_file(path("tiny.int8.onnx"), 10), "40");
  // The present setting's own engine does not read: a gain over another one would not be the
  // user's.
  engines[2] = "threads=1,batch=4,backend=openvino";
  EXPECT_EQ(ocrtune(engines), 3);
  EXPECT_THAT(said_, AllOf(HasSubstr("--baseline threads=1"), HasSubstr("No conversion rule")));
  // An engine of another name, and the same knob twice.
  engines.back() = "tensorrt";
  EXPECT_EQ(ocrtune(engines), 2);
  EXPECT_THAT(said_, HasSubstr("--engine tensorrt: not one of ocrtune"));
  engines.back() = "onnxruntime+fast";
  EXPECT_EQ(ocrtune(engines), 2);
  EXPECT_THAT(said_, HasSubstr("onnxruntime+fast: its options are no-arena"));
  engines.back() = "openvino";
  EXPECT_EQ(ocrtune(engines), 3) << said_;
  EXPECT_THAT(said_, HasSubstr("no engine here reads"));
  engines.insert(engines.end(), {"--backend", "onednn"});
  EXPECT_EQ(ocrtune(engines), 2);
  EXPECT_THAT(said_, HasSubstr("--engine and --backend"));
}

TEST_F(ImportCommand, RefusesBadInputWithOneLineAndWritesNothing) {
  const std::string good = tiny_recognizer_with("0\n1\n2\n3", 5);
  write("good.onnx", good);
  write("short.onnx", good.substr(0, good.size() / 2));
  write("opset.onnx", tiny_recognizer(5, 8));
  write("longer.txt", "0\n1\n2\n3\n4\n5\n");
  write("text.txt", "hello");
  ASSERT_TRUE(make_directories(path("folder.onnx")).ok());
  expect_refused({"import", "none.onnx"}, 3, "none.onnx: No such file");
  expect_refused({"import", "folder.onnx"}, 3, "folder.onnx: Is a directory");
  expect_refused({"import", "text.txt"}, 2, "ends in .onnx");
  write("inference.pdmodel", "x");
  expect_refused({"import", "inference.pdmodel"}, 2, "paddle2onnx --model_dir DIR");
  expect_refused({"import", "short.onnx"}, 3,
                 "short.onnx: not an ONNX model, truncated or damaged");
  expect_refused({"import", "opset.onnx"}, 3, "opset 8; ocrtune reads 11 to");
  expect_refused({"import", "good.onnx", "--alphabet", "longer.txt"}, 3, "6 characters");
  expect_refused({"import", "good.onnx", "--alphabet", "none.txt"}, 3, "none.txt");
  expect_refused({"import", "good.onnx", "--height", "32"}, 2, "16 pixels high, not 32");
  expect_refused({"import", "good.onnx", "--output", "no/folder/out.onnx"}, 3, "no/folder");
}

// OCRTUNE_ONNX_MODEL names a real recogniser, such as RapidOCR's ch_PP-OCRv4_rec_infer.onnx.
TEST_F(ImportCommand, ARealRecogniserReadsDrawnDigits) {
  const char* const model = std::getenv("OCRTUNE_ONNX_MODEL");
  if (model == nullptr) GTEST_SKIP() << "OCRTUNE_ONNX_MODEL names no model";
  ASSERT_EQ(ocrtune({"import", model, "--output", "real.onnx"}), 0) << said_;
  if (ocrtune({"make-data", "lines", "--count", "40", "--height", "48"}) != 0) {
    FAIL() << said_;
  }
  ASSERT_EQ(ocrtune({"infer", "lines", "--model", "real.onnx", "--width", "960", "--nproc", "1",
                     "--threads", "1", "--json"}),
            0)
      << said_;
  const auto json = nlohmann::json::parse(said_.substr(said_.find('{')));
  EXPECT_LT(json.at("label_error_rate").get<double>(), 0.1) << said_;
}

}  // namespace
}  // namespace ocrtune
