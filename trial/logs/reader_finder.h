// Finds out how a command tells its speed, from the first lines that it prints.
//
// A rate with its unit and the lines of known programs are taken as they stand. A counter of steps
// is timed by the clock. A time is taken where the clock agrees that each line took as long. What
// is left is offered, and not taken: the user decides.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trial/logs/file_lines.h"
#include "trial/logs/line_numbers.h"
#include "trial/logs/log_reader.h"
#include "trial/logs/unread_lines.h"

namespace ocrtune {

struct ReaderChoice {
  enum class Reads {
    samples_per_second,
    steps_per_second,
    seconds_per_step,
    seconds_per_sample,
    steps,    // a counter, timed as its lines come
    samples,  // likewise
    counts,   // likewise, of steps or samples: the command is not told its batch
    calls,    // of ocrtune.step(), which says its samples
    own,      // the lines of a program that the reader is made for
    runs,     // nothing of it: the command ends by itself, and each run is timed
  };
  std::string log_reader;  // as make_log_reader() takes it
  Reads reads = Reads::own;
  std::optional<bool> per_rank;  // whose numbers they are; unset: the reader's habit
  std::string line;              // in which it was found
};

class ReaderFinder {
 public:
  explicit ReaderFinder(const LogContext& context);

  void add(const std::string& line, double now_seconds);
  void add_event(const Event& event);  // a program that calls ocrtune.step() has chosen by itself
  // There is a choice, or the lines so far show that waiting brings none.
  bool is_settled() const { return choice_ || hopeless_; }
  const std::optional<ReaderChoice>& choice() const { return choice_; }
  // What was heard before the command ended: fewer lines are enough.
  std::optional<ReaderChoice> choice_at_end() const;
  // The lines that name a file each, of a command that does not train.
  std::optional<ReaderChoice> choice_of_files() const;
  // "Gradient Accumulation steps = 8": of how many batches the lines say that a step is; else 1.
  int accumulated() const { return accumulated_; }
  // A counter that may be of steps or of samples, and how it grew: with another batch it shows
  // which.
  std::optional<FoundCounter> open_counter() const;
  // What the counter that another finder left open with `batch` counts, by how it grows here.
  std::optional<ReaderChoice> settled(const FoundCounter& open, int batch) const;
  // What would read one of the lines, if it is what the user means; `line` is the number alone.
  std::optional<ReaderChoice> offer() const;
  const UnreadLines& unread() const { return unread_; }
  // Processes that were heard, where the line of `choice` says which one printed it; 0: it does
  // not.
  int processes_heard(const ReaderChoice& choice) const;

 private:
  struct Candidate {  // a row of log_reader_table() that needs no argument
    const char* name = "";
    std::unique_ptr<LogReader> reader;
    double first_seconds = 0, last_seconds = 0;
    std::int64_t known = 0;
    std::int64_t aside = 0;  // of a validation or ever the same: they count where no others are
    struct Ending {
      std::int64_t lines = 0;     // not at once
      double latest_seconds = 0;  // of those
      std::string first;
      bool varied = false;  // they are not all the same
    };
    std::map<std::string, Ending> endings;
    ReaderChoice::Reads reads = ReaderChoice::Reads::own;
    std::string line;
    double samples = 0, seconds = 0;  // by the numbers that are printed
  };
  void hear(Candidate& candidate, const std::string& line, double now_seconds);
  // How many lines have ended like this one. A text that a program reads may speak of rates, too:
  // in other words each time, in the same ones for ever, or several at once.
  static std::int64_t alike(Candidate& candidate, const std::string& line, double now_seconds);
  void hear_scope(const std::string& line, double now_seconds);
  double steps_per_second() const;  // by the clock and the steps that lines count; 0: not known
  bool some_row_listens(double now_seconds) const;
  std::optional<ReaderChoice> row_choice(std::int64_t lines, bool at_end) const;
  ReaderChoice choice_of(const Candidate& candidate) const;
  std::optional<bool> scope_of(const Candidate& candidate) const;

  LogContext context_;
  std::vector<Candidate> rows_;
  LineForms forms_;
  FileLines files_;
  UnreadLines unread_;
  double first_seconds_ = -1, last_seconds_ = -1;
  std::optional<ReaderChoice> choice_;
  bool hopeless_ = false;
  int accumulated_ = 1;
  std::int64_t lines_of_start_ = 0;  // before the program may be said to print no speed
  // Of lines with a rate: the steps that they count, and the ranks that print them.
  double first_step_ = -1, last_step_ = -1, step_begin_ = 0, step_end_ = 0;
  std::set<int> speakers_;
  std::map<int, int> processes_;  // lines of each that is named
};

// "read 'img/s: 412' as samples/s of the job"
std::string choice_words(const ReaderChoice& choice, bool several_ranks);
// The options that make the same choice: "--log-reader torch --metric-of job", "--metric s:s/image"
std::string choice_options(const ReaderChoice& choice);

// A reader that only listens, and is hopeless once its finder has settled.
std::unique_ptr<LogReader> make_listener(std::shared_ptr<ReaderFinder> finder);

}  // namespace ocrtune
