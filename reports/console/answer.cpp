// The lines stand in the order of the questions: what to launch, with which command, how fast,
// with how much memory, what to know, how to go on. A part without text makes no line.
#include "reports/console/answer.h"

#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"
#include "reports/console/label_lines.h"
#include "tuner/verdict/held_back.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

// With verdict, badges, cause and the lines of advice these make eight (answer_test.cpp).
constexpr std::size_t kMostFailures = 3;

std::string badges_text(const RunRecord& run, Language language) {
  std::vector<std::string> words;
  for (const Badge& badge : badges(run)) words.push_back(said(badge.text, language));
  return join(words, ", ");
}

std::string rate_line(const RunRecord& run, Language language) {
  const TuneResult& result = run.result;
  std::string text = fmt::format("{} {}", rate_text(result.recommendation.samples_per_second),
                                 in(phrase(rate_unit(run)), language));
  const bool gains = result.baseline.trials > 0 && result.settings.size() > 1 &&
                     result.baseline.knobs != result.recommendation.knobs &&
                     result.baseline.samples_per_second.median > 0;
  if (gains) {
    text += in(phrase("; {} of {}", {gain_text(result.gain), phrase(baseline_phrase(run.search))}),
               language);
  }
  if (result.verdict.beside_load) text += in(phrase("; beside other load"), language);
  return text;
}

std::string memory_line(const RunRecord& run, Language language) {
  const Resource& memory = main_resource(run);
  const double free = free_share(run);
  if (memory.peak == 0) return sentence(reason<ReasonCode::memory_not_measured>(), language);
  if (free < 0) {
    return in(phrase("peak {}, limit unknown", {format_bytes(memory.peak)}), language);
  }
  return in(phrase("peak {} of {}, {} used", {format_bytes(memory.peak), format_bytes(memory.limit),
                                              format_percent(1 - free)}),
            language);
}

// What to know before it is launched: one thing.
std::string caveat(const RunRecord& run, Language language) {
  const TuneResult& result = run.result;
  if (const Bilingual note = engine_note(run); !note.english.empty()) return in(note, language);
  if (!result.inconclusive.empty()) return sentence(result.inconclusive, language);
  auto notes = further_reasons(result.recommendation);
  std::erase_if(notes, tells_of_gpus);  // a line of their own
  // A doubt about the rate itself goes before the other notes, wherever it stands among them.
  for (const Reason& note : notes) {
    const auto doubts = {ReasonCode::log_against_clock, ReasonCode::batch_costs_nothing,
                         ReasonCode::scope_assumed_of_rank, ReasonCode::scope_assumed_of_job,
                         ReasonCode::copies_count_alike};
    if (std::ranges::any_of(doubts, [&](ReasonCode code) { return note.is(code); })) {
      return sentence(note, language);
    }
  }
  if (!result.held_back.empty()) return "";  // it has a line of its own
  if (!notes.empty()) {
    // What a server reports of failures stands behind the note on its load and would be lost here.
    const bool says_more = notes.size() > 1 && notes[1].is(ReasonCode::server_reports);
    return sentence(notes[0], language) + (says_more ? " " + sentence(notes[1], language) : "");
  }
  return result.certificate.empty() ? "" : sentence(result.certificate, language);
}

// The surest cause; the others are in the whole account.
void add_held_back(LabelLines& lines, const TuneResult& result) {
  if (result.held_back.empty()) return;
  lines.add("why", sentence(held_back_reason(result.held_back.front()), lines.language()));
}

void add_found(LabelLines& lines, const RunRecord& run) {
  const Recommendation& recommended = run.result.recommendation;
  const Language language = lines.language();
  lines.add(is_recommendation(run.result.verdict) ? "launch" : "leading",
            launch_knobs(run.result) + "  " + badges_text(run, language));
  if (!recommended.command.empty()) lines.whole("command", recommended.command);
  lines.add("rate", rate_line(run, language));
  add_held_back(lines, run.result);
  for (const Reason& note : further_reasons(recommended)) {
    if (tells_of_gpus(note)) lines.add("GPUs", sentence(note, language));
  }
  lines.add("memory", memory_line(run, language));
  lines.add("recipe", in(recipe_note(run), language));
  lines.add("note", caveat(run, language));
}

void add_reasons(LabelLines& lines, const RunRecord& run) {
  const auto groups = failure_groups(run);
  for (std::size_t i = 0; i < groups.size() && i < kMostFailures; ++i) {
    const FailureGroup& group = groups[i];
    lines.add(is_excluded(group.outcome) ? "excluded" : "failed",
              fmt::format("{}x {}: {}: {}", group.trials.size(),
                          sentence(outcome_reason(group.outcome), lines.language()),
                          in(failed_settings_text(group), lines.language()),
                          said(group.trials.back()->reason, lines.language())),
              is_excluded(group.outcome) ? Tone::neutral : Tone::bad);
  }
}

}  // namespace

std::string console_answer(const RunRecord& run, int width, bool colour, Language language,
                           const std::string& database) {
  LabelLines lines(width, colour, language);
  const TuneResult& result = run.result;
  lines.add("verdict", in(headline(run), language), answer_tone(result.verdict.answer));
  if (result.found) {
    add_found(lines, run);
  } else {
    lines.add("answer", badges_text(run, lines.language()), Tone::bad);
    add_held_back(lines, result);
    add_reasons(lines, run);
    if (!result.advice.empty()) lines.add("next", sentence(result.advice, language));
  }
  const bool open = !is_recommendation(result.verdict);
  const std::string where = database.empty() ? "" : " --db " + shell_quote(database);
  if (run.state == "died" || (result.found && open)) {
    lines.add("next", in(phrase("ocrtune tune --resume {0}{1}; ocrtune show --all{1} has the rest",
                                {resumed(run), where}),
                         language));
  } else if (result.found) {
    lines.add("next",
              in(phrase("ocrtune run, export or verify {0}{1}; ocrtune show --all{1} has the rest",
                        {run.id, where}),
                 language));
  }
  return lines.text();
}

}  // namespace ocrtune
