// Lines of one form, and what the numbers in them do from line to line: a counter of steps grows, a
// time is as long as the line took to come.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ocrtune {

// Counts that are multiples of a smaller batch are so by chance.
inline constexpr int kSureBatch = 8;

struct LineNumber {
  std::size_t begin = 0, end = 0;  // in the line
  double value = 0;
  bool whole = false;  // digits alone
};
std::vector<LineNumber> numbers_in(std::string_view line);
// 18 and 375 of "Epoch: [0] [7/18] ... 40/375": what its counters count to, epochs left out.
std::vector<double> totals_in(const std::string& line);

struct TimedNumbers {
  double seconds = 0;  // when the line came
  std::string line;
  std::vector<LineNumber> numbers;
};

// A number of a form, and the reader that reads it.
struct FoundCounter {
  enum class Counts { steps, samples, either } counts = Counts::steps;
  std::string pattern;  // of log reader regex
  std::string line;
  double least = 0;  // that it grew by, from one line to the next
};
struct FoundTime {
  std::string reader;  // as make_log_reader() takes it
  // One that counts the lines instead, a sample each, where the time leaves out what is between
  // them; empty: it leaves out little.
  std::string counter;
  std::string number;  // as it stands in the line: "3.580 s"
  std::string line;
  bool of_a_step = false;     // else of a sample
  std::optional<double> off;  // logarithm of its ratio to the clock; empty: the clock disagrees
  std::size_t lines = 0;      // that it was found in
  double seconds = 0;
};

class LineForms {
 public:
  void add(const std::string& line, double now_seconds);
  // A counter that grew over `lines` of one form. None where it may count samples or steps and the
  // batch makes a difference; `batch` 1: it is not known, and makes none.
  // `open`: one of those instead, which another batch would settle.
  std::optional<FoundCounter> counter(std::size_t lines, int batch, bool open = false) const;
  // A bar, "640/60000", whose every count is a multiple of the batch: it counts samples.
  std::optional<FoundCounter> bar_of_samples(int batch) const;
  // A time in the commonest form; one that the clock agrees with comes first, the nearest of all.
  // None that says more than the clock, or that is as long as several steps of `batch`.
  std::optional<FoundTime> time(std::size_t lines, int batch) const;
  std::size_t longest() const;  // lines of the commonest form with a number

 private:
  struct ReadLines {
    std::size_t lines = 0;
    std::set<std::string> forms;
    std::optional<double> off;  // as of a time
  };
  ReadLines read_by(const std::string& metric) const;
  FoundTime time_at(const std::string& form, std::size_t index, std::size_t lines, int batch,
                    std::map<std::string, ReadLines>& known) const;

  std::deque<std::pair<std::string, TimedNumbers>> recent_;  // the last ones, with their forms
  std::map<std::string, std::vector<TimedNumbers>> forms_;
  std::vector<TimedNumbers> counts_;  // lines that hold "a/b", of any form
};

// "12.5" of "12.5 s" as seconds, where a unit of time follows or a word for a time stands before.
std::optional<double> seconds_of(const TimedNumbers& line, std::size_t index);

}  // namespace ocrtune
