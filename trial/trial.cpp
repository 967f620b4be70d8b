// The names stand in stores and in JSON: an outcome may be added, but none is renamed.
#include "trial/trial.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ocrtune {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"ok",          "out_of_memory", "hung",
                                                    "timed_out",   "crashed",       "wrong_result",
                                                    "unsupported", "skipped"};

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  return kNames.at(static_cast<std::size_t>(outcome));
}

Result<Outcome> parse_outcome(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    return Error{ErrorKind::invalid, fmt::format("'{}' is not an outcome", name)};
  }
  return static_cast<Outcome>(found - kNames.begin());
}

bool Trial::noisy() const {
  const auto clean = std::count_if(samples.begin(), samples.end(),
                                   [](const Sample& sample) { return sample.clean(); });
  // A trial with few samples, all of them clean, is short and not noisy.
  const bool all = clean > 0 && static_cast<std::size_t>(clean) == samples.size();
  return ok() && !all && clean < kEnoughClean;
}

}  // namespace ocrtune
