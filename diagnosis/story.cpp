// A failure of several ranks in the order in which it went: who, what, when, what followed. The
// teller takes the clue that speaks loudest for the first cause and asks what the other ranks
// did by then. Each event is made by one tell_ function; order by clocks comes last, and only
// between events with clocks of their own.
#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/files.h"
#include "base/text.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/consequences.h"
#include "diagnosis/context/line_origin.h"
#include "diagnosis/who.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxStory = 6;

// A line apart from the name before it: of a process, of a host, of a row of a table.
struct Written {
  std::string by;  // empty: nobody is named
  std::string_view text;
};

Written written(std::string_view line) {
  static const re2::RE2 kRow(R"(([a-z][a-z0-9-]{0,23}\d) +\S.*)");
  const LineOrigin origin = origin_of(line);
  const std::string_view by = origin.actor.empty() ? origin.host : std::string_view(origin.actor);
  if (origin.rank || !by.empty()) return {std::string(by), origin.text};
  std::string name;
  const bool row = re2::RE2::FullMatch(line, kRow, &name);
  if (!row || starts_with(name, "rank") || starts_with(name, "python")) return {"", line};
  return {name, line.substr(name.size())};
}

// Whose name stands before the line, else the file that a heading named.
std::string writer_of(std::string_view line, const std::string& actor) {
  const std::string by = written(line).by;
  return by.empty() ? actor : by;
}

// An event of several lines is told at the time of the first of them.
void date_event(StoryEvent& event, std::optional<double> when, bool exact) {
  if (event.when && !(when && *when < *event.when)) return;
  event.when = when;
  event.exact = exact;
}

class Teller {
 public:
  Teller(const std::vector<LogScan>& logs, const CauseRanker& ranker)
      : logs_(logs), ranker_(ranker), waiting_(waiting_ranks(logs)) {}

  std::vector<StoryEvent> tell(const FailureEvidence& evidence, const Cause& first);

 private:
  void tell_first(const Cause& first, const Clue& clue);
  void tell_first_dead();
  void tell_silent();
  void tell_waiting();
  void tell_witnesses(StoryCode code, std::string_view cause);
  void tell_stopped();
  bool is_first(const Clue& clue) const {
    if (clue.file != file_ || (clue.rank && rank_ && clue.rank != rank_)) return false;
    return (clue.rank && rank_) || writer_of(clue.line.text, clue.actor) == name_;
  }
  std::optional<int> dead_rank() const {
    const auto& dead = ranker_.first_failed();
    return dead && dead->name.empty() ? std::optional<int>(dead->rank) : std::nullopt;
  }
  bool is_verdict() const { return listed(" time_limit preempted_or_evicted ", cause_); }
  bool waits(std::optional<int> rank) const {
    return std::ranges::any_of(waiting_,
                               [&](const Waiting& one) { return rank && one.rank == rank; });
  }
  StoryEvent& add(StoryCode code, std::optional<double> when, bool exact) {
    story_.push_back({});
    story_.back().code = code;
    story_.back().when = when;
    story_.back().exact = exact;
    return story_.back();
  }
  void keep(StoryEvent event) {
    std::ranges::sort(event.ranks);
    if (event.ranks.empty() && event.place.empty() && event.cause.empty()) return;
    story_.push_back(std::move(event));
  }
  void join(StoryEvent& event, int file, std::optional<int> rank, std::string name) const;

  const std::vector<LogScan>& logs_;
  const CauseRanker& ranker_;
  std::vector<Waiting> waiting_;
  std::vector<StoryEvent> story_;
  int file_ = -1;  // where the first cause was seen
  std::optional<int> rank_;
  std::string name_;  // of the host or pod before its line
  std::string_view cause_;
};

// Adds a rank, a host or a file to those that an event speaks of. Files where each host counts
// anew, in folders of its own.
void Teller::join(StoryEvent& event, int file, std::optional<int> rank, std::string name) const {
  const LogScan& log = logs_[static_cast<std::size_t>(file)];
  if (name.empty() || logs_.size() > 1) name = log.described.empty() ? log.file : log.described;
  const std::string folder = parent_path(log.file);
  const bool twice = rank && std::ranges::any_of(logs_, [&](const LogScan& other) {
                       return other.rank == rank && parent_path(other.file) != folder;
                     });
  if (rank && !twice) {
    if (std::ranges::find(event.ranks, *rank) == event.ranks.end()) {
      event.ranks.push_back(*rank);
    }
  } else if ((", " + event.place + ",").find(", " + name + ",") == std::string::npos &&
             event.place.size() < 200) {
    event.place += (event.place.empty() ? "" : ", ") + name;
  }
}

