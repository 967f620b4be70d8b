// Weighs every reason to believe in a cause against the others; the private half of diagnosis.h.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/cause.h"
#include "diagnosis/consequences.h"
#include "diagnosis/failure_evidence.h"
#include "diagnosis/log_scan.h"

namespace ocrtune {

// One reason to believe in one cause.
struct Clue {
  const CauseRow* cause = nullptr;
  Role role = Role::generic;
  double weight = 0;
  std::string_view signature;
  EvidenceLine line;
  std::optional<double> when;
  int file = -1;  // index of the log; -1: not from a log
  std::optional<int> rank{};
  std::string actor{};     // the process, where its lines name it without a rank
  bool explained = false;  // a stronger clue produces it
  bool dated = false;      // `when` is the line's own
  bool went_on = false;    // the program worked on after it
  bool stepped = false;    // and made a step at least
  double lasting = 0;      // the weight if what failed made later things fail
  std::string said{};      // the text of its line, and of the other end of a chain of messages

  std::string_view name() const { return cause->name; }
  bool is(int min_tier, double min_weight) const {
    return tier(role) >= min_tier && weight >= min_weight;
  }
  bool is_sigkill() const {
    return name() == "host_out_of_memory" && role != Role::proof && signature != "colab_oom";
  }

  // The line of an exception or panic itself, not a header or a summary around it.
  bool is_exception() const {
    return signature == "exception_line" || signature == "recursion" || signature == "rust_panic" ||
           signature == "cpp_terminate" || signature == "foreign_exception";
  }
  // A message in words of its own.
  bool speaks() const { return is_exception() || signature == "error_word"; }
};

// What a kernel log without an out-of-memory kill is worth.
enum class KernelLog {
  silent,         // none is given, or it tells of such a kill
  clean,          // without one, but its dates do not show that it covers the end
  spans_the_end,  // without one from before the run's last line to after it
};

// A rank that gave up waiting for the others.
struct Waiting {
  int file = -1;  // index of the log
  std::optional<int> rank;
  LogLine line;                          // where it gave up
  std::string operation;                 // "ALLREDUCE"; empty: unknown
  std::optional<std::int64_t> number;    // of the collective, in its group
  std::optional<std::int64_t> elements;  //
  std::optional<double> seconds;         // how long it had waited
};

// Each rank, or log, once.
std::vector<Waiting> waiting_ranks(const std::vector<LogScan>& logs);

class CauseRanker {
 public:
  CauseRanker(const std::vector<LogScan>& logs, const FailureEvidence& evidence)
      : logs_(logs), evidence_(evidence) {}

  // Once. Best first.
  std::vector<Cause> rank();

  bool went_well() const { return end_ == RunEnd::well; }
  bool any(std::string_view cause, int min_tier) const;
  const std::vector<Clue>& clues() const { return clues_; }
  // The clue that speaks loudest for a cause; null: nothing but an exit code or counters.
  const Clue* decisive(const CauseRow& cause) const;
  const std::optional<FirstFailure>& first_failed() const { return first_failed_; }

 private:
  // cause_ranker.cpp: what the logs say
  void hear_logs();
  void hear_log(int index);
  void hear_vanished_workers();
  void hear_terminations();
  void hear_last_notes();
  void hear_own_words();
  void hear_left_out_weights();
  void hear_printed_memory();
  void hear_full_memory();
  void doubt_remarks();
  void doubt_what_did_not_end_it();
  // run_times.cpp: whether it happened in the life of the run
  void place_in_time();
  KernelLog kernel_log_of_the_end() const;
  void hear_reboot();
  // printed_numbers.cpp: what the figures in lines say
  void read_gpu_memory();
  void hear_uneven_batches();
  // outside_evidence.cpp: exit code, counters, kernel
  void weigh_kernel_kill(const Finding& finding, Clue& clue) const;
  void weigh_listed_object(const Finding& finding, Clue& clue) const;
  void doubt_kills_by_others();
  void hear_exit_code();
  void hear_counters();
  bool name_the_limit();
  void count_one_death();
  void settle_sigkill();
  void settle_abort();
  // waiting_ranks.cpp: whom did the ranks wait for that gave up?
  void hear_waiting_ranks();
  void hear_versions();
  // followers.cpp: what follows from what
  void restore_lasting();
  void hear_launchers();
  void hear_pids();
  void explain_followers();
  void discount_followers();
  // cause_ranker.cpp
  void add(std::string_view cause, Role role, double weight, std::string_view signature,
           std::string text);
  Clue& add_seen(std::string_view cause, Role role, double weight, const Seen& one);
  const LogScan& log_of(int file) const { return logs_[static_cast<std::size_t>(file)]; }
  template <typename Is>
  bool any_clue(const Is& is) const {
    return std::ranges::any_of(clues_, is);
  }
  std::vector<Cause> sum_up() const;

  const std::vector<LogScan>& logs_;
  const FailureEvidence& evidence_;
  std::vector<Clue> clues_;
  std::optional<FirstFailure> first_failed_;  // as launchers say
  RunEnd end_ = RunEnd::unknown;
  bool sigkill_ = false;
  bool sigkill_proved_ = false;
};

// Of several ranks, the first cause first (story.cpp); empty where one line tells it all. Codes
// with arguments: the sentences are in reports/console/diagnosis_words.cpp.
std::vector<StoryEvent> tell_story(const std::vector<LogScan>& logs,
                                   const FailureEvidence& evidence, const CauseRanker& ranker,
                                   const std::vector<Cause>& causes);

}  // namespace ocrtune
