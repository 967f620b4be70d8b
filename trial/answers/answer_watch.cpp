// Counts answers that differ from the reference, and judges the load under which they did.
#include "trial/answers/answer_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "trial/answers/text_distance.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxSeen = 32;     // texts of one input that are told apart
constexpr std::size_t kMaxAskings = 64;  // of one input that are kept
constexpr double kLevelDoubt = 0.0001;   // of one look: a trial takes some ten at ten loads each
constexpr double kMaxWrongShare = 0.01;  // of the answers, as of requests that fail
constexpr std::int64_t kTellingCharacters = 4;  // shorter texts may be alike by chance
constexpr std::int64_t kTellingAnswers = 3;
constexpr double kDoubtful = 0.5;  // a chance below which more answers may decide
constexpr std::size_t kExamples = 3;
constexpr std::size_t kExampleBytes = 400;

// The number of texts goes in first: {"ab"} and {"a", "b"} differ.
std::uint64_t hash_of(const std::vector<std::string>& texts) {
  std::uint64_t hash = mix_bits(texts.size());
  for (const std::string& text : texts) hash = mix_bits(hash ^ std::hash<std::string>()(text));
  return hash;
}

std::int64_t length_of(const std::vector<std::string>& texts) {
  std::int64_t characters = 0;
  for (const std::string& text : texts) characters += character_count(text);
  return characters;
}

std::string joined_text(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "\n") + text;
  if (all.size() <= kExampleBytes) return all;
  all.resize(kExampleBytes);
  // Cut at a whole UTF-8 character: continuation bytes go first, then the lead byte without them.
  while (!all.empty() && (static_cast<unsigned char>(all.back()) & 0xc0U) == 0x80U) all.pop_back();
  if (!all.empty() && static_cast<unsigned char>(all.back()) >= 0xc0U) all.pop_back();
  return all + "...";
}

// The first of the texts that differ, so that an example shows the place.
AnswerExample example_of(const std::string& input, const std::vector<std::string>& expected,
                         const std::vector<std::string>& read) {
  if (expected.size() == read.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] != read[i]) {
        return {input, joined_text({expected[i]}), joined_text({read[i]})};
      }
    }
  }
  return {input, joined_text(expected), joined_text(read)};
}

}  // namespace

AnswerWatch::AnswerWatch(AnswerWatchOptions options) : options_(std::move(options)) {}

void AnswerWatch::begin_asking() {
  state_ = State::asking;
  asked_.assign(options_.inputs.size(), {});
}

void AnswerWatch::learn() {
  AnswerReference reference = AnswerReference::learn(asked_, options_.same);
  asked_.clear();
  learnt_here_ = true;
  use(std::move(reference));
}

void AnswerWatch::use(AnswerReference reference) {
  state_ = State::counting;
  reference_ = std::move(reference);
  has_reference_ = true;
  inputs_.assign(options_.inputs.size(), {});
  // An input whose reference holds no text cannot be compared and is passed over by check().
  for (std::size_t kind = 0; kind < inputs_.size() && kind < reference_.inputs().size(); ++kind) {
    const InputReference& input = reference_.inputs()[kind];
    if (input.body.empty() || input.characters == 0) continue;
    inputs_[kind].seen.push_back(make_seen(input.body, input.texts));
    own(kind, inputs_[kind].seen[0]);
  }
  // What was asked here is this setting's own variation at one in flight, and counts there.
  for (std::size_t kind = 0; learnt_here_ && kind < inputs_.size(); ++kind) {
    if (inputs_[kind].seen.empty()) continue;
    const InputReference& input = reference_.inputs()[kind];
    inputs_[kind].own = 0;
    inputs_[kind].seen[0].answers[0] = input.askings - input.differing;
    inputs_[kind].unlisted[0] = input.differing;
  }
}

// A text that is short, or of several inputs, names none of them: it proves no swap.
void AnswerWatch::own(std::size_t kind, const Seen& text) {
  std::int64_t characters = 0;
  for (const std::string& one : text.texts) {
    characters += static_cast<std::int64_t>(characters_of(one).size());
  }
  if (characters < kTellingCharacters) return;
  const auto [owner, added] = owners_.emplace(text.hash, static_cast<std::int64_t>(kind));
  if (!added && owner->second != static_cast<std::int64_t>(kind)) owner->second = -2;
}

