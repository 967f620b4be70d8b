#include "reports/console/answer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"
#include "reports/console/tone_code.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr int kLabelColumns = 9, kLeastColumns = 30;
constexpr std::size_t kMostFailures = 3;

const std::string& in(const Bilingual& text, Language language) {
  return language == Language::english ? text.english : text.chinese;
}

// A character of UTF-8 at `at`, or a word of ASCII: where a line may be broken.
std::size_t piece_end(const std::string& text, std::size_t at) {
  std::size_t end = at + 1;
  if ((static_cast<unsigned char>(text[at]) & 0x80) == 0) {
    while (end < text.size() && text[end - 1] != ' ' &&
           (static_cast<unsigned char>(text[end]) & 0x80) == 0) {
      ++end;
    }
    return end;
  }
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end;
}

class AnswerLines {
 public:
  AnswerLines(int width, bool colour, Language language)
      : columns_(std::max(width, kLeastColumns) - kLabelColumns),
        colour_(colour),
        language_(language) {}

  void add(std::string_view label, const std::string& text, Tone tone = Tone::neutral) {
    const std::string plain = plain_line(text);
    if (plain.empty()) return;
    std::string name = in(phrase(label), language_), line;
    for (std::size_t at = 0; at < plain.size();) {
      const std::size_t end = piece_end(plain, at);
      const std::string piece = plain.substr(at, end - at);
      if (!line.empty() && display_width(line + std::string(trim(piece))) > columns_) {
        push(std::exchange(name, ""), line, tone);
        line.clear();
      }
      line += piece;
      at = end;
    }
    push(name, line, tone);
  }
  // Never broken: it is copied.
  void whole(std::string_view label, const std::string& text) {
    push(in(phrase(label), language_), plain_line(text, 65536), Tone::neutral);
  }
  const std::string& text() const { return text_; }
  Language language() const { return language_; }

 private:
  void push(const std::string& label, const std::string& line, Tone tone) {
    const int pad = std::max(0, kLabelColumns - display_width(label));
    const std::string margin = label + std::string(static_cast<std::size_t>(pad), ' ');
    const std::string code = colour_ && tone != Tone::neutral ? tone_code(tone) : "";
    text_ += colour_ && !label.empty() ? "\x1b[2m" + margin + "\x1b[0m" : margin;
    text_ += code + std::string(trim(line)) + (code.empty() ? "" : "\x1b[0m") + "\n";
  }

  int columns_;
  bool colour_;
  Language language_;
  std::string text_;
};

std::string badges_text(const RunRecord& run) {
  std::vector<std::string> words;
  for (const Badge& badge : badges(run)) words.push_back(badge.text);
  return join(words, ", ");
}

std::string rate_line(const RunRecord& run, Language language) {
  const TuneResult& result = run.result;
  std::string text =
      fmt::format("{} {}", rate_text(result.recommendation.samples_per_second), rate_unit(run));
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
  const auto notes = further_reasons(result.recommendation);
  if (!notes.empty()) return sentence(notes.front(), language);
  return result.certificate.empty() ? "" : sentence(result.certificate, language);
}

void add_found(AnswerLines& lines, const RunRecord& run) {
  const Recommendation& recommended = run.result.recommendation;
  const Language language = lines.language();
  lines.add(run.result.verdict.answer == Answer::inconclusive ? "leading" : "launch",
            launch_knobs(run.result) + "  " + badges_text(run));
  if (!recommended.command.empty()) lines.whole("command", recommended.command);
  lines.add("rate", rate_line(run, language));
  lines.add("memory", memory_line(run, language));
  lines.add("recipe", in(recipe_note(run), language));
  lines.add("note", caveat(run, language));
}

void add_reasons(AnswerLines& lines, const RunRecord& run) {
  const auto groups = failure_groups(run);
  for (std::size_t i = 0; i < groups.size() && i < kMostFailures; ++i) {
    const FailureGroup& group = groups[i];
    lines.add(is_excluded(group.outcome) ? "excluded" : "failed",
              fmt::format("{}x {}: {}: {}", group.trials.size(),
                          sentence(outcome_reason(group.outcome), lines.language()),
                          knobs_text(group.trials.back()->knobs), group.trials.back()->reason),
              is_excluded(group.outcome) ? Tone::neutral : Tone::bad);
  }
}

}  // namespace

std::string console_answer(const RunRecord& run, int width, bool colour, Language language) {
  AnswerLines lines(width, colour, language);
  const TuneResult& result = run.result;
  lines.add("verdict", in(headline(run), language), answer_tone(result.verdict.answer));
  if (result.found) {
    add_found(lines, run);
  } else {
    lines.add("answer", badges_text(run), Tone::bad);
    add_reasons(lines, run);
    if (!result.advice.empty()) lines.add("next", sentence(result.advice, language));
  }
  const bool open = result.verdict.answer == Answer::inconclusive;
  if (run.state == "died" || (result.found && open)) {
    lines.add("next", in(phrase("ocrtune tune --resume {}; ocrtune show --all has the rest",
                                {resumed(run)}),
                         language));
  } else if (result.found) {
    lines.add("next", in(phrase("ocrtune run, export or verify {}; ocrtune show --all has the rest",
                                {run.id}),
                         language));
  }
  return lines.text();
}

}  // namespace ocrtune
