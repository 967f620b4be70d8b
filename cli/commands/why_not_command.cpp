// ocrtune why-not: why the stored run does not recommend a given setting.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/shell/terminal.h"
#include "reports/catalogue/reasons.h"
#include "tuner/session/tune_setup.h"
#include "tuner/store/store.h"
#include "tuner/verdict/why_not.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

struct WhyNotFlags {
  std::vector<std::string> knobs;
  std::string run = "last", db;
  bool json = false;
};

const char* kind_word(WhyNotKind kind) {
  switch (kind) {
    case WhyNotKind::chosen:
      return "chosen";
    case WhyNotKind::measured:
      return "measured";
    case WhyNotKind::predicted:
      return "predicted";
    case WhyNotKind::refused:
      return "refused";
    case WhyNotKind::failed:
      return "failed";
    case WhyNotKind::outside:
      return "outside";
    case WhyNotKind::unknown:
      break;
  }
  return "unknown";
}

Json interval_of(const Interval& interval) {
  return {{"median", interval.median}, {"low", interval.low}, {"high", interval.high}};
}

// `asked`: as typed, and also what a command of the user's does not see.
void say_why_not(const std::string& asked, const WhyNot& answer) {
  const Language language = terminal_language();
  std::puts(terminal_text("{}: {}", {asked, sentence(answer.answer, language)}).c_str());
  if (!answer.to_find_out.empty()) std::puts(sentence(answer.to_find_out, language).c_str());
}

void write_why_not(const WhyNot& answer) {
  const Json document = {{"setting", knobs_text(answer.knobs)},
                         {"kind", kind_word(answer.kind)},
                         {"samples_per_second", interval_of(answer.samples_per_second)},
                         {"ratio_to_recommended", interval_of(answer.ratio)},
                         {"peak_bytes", answer.peak_bytes},
                         {"peak_high_bytes", answer.peak_high_bytes},
                         {"answer", sentence(answer.answer)},
                         {"answer_code", row_of(answer.answer.code).name},
                         {"to_find_out", sentence(answer.to_find_out)}};
  std::printf("%s\n", document.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

Result<int> why_not_answer(const WhyNotFlags& flags) {
  const auto store = Store::open(flags.db, Store::Mode::read);
  if (!store) return store.error();
  auto run = OCRTUNE_TRY((*store)->load_run(flags.run));
  // The search is built again with its model, from which settings that never ran are predicted.
  const auto judgement = OCRTUNE_TRY(judge_run(run));
  const auto answer =
      OCRTUNE_TRY(why_not(flags.knobs, judgement->setup.space, *judgement->search, run));
  flags.json ? write_why_not(answer) : say_why_not(join(flags.knobs, " "), answer);
  return kExitOk;
}

}  // namespace

CommandRun declare_why_not(Flags& cli) {
  auto flags = std::make_shared<WhyNotFlags>();
  cli.argument("setting", flags->knobs,
               "NAME=VALUE of the knobs that differ from the recommendation")
      .require("name the setting, for example: ocrtune why-not nproc=8 batch=64")
      .from_list("knobs");
  cli.option("--run", flags->run, "RUN", "Name or id of the run, or the beginning of its id")
      .from_list("runs");
  cli.store(flags->db);
  cli.json(flags->json);
  return [flags] { return why_not_answer(*flags); };
}

}  // namespace ocrtune
