#include "bench/synthetic/learned_words.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "bench/synthetic/retold_logs.h"
#include "diagnosis/signatures/signatures.h"
#include "diagnosis/text_classifier.h"

namespace ocrtune {
namespace {

constexpr double kSmoothing = 0.3, kMinWeight = 0.1;
constexpr std::size_t kMaxWords = 4000;
constexpr int kMinLogs = 2;  // that have a word

using Counts = std::map<std::string, double>;

struct Words {
  double all = 0;  // T
  int logs = 0;
  Counts by_cause;  // F
};

std::vector<std::string> words_of(const RetoldLog& log) {
  std::vector<LogScan> scans;
  for (const auto& [name, text] : log.files) scans.push_back(scan_text(name, text));
  std::set<std::vector<std::string>> seen;
  std::vector<std::string> all;
  for (const EvidenceLine& line : classified_lines(scans)) {
    const std::vector<std::string> own = words_of_line(line.text);
    if (seen.insert(own).second) all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

// How much each word of a log counts: the squares add up to 1.
Counts lengths_of(const LabelledWords& log, const std::set<std::string>* vocabulary) {
  Counts counts;
  for (const std::string& word : log.words) {
    if (vocabulary == nullptr || vocabulary->count(word) > 0) counts[word] += 1;
  }
  double squares = 0;
  for (auto& [word, count] : counts) {
    count = 1 + std::log(count);
    squares += count * count;
  }
  for (auto& [word, count] : counts) count /= std::sqrt(squares);
  return counts;
}

std::map<std::string, Words> count_words(const std::vector<LabelledWords>& logs,
                                         const std::set<std::string>* vocabulary) {
  std::map<std::string, Words> all;
  for (const LabelledWords& log : logs) {
    for (const auto& [word, length] : lengths_of(log, vocabulary)) {
      Words& one = all[word];
      one.all += length;
      one.logs += 1;
      one.by_cause[log.cause] += length;
    }
  }
  return all;
}

double weight_of(const Words& word, double of_cause) {
  return std::log((word.all + kSmoothing) / (word.all + kSmoothing - of_cause));
}

// The words that tell most, and often.
std::set<std::string> chosen_words(const std::map<std::string, Words>& all, std::size_t logs) {
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [word, counts] : all) {
    if (counts.logs < kMinLogs) continue;
    double most = 0;
    for (const auto& [cause, own] : counts.by_cause) most = std::max(most, weight_of(counts, own));
    const double rarity = 1 + std::log((1.0 + static_cast<double>(logs)) / (1 + counts.logs));
    order.emplace_back(-most * std::log1p(counts.logs) * std::sqrt(rarity), word);
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), kMaxWords));
  std::set<std::string> words;
  for (auto& [gain, word] : order) words.insert(std::move(word));
  return words;
}

}  // namespace

Result<std::vector<LabelledWords>> labelled_words(const std::string& source) {
  std::vector<LabelledWords> logs;
  for (const char* folder : {"/tests/fixtures/logs", "/tests/fixtures/diagnosis"}) {
    auto names = OCRTUNE_TRY(list_directory(source + folder));
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (!ends_with(name, "_cases.txt")) continue;
      const auto cases = OCRTUNE_TRY(read_retold_logs(source + folder + "/" + name));
      for (const RetoldLog& log : cases) logs.push_back({words_of(log), log.accepted[0]});
    }
  }
  std::map<std::string, const SignatureRow*> rows;
  for (const SignatureRow& row : signature_table()) rows[row.id] = &row;
  const auto examples = OCRTUNE_TRY(read_file(source + "/tests/fixtures/logs/lines.txt"));
  for (const std::string& line : split(examples, '\n')) {
    const std::size_t bar = line.find(" | ");
    const auto row = rows.find(line.substr(0, bar));
    if (bar == std::string::npos || row == rows.end() || tier(row->second->role) == 0) continue;
    logs.push_back({words_of_line(line.substr(bar + 3)), row->second->cause});
  }
  return logs;
}

std::vector<LearnedRow> learn_words(const std::vector<LabelledWords>& logs) {
  const std::set<std::string> vocabulary = chosen_words(count_words(logs, nullptr), logs.size());
  const std::map<std::string, Words> all = count_words(logs, &vocabulary);
  double total = 0;
  Counts own_total;
  std::map<std::string, std::string> rows;
  for (const LabelledWords& log : logs) own_total[log.cause] += 0;
  for (const auto& [word, counts] : all) {
    total += counts.all + kSmoothing;
    for (const auto& [cause, own] : counts.by_cause) {
      own_total[cause] += own;
      const double weight = weight_of(counts, own);
      if (weight < kMinWeight) continue;
      std::string& row = rows[cause];
      row += fmt::format("{}{} {}", row.empty() ? "" : " ", word, std::lround(16 * weight));
    }
  }
  double mean = 0;
  for (const auto& [cause, own] : own_total) {
    mean += std::log(total - own) / static_cast<double>(own_total.size());
  }
  std::vector<LearnedRow> learned;
  for (const auto& [cause, own] : own_total) {
    const double bias = std::log(total - own) - mean;
    learned.push_back({cause, static_cast<int>(std::lround(1000 * bias)), rows[cause]});
  }
  return learned;
}

std::string word_table_source(const std::vector<LearnedRow>& rows) {
  std::string text =
      "// Written by bench/diagnosis/learn_words_main.cpp; do not edit.\n"
      "#include \"diagnosis/text_classifier.h\"\n\nnamespace ocrtune {\n\n// clang-format off\n"
      "// NOLINTNEXTLINE(readability-function-size): a table\n"
      "const std::vector<WordRow>& word_table() {\n"
      "  static const std::vector<WordRow> kTable = {\n";
  for (const LearnedRow& row : rows) {
    text +=
        fmt::format("      {{\"{}\", {},\n       R\"({})\"}},\n", row.cause, row.bias, row.words);
  }
  return text + "  };\n  return kTable;\n}\n\n}  // namespace ocrtune\n";
}

}  // namespace ocrtune
