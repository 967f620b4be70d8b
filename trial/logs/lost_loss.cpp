// Finds a training's loss in lines of any dialect, to see that it is still a number.
#include "trial/logs/lost_loss.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "trial/logs/log_text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxBytes = 1000;  // of a line that are looked at

bool says(const RE2& pattern, std::string_view text) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

}  // namespace

std::optional<bool> loss_is_number(std::string_view line) {
  // Between name and value: a quote, a colon or equals sign, "tensor(", "is".
  constexpr const char* kName = R"((?i)loss[a-z_]*['"]?(?:\s*[:=]|\s+is)?\s*(?:tensor\(|\()?['"]?)";
  static const RE2 none(std::string(kName) +
                        R"([-+]?(?:nan|inf|infinity)(?:\.0)?(?:[^a-z0-9_]|$))");
  static const RE2 number(std::string(kName) + R"([-+]?\.?[0-9])");
  line = line.substr(0, kMaxBytes);
  const bool named = line.find("oss") != line.npos || line.find("OSS") != line.npos;
  if (!named) return std::nullopt;
  if (says(none, line)) return false;
  if (says(number, line)) return true;
  return std::nullopt;
}

void LostLoss::read_line(const std::string& line) {
  const auto number = loss_is_number(line);
  if (!number) return;
  lost_in_a_row_ = *number ? 0 : lost_in_a_row_ + 1;
  // The first of the lines is kept: it stands nearest to the step where it went wrong.
  if (lost_in_a_row_ == 1) line_ = plain_line(line);
}

void LossGate::judge(Trial& trial, std::optional<bool> present) {
  if (!trial.ok() || trial.lost_loss.empty()) return;
  const std::string words = fmt::format("its loss is no number any more: '{}'", trial.lost_loss);
  // Where the present setting loses it as well, the loss is no matter of the settings.
  if (present.value_or(false)) present_lost_ = true;
  if (present_lost_ || !present) return trial.evidence.push_back(words);
  trial.outcome = Outcome::wrong_result;
  trial.cause = "loss";
  trial.reason = words;
}

}  // namespace ocrtune