AnswerWatch::Seen AnswerWatch::make_seen(std::string_view body,
                                         std::vector<std::string> texts) const {
  Seen seen;
  seen.texts = std::move(texts);
  seen.hash = hash_of(seen.texts);
  seen.body = body;
  const auto strings = answer_strings(body, reference_.same());
  std::size_t counted = 0;
  for (const AnswerString& one : strings) {
    counted += one.counts && reference_.counts(one.path) ? 1 : 0;
  }
  // Numbers that count, an escape that the parser changes: these need the parser.
  if (counted != seen.texts.size()) return seen;
  seen.string_count = strings.size();
  RawStrings raw(seen.body);
  std::string_view text;
  for (std::size_t i = 0; i < strings.size() && raw.next(text); ++i) {
    if (!strings[i].counts || !reference_.counts(strings[i].path)) continue;
    seen.places.push_back(
        {i, static_cast<std::size_t>(text.data() - seen.body.data()), text.size()});
  }
  return seen;
}

// The strings that count stand at the same places, with the same bytes.
bool AnswerWatch::matches(const Seen& seen, std::string_view body) {
  if (body == seen.body) return true;
  if (seen.places.empty()) return false;
  const std::string_view known = seen.body;
  RawStrings strings(body);
  std::string_view text;
  auto place = seen.places.begin();
  std::size_t index = 0;
  for (; strings.next(text); ++index) {
    if (place == seen.places.end() || place->index != index) continue;
    if (text != known.substr(place->begin, place->length)) return false;
    ++place;
  }
  return index == seen.string_count;
}

std::int64_t AnswerWatch::owner_of(std::size_t kind, std::uint64_t hash) const {
  const auto owner = owners_.find(hash);
  if (owner == owners_.end() || owner->second < 0) return -1;
  return owner->second == static_cast<std::int64_t>(kind) ? -1 : owner->second;
}

// Cheap looks come first: the text found last, then the first three, by bytes. The parser comes
// last.
AnswerWatch::Found AnswerWatch::find_seen(std::size_t kind, std::string_view body) {
  Input& input = inputs_[kind];
  const auto found = [&](std::size_t index) {
    input.last = index;
    return Found{index, input.seen[index].of_other >= 0};
  };
  if (matches(input.seen[input.last], body)) return found(input.last);
  // The reference and the setting's own text are nearly always among the first three.
  for (std::size_t i = 0; i < std::min<std::size_t>(input.seen.size(), 3); ++i) {
    if (i != input.last && matches(input.seen[i], body)) return found(i);
  }
  std::vector<std::string> texts = reference_.texts_of(body);
  const std::uint64_t hash = hash_of(texts);
  for (std::size_t i = 0; i < input.seen.size(); ++i) {
    if (input.seen[i].hash == hash && input.seen[i].texts == texts) return found(i);
  }
  const std::int64_t owner = owner_of(kind, hash);
  // A program whose texts never repeat would fill the memory.
  if (input.seen.size() >= kMaxSeen) return {kMaxSeen, owner >= 0};
  Seen seen = make_seen(body, std::move(texts));
  seen.of_other = owner;
  input.seen.push_back(std::move(seen));
  return found(input.seen.size() - 1);
}

// Powers of two: enough answers come together at each level.
std::size_t AnswerWatch::level_at(int in_flight) {
  std::size_t level = 0;
  while (level + 1 < kLevels && (1 << level) < in_flight) ++level;
  return level;
}

// 0: alone. An answer that comes while a crowd is leaving was made beside it.
std::size_t AnswerWatch::level_of(int in_flight) {
  since_most_ = std::max(since_most_, in_flight);
  // Those that are handed over together count down: the most of them is the next crowd.
  if (in_flight >= crowd_ || ++since_crowd_ > crowd_) {
    crowd_ = since_most_;
    since_crowd_ = since_most_ = 0;
  }
  return level_at(crowd_);
}

