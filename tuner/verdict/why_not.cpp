#include "tuner/verdict/why_not.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "tuner/verdict/explain.h"
#include "tuner/verdict/possible.h"

namespace ocrtune {
namespace {

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes)));
}

void compare(WhyNot& why, const TuneResult& result) {
  const Interval& chosen = result.recommendation.samples_per_second;
  if (!result.found || chosen.median <= 0 || why.samples_per_second.median <= 0) return;
  const Interval& rate = why.samples_per_second;
  why.ratio = {rate.median / chosen.median, rate.low / chosen.high, rate.high / chosen.low};
}

std::string ratio_words(const WhyNot& why) {
  if (why.ratio.median <= 0) return format_count(why.samples_per_second.median) + " samples/s";
  const std::string words = compared_words(why.ratio.median);
  return fmt::format("{} samples/s, {} {} the recommended setting",
                     format_count(why.samples_per_second.median), words,
                     words == "as fast" ? "as" : "than");
}

void from_setting(WhyNot& why, const Setting& setting, const TuneResult& result) {
  const SettingSummary& summary = setting.summary;
  why.peak_bytes = why.peak_high_bytes = static_cast<double>(summary.peak_bytes);
  if (!setting.works()) {
    why.kind = WhyNotKind::failed;
    why.answer = fmt::format("It was run and ended with {}.", failed_words(summary));
    return;
  }
  why.kind = WhyNotKind::measured;
  why.samples_per_second = summary.samples_per_second;
  compare(why, result);
  const auto same = [&](const SettingSummary& tie) { return tie.knobs == why.knobs; };
  if (std::any_of(result.ties.begin(), result.ties.end(), same)) {
    SettingSummary chosen;
    chosen.knobs = result.recommendation.knobs;
    chosen.peak_bytes = result.recommendation.peak_bytes;
    const std::string more = needs_more(summary, chosen);
    why.answer = more.empty()
                     ? "It ties with the recommended setting: either may be launched."
                     : fmt::format("It ties with the recommended setting and needs {}.", more);
    return;
  }
  const double limit = static_cast<double>(result.recommendation.limit_bytes);
  why.answer = fmt::format("Measured {} time{}: {}.", summary.trials,
                           summary.trials == 1 ? "" : "s", ratio_words(why));
  if (limit > 0 && why.peak_bytes > 0) {
    why.answer +=
        fmt::format(" Its peak was {} of {}.", bytes_text(why.peak_bytes), bytes_text(limit));
  }
  if (why.ratio.low < 1 && why.ratio.high > 1) {
    why.to_find_out = "measure both again, interleaved: their intervals overlap";
  }
}

// The bound that certificate and next experiment speak of: over the recommended rate as stated.
void compare_prediction(WhyNot& why, const TuneResult& result) {
  const double chosen = result.recommendation.samples_per_second.median;
  if (!result.found || chosen <= 0 || why.samples_per_second.median <= 0) return;
  const Interval& rate = why.samples_per_second;
  why.ratio = {rate.median / chosen, rate.low / chosen, rate.high / chosen};
}

void from_prediction(WhyNot& why, const Prediction& prediction, const TuneResult& result) {
  why.samples_per_second = prediction.samples_per_second;
  why.peak_bytes = prediction.memory.bytes;
  why.peak_high_bytes = prediction.memory.high_bytes;
  compare_prediction(why, result);
  if (!prediction.admitted) {
    why.kind = WhyNotKind::refused;
    why.answer = fmt::format("It was not launched: {}.", prediction.reason);
    why.to_find_out = "give it more memory, or a smaller margin";
    return;
  }
  if (why.samples_per_second.median <= 0) {
    why.answer = "It was not run, and too little is known to predict it.";
    why.to_find_out = "allow a longer budget";
    return;
  }
  why.kind = WhyNotKind::predicted;
  why.answer = fmt::format("It was not run; predicted {} ({} to {}).", ratio_words(why),
                           format_count(why.samples_per_second.low),
                           format_count(why.samples_per_second.high));
  if (why.ratio.high > 1) {
    why.answer += fmt::format(" It could be up to {} % better, at 95 %.",
                              percent_of_gain(why.ratio.high - 1));
  }
  why.to_find_out = "one trial of it";
}

}  // namespace

WhyNot why_not(const Knobs& knobs, const Space& space, const Search& search,
               const std::vector<Trial>& trials, const TuneResult& result) {
  WhyNot why;
  why.knobs = knobs;
  const std::vector<Setting> settings = settings_of(trials, result.noise, search.objective());
  const Setting* setting = find_setting(settings, knobs);
  if (result.found && knobs == result.recommendation.knobs) {
    why.kind = WhyNotKind::chosen;
    why.samples_per_second = result.recommendation.samples_per_second;
    why.peak_bytes = why.peak_high_bytes = static_cast<double>(result.recommendation.peak_bytes);
    why.ratio = {1, 1, 1};
    why.answer = "It is the recommended setting.";
  } else if (setting != nullptr) {
    from_setting(why, *setting, result);
  } else if (space.find(knobs) < 0) {
    why.kind = WhyNotKind::outside;
    why.answer = "It is not in the space that this run searched.";
    why.to_find_out = "name its values with the knobs' flags and tune again";
  } else {
    from_prediction(why, search.predict(knobs), result);
  }
  return why;
}

}  // namespace ocrtune
