// A run's answer in the words that console and page share: badges, rates, gains, headroom.
#pragma once

#include <string>
#include <vector>

#include "reports/catalogue/phrases.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

enum class Tone { good, neutral, warning, bad };

const char* tone_class(Tone tone);  // in the style sheet: "good", "neutral", "warning", "bad"

struct Badge {
  std::string text;  // "SAFE", "TIE OF 3", "NOISY HOST", "EXTRAPOLATED", "NO ANSWER"
  Tone tone = Tone::neutral;
  std::string meaning;  // a sentence
};

std::vector<Badge> badges(const RunRecord& run);

std::size_t count_samples(const RunRecord& run);
double discarded_share(const RunRecord& run);  // of all samples, by other load
bool is_disturbed(const RunRecord& run);       // more of them than a quiet machine has

std::string rate_text(const Interval& rate);  // "212 (207..216)"; "unknown" when never measured
std::string gain_text(const Interval& gain);  // "1.34x (1.29x..1.40x)"
// On which GPUs the recommended setting ran: "2 processes on each of GPU-a, GPU-b"; empty: the
// CPUs, or nothing is recommended.
std::string gpus_text(const RunRecord& run);
std::vector<std::string> used_gpus(const RunRecord& run);  // their UUIDs

// Host memory, or that of the GPUs where the core computes on GPUs.
const Resource& main_resource(const RunRecord& run);
double free_share(const RunRecord& run);  // of its limit; negative when the limit is unknown

// "how often x why" of the trials that failed, most frequent first; excluded ones last.
struct FailureGroup {
  Outcome outcome = Outcome::crashed;
  std::string cause;
  std::vector<const Trial*> trials;  // in the order of the run
  double seconds = 0;                // time spent on them
};
std::vector<FailureGroup> failure_groups(const RunRecord& run);
std::vector<Knobs> failed_settings(const FailureGroup& group);  // each once
Bilingual failed_settings_text(const FailureGroup& group);      // a few of them, and how many more
bool is_excluded(Outcome outcome);  // not possible here, or not started: no failure

}  // namespace ocrtune