std::string AnswerWatch::check(int kind, std::string_view body, int in_flight) {
  const auto at = static_cast<std::size_t>(std::max(0, kind));
  if (state_ == State::asking && at < asked_.size() && asked_[at].size() < kMaxAskings) {
    asked_[at].emplace_back(body);
  }
  if (state_ != State::counting || at >= inputs_.size() || inputs_[at].seen.empty()) return "";
  const std::size_t level = level_of(in_flight);
  Level& here = levels_[level];
  here.in_flight = std::max(here.in_flight, crowd_);
  ++here.answers;
  Input& input = inputs_[at];
  const Found found = find_seen(at, body);
  if (found.index == kMaxSeen) {
    ++input.unlisted[level];
  } else {
    ++input.seen[found.index].answers[level];
    // The first answer of this setting becomes its own text: it may read otherwise at every load.
    if (input.own < 0) {
      input.own = static_cast<std::int64_t>(found.index);
      input.own_level = level;
      // A swap between two inputs is then seen by this setting's own texts as well.
      own(at, input.seen[found.index]);
    }
    if (input.own == static_cast<std::int64_t>(found.index)) return "";
  }
  ++here.differing;
  // Alone in flight there is no other request whose text could have come.
  const bool swapped = found.swapped && level > 0;
  if (swapped) ++here.swapped;
  if (!here.wrong && (swapped || here.differing >= here.next_look)) judge(level);
  return here.wrong ? fault_at(level, swapped) : "";
}

std::string AnswerWatch::fault_at(std::size_t level, bool swapped) const {
  if (swapped) return "has the text of another input";
  const Level& here = levels_[level];
  return fmt::format("has another text than the same input with fewer in flight ({} of {})",
                     here.differing, here.answers);
}

// Of an input: this level beside all right ones below, by what is not the setting's own text.
AnswerStratum AnswerWatch::stratum_of(const Input& input, std::size_t level) const {
  AnswerStratum stratum;
  const auto add = [&](const Counts& counts, bool own) {
    for (std::size_t i = 0; i <= level; ++i) {
      // A level that was called wrong is no base for the ones above it.
      if (i < level && levels_[i].wrong) continue;
      (i < level ? stratum.base_answers : stratum.answers) += counts[i];
      if (!own) (i < level ? stratum.base_differing : stratum.differing) += counts[i];
    }
  };
  add(input.unlisted, false);
  for (std::size_t i = 0; i < input.seen.size(); ++i) {
    add(input.seen[i].answers, static_cast<std::int64_t>(i) == input.own);
  }
  // The answer that made it the own text cannot differ from it.
  if (input.own_level < level && !levels_[input.own_level].wrong) --stratum.base_answers;
  if (input.own_level == level) --stratum.answers;
  return stratum;
}

double AnswerWatch::chance_of(std::size_t level) const {
  std::vector<AnswerStratum> strata;
  for (const Input& input : inputs_) {
    if (!input.seen.empty()) strata.push_back(stratum_of(input, level));
  }
  return chance_of_differing(strata);
}

// Characters that this level changed in the mean answer, as a share.
double AnswerWatch::change_at(std::size_t level) const {
  double changed = 0, characters = 0;
  for (const Input& input : inputs_) {
    if (input.own < 0) continue;
    const Seen& own = input.seen[static_cast<std::size_t>(input.own)];
    const auto length = static_cast<double>(length_of(own.texts));
    for (const Seen& seen : input.seen) {
      const auto answers = static_cast<double>(seen.answers[level]);
      if (answers == 0) continue;
      characters += answers * length;
      if (&seen == &own) continue;
      changed += answers * static_cast<double>(texts_distance(own.texts, seen.texts));
    }
    characters += static_cast<double>(input.unlisted[level]) * length;
    changed += static_cast<double>(input.unlisted[level]) * length;
  }
  return characters > 0 ? changed / characters : 0;
}

void AnswerWatch::judge(std::size_t level) {
  Level& here = levels_[level];
  // Looks grow by half, so that a trial takes few of them and their doubts stay small.
  here.next_look = here.differing + here.differing / 2 + 1;
  if (level == 0) return;  // what differs alone is the program's own variation
  double before = 0, before_differing = 0;
  for (std::size_t i = 0; i < level; ++i) {
    if (levels_[i].wrong) continue;
    before += static_cast<double>(levels_[i].answers);
    before_differing += static_cast<double>(levels_[i].differing);
  }
  const double share = static_cast<double>(here.differing) / static_cast<double>(here.answers);
  const double usual = before > 0 ? before_differing / before : 0;
  here.wrong =
      // A swap needs no test. Else the share, the test and the allowed change must all agree.
      here.swapped > 0 || (share - usual > kMaxWrongShare && chance_of(level) < kLevelDoubt &&
                           (options_.max_change <= 0 || change_at(level) > options_.max_change));
}

int AnswerWatch::wrong_in_flight() {
  for (std::size_t level = 1; level < kLevels; ++level) {
    // What came since the last look may decide.
    if (!levels_[level].wrong && levels_[level].differing > 0) judge(level);
  }
  for (const Level& level : levels_) {
    if (level.wrong) return level.in_flight;
  }
  return 0;
}

