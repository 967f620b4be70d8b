// Several copies of a command on one GPU: `ocrtune rank-exec --copies-on` and the tune that
// finds how many; the GPUs are out of a text file.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAre;

Ran on_two_gpus(const std::string& arguments, const std::string& before = "") {
  return run_line(before + " OCRTUNE_NVML_PATH=" + OCRTUNE_NVML_STUB_LIBRARY +
                  " OCRTUNE_NVML_STUB=" + OCRTUNE_SOURCE_DIR +
                  "/tests/fixtures/gpu_boxes/2x4090.txt " + OCRTUNE_BINARY + " " + arguments +
                  " 2>&1");
}

TEST(Copies, EachSeesItsOwnGpuAsTheFirst) {
  const Ran said = on_two_gpus(
      "rank-exec --copies-on 0,1,0 -- sh -c 'echo $0 $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER "
      "{gpu} "
      "CUDA_VISIBLE_DEVICES={gpu} $CACHE' {copy}",
      "env -u CUDA_VISIBLE_DEVICES CACHE=c{copy}");
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(split(trim(said.out), '\n'),
              UnorderedElementsAre("0 0 PCI_BUS_ID 0 CUDA_VISIBLE_DEVICES=0 c0",
                                   "1 1 PCI_BUS_ID 0 CUDA_VISIBLE_DEVICES=1 c1",
                                   "2 0 PCI_BUS_ID 0 CUDA_VISIBLE_DEVICES=0 c2"));
}

TEST(Copies, OnCpusNothingIsSaidOfGpus) {
  const Ran said = run_line(
      std::string("env -u CUDA_VISIBLE_DEVICES CACHE=c{copy} ") + OCRTUNE_BINARY +
      " rank-exec --copies 2 -- sh -c 'echo $0 ${CUDA_VISIBLE_DEVICES-unset} {gpu} $CACHE' {copy} "
      "2>&1");
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(split(trim(said.out), '\n'),
              UnorderedElementsAre("0 unset {gpu} c0", "1 unset {gpu} c1"));
  const Ran failed = run_line(std::string(OCRTUNE_BINARY) +
                              " rank-exec --copies 2 -- sh -c 'echo no model; exit 7' {copy} 2>&1");
  EXPECT_EQ(failed.code, 7);
  EXPECT_THAT(failed.out, HasSubstr(": exit code 7; the others are stopped: no model"));
  EXPECT_THAT(failed.out, Not(HasSubstr("GPU")));
}

// As the program alone would write: long lines, blank ones, the last without its end; warnings
// apart.
TEST(Copies, WhatACopyWritesIsPassedOnAsItIs) {
  const std::string binary = std::string(OCRTUNE_BINARY) + " rank-exec --copies 1 -- ";
  const std::string script =
      "'import sys; print(\"x\" * 200000); print(); sys.stderr.write(\"warned\"); "
      "sys.stdout.write(\"a\\rb\")'";
  const Ran plain = run_line("python3 -c " + script + " 2>/dev/null");
  const Ran copied = run_line(binary + "python3 -c " + script + " 2>/dev/null");
  EXPECT_EQ(plain.code, 0);
  EXPECT_TRUE(copied.out == plain.out) << copied.out.size() << " of " << plain.out.size();
  EXPECT_EQ(run_line("echo hello | " + binary + "cat").out, "hello\n");
}

TEST(Copies, TheyEndWithTheReaderOfTheirOutput) {
  const Ran said =
      run_line(std::string(OCRTUNE_BINARY) +
               " rank-exec --copies 2 -- sh -c 'while :; do echo abc; sleep 0.01; done' "
               "| head -1");
  EXPECT_EQ(said.out, "abc\n");
}

// A preset and an address: the command serves, it prints no speed.
TEST(Copies, AServerMayHaveAPreset) {
  const Ran said = run_line(
      std::string(OCRTUNE_BINARY) + " tune --mode infer --preset rapidocr --input " +
      OCRTUNE_SOURCE_DIR + "/README.md --nproc 1,2 --threads 1,2 --dry-run " +
      "--url http://127.0.0.1:1808{copy}/ -- sh -c 'exec sleep {threads}' rapidocr {copy} 2>&1");
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(said.out, HasSubstr("rank-exec --copies 2 -- sh -c 'exec sleep 1' rapidocr {copy}"));
  EXPECT_THAT(said.out, Not(HasSubstr("GPU"))) << said.out;
}

