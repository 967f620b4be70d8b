// How far a training is, from the lines that it prints: what tells a run that goes on from one that
// saves and fails at the same step again and again.
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "extras/supervise/supervised_attempt.h"

namespace ocrtune {
namespace {

bool is_numeral(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

double number_at(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && (is_numeral(text[end]) || text[end] == '.')) ++end;
  while (end > begin && text[end - 1] == '.') --end;
  return parse_number(text.substr(begin, end - begin)).value_or(-1);
}

// The number behind a word that ends so: "global_step: 120", "'epoch': 0.3", "Epoch [3/10]".
double number_behind(std::string_view line, std::string_view word) {
  constexpr std::size_t kMaxBetween = 6;
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    std::size_t next = at + word.size();
    if (next < line.size() && is_letter(line[next])) continue;  // "steps", "epochs"
    for (const std::size_t last = next + kMaxBetween; next < line.size() && next < last; ++next) {
      if (is_numeral(line[next])) return number_at(line, next);
      if (is_letter(line[next])) break;
    }
  }
  return -1;
}

// "120/1000 [": how tqdm counts.
double count_of_bar(std::string_view line) {
  for (std::size_t slash = line.find('/'); slash != std::string_view::npos;
       slash = line.find('/', slash + 1)) {
    std::size_t end = slash + 1;
    while (end < line.size() && is_numeral(line[end])) ++end;
    if (end == slash + 1 || line.substr(end, 2) != " [") continue;
    std::size_t begin = slash;
    while (begin > 0 && is_numeral(line[begin - 1])) --begin;
    if (begin < slash) return number_at(line, begin);
  }
  return -1;
}

}  // namespace

void TrainingPosition::advance(const TrainingPosition& other) {
  global_step = std::max(global_step, other.global_step);
  if (std::tie(other.epoch, other.step) > std::tie(epoch, step)) {
    epoch = other.epoch;
    step = other.step;
  }
}

TrainingPosition position_of(std::string_view progress_line) {
  const std::string line = lower(progress_line);
  TrainingPosition position;
  position.global_step = number_behind(line, "global_step");
  if (position.global_step >= 0) return position;
  position.epoch = number_behind(line, "epoch");
  double step = number_behind(line, "step");
  if (step < 0) step = number_behind(line, "iter");
  if (step < 0) step = count_of_bar(line);
  (position.epoch >= 0 ? position.step : position.global_step) = step;
  return position;
}

}  // namespace ocrtune