bool AnswerWatch::in_doubt() const {
  for (std::size_t level = 1; level < kLevels; ++level) {
    const Level& here = levels_[level];
    const bool many =
        // As in judge(), but with a chance that more answers can still decide.
        static_cast<double>(here.differing) > kMaxWrongShare * static_cast<double>(here.answers);
    if (here.differing >= kTellingAnswers && many && !here.wrong && chance_of(level) < kDoubtful) {
      return true;
    }
  }
  return false;
}

std::int64_t AnswerWatch::right_answers(const Counts& counts, std::size_t levels) const {
  std::int64_t answers = 0;
  for (std::size_t i = 0; i < levels; ++i) answers += levels_[i].wrong ? 0 : counts[i];
  return answers;
}

InputDifference AnswerWatch::difference_of(std::size_t kind, std::size_t levels) const {
  const Input& input = inputs_[kind];
  const std::vector<std::string>* truth =
      kind < options_.truths.size() ? &options_.truths[kind] : nullptr;
  const std::vector<std::string>& reference = input.seen[0].texts;
  InputDifference difference;
  difference.input = static_cast<std::int64_t>(kind);
  difference.answers = difference.differing = right_answers(input.unlisted, levels);
  double edits = 0, errors = 0, listed = 0;
  for (const Seen& seen : input.seen) {
    const std::int64_t right = right_answers(seen.answers, levels);
    difference.answers += right;
    if (&seen == &input.seen[0] || right == 0) continue;
    const auto answers = static_cast<double>(right);
    difference.differing += right;
    listed += answers;
    edits += answers * static_cast<double>(texts_distance(reference, seen.texts));
    if (truth != nullptr)
      errors += answers * static_cast<double>(texts_distance(*truth, seen.texts));
  }
  // Texts beyond those that are told apart: as far off as the whole length.
  const auto unlisted = static_cast<double>(right_answers(input.unlisted, levels));
  const auto length = static_cast<double>(length_of(reference));
  const double all = std::max(1.0, listed + unlisted);
  difference.characters = std::llround((edits + unlisted * length) / all);
  if (truth != nullptr) {
    difference.reference_errors = texts_distance(*truth, reference);
    difference.errors = std::llround((errors + unlisted * length) / all);
  }
  return difference;
}

SameResult AnswerWatch::result(int in_flight) const {
  // Loads above the one that is asked for say nothing of it.
  const std::size_t levels = level_at(in_flight) + 1;
  SameResult result;
  result.all_inputs = static_cast<std::int64_t>(options_.inputs.size());
  result.not_compared = has_reference_ ? reference_.usable() : NotCompared::no_reference;
  for (const PathRule& rule : reference_.rules()) {
    if (!rule.counts) result.left_out.push_back(rule.path);
  }
  for (std::size_t kind = 0; kind < inputs_.size(); ++kind) {
    const Input& input = inputs_[kind];
    if (input.seen.empty()) continue;
    const InputDifference difference = difference_of(kind, levels);
    if (difference.answers == 0) continue;
    ++result.inputs;
    result.answers += difference.answers;
    result.characters += length_of(input.seen[0].texts);
    if (kind < options_.truths.size()) {
      // Once for an input, whatever the number of its answers.
      result.truth_characters += length_of(options_.truths[kind]);
      result.truth_errors += texts_distance(options_.truths[kind], input.seen[0].texts);
    }
    if (difference.differing == 0) continue;
    result.differing.push_back(difference);
    // One example for an input, at most three in all.
    for (std::size_t i = 1; i < input.seen.size() && result.examples.size() < kExamples; ++i) {
      if (right_answers(input.seen[i].answers, levels) == 0) continue;
      result.examples.push_back(
          example_of(options_.inputs[kind], input.seen[0].texts, input.seen[i].texts));
      break;
    }
  }
  // One text for every input may be an error's; another one in its place is another text all the
  // same.
  const bool alike = result.not_compared == NotCompared::all_alike;
  if (alike && !result.differing.empty()) result.not_compared = NotCompared::no;
  if (result.compared() && result.answers == 0) result.not_compared = NotCompared::no_answers;
  for (const Level& level : levels_) {
    result.swapped_answers += level.swapped;
    if (!level.wrong || result.wrong_in_flight > 0) continue;
    result.wrong_in_flight = level.in_flight;
    result.wrong_answers = level.differing;
    result.wrong_of_answers = level.answers;
  }
  return result;
}

}  // namespace ocrtune