void Teller::tell_first(const Cause& first, const Clue& clue) {
  const bool waiting = std::ranges::any_of(waiting_, [&](const Waiting& one) {
    return one.file == clue.file && one.line.number == clue.line.line;
  });
  if (waiting) return;  // told below, with the others that waited
  file_ = clue.file;
  if (!is_verdict() || tier(clue.role) < 4) rank_ = clue.rank;  // else of the whole job
  name_ = writer_of(clue.line.text, clue.actor);
  const std::string owner = owner_of_address(logs_, clue.line.text);
  // The line names no rank: the launcher's word stands in, unless that rank only waited.
  if (!rank_ && clue.role != Role::proof && !waits(dead_rank())) rank_ = dead_rank();
  if (ends_all(cause_)) return;
  StoryCode code = tier(clue.role) == 4 ? StoryCode::reported : StoryCode::failed;
  if (cause_ == "rank_busy_alone") code = StoryCode::busy;
  if (cause_ == "storage_failure" && !clue.rank) code = StoryCode::reported;
  if (starts_with(clue.signature, "kernel_")) code = StoryCode::reported;
  StoryEvent& event = add(code, clue.when, clue.dated);
  event.cause = first.row->name;
  event.raised_at = clue.line.raised.place;
  if (owner.empty()) {
    join(event, clue.file, rank_, name_);
  } else {
    event.place = owner;
  }
  if (event.ranks.empty() && !clue.actor.empty()) event.place = clue.actor;
  event.text = ocrtune::join(words(written(clue.line.text).text), " ");
}

// A kernel or a scheduler says what happened; a launcher or a rank itself, to which rank.
void Teller::tell_first_dead() {
  const auto& dead = ranker_.first_failed();
  if (rank_ || is_verdict() || file_ < 0) return;
  const Clue* own = nullptr;
  for (const Clue& clue : ranker_.clues()) {
    const bool own_word = (!is_witness(clue.name()) &&
                           !listed(" nccl_ib_completion nccl_connect ", clue.signature)) ||
                          clue.name() == "loader_timeout";
    const bool met = clue.rank && !waits(clue.rank) && own_word &&
                     (clue.name() == cause_ ? tier(clue.role) == 3 : produces(cause_, clue.name()));
    const bool says = clue.signature != "traceback";
    if (met && says && (own == nullptr || tier(clue.role) > tier(own->role))) own = &clue;
  }
  // What follows from the report itself comes before a rank that the launcher saw end of it.
  const bool own_first = own != nullptr && tier(own->role) == 3 &&
                         (own->name() == cause_ || in_table(cause_, own->name()));
  const bool none = !dead || waits(dead_rank()) || own_first;
  if (none && own != nullptr && !story_.empty() && story_[0].code == StoryCode::reported) {
    StoryEvent& event = add(StoryCode::failed, own->when, own->dated);
    event.ranks = {*own->rank};
    event.cause = own->name();
    event.text = own->line.text;
    event.raised_at = own->line.raised.place;
  }
  if (none || !dead->exit_code) return;
  StoryEvent& event = add(StoryCode::died, dead->when, dead->when.has_value());
  event.place = dead->name;
  if (dead->name.empty()) event.ranks = {dead->rank};
  event.text = decode_exit(*dead->exit_code).text;
}

// Who did not give up, when others did, was the one they waited for; and of what a kernel reports
// the only rank that says nothing died.
void Teller::tell_silent() {
  const bool reported = story_.size() == 1 && story_[0].code == StoryCode::reported && !rank_;
  if (reported ? logs_.size() < 3 : waiting_.empty() || file_ >= 0) return;
  const LogScan* silent = nullptr;
  int count = 0;
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    const LogScan& log = logs_[i];
    const auto here = [&](const auto& one) { return one.file == static_cast<int>(i); };
    const bool speaks = std::ranges::any_of(waiting_, here) ||
                        (reported && std::ranges::any_of(ranker_.clues(), here));
    if (speaks || !log.rank || log.last_line.text.empty() || log.finished) continue;
    count += 1;
    const bool sooner = silent != nullptr && log.last_line.when && silent->last_line.when &&
                        *log.last_line.when < *silent->last_line.when;
    if (silent == nullptr || sooner) silent = &log;
  }
  if (silent == nullptr || (reported && count != 1)) return;
  StoryEvent& event = add(StoryCode::silent, silent->last_line.when, silent->last_line.dated);
  event.ranks = {*silent->rank};
  event.text = silent->last_line.text;
}

void Teller::tell_waiting() {
  StoryEvent event;
  event.code = StoryCode::waited;
  for (const Waiting& one : waiting_) {
    if (one.file == file_ && rank_ && one.rank == rank_) continue;
    join(event, one.file, one.rank, writer_of(one.line.text, ""));
    date_event(event, one.line.when, one.line.dated);
    if (one.seconds) event.seconds = std::max(event.seconds.value_or(0), *one.seconds);
    std::string operation = one.operation;
    if (one.number) operation += fmt::format(" {}", *one.number);
    if (cause_ == "rank_mismatch" && one.elements) operation += fmt::format(" [{}]", *one.elements);
    if (event.text.empty()) {
      event.text = operation;
    } else if (cause_ == "rank_mismatch" && event.text.find(operation) == std::string::npos) {
      event.text += " / " + operation;
    }
  }
  keep(std::move(event));
}

