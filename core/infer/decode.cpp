// Greedy decoding and the edit distance with one row of the table (Wagner and Fischer 1974).
#include "core/infer/decode.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "base/check.h"
#include "core/data/alphabet.h"

namespace ocrtune {
namespace {

double probability_of(std::span<const float> logits, int best) {
  const float top = logits[static_cast<std::size_t>(best)];
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return 1 / sum;
}

}  // namespace

std::vector<DecodedLine> greedy_decode(std::span<const float> logits, int steps, int count,
                                       int classes) {
  const auto width = static_cast<std::size_t>(classes);
  const auto lines = static_cast<std::size_t>(count);
  OCRTUNE_CHECK(logits.size() == static_cast<std::size_t>(steps) * lines * width);
  std::vector<DecodedLine> decoded(lines);
  for (std::size_t n = 0; n < lines; ++n) {
    DecodedLine& line = decoded[n];
    int before = 0;
    for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
      const auto frame = logits.subspan((t * lines + n) * width, width);
      const auto best =
          static_cast<int>(std::max_element(frame.begin(), frame.end()) - frame.begin());
      // Of a run of equal frames the first one's probability counts.
      if (best != 0 && best != before) {
        line.classes.push_back(best);
        line.confidence += probability_of(frame, best);
      }
      before = best;
    }
    if (!line.classes.empty()) line.confidence /= static_cast<double>(line.classes.size());
  }
  return decoded;
}

int edit_distance(std::span<const int> a, std::span<const int> b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

void LabelErrors::add(std::span<const int> read, std::span<const int> truth) {
  const int distance = edit_distance(read, truth);
  edits += distance;
  length += static_cast<std::int64_t>(truth.size());
  lines += 1;
  exact_lines += distance == 0 ? 1 : 0;
}

void LabelErrors::add_text(std::string_view read, std::string_view truth) {
  // Both texts share the numbering, so that equal characters are equal numbers.
  std::map<std::string, int> numbers;
  const auto numbered = [&](std::string_view text) {
    std::vector<int> line;
    for (const std::string& character : split_characters(text).value_or({})) {
      line.push_back(numbers.emplace(character, static_cast<int>(numbers.size())).first->second);
    }
    return line;
  };
  const std::vector<int> ours = numbered(read);
  add(ours, numbered(truth));
}

double LabelErrors::rate() const {
  if (edits == 0) return 0;
  return static_cast<double>(edits) / static_cast<double>(std::max<std::int64_t>(length, 1));
}

}  // namespace ocrtune