TEST(Copies, TheFirstThatFailsEndsAll) {
  const std::string folder = make_temporary_directory("copies").value();
  const Ran said = on_two_gpus(
      "rank-exec --copies-on 0,0 -- sh -c 'if [ $0 = 1 ]; then exit 7; fi; "
      "exec sleep 1000' {copy}",
      "OCRTUNE_TEST_MARK=" + folder);
  EXPECT_EQ(said.code, 7) << said.out;
  EXPECT_THAT(said.out, HasSubstr("copy 1 on GPU 0: exit code 7; the others are stopped"));
  for (const ProcessFacts& process : all_processes()) {
    const auto block = read_file("/proc/" + std::to_string(process.pid) + "/environ");
    EXPECT_FALSE(block && block->find(folder) != std::string::npos && process.state != 'Z')
        << process.name << " was left behind";
  }
  ASSERT_TRUE(remove_tree(folder));
}

TEST(Copies, WrongUseIsOneLine) {
  EXPECT_EQ(on_two_gpus("rank-exec --copies-on 0,,1 -- true").code, 2);
  EXPECT_EQ(on_two_gpus("rank-exec --copies-on 0 --gpu auto -- true").code, 2);
  EXPECT_EQ(on_two_gpus("rank-exec --copies-on 0 -- /no/such/program").code, 3);
  EXPECT_EQ(on_two_gpus("rank-exec --copies-on 0 --copies 2 -- true").code, 2);
  EXPECT_EQ(on_two_gpus("rank-exec --copies 2 --gpu auto -- true").code, 2);
  EXPECT_EQ(on_two_gpus("rank-exec --copies 0 -- true").code, 2);
}

TEST(Copies, TheSpaceHasSeveralOnEachGpu) {
  const Ran said = on_two_gpus(
      "tune --env CUDA_VISIBLE_DEVICES={gpu} --metric rate --dry-run -- sh -c 'echo rate 5'");
  ASSERT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(said.out, HasSubstr("  nproc      1 2 4 6 8\n"));
  EXPECT_THAT(said.out, HasSubstr("rank-exec --copies-on 0,1,0,1 -- sh"));
  EXPECT_THAT(said.out, HasSubstr("CUDA MPS is off"));
  EXPECT_THAT(said.out, Not(HasSubstr("learning rate"))) << "nothing is trained together";
  EXPECT_THAT(said.out, Not(HasSubstr("  p2p ")));
}

// Each copy tells its own speed.
TEST(Copies, ARunAddsThemUp) {
  const std::string folder = make_temporary_directory("copies").value();
  const Ran said = on_two_gpus(
      "tune --env CUDA_VISIBLE_DEVICES={gpu} --metric rate --nproc 4 --baseline nproc=4 "
      "--budget 6s --trial-time 400ms --db " +
      join_path(folder, "runs.sqlite") + " -- sh -c 'while :; do echo rate 5; sleep 0.05; done'");
  EXPECT_TRUE(said.code == 0 || said.code == 1) << said.out;
  EXPECT_THAT(said.out, HasSubstr("20")) << said.out;
  EXPECT_THAT(said.out, HasSubstr("--copies-on 0,1,0,1")) << said.out;
  const Ran composed = on_two_gpus("export last --format compose --db " + folder + "/runs.sqlite");
  EXPECT_THAT(composed.out, HasSubstr("# Needs ocrtune where it runs, as ")) << "an image, too";
  ASSERT_TRUE(remove_tree(folder));
}

// Each copy of a program reads its share of the pages and prints `line` for every one; $i is the
// page and $n how many it has read.
void expect_twice_as_fast_with_two(const std::string& line) {
  SCOPED_TRACE(line);
  const std::string folder = make_temporary_directory("pages").value();
  const Ran said = run_line(
      std::string(OCRTUNE_BINARY) + " tune --db " + folder + "/runs.sqlite --trial-time 1s " +
      "--budget 15s --nproc 1,2 --json -- sh -c 'i=$0; while :; do i=$((i + $1)); n=$((n + 1)); " +
      "sleep 0.1; echo \"" + line + "\"; done' {copy} {nproc} 2>" + folder + "/log");
  EXPECT_TRUE(remove_tree(folder));
  const auto answer = nlohmann::json::parse(said.out, nullptr, false);
  ASSERT_FALSE(answer.is_discarded()) << said.out;
  EXPECT_EQ(answer["recommendation"]["knobs"]["nproc"], 2) << said.out;
  EXPECT_NEAR(answer["gain"]["median"], 2, 0.5);
}

TEST(Copies, PagesThatAreNamedAreCounted) { expect_twice_as_fast_with_two("read page_$i.png"); }

TEST(Copies, PagesOfPaddleOcrAreCountedOnce) {
  expect_twice_as_fast_with_two(
      "[2024/09/13 15:19:38] ppocr DEBUG: 3  Predict time of imgs/$i.jpg: 0.122s");
}

// The counters of several copies come through one pipe.
TEST(Copies, CountersAreEachCopysOwn) { expect_twice_as_fast_with_two("page $n/50000"); }

}  // namespace
}  // namespace ocrtune
