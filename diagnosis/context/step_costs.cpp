// Numbers are found by the units and words beside them. Of each series the first and the last
// sixteen costs are kept, so memory does not grow with the log.
#include "diagnosis/context/step_costs.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kKept = 16;
constexpr std::size_t kFewest = 8;  // rates, to speak of a fall

// PaddleOCR, PaddleDetection, MMEngine and mmcv, PyTorch's ImageNet example and its many children,
// timm.
struct StepWords {
  std::string_view data, step;
};
constexpr StepWords kStepWords[] = {{"reader_cost: ", "batch_cost: "},
                                    {"data_cost: ", "batch_cost: "},
                                    {"data_time: ", " time: "},
                                    {"data_time=", "step_time="},
                                    {"data_time ", "step_time "},
                                    {"Data: ", "Time: "},
                                    {"Data ", "Time "},
                                    {"data: ", "time: "}};

bool is_of_number(char c) { return (c >= '0' && c <= '9') || c == '.'; }

// "reader_cost: 0.00010 s" -> 0.0001
std::optional<double> number_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::size_t end = 0;
  while (end < rest.size() && is_of_number(rest[end])) ++end;
  const auto value = parse_number(rest.substr(0, end));
  return value ? std::optional<double>(*value) : std::nullopt;
}

// The number that ends at `end`.
std::optional<double> number_before(std::string_view line, std::size_t end) {
  std::size_t from = end;
  while (from > 0 && is_of_number(line[from - 1])) --from;
  const auto value = parse_number(line.substr(from, end - from));
  return value ? std::optional<double>(*value) : std::nullopt;
}

// "880.4 img/s", "ips: 99.1 samples/s", "4.1it/s", "loss=0.5 img/s=410" -> the number; "2.25s/it",
// "250ms/step" -> 0.44, 4; 0: none.
double rate_of(std::string_view line) {
  for (std::size_t at = line.find("/s"); at != std::string_view::npos;
       at = line.find("/s", at + 1)) {
    // "/second" and "/sec" count, "/step" and "/sample" are other units.
    if (at + 2 < line.size() && (line[at + 2] >= 'a' && line[at + 2] <= 'z') &&
        line.substr(at + 2, 2) != "ec") {
      continue;
    }
    const std::size_t unit_end = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 1);
    if (unit_end != std::string_view::npos && (line[unit_end] == '=' || line[unit_end] == ':')) {
      if (const auto value = number_after(line.substr(unit_end), line.substr(unit_end, 1))) {
        return *value;
      }
    }
    // "loss 2.43 tok/s 11921 dt 0.7": names before their numbers.
    const auto behind = number_after(line.substr(std::min(unit_end, line.size())), " ");
    std::size_t end = at;
    while (end > 0 && line[end - 1] >= 'a' && line[end - 1] <= 'z') --end;
    while (end > 0 && line[end - 1] == ' ') --end;
    const std::size_t name = line.find_last_not_of("0123456789. ", end - 1);
    if (behind && name != std::string_view::npos && line[name] >= 'a' && line[name] <= 'z') {
      return *behind;
    }
    if (const auto value = number_before(line, end)) return *value;
  }
  for (const std::string_view unit : {"s/it", "s/step", "s/batch", "s/img", "s/sample"}) {
    const std::size_t at = line.find(unit);
    if (at == std::string_view::npos || at < 2) continue;
    const bool milliseconds = line[at - 1] == 'm';
    const std::size_t last = line.find_last_not_of(' ', milliseconds ? at - 2 : at - 1);
    const auto value = number_before(line, last + 1);
    if (value && *value > 0) return (milliseconds ? 1000 : 1) / *value;
  }
  return 0;
}

// The steps of a progress bar: " 12%|#2   | 120/1000 [02:31<18:50, ..." of tqdm and Lightning,
// "120/1000 ----- 2:11 250ms/step" of Keras; 0: none.
std::int64_t steps_of_bar(std::string_view line) {
  const std::size_t bar = line.rfind("| ");
  std::string_view rest = bar == std::string_view::npos ? line : line.substr(bar + 2);
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || !parse_integer(trim(rest.substr(0, slash)))) return 0;
  rest.remove_prefix(slash + 1);
  const std::size_t end = rest.find(' ');
  return end == std::string_view::npos ? 0 : parse_integer(rest.substr(0, end)).value_or(0);
}

