// Compares each answer of a trial with the reference of its input, while a load runs.
//
// An answer whose bytes, or whose strings that count, are those of a known answer costs about a
// microsecond; another one is parsed. Answers are counted by the number in flight, in powers of
// two, and a number is called wrong when its answers differ from the setting's own with fewer in
// flight more often than these vary, by the test of same_judgement.h. Not for several threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trial/answers/answer_reference.h"
#include "trial/answers/same_judgement.h"
#include "trial/same_result.h"

namespace ocrtune {

struct AnswerWatchOptions {
  std::vector<std::string> inputs;               // names, by kind
  std::vector<std::string> same;                 // paths that count; empty: every text
  std::vector<std::vector<std::string>> truths;  // by kind; empty: none
  double max_change = 0;                         // share of the characters that a load may change
};

class AnswerWatch {
 public:
  explicit AnswerWatch(AnswerWatchOptions options);

  // Answers are kept from here on, for the reference or for this setting's own texts.
  void begin_asking();
  // Learns the reference from what was kept.
  void learn();
  // Takes the reference of the present setting.
  void use(AnswerReference reference);
  bool has_reference() const { return has_reference_; }
  const AnswerReference& reference() const { return reference_; }

  // One good answer, with so many requests in flight when it came, itself included. Gives what is
  // wrong with it, in words: at this number in flight answers go wrong; empty: nothing.
  std::string check(int kind, std::string_view body, int in_flight);

  // Requests in flight from which answers go wrong, by all that was answered; 0: at no number.
  int wrong_in_flight();
  // Some number in flight has differing answers, which the fewer answers with less in flight
  // cannot yet tell from the program's own variation.
  bool in_doubt() const;

  // Of the answers with up to so many in flight, and of loads at which answers are right.
  SameResult result(int in_flight = 1 << 30) const;

 private:
  enum class State { off, asking, counting };
  static constexpr std::size_t kLevels = 12;  // 1, 2, up to 4, up to 8, ... in flight
  using Counts = std::array<std::int64_t, kLevels>;

  // A string of a body that counts.
  struct Place {
    std::size_t index = 0;  // among all its strings
    std::size_t begin = 0, length = 0;
  };
  // A text that an input was answered with.
  struct Seen {
    std::vector<std::string> texts;
    std::string body;  // a first one with it
    std::vector<Place> places;
    std::size_t string_count = 0;  // of `body`
    std::uint64_t hash = 0;
    std::int64_t of_other = -1;  // the input to which it belongs; -1: to this one or to none
    Counts answers{};
  };
  struct Input {
    std::vector<Seen> seen;  // 0: the reference
    std::int64_t own = -1;   // index of this setting's own text, the first seen; -1: unknown
    std::size_t own_level = kLevels;  // where it was first seen; kLevels: it is the reference
    std::size_t last = 0;             // found last
    Counts unlisted{};                // answers with further texts
  };

  static bool matches(const Seen& seen, std::string_view body);
  Seen make_seen(std::string_view body, std::vector<std::string> texts) const;
  struct Found {
    std::size_t index = 0;  // kMaxSeen: there are too many others already
    bool swapped = false;   // the text of another input
  };
  Found find_seen(std::size_t kind, std::string_view body);
  void own(std::size_t kind, const Seen& text);
  std::int64_t owner_of(std::size_t kind, std::uint64_t hash) const;
  static std::size_t level_at(int in_flight);
  std::size_t level_of(int in_flight);
  std::int64_t right_answers(const Counts& counts, std::size_t levels) const;
  AnswerStratum stratum_of(const Input& input, std::size_t level) const;
  double chance_of(std::size_t level) const;
  double change_at(std::size_t level) const;
  void judge(std::size_t level);
  std::string fault_at(std::size_t level, bool swapped) const;
  InputDifference difference_of(std::size_t kind, std::size_t levels) const;

  AnswerWatchOptions options_;
  State state_ = State::off;
  std::vector<std::vector<std::string>> asked_;  // by kind
  AnswerReference reference_;
  bool has_reference_ = false;
  bool learnt_here_ = false;
  std::vector<Input> inputs_;
  std::unordered_map<std::uint64_t, std::int64_t> owners_;  // of texts; -2: of several
  // What is known of a number in flight.
  struct Level {
    std::int64_t answers = 0, differing = 0, swapped = 0;
    std::int64_t next_look = 1;  // at so many differing answers
    int in_flight = 0;           // the most that was seen
    bool wrong = false;
  };
  std::array<Level, kLevels> levels_{};
  int crowd_ = 0;  // most in flight of late: an answer may have shared the server with these
  int since_crowd_ = 0, since_most_ = 0;  // answers since then, and the most in flight among them
};

}  // namespace ocrtune
