#include "cli/tune/reading_price.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/shell/progress.h"
#include "core/infer/decode.h"
#include "core/infer/recognizer.h"
#include "core/onnx/onnx_recognizer.h"
#include "trial/workloads/engine_infer/line_list.h"

namespace ocrtune {
namespace {

constexpr std::size_t kPricedLines = 200;

struct PricedLines {
  std::vector<Image> images;
  std::vector<std::string> truths;  // as many, or none
};

// Spread evenly over the list; images that cannot be read are left out.
Result<PricedLines> lines_to_price(const std::string& place) {
  const LineList list = OCRTUNE_TRY(read_line_list(place));
  const std::size_t count = std::min(kPricedLines, list.paths.size());
  PricedLines lines;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t line = i * list.paths.size() / count;
    auto image = read_image(list.paths[line]);
    if (!image) continue;
    lines.images.push_back(std::move(*image));
    if (!list.truths.empty()) lines.truths.push_back(list.truths[line]);
  }
  return lines;
}

Result<std::vector<ReadText>> texts_of(const RunOptions& run, const Knobs& knobs,
                                       const std::string& precision,
                                       const std::vector<Image>& images) {
  RecognizerOptions options;
  options.model = run.model;
  options.backend = knobs.backend;
  options.precision = precision;
  options.threads = knobs.threads;
  options.batch = knobs.batch;
  options.height = run.height;
  options.width = run.width;
  options.seed = run.seed;
  options.checkpoint = run.checkpoint;
  const auto alphabet = OCRTUNE_TRY(Alphabet::from_text(run.alphabet));
  const auto recognizer = OCRTUNE_TRY(Recognizer::create(options, alphabet));
  return recognizer->read(images);
}

double error_rate(const std::vector<ReadText>& read, const std::vector<std::string>& truths) {
  LabelErrors errors;
  for (std::size_t i = 0; i < truths.size(); ++i) errors.add_text(read[i].text, truths[i]);
  return errors.rate();
}

}  // namespace

Result<std::string> reading_price(const RunRecord& run, bool quiet) {
  const RunOptions& options = run.options;
  const Knobs& knobs = run.result.recommendation.knobs;
  const bool own_weights = !options.checkpoint.empty() || names_onnx_file(options.model);
  if (!run.result.found || !options.infers() || !options.command.empty() || !options.url.empty() ||
      options.on_gpus() || options.place.empty() || !own_weights || knobs.precision == "fp32") {
    return std::string();
  }
  std::optional<WorkLine> work(std::in_place, "reading lines in fp32 as well", quiet);
  const PricedLines lines = OCRTUNE_TRY(lines_to_price(options.place));
  const auto exact = OCRTUNE_TRY(texts_of(options, knobs, "fp32", lines.images));
  const auto fast = OCRTUNE_TRY(texts_of(options, knobs, knobs.precision, lines.images));
  work.reset();
  int different = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) different += exact[i].text != fast[i].text ? 1 : 0;
  std::string price = fmt::format("{} reads {} of {} lines otherwise than fp32", knobs.precision,
                                  different, exact.size());
  if (!lines.truths.empty()) {
    price += fmt::format(": label error rate {:.4f}, in fp32 {:.4f}",
                         error_rate(fast, lines.truths), error_rate(exact, lines.truths));
  }
  return price + "; --precision fp32 leaves it out";
}

}  // namespace ocrtune
