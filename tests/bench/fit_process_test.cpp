// Training in a process that stands for a GPU: its words, its silence and its death.
#include "bench/fit_process.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

TEST(FitSpec, ComesBackAsItWas) {
  FitSpec spec;
  spec.gpu = "GPU-aaaa-0";
  spec.run.steps = 77;
  spec.run.checkpoint = "a \"b\".ckpt";
  spec.run.loader.alphabet = "äb中";
  spec.run.loader.heights = {32, 48};
  spec.run.trainer.model = "ppocr-mobile";
  spec.run.trainer.precision = "bf16";
  spec.run.memory_bytes = std::uint64_t{5} << 33;
  const auto back = parse_fit_spec(fit_spec_text(spec));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(fit_spec_text(*back), fit_spec_text(spec));
  EXPECT_EQ(back->run.loader.alphabet, "äb中");
  EXPECT_EQ(back->run.memory_bytes, std::uint64_t{5} << 33);
  EXPECT_EQ(parse_fit_spec("{}").error().kind, ErrorKind::usage);
  EXPECT_EQ(parse_fit_spec("no json").error().kind, ErrorKind::usage);
}

Result<TrainingOutcome> fit(const std::string& program, double silent_seconds = 30) {
  FitSpec spec;
  spec.gpu = "GPU-aaaa-0";
  FitOptions options;
  options.program = program;
  options.start_seconds = options.silent_seconds = silent_seconds;
  return run_fit_process(spec, options, [](const TrainingProgress&) {});
}

TEST(FitProcess, EveryEndIsAnAnswer) {
  EXPECT_THAT(fit("/no/such/worker").error().what, HasSubstr("/no/such/worker"));
  EXPECT_THAT(fit("/bin/true").error().what, HasSubstr("without an answer"));
  // `cat fit --spec ...` fails with words of its own.
  EXPECT_THAT(fit("/bin/cat").error().what, HasSubstr("it said"));
}

// One that speaks all the time and says nothing.
TEST(FitProcess, NoiseIsSilence) {
  const auto folder = make_temporary_directory("fit");
  ASSERT_TRUE(folder);
  const std::string program = join_path(*folder, "noisy");
  ASSERT_TRUE(write_file(program,
                         "#!/bin/sh\nwhile :; do echo '{\"fit\": 7}'; echo words; sleep 0.02; "
                         "done\n"));
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  const auto silent = fit(program, 0.3);
  ASSERT_FALSE(silent);
  EXPECT_THAT(silent.error().what, HasSubstr("silent"));
  EXPECT_TRUE(remove_tree(*folder));
}

}  // namespace
}  // namespace ocrtune
