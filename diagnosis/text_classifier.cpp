#include "diagnosis/text_classifier.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "diagnosis/consequences.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMinKnownWords = 3;
constexpr double kWeightUnit = 1.0 / 16, kBiasUnit = 1.0 / 1000;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word_character(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// "0x7f3a", "9f86d081": an address or a hash.
bool is_hex(std::string_view run) {
  constexpr std::size_t kShortestHash = 8;
  if (starts_with(run, "0x")) return true;
  return run.size() >= kShortestHash &&
         run.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string stem(std::string word) {
  constexpr std::size_t kShortestStem = 4;
  for (std::string_view ending : {"ing", "ed", "es", "s"}) {
    if (word.size() >= ending.size() + kShortestStem && ends_with(word, ending)) {
      word.resize(word.size() - ending.size());
      break;
    }
  }
  return word;
}

void take_word(std::string_view word, std::vector<std::string>& words) {
  static const std::set<std::string> kTooCommon = {
      "the", "an",  "of",   "to",   "in",  "on",  "at", "is", "are",  "was",  "were", "be", "been",
      "it",  "its", "this", "that", "for", "and", "or", "by", "with", "from", "as",   "if"};
  std::string small = lower(word);
  if (small.size() >= 2 && kTooCommon.count(small) == 0) words.push_back(stem(std::move(small)));
}

// "FileNotFoundError" -> File Not Found Error; "CUDAGraph" -> CUDA Graph.
void take_letters(std::string_view letters, std::vector<std::string>& words) {
  std::size_t from = 0;
  for (std::size_t i = 1; i < letters.size(); ++i) {
    const bool begins =
        is_upper(letters[i]) &&
        (!is_upper(letters[i - 1]) || (i + 1 < letters.size() && !is_upper(letters[i + 1])));
    if (!begins) continue;
    take_word(letters.substr(from, i - from), words);
    from = i;
  }
  take_word(letters.substr(from), words);
}

// Letters of "paddle_cuda12": paddle, cuda.
void take_run(std::string_view run, std::vector<std::string>& words) {
  if (is_hex(run)) return;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const std::size_t from = i;
    while (i < run.size() && is_letter(run[i])) ++i;
    if (i > from) take_letters(run.substr(from, i - from), words);
  }
}

// U+4000 to U+9FFF, three bytes of UTF-8 each.
std::size_t han_bytes(std::string_view text) {
  std::size_t end = 0;
  while (end + 3 <= text.size() && text[end] >= '\xe4' && text[end] <= '\xe9') end += 3;
  return end;
}

std::vector<std::string> plain_words(std::string_view line) {
  constexpr std::size_t kMaxBytes = 500, kHan = 3;
  line = line.substr(0, kMaxBytes);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i;
    while (end < line.size() && is_word_character(line[end])) ++end;
    if (end > i) {
      take_run(line.substr(i, end - i), words);
    } else if (end += han_bytes(line.substr(i)); end > i) {
      for (std::size_t at = i; at + 2 * kHan <= end; at += kHan) {
        words.emplace_back(line.substr(at, 2 * kHan));
      }
    } else {
      ++end;
    }
    i = end;
  }
  return words;
}

// The table as it is asked: word -> the classes that it speaks for.
struct Classes {
  std::vector<std::string_view> names;
  std::vector<double> bias;
  std::unordered_map<std::string, std::vector<std::pair<std::size_t, double>>> weights;

  Classes() {
    for (const WordRow& row : word_table()) {
      const std::vector<std::string> pairs = words(row.words);
      for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
        const auto weight = static_cast<double>(parse_integer(pairs[i + 1]).value_or(0));
        weights[pairs[i]].emplace_back(names.size(), weight * kWeightUnit);
      }
      names.emplace_back(row.cause);
      bias.push_back(row.bias * kBiasUnit);
    }
  }
};

const Classes& classes() {
  static const Classes kClasses;
  return kClasses;
}

