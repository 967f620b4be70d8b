// From rendered lines through loader, training and decoding: does the core learn to read?
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "core/comm/comm.h"
#include "core/data/loader.h"
#include "core/infer/decode.h"
#include "core/synth/fonts.h"
#include "core/synth/line_dataset.h"
#include "core/train/trainer.h"

namespace ocrtune {
namespace {

struct Lesson {
  const char *model = "crnn", *alphabet = "digits";
  int max_length = 3, lines = 200, held_out = 32, batch = 16, width = 96, steps = 40;
  double learning_rate = 2e-3;
  const char* schedule = "constant";
  int warm_up_steps = 0;
  double weight_decay = 0.01;
};

struct Grade {
  double first_loss = 0, last_loss = 0, label_error_rate = 1;
};

std::unique_ptr<Loader> draw_lines(const Lesson& lesson, const std::string& folder, int lines,
                                   std::uint64_t seed) {
  DatasetOptions options;
  options.folder = folder;
  options.alphabet = *Alphabet::from_name(lesson.alphabet);
  // The same letters wherever it runs: other fonts that are installed are harder to read.
  options.draw.fonts = *find_fonts(font_folders());
  std::erase_if(options.draw.fonts, [](const std::string& font) {
    return font.find("/Liberation") == std::string::npos;
  });
  EXPECT_FALSE(options.draw.fonts.empty()) << "fonts-liberation is not installed";
  options.draw.max_length = lesson.max_length;
  options.draw.seed = seed;
  options.count = lines;
  const auto drawn = draw_dataset(options, nullptr);
  EXPECT_TRUE(drawn.ok()) << (drawn ? "" : drawn.error().what);
  LoaderOptions loader;
  loader.label_file = join_path(folder, kLabelFileName);
  loader.alphabet = options.alphabet.text();
  loader.batch = lesson.batch;
  loader.width = lesson.width;
  auto made = Loader::create(loader);
  EXPECT_TRUE(made.ok()) << (made ? "" : made.error().what);
  return std::move(*made);
}

double error_rate(Trainer& trainer, Loader& loader, const Lesson& lesson, int classes) {
  LabelErrors errors;
  for (int lines = 0; lines < lesson.held_out; lines += lesson.batch) {
    const Batch batch = *loader.next();
    const auto logits = *trainer.logits(batch);
    const int steps = static_cast<int>(logits.size()) / batch.count / classes;
    const auto read = greedy_decode(logits, steps, batch.count, classes);
    for (std::size_t n = 0; n < read.size(); ++n) errors.add(read[n].classes, batch.labels[n]);
  }
  return errors.rate();
}

Grade teach(const Lesson& lesson) {
  const std::string folder = *make_temporary_directory("learning");
  const auto lines = draw_lines(lesson, join_path(folder, "train"), lesson.lines, 1);
  const auto held_out = draw_lines(lesson, join_path(folder, "held_out"), lesson.held_out, 2);
  TrainerOptions options;
  options.model = lesson.model;
  options.classes = Alphabet::from_name(lesson.alphabet)->classes();
  options.batch = lesson.batch;
  options.width = lesson.width;
  options.learning_rate = lesson.learning_rate;
  options.schedule = lesson.schedule;
  options.warm_up_steps = lesson.warm_up_steps;
  options.schedule_steps = lesson.steps;
  options.weight_decay = lesson.weight_decay;
  const auto comm = make_single_comm();
  const auto trainer = Trainer::create(options, *comm);
  EXPECT_TRUE(trainer.ok());
  Grade grade;
  constexpr int kMeanOver = 5;
  for (int step = 0; step < lesson.steps; ++step) {
    const auto report = (*trainer)->step(*lines->next());
    EXPECT_TRUE(report.ok());
    if (step < kMeanOver) grade.first_loss += report->loss / kMeanOver;
    if (step >= lesson.steps - kMeanOver) grade.last_loss += report->loss / kMeanOver;
  }
  grade.label_error_rate = error_rate(**trainer, *held_out, lesson, options.classes);
  testing::Test::RecordProperty("label_error_rate", std::to_string(grade.label_error_rate));
  EXPECT_TRUE(remove_tree(folder).ok());
  return grade;
}

TEST(Learning, LowersTheLossOnDrawnDigits) {
  const Grade grade = teach(Lesson{});
  EXPECT_LT(grade.last_loss, 0.5 * grade.first_loss);
}

TEST(SlowLearning, ReadsDrawnDigitsAndLetters) {
  Lesson lesson;
  lesson.alphabet = "alnum";
  lesson.max_length = 5;
  lesson.lines = 4000;
  lesson.held_out = 320;
  lesson.width = 128;
  lesson.steps = 1600;
  const Grade grade = teach(lesson);
  EXPECT_LT(grade.label_error_rate, 0.10);
}

// Attention takes longer than an LSTM to leave the plateau on which CTC sees how many characters
// there are but not which: above 1,000 steps here. Short lines in narrow pictures make that cheap.
TEST(SlowLearning, Svtrv2SmallReadsDrawnDigitsAndLetters) {
  Lesson lesson;
  lesson.model = "svtrv2-small";
  lesson.alphabet = "alnum";
  lesson.max_length = 2;
  lesson.lines = 20000;
  lesson.held_out = 640;
  lesson.width = 48;
  lesson.steps = 5000;
  lesson.learning_rate = 3e-4;
  lesson.schedule = "cosine";
  lesson.warm_up_steps = 100;
  lesson.weight_decay = 0.05;
  const Grade grade = teach(lesson);
  EXPECT_LT(grade.label_error_rate, 0.15);
}

}  // namespace
}  // namespace ocrtune