// "acc: 0.91", "val_accuracy=0.91", "Accuracy report (3) 0.9120" -> 0.91; none: "accelerate".
std::optional<double> accuracy_of(std::string_view line) {
  if (const auto mean = number_after(line, "hmean: ")) return mean;  // PaddleOCR, of detection
  const std::size_t at = std::min(line.find("acc"), line.find("Acc"));
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at);
  rest.remove_prefix(std::min(rest.find_first_not_of("Acuracyreporti "), rest.size()));
  if (starts_with(rest, "(")) rest.remove_prefix(std::min(rest.find(')'), rest.size() - 1) + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(" :="), rest.size()));
  return number_after(rest, "");
}

template <typename Costs, typename Of>
double median_of(const Costs& costs, Of of) {
  std::vector<double> values;
  for (const auto& cost : costs) {
    if (of(cost) > 0) values.push_back(of(cost));
  }
  if (values.size() < kFewest) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

template <typename Costs>
double share_of(const Costs& costs) {
  double data = 0, step = 0;
  for (const auto& cost : costs) data += cost.data_seconds, step += cost.step_seconds;
  return step > 0 ? data / step : 0;
}

}  // namespace

void StepCostReader::take_line(std::string_view line) {
  // Guesses that keep a log of millions of steps cheap.
  constexpr std::int64_t kAll = 256, kEach = 7;  // of more lines a part is enough
  constexpr std::size_t kMostSeries = 16;
  if (++lines_ > kAll && lines_ % kEach != 0) return;
  for (const std::string_view key : {" lr: ", " lr=", " lr "}) {
    const auto rate = number_after(line, key);
    if (rate) (*rate > 0 ? lines_at_a_rate_ : lines_at_zero_) += 1;
  }
  if (const auto accuracy = accuracy_of(line)) {
    (*accuracy > 0 ? lines_of_some_ : lines_of_nothing_) += 1;
  }
  for (const std::string_view key : {"cer: ", "cer=", "cer ", "CER: ", "CER=", "CER "}) {
    const auto errors = number_after(line, key);  // of the characters, all
    if (errors) (*errors < 0.99 ? lines_of_some_ : lines_of_nothing_) += 1;
  }
  const std::int64_t steps = steps_of_bar(line);
  if (series_.size() >= kMostSeries && !series_.contains(steps)) return;
  Series& series = series_[steps];
  series.lines += 1;
  if (series.lines == 1) return;
  Cost cost;
  cost.rate = rate_of(line);
  for (const StepWords& words : kStepWords) {
    const auto data = number_after(line, words.data);
    if (!data) continue;
    const auto step = number_after(line, words.step);
    if (step) cost.data_seconds = *data, cost.step_seconds = *step;
    break;
  }
  for (const std::string_view key : {"loss: ", "loss=", "loss "}) {
    if (const auto loss = number_after(line, key)) cost.loss = *loss;
  }
  if (cost.rate <= 0 && cost.step_seconds <= 0 && cost.loss <= 0) return;
  if (series.first.size() < kKept) series.first.push_back(cost);
  if (series.last.size() < kKept) {
    series.last.push_back(cost);
  } else {
    series.last[series.oldest] = cost;
    series.oldest = (series.oldest + 1) % kKept;
  }
}

StepCosts StepCostReader::costs() const {
  constexpr int kManyLines = 20, kEvaluations = 10;  // a warm-up begins at 0; guesses
  StepCosts costs;
  costs.rate_is_zero = lines_at_zero_ >= kManyLines && lines_at_a_rate_ == 0;
  costs.reads_nothing = lines_of_nothing_ >= kEvaluations && lines_of_some_ == 0;
  const auto rate = [](const Cost& cost) { return cost.rate; };
  const auto loss = [](const Cost& cost) { return cost.loss; };
  const auto longest = std::ranges::max_element(
      series_, [](const auto& a, const auto& b) { return a.second.lines < b.second.lines; });
  if (longest == series_.end()) return costs;
  const Series& said = longest->second;
  costs.first_rate = median_of(said.first, rate);
  costs.last_rate = median_of(said.last, rate);
  costs.first_loss = median_of(said.first, loss);
  costs.last_loss = median_of(said.last, loss);
  costs.data_share = share_of(said.last);
  costs.first_data_share = share_of(said.first);
  return costs;
}

}  // namespace ocrtune