// The line that speaks most for a cause.
EvidenceLine telling_line(const std::vector<EvidenceLine>& lines, std::string_view cause) {
  EvidenceLine best;
  double most = 0;
  for (const EvidenceLine& line : lines) {
    double sum = 0;
    for (const std::string& word : words_of_line(line.text)) {
      const auto known = classes().weights.find(word);
      if (known == classes().weights.end()) continue;
      for (const auto& [index, weight] : known->second) {
        if (classes().names[index] == cause) sum += weight;
      }
    }
    if (sum > most) {
      most = sum;
      best = line;
    }
  }
  return best;
}

// Ranks that gave up say who waited, not for what.
bool tells_of_waiting(std::string_view cause) {
  return cause == "collective_timeout" || cause == "nccl_init_hang" || cause == "nccl_error";
}

bool is_kill(std::string_view cause) {
  return cause == "host_out_of_memory" || cause == "cgroup_out_of_memory" ||
         cause == "userspace_oom_kill" || cause == "killed_by_other";
}

double score_of(const std::vector<TextVote>& votes, std::string_view cause) {
  const auto found = std::find_if(votes.begin(), votes.end(),
                                  [&](const TextVote& vote) { return vote.cause == cause; });
  return found == votes.end() ? votes.back().score : found->score;
}

// Is a line of its evidence among the last of its log?
bool ends_a_log(const Cause& cause, const std::vector<LogScan>& logs) {
  constexpr std::int64_t kFew = 2;
  return std::any_of(cause.evidence.begin(), cause.evidence.end(), [&](const EvidenceLine& line) {
    return std::any_of(logs.begin(), logs.end(), [&](const LogScan& log) {
      return log.file == line.file && !log.finished && line.line + kFew >= log.last_line.number;
    });
  });
}

// Of first answers on logs that the rules had not seen, those that the words of healthy logs
// outweigh were right in 54 % above 0.5 and in 18 % below it.
void doubt_by_health(const std::vector<TextVote>& votes, const std::vector<LogScan>& logs,
                     Cause& first) {
  constexpr double kFar = 6;  // standard deviations
  if (first.confidence >= 0.9 || is_kill(first.row->name) || ends_a_log(first, logs)) return;
  const double ahead = score_of(votes, kHealthyText) - score_of(votes, first.row->name);
  if (ahead <= 0) return;
  if (first.confidence < 0.5) {
    first.confidence *= 0.5;
  } else {
    first.confidence = std::min(first.confidence, ahead > kFar ? 0.45 : 0.55);
  }
}

// Named causes, the most plausible one first. Who is waited for is mostly busy alone.
std::vector<std::string_view> candidates(const std::vector<TextVote>& votes,
                                         const std::vector<Cause>& causes) {
  constexpr std::string_view kBusy = "rank_busy_alone";
  std::vector<std::string_view> names;
  if (!causes.empty() && tells_of_waiting(causes[0].row->name)) names.push_back(kBusy);
  for (const TextVote& vote : votes) {
    const bool again = !names.empty() && vote.cause == names[0];
    if (!again && vote.cause != kHealthyText && !is_generic(vote.cause))
      names.push_back(vote.cause);
  }
  return names;
}

void add_suspects(const std::vector<TextVote>& votes, const std::vector<EvidenceLine>& lines,
                  double most, std::vector<Cause>& causes) {
  // How often the first, the second and the third were the cause, on logs not seen.
  constexpr double kConfidences[] = {0.33, 0.18, 0.12};
  std::size_t place = 0;
  for (std::string_view name : candidates(votes, causes)) {
    if (place == std::size(kConfidences)) break;
    const double confidence = std::min(kConfidences[place++], most);
    const bool known = std::any_of(causes.begin(), causes.end(),
                                   [&](const Cause& cause) { return cause.row->name == name; });
    if (known) continue;
    Cause suspect{&find_cause(name), confidence, Role::generic, {}, {kTextSignature}, {}};
    suspect.evidence.push_back(telling_line(lines, name));
    if (suspect.evidence[0].text.empty()) continue;
    causes.push_back(std::move(suspect));
  }
}

}  // namespace