void Teller::tell_witnesses(StoryCode code, std::string_view cause) {
  if (cause == cause_) return;
  StoryEvent event;
  event.code = code;
  for (const Clue& clue : ranker_.clues()) {
    // NCCL's own error says so of a peer that is gone, too.
    const bool told =
        clue.name() == cause ||
        (cause == "peer_lost" && clue.line.text.find("remote process exited") != std::string::npos);
    if (!told || clue.file < 0 || is_first(clue)) continue;
    join(event, clue.file, clue.rank, writer_of(clue.line.text, clue.actor));
    date_event(event, clue.when, clue.dated);
  }
  keep(std::move(event));
}

// SIGTERM: by whom, to whom.
void Teller::tell_stopped() {
  if (cause_ == "terminated_from_outside") return;
  StoryEvent event;
  event.code = StoryCode::stopped;
  constexpr std::string_view kOwn =
      " paddle_termination_signal paddle_sigterm_from sigterm_elastic ";
  static const re2::RE2 kSender(R"(from (PID \d+))");
  for (const Seen& one : seen(logs_, kOwn)) {
    const LogLine& line = one.finding->first;
    join(event, one.file, one.finding->rank, writer_of(line.text, one.finding->actor));
  }
  if (!seen(logs_, " closing_signal paddle_terminate_all ").empty()) event.cause = kLauncher;
  for (const Seen& one : seen(logs_, std::string(kOwn) + "closing_signal paddle_terminate_all ")) {
    const LogLine& line = one.finding->first;
    if (line.dated && !event.when) date_event(event, line.when, true);
    re2::RE2::PartialMatch(line.text, kSender, &event.text);
  }
  keep(std::move(event));
}

std::vector<StoryEvent> Teller::tell(const FailureEvidence& evidence, const Cause& first) {
  cause_ = first.row->name;
  if (const Clue* clue = ranker_.decisive(*first.row)) tell_first(first, *clue);
  tell_first_dead();
  tell_silent();
  tell_waiting();
  tell_witnesses(StoryCode::lost_peer, "peer_lost");
  tell_witnesses(StoryCode::never_met, "rendezvous_failed");
  tell_stopped();
  for (std::size_t i = 2; i < story_.size(); ++i) {  // the first cause stays first
    for (std::size_t at = i; at > 1; --at) {
      const StoryEvent &before = story_[at - 1], &after = story_[at];
      if (!before.exact || !after.exact || *before.when <= *after.when) break;
      std::swap(story_[at - 1], story_[at]);
    }
  }
  if (evidence.exit_code.value_or(0) != 0) {
    add(StoryCode::ended, std::nullopt, false).text = decode_exit(*evidence.exit_code).text;
  }
  if (story_.size() > kMaxStory) story_.resize(kMaxStory);
  // Of several logs, where a launcher saw who failed first, and where processes share a log, which
  // one it was is a story of its own.
  const auto tells = [&] {
    const bool several = logs_.size() > 1 || ranker_.first_failed();
    const bool which = several && story_[0].code == StoryCode::failed;
    const bool process = file_ >= 0 && !name_.empty() && story_[0].code == StoryCode::failed;
    return story_[0].ranks.size() >= (which ? 1 : 2) || process;
  };
  if (story_.size() == 1 && !tells()) story_.clear();
  return std::move(story_);
}

}  // namespace

const Clue* CauseRanker::decisive(const CauseRow& cause) const {
  const Clue* best = nullptr;
  for (const Clue& clue : clues_) {
    if (clue.cause != &cause || clue.file < 0) continue;
    const auto strength = [&](const Clue& one) {  // of ranks that say the same, the launcher's
      const bool of_dead = first_failed_ && one.rank == first_failed_->rank && tier(one.role) < 4 &&
                           cause.name != std::string_view("rank_mismatch");
      return std::tuple(tier(one.role), of_dead, one.weight);
    };
    if (best == nullptr || strength(clue) > strength(*best)) best = &clue;
  }
  // A restart may meet it again, and louder; and what a kernel dates stands above lines whose time
  // is at best that of an earlier one.
  constexpr double kSoonAfter = 60;  // seconds
  const Clue* loudest = best;
  if (best == nullptr) return nullptr;
  for (const Clue& clue : clues_) {
    const bool seen_outside = starts_with(clue.signature, "kernel_") && !best->dated;
    const bool sooner = clue.cause == &cause && clue.file >= 0 && clue.is(3, 0.25) && clue.dated &&
                        (seen_outside || (clue.weight >= 0.4 && best->when &&
                                          *clue.when + kSoonAfter < *best->when));
    if (sooner && loudest->file != clue.file) best = &clue;
  }
  return best;
}

std::vector<StoryEvent> tell_story(const std::vector<LogScan>& logs,
                                   const FailureEvidence& evidence, const CauseRanker& ranker,
                                   const std::vector<Cause>& causes) {
  if (causes.empty() || causes[0].row->kind != CauseKind::failure) return {};
  return Teller(logs, ranker).tell(evidence, causes[0]);
}

}  // namespace ocrtune
