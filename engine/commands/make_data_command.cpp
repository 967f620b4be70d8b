// ocrtune make-data: renders line images with labels.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/plural.h"
#include "base/text.h"
#include "cli/shell/progress.h"
#include "core/synth/fonts.h"
#include "core/synth/line_dataset.h"
#include "engine/commands/engine_commands.h"

namespace ocrtune {
namespace {

struct MakeDataFlags {
  DatasetOptions dataset;
  std::string alphabet = "digits";
  std::vector<std::string> fonts;
};

Result<int> make_data(MakeDataFlags flags) {
  DatasetOptions& dataset = flags.dataset;
  if (dataset.draw.max_length < dataset.draw.min_length) {
    return Error{ErrorKind::usage, "--max-length is below --min-length"};
  }
  dataset.alphabet = OCRTUNE_TRY(path_exists(flags.alphabet) ? Alphabet::load(flags.alphabet)
                                                             : Alphabet::from_name(flags.alphabet));
  auto fonts = OCRTUNE_TRY(find_fonts(flags.fonts.empty() ? font_folders() : flags.fonts));
  dataset.draw.fonts = std::move(fonts);
  // The upper bound is a guess.
  dataset.threads = std::clamp(current_affinity().count(), 1, 16);
  Result<DatasetReport> report = Error{};
  {
    Progress progress("drawing", dataset.count);
    report = draw_dataset(dataset, [&](std::int64_t lines) { progress.show(lines); });
  }
  if (!report) return report.error();
  std::printf("%s with %s, %s, in %s\n", how_many(report->lines, "line").c_str(),
              how_many(report->fonts, "font").c_str(), format_bytes(report->bytes).c_str(),
              dataset.folder.c_str());
  if (report->lines < dataset.count) {
    return Error{ErrorKind::interrupted, "interrupted",
                 "labels.txt has the lines that are drawn: --force draws all of them"};
  }
  return kExitOk;
}

}  // namespace

CommandRun declare_make_data(Flags& cli) {
  auto flags = std::make_shared<MakeDataFlags>();
  DatasetOptions& dataset = flags->dataset;
  cli.argument("folder", dataset.folder, "Folder to draw into; made if absent")
      .require("name the folder to draw into, for example: ocrtune make-data lines --count 2000")
      .folder();
  cli.option("--count", dataset.count, "N", "Draw N lines").range(1, 10'000'000);
  cli.option("--seed", dataset.draw.seed, "N",
             "Seed of the drawing: the same seed and fonts give the same bytes");
  cli.option("--alphabet", flags->alphabet, "ALPHABET",
             "Draw these: digits, alnum (0-9a-z), a dictionary file, or the characters themselves")
      .file();
  cli.option("--font", flags->fonts, "PATH",
             "Draw with this font file, or the fonts of this folder")
      .default_text("all installed")
      .file();
  cli.option("--height", dataset.draw.height, "PIXELS",
             "Draw lines from this height up to 1.5 times as high")
      .range(8, 512);
  cli.option("--min-length", dataset.draw.min_length, "N", "Draw at least N characters")
      .range(1, 200);
  cli.option("--max-length", dataset.draw.max_length, "N", "Draw at most N characters")
      .range(1, 200);
  cli.option("--jpeg", dataset.jpeg_share, "SHARE", "Write this share of the lines as JPEG")
      .range(0, 1);
  cli.toggle("--force", dataset.replace, "Draw into a folder that is not empty");
  return [flags] { return make_data(*flags); };
}

}  // namespace ocrtune
