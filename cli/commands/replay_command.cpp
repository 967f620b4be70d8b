// ocrtune replay: scores the search on a recorded table, no hardware needed.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "base/text.h"
#include "cli/commands.h"
#include "reports/catalogue/reasons.h"
#include "tuner/session/replay.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

struct ReplayFlags {
  std::string table;
  int trials = 60;
  int repeat = 1;
  std::uint64_t seed = 1;
  double margin_percent = 0;
  bool json = false;
};

struct Played {
  std::uint64_t seed = 1;
  ReplayScore score;
};

// The table's own columns, so that a reader finds the row again; the user's dimensions are also
// under "dims", as in every other document.
Json knobs_json(const RecordedTable& table, const Knobs& knobs) {
  Json json = Json::object();
  for (const std::string& column : table.columns) {
    const KnobRow* row = find_knob(column);
    const bool is_count = row != nullptr && row->number != nullptr;
    json[valid_utf8(column)] =
        is_count ? Json(knobs.*row->number) : Json(valid_utf8(knob_text(knobs, column)));
  }
  Json dims = Json::object();
  for (const auto& [name, value] : knobs.dims) dims[valid_utf8(name)] = valid_utf8(value);
  if (!dims.empty()) json["dims"] = dims;
  return json;
}

Json played_json(const RecordedTable& table, const ReplayFlags& flags, const Played& played) {
  const ReplayScore& score = played.score;
  const Interval& claim = score.result.recommendation.samples_per_second;
  const bool found = score.found;
  return {{"trials", flags.trials},
          {"seed", played.seed},
          {"knobs", found ? knobs_json(table, score.knobs) : Json()},
          {"true_samples_per_second", found ? Json(score.true_samples_per_second) : Json()},
          {"claimed_samples_per_second", found ? Json(score.claimed_samples_per_second) : Json()},
          {"regret", score.regret},
          {"out_of_memory_trials", score.out_of_memory_trials},
          {"trials_run", score.trials},
          {"claimed_low_samples_per_second", found ? Json(claim.low) : Json()},
          {"claimed_high_samples_per_second", found ? Json(claim.high) : Json()},
          {"certificate", sentence(score.result.certificate)},
          {"stop_reason", score.result.stop_reason}};
}

void print_played(const Played& played) {
  const ReplayScore& score = played.score;
  if (!score.found) {
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(played.seed),
                sentence(score.result.answer).c_str());
    return;
  }
  std::printf(
      "seed %llu: regret %s, claims %s, true %s samples/s, %d out of memory, %d "
      "trials: %s\n",
      static_cast<unsigned long long>(played.seed), format_percent(score.regret).c_str(),
      format_count(score.claimed_samples_per_second).c_str(),
      format_count(score.true_samples_per_second).c_str(), score.out_of_memory_trials, score.trials,
      knobs_text(score.knobs).c_str());
  std::printf("  %s\n", sentence(score.result.certificate).c_str());
}

Result<int> run_replay(const ReplayFlags& flags) {
  const auto table = OCRTUNE_TRY(read_table(flags.table));
  Json list = Json::array();
  // Each round is printed as it ends, so that an interrupted series keeps its first part.
  for (int i = 0; i < flags.repeat && !interrupted(); ++i) {
    Played played{flags.seed + static_cast<std::uint64_t>(i), {}};
    ReplayOptions options;
    options.trials = flags.trials;
    options.seed = played.seed;
    options.margin = flags.margin_percent / 100;
    auto score = replay(table, options);
    if (!score) return Error{score.error().kind, flags.table + ": " + score.error().what};
    played.score = std::move(*score);
    if (flags.json) {
      list.push_back(played_json(table, flags, played));
    } else {
      print_played(played);
    }
  }
  if (flags.json) {
    std::printf("%s\n", list.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  }
  if (interrupted()) {
    return Error{ErrorKind::interrupted, "interrupted", "the searches above have ended, no other"};
  }
  return kExitOk;
}

}  // namespace

CommandRun declare_replay(Flags& cli) {
  auto flags = std::make_shared<ReplayFlags>();
  cli.option("--table", flags->table, "FILE", "Read every setting and what it does from this CSV")
      .require("name the table, for example: ocrtune replay --table machine.csv")
      .file();
  cli.option("--trials", flags->trials, "N", "Run at most N trials in a search")
      .range(1, 1'000'000);
  cli.option("--repeat", flags->repeat, "N", "Search N times, with seeds from --seed on")
      .range(1, 100'000);
  cli.option("--seed", flags->seed, "N", "Seed of the replayed noise and the search");
  cli.option("--memory-margin", flags->margin_percent, "PERCENT",
             "Leave this percentage of memory_bytes free")
      .range(0, 99);
  cli.json(flags->json);
  return [flags] { return run_replay(*flags); };
}

}  // namespace ocrtune
