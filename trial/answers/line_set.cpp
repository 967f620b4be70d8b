// A line has no input, so a new line is paired with the nearest one that lacks. Digits are what a
// program prints beside its text: lines are grouped by their form with "#" for numbers. A form
// whose lines differ between two passes is left out.
#include "trial/answers/line_set.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <utility>

#include "trial/answers/text_distance.h"

namespace ocrtune {
namespace {

// As many as answers to one input (kKeptAnswers).
constexpr std::size_t kMaxPasses = 16;
constexpr std::size_t kLineExamples = 3;

bool is_decimal(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// With "#" for each run of digits, points and commas among them.
std::string form_of(const std::string& line) {
  std::string form;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!is_decimal(line[i])) {
      form += line[i];
      continue;
    }
    form += '#';
    while (i + 1 < line.size() &&
           (is_decimal(line[i + 1]) || ((line[i + 1] == '.' || line[i + 1] == ',') &&
                                        i + 2 < line.size() && is_decimal(line[i + 2])))) {
      ++i;
    }
  }
  return form;
}

bool has_digit(const std::string& line) {
  return std::any_of(line.begin(), line.end(), is_decimal);
}

// The nearest of `others`, and how far it is; the whole of `line` where none is like it.
// Quadratic in the lines that differ; those of other length are passed over without a comparison.
std::pair<std::size_t, std::int64_t> nearest(const std::string& line,
                                             const std::vector<std::string>& others) {
  const std::int64_t length = character_count(line);
  std::pair<std::size_t, std::int64_t> best = {others.size(), length};
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::int64_t other = character_count(others[i]);
    if (std::abs(other - length) >= best.second) continue;
    const std::int64_t distance = character_distance(line, others[i]);
    // More than half of its characters alike, or it is another line.
    if (2 * distance < length && distance < best.second) best = {i, distance};
  }
  return best;
}

}  // namespace

struct LineSet::Counts {
  struct One {
    std::int64_t differing = 0, characters = 0;
  };
  std::map<std::size_t, One> lines;  // by index; lines_.size(): lines that are like none
  void add(std::size_t line, std::int64_t characters) {
    ++lines[line].differing;
    lines[line].characters += characters;
  }
};

// Its whole passes; where none was ended and `open`, what was printed.
std::vector<LineSet::Lines> LineSet::units_of(const CommandAnswers& answers, bool open) {
  std::vector<Lines> units;
  // The last pass is open: end_run() begins one behind each that ended.
  const auto whole = static_cast<std::size_t>(answers.runs_ended);
  for (std::size_t i = 0; i < answers.passes.size(); ++i) {
    if (i >= whole && (whole > 0 || !open)) break;
    const Lines lines(answers.passes[i].begin(), answers.passes[i].end());
    if (!lines.empty()) units.push_back(lines);
  }
  return units;
}

void LineSet::learn(const CommandAnswers& answers) {
  ended_ += answers.runs_ended;
  for (Lines& unit : units_of(answers, false)) {
    if (passes_.size() < kMaxPasses) passes_.push_back(std::move(unit));
  }
  // One set for each variant: a form that is alike in all passes has one.
  std::map<std::string, std::set<Lines>> by_form;  // the lines of a form, of each pass
  std::map<std::string, std::size_t> seen;
  std::set<std::string> forms;
  for (const Lines& pass : passes_) {
    for (const std::string& line : pass) {
      ++seen[line];
      forms.insert(form_of(line));
    }
  }
  for (const Lines& pass : passes_) {
    std::map<std::string, Lines> of_pass;
    for (const std::string& line : pass) of_pass[form_of(line)].insert(line);
    for (const std::string& form : forms) by_form[form].insert(of_pass[form]);
  }
  varying_.clear();
  for (const auto& [form, variants] : by_form) {
    const bool digits = form.find('#') != std::string::npos;
    if (digits && (variants.size() > 1 || passes_.size() < 2)) varying_.insert(form);
  }
  lines_.clear();
  for (const auto& [line, passes] : seen) {
    // A line of half of the passes or more is expected; rarer ones are the program's own variation.
    if (counts(line) && 2 * passes >= passes_.size()) lines_.push_back(line);
  }
}

bool LineSet::counts(const std::string& line) const {
  return !varying_.contains(form_of(line)) && (passes_.size() > 1 || !has_digit(line));
}

void LineSet::compare_pass(const Lines& pass, bool whole, Counts& counts,
                           SameResult& result) const {
  std::vector<std::string> lacking, fresh;
  std::set_difference(lines_.begin(), lines_.end(), pass.begin(), pass.end(),
                      std::back_inserter(lacking));
  std::set_difference(pass.begin(), pass.end(), lines_.begin(), lines_.end(),
                      std::back_inserter(fresh));
  std::erase_if(fresh, [&](const std::string& line) { return !this->counts(line); });
  const auto index_of = [&](const std::string& line) {
    const auto at = std::lower_bound(lines_.begin(), lines_.end(), line);
    return static_cast<std::size_t>(at - lines_.begin());
  };
  for (const std::string& line : fresh) {
    const auto [at, distance] = nearest(line, lacking);
    const bool like = at < lacking.size();
    counts.add(like ? index_of(lacking[at]) : lines_.size(), distance);
    if (result.examples.size() < kLineExamples) {
      result.examples.push_back({"", like ? lacking[at] : "", line});
    }
    // Each lacking line has one partner.
    if (like) lacking.erase(lacking.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (const std::string& line : lacking) {
    // A pass that was ended may lack what it would have printed later.
    if (!whole) break;
    counts.add(index_of(line), character_count(line));
    if (result.examples.size() < kLineExamples) result.examples.push_back({"", line, ""});
  }
}

SameResult LineSet::compare(const CommandAnswers& answers) const {
  SameResult result;
  result.all_inputs = static_cast<std::int64_t>(lines_.size());
  if (lines_.empty()) {
    // Without a pass: did runs end in silence, or did none end? With passes: nothing varied, or all
    // lines did.
    result.not_compared = passes_.empty()
                              ? ended_ > 0 ? NotCompared::no_answers : NotCompared::no_reference
                          : varying_.empty() ? NotCompared::no_text
                                             : NotCompared::all_varies;
    return result;
  }
  const std::vector<Lines> units = units_of(answers, true);
  if (units.empty()) {
    result.not_compared = NotCompared::no_answers;
    return result;
  }
  Counts counts;
  for (const Lines& unit : units) compare_pass(unit, answers.runs_ended > 0, counts, result);
  const auto passes = static_cast<std::int64_t>(units.size());
  result.not_compared = NotCompared::no;
  result.inputs = result.all_inputs;
  result.answers = passes * result.inputs;
  for (const std::string& line : lines_) result.characters += character_count(line);
  for (const auto& [line, one] : counts.lines) {
    InputDifference difference;
    difference.input = static_cast<std::int64_t>(line);
    difference.answers = passes;
    // A form may differ several times in one pass.
    difference.differing = std::min(passes, one.differing);
    difference.characters = one.characters / std::max<std::int64_t>(1, difference.differing);
    result.differing.push_back(difference);
  }
  return result;
}

}  // namespace ocrtune
