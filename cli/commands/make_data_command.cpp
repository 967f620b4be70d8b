// ocrtune make-data: draws line images with labels.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command_list.h"
#include "cli/shell/progress.h"
#include "core/synth/fonts.h"
#include "core/synth/line_dataset.h"

namespace ocrtune {
namespace {

struct Flags {
  DatasetOptions dataset;
  std::string alphabet = "digits";
  std::vector<std::string> fonts;
};

Result<int> make_data(Flags flags) {
  DatasetOptions& dataset = flags.dataset;
  if (dataset.draw.max_length < dataset.draw.min_length) {
    return Error{ErrorKind::usage, "--max-length is below --min-length"};
  }
  auto alphabet = path_exists(flags.alphabet) ? Alphabet::load(flags.alphabet)
                                              : Alphabet::from_name(flags.alphabet);
  if (!alphabet) return alphabet.error();
  dataset.alphabet = std::move(alphabet).value();
  auto fonts = find_fonts(flags.fonts.empty() ? font_folders() : flags.fonts);
  if (!fonts) return fonts.error();
  dataset.draw.fonts = std::move(fonts).value();
  dataset.threads = std::clamp(current_affinity().count(), 1, 16);
  Result<DatasetReport> report = Error{};
  {
    Progress progress("drawing", dataset.count);
    report = draw_dataset(dataset, [&](std::int64_t lines) { progress.show(lines); });
  }
  if (!report) return report.error();
  std::printf("%lld lines with %zu fonts, %s, in %s\n", static_cast<long long>(report->lines),
              report->fonts, format_bytes(report->bytes).c_str(), dataset.folder.c_str());
  if (report->lines < dataset.count) {
    return Error{ErrorKind::interrupted, "interrupted; labels.txt has the lines that are drawn"};
  }
  return kExitOk;
}

std::function<Result<int>()> declare(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  DatasetOptions& dataset = flags->dataset;
  app.add_option("folder", dataset.folder, "Where to draw; made if absent")->required();
  app.add_option("--count", dataset.count, "Lines")->check(CLI::Range(1, 10'000'000));
  app.add_option("--seed", dataset.draw.seed, "The same seed and fonts give the same bytes");
  app.add_option("--alphabet", flags->alphabet,
                 "digits, alnum (0-9a-z), a dictionary file, or the characters themselves");
  app.add_option("--font", flags->fonts,
                 "Font file or folder (repeatable); all installed if absent");
  app.add_option("--height", dataset.draw.height, "Least height in pixels; lines are up to 1.5 x")
      ->check(CLI::Range(8, 512));
  app.add_option("--min-length", dataset.draw.min_length, "Characters")->check(CLI::Range(1, 200));
  app.add_option("--max-length", dataset.draw.max_length, "Characters")->check(CLI::Range(1, 200));
  app.add_option("--jpeg", dataset.jpeg_share, "Share of the lines that are JPEG, 0 to 1")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--force", dataset.replace, "Draw into a folder that is not empty");
  return [flags] { return make_data(*flags); };
}

}  // namespace

Command make_data_command() {
  return Command{"make-data", "Draw line images with labels, to train and to test on",
                 "ocrtune make-data lines --count 2000 --seed 7 --alphabet alnum", declare};
}

}  // namespace ocrtune