std::vector<std::string> words_of_line(std::string_view line) {
  std::vector<std::string> all = plain_words(line);
  const std::size_t single = all.size();
  for (std::size_t i = 0; i + 1 < single; ++i) all.push_back(all[i] + "_" + all[i + 1]);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<EvidenceLine> classified_lines(const std::vector<LogScan>& logs) {
  std::vector<EvidenceLine> lines;
  for (const LogScan& log : logs) {
    std::map<std::int64_t, const std::string*> own;
    for (const LogLine& line : log.last_lines) own[line.number] = &line.text;
    for (const Finding& finding : log.findings) own[finding.first.number] = &finding.first.text;
    for (const auto& [number, text] : own) lines.push_back({log.file, number, *text});
  }
  return lines;
}

std::vector<TextVote> classify(const std::vector<EvidenceLine>& lines) {
  std::unordered_map<std::string, int> counts;
  std::set<std::vector<std::string>> seen;  // a line that differs in numbers alone says no more
  for (const EvidenceLine& line : lines) {
    std::vector<std::string> words = words_of_line(line.text);
    if (!seen.insert(words).second) continue;
    for (std::string& word : words) {
      if (classes().weights.count(word) > 0) counts[std::move(word)] += 1;
    }
  }
  if (counts.size() < kMinKnownWords) return {};
  std::vector<double> scores(classes().names.size());
  double squares = 0, sum = 0;
  for (const auto& [word, count] : counts) {
    const double x = 1 + std::log(count);
    squares += x * x;
    sum += x;
    for (const auto& [index, weight] : classes().weights.at(word)) scores[index] += x * weight;
  }
  double mean = 0, spread = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = (scores[i] + classes().bias[i] * sum) / std::sqrt(squares);
    mean += scores[i] / static_cast<double>(scores.size());
  }
  for (double score : scores) spread += (score - mean) * (score - mean);
  spread = std::sqrt(spread / static_cast<double>(scores.size()));
  std::vector<TextVote> votes;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    votes.push_back({classes().names[i], spread > 0 ? (scores[i] - mean) / spread : 0});
  }
  std::stable_sort(votes.begin(), votes.end(),
                   [](const TextVote& a, const TextVote& b) { return a.score > b.score; });
  return votes;
}

void hedge(const std::vector<LogScan>& logs, const FailureEvidence& evidence,
           std::vector<Cause>& causes) {
  constexpr double kGeneric = 0.5, kEnding = 0.4, kSilent = 0.2, kAheadOfHealth = 2;
  for (Cause& cause : causes) {
    const std::string_view name = cause.row->name;
    if (name == "process_failed") {  // an exception says more
      cause.confidence = std::min(cause.confidence, kEnding);
    } else if (is_generic(name) || tells_of_waiting(name)) {
      cause.confidence = std::min(cause.confidence, kGeneric);
    }
  }
  const auto by_confidence = [](const Cause& a, const Cause& b) {
    return a.confidence > b.confidence;
  };
  std::stable_sort(causes.begin(), causes.end(), by_confidence);
  const bool silent = causes.empty() || causes[0].confidence < 0.25;
  if (!silent && causes[0].confidence >= 0.9) return;
  const std::vector<EvidenceLine> lines = classified_lines(logs);
  const std::vector<TextVote> votes = classify(lines);
  if (votes.empty()) return;
  if (silent) {
    const bool ended_well =
        evidence.exit_code == 0 ||
        std::all_of(logs.begin(), logs.end(), [](const LogScan& log) { return log.finished; });
    const double ahead = votes[0].score - score_of(votes, kHealthyText);
    if (!ended_well && ahead > kAheadOfHealth) add_suspects(votes, lines, kSilent, causes);
  } else {
    if (evidence.exit_code.value_or(0) == 0) doubt_by_health(votes, logs, causes[0]);
    if (causes[0].confidence <= kGeneric) {
      add_suspects(votes, lines, causes[0].confidence, causes);
    }
  }
  std::stable_sort(causes.begin(), causes.end(), by_confidence);
}

}  // namespace ocrtune
