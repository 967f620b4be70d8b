// Five ways are tried on each line, from the surest: ocrtune.step(), a row of the table, a counter,
// a time that the clock confirms, lines that name files. A surer one that speaks already is waited
// for. What only one line supports is offered in offer(), because a wrong unit would make every
// rate wrong by a factor.
#include "trial/logs/reader_finder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_text.h"
#include "trial/logs/rate_check.h"

namespace ocrtune {
namespace {

using Reads = ReaderChoice::Reads;

constexpr std::int64_t kLines = 3, kLinesAtEnd = 2;  // with a number, that settle a choice
constexpr double kStepPatienceSeconds = 4;   // with a count of steps: a rate of samples may follow
constexpr double kSilentRowSeconds = 15;     // after which a row that read a line is over
constexpr std::size_t kFormLines = 4;        // of one form, that show what its numbers do
constexpr double kMinListenSeconds = 2;      // of listening to a counter
constexpr double kScopePatienceSeconds = 3;  // with a rate: the clock may say whose it is
constexpr std::int64_t kHopelessLines = 40;  // of any form, behind what a launcher prints
constexpr double kHopelessSeconds = 8, kTrainingSeconds = 5;
constexpr double kNear = 1.4;  // factor within which two rates are the same

// In the order in which they are preferred: a program's own words, then samples, then steps.
constexpr std::array<const char*, 6> kRows = {"paddleocr",  "paddleocr-infer", "burn",
                                              "json-lines", "torch",           "progress"};

// A bar that gives its own speed; one without may count anything.
bool is_timed_bar(std::string_view line) {
  const std::string low = lower(line);
  for (const char* mark : {"it/s", "s/it", "ms/step", "s/step", "us/step"}) {
    if (low.find(mark) != low.npos) return true;
  }
  const std::size_t bracket = low.find('[');
  if (bracket != low.npos && low.find('<', bracket) != low.npos) return true;
  const std::size_t drawn = low.find("\xe2\x94\x81");  // rich's bar, with the time behind it
  return drawn != low.npos && low.find(" 0:", drawn) != low.npos;
}

// What the number in a line of the row is; none: the row should not be trusted with it.
std::optional<Reads> reads_of(std::string_view row, const std::string& line) {
  if (row == "progress") return is_timed_bar(line) ? std::optional(Reads::steps) : std::nullopt;
  if (row != "torch" && row != "json-lines") return Reads::own;
  const auto reading = row == "torch" ? rate_dialect()(line) : json_dialect("")(line);
  if (!reading) return std::nullopt;
  if (reading->samples_per_second || reading->samples) return Reads::samples_per_second;
  return reading->printed_seconds ? Reads::seconds_per_step : Reads::steps_per_second;
}

// Row "progress" counts a bar's steps: it tells bars apart, and reads no mean since a start.
bool is_bar_of_steps(Reads reads, const std::string& line) {
  const bool of_steps = reads == Reads::steps_per_second || reads == Reads::seconds_per_step;
  return of_steps && is_timed_bar(line) && progress_dialect()(line);
}

// What a validation prints among the first steps is not the speed of the training.
bool tells_of_validation(std::string_view line) {
  const std::string low = lower(line);
  for (const char* mark : {"eval_", "evaluat", "validat", " metric, "}) {
    if (low.find(mark) != low.npos) return true;
  }
  return false;
}

bool near(double a, double b) { return a < kNear * b && b < kNear * a; }

// 8 of "Gradient Accumulation steps = 8" and "gradient_accumulation_steps: 8"; else 0.
int batches_of_a_step(std::string_view line) {
  const std::size_t name = lower(line).find("accumulation");
  const std::size_t mark = name == line.npos ? name : line.find_first_of("=:", name);
  const auto number = mark == line.npos ? std::nullopt : number_at(line, mark + 1);
  constexpr double kMost = 4096;  // a guess
  return number && number->value >= 1 && number->value <= kMost ? static_cast<int>(number->value)
                                                                : 0;
}

ReaderChoice counted(const FoundCounter& found) {
  using Counts = FoundCounter::Counts;
  const Reads reads = found.counts == Counts::samples ? Reads::samples
                      : found.counts == Counts::steps ? Reads::steps
                                                      : Reads::counts;
  return {"regex:" + found.pattern, reads, {}, found.line};
}

ReaderChoice timed(const FoundTime& found) {
  if (!found.counter.empty()) {  // each file counts once, whichever process names it
    return {found.counter, Reads::samples, false, found.line};
  }
  return {found.reader,
          found.of_a_step ? Reads::seconds_per_step : Reads::seconds_per_sample,
          {},
          found.line};
}

}  // namespace

ReaderFinder::ReaderFinder(const LogContext& context) : context_(context), unread_(context.batch) {
  LogContext printed = context;
  // Whose numbers they are is found out by scope_of().
  printed.per_rank = false;  // the numbers as they stand
  for (const char* name : kRows) {
    auto reader = make_log_reader(name, printed);
    if (!reader) continue;
    rows_.emplace_back();
    rows_.back().name = name;
    rows_.back().reader = *std::move(reader);
  }
}

void ReaderFinder::hear(Candidate& candidate, const std::string& line, double now_seconds) {
  const std::int64_t before = candidate.reader->known_lines();
  std::vector<Event> events;
  candidate.reader->read_line(line, now_seconds, events);
  if (candidate.reader->known_lines() == before) return;
  const auto reads = reads_of(candidate.name, line);
  // The reader knows the line, but the row is not sure what its number is.
  if (!reads) return;
  const bool rate = std::string_view(candidate.name) == "torch";
  // Row "progress" reads it better.
  if (rate && is_bar_of_steps(*reads, line)) return;
  const bool of_samples = *reads == Reads::samples_per_second;
  if (rate && candidate.known > 0 && candidate.reads == Reads::samples_per_second && !of_samples) {
    return;  // of the same steps, beside their samples
  }
  // A line that comes again unchanged is a text that is read, not a speed.
  const bool aside =
      *reads != Reads::own && (tells_of_validation(line) || (rate && line == candidate.line));
  if (!aside || candidate.known == 0) {
    candidate.reads = *reads;
    candidate.line = line;
  }
  if (aside) {
    candidate.aside += 1;
    return;
  }
  if (candidate.known == 0) candidate.first_seconds = now_seconds;
  candidate.known =
      // For rates alone: lines of one ending must come several times, at different moments and with
      // different numbers.
      rate ? std::max(candidate.known, alike(candidate, line, now_seconds)) : candidate.known + 1;
  candidate.last_seconds = now_seconds;
  for (const Event& event : events) {
    const auto* step = std::get_if<StepEvent>(&event);
    if (step == nullptr) continue;
    candidate.samples += static_cast<double>(step->samples);
    candidate.seconds += step->seconds;
  }
  if (rate || of_samples) hear_scope(line, now_seconds);
}

std::int64_t ReaderFinder::alike(Candidate& candidate, const std::string& line,
                                 double now_seconds) {
  auto& ending = candidate.endings[line.substr(line.find_last_of("0123456789") + 1)];
  if (ending.lines == 0) ending.first = line;
  ending.varied = ending.varied || line != ending.first;
  if (ending.lines == 0 || now_seconds - ending.latest_seconds > kAtOnceSeconds) {
    ++ending.lines;
    ending.latest_seconds = now_seconds;
  }
  return ending.varied ? ending.lines : 1;
}

void ReaderFinder::hear_scope(const std::string& line, double now_seconds) {
  if (const auto process = process_named(line, context_.nproc)) speakers_.insert(*process);
  const auto step = step_counter_in(line);
  if (!step) return;
  // A counter that falls is a new epoch: the clock of the steps begins anew.
  if (first_step_ < 0 || *step < last_step_) {
    first_step_ = *step;
    step_begin_ = now_seconds;
  }
  last_step_ = *step;
  step_end_ = now_seconds;
}

double ReaderFinder::steps_per_second() const {
  const double seconds = step_end_ - step_begin_, steps = last_step_ - first_step_;
  return seconds > kMinListenSeconds && steps > 0 ? steps / seconds : 0;
}

// Whose rate it is that the lines give: the clock, the ranks that print it, or its own words.
std::optional<bool> ReaderFinder::scope_of(const Candidate& candidate) const {
  if (candidate.reads != Reads::samples_per_second) return std::nullopt;
  if (context_.nproc < 2) return std::nullopt;
  const double of_a_rank = context_.batch * steps_per_second();
  if (context_.batch > 1 && of_a_rank > 0 && candidate.seconds > 0) {
    // The clock comes first: printed samples per second against counted steps times the batch.
    const double said = candidate.samples / candidate.seconds;
    // Where neither fits, the clock says nothing.
    const bool rank = near(said, of_a_rank), job = near(said, of_a_rank * context_.nproc);
    if (rank != job) return rank;
  }
  // Several ranks print a rate: each prints its own.
  if (speakers_.size() > 1) return true;
  const std::string low = lower(candidate.line);
  for (const char* mark : {"/gpu", "per gpu", "/rank", "per rank", "/device", "/card", "/worker"}) {
    if (low.find(mark) != low.npos) return true;
  }
  for (const char* mark : {"total", "global", "aggregate", "all ranks", "all gpus"}) {
    // The word belongs to a unit that follows within 24 characters (a guess): "total throughput:
    // 412 img/s".
    const std::size_t at = low.find(mark);
    if (at != low.npos && low.find('/', at) - at < 24) return false;
  }
  return std::nullopt;
}

ReaderChoice ReaderFinder::choice_of(const Candidate& candidate) const {
  ReaderChoice choice{candidate.name, candidate.reads, scope_of(candidate), candidate.line};
  const bool of_steps =
      candidate.reads == Reads::steps_per_second || candidate.reads == Reads::seconds_per_step;
  if (std::string_view(candidate.name) == "torch" && of_steps) {
    choice.log_reader = "torch:steps";
    // A mean since the start, or a time of a part of the step: the lines' own counter is right.
    const double counted_rate = context_.batch * steps_per_second();  // as the row reads it
    const double said = candidate.seconds > 0 ? candidate.samples / candidate.seconds : 0;
    if (counted_rate > 0 && said > 0 && !near(said, counted_rate)) {
      if (const auto counter = forms_.counter(kFormLines - 1, context_.batch)) {
        return counted(*counter);
      }
    }
  }
  // A bar may count samples in steps of a batch.
  if (std::string_view(candidate.name) == "progress" && context_.batch >= kSureBatch) {
    if (const auto counter = forms_.bar_of_samples(context_.batch)) return counted(*counter);
  }
  return choice;
}

std::optional<ReaderChoice> ReaderFinder::row_choice(std::int64_t lines, bool at_end) const {
  for (const Candidate& candidate : rows_) {
    // At the end what was put aside counts: there is nothing better to wait for.
    if (candidate.known + (at_end ? candidate.aside : 0) < lines) continue;
    const bool sure = candidate.reads == Reads::own || candidate.reads == Reads::samples_per_second;
    // Several ranks and a rate whose scope is open: the clock needs some seconds to tell.
    const bool whose = context_.nproc > 1 && context_.batch > 1 &&
                       candidate.reads == Reads::samples_per_second && !scope_of(candidate);
    const double patience = whose ? kScopePatienceSeconds : sure ? 0 : kStepPatienceSeconds;
    if (at_end || last_seconds_ - candidate.first_seconds >= patience) return choice_of(candidate);
    return std::nullopt;  // a better one may be on its way
  }
  return std::nullopt;
}

bool ReaderFinder::some_row_listens(double now_seconds) const {
  return std::any_of(rows_.begin(), rows_.end(), [&](const Candidate& candidate) {
    return candidate.known > 0 && now_seconds - candidate.last_seconds < kSilentRowSeconds;
  });
}

void ReaderFinder::add(const std::string& line, double now_seconds) {
  if (is_settled()) return;
  const std::string text = plain_line(line);
  if (trim(text).empty()) return;
  if (!is_text(line)) return unread_.add(line, now_seconds);  // any bytes hold a rate somewhere
  if (first_seconds_ < 0) first_seconds_ = now_seconds;
  last_seconds_ = now_seconds;
  if (const auto process = process_named(text, context_.nproc)) ++processes_[*process];
  for (Candidate& row : rows_) hear(row, text, now_seconds);
  if (const int batches = batches_of_a_step(text)) accumulated_ = batches;
  forms_.add(text, now_seconds);
  files_.add(text, now_seconds);
  unread_.add(text, now_seconds);
  choice_ = row_choice(kLines, false);
  const double listened = now_seconds - first_seconds_;
  // Lines of the first seconds are a launcher's, and do not count towards giving up.
  if (listened < kHopelessSeconds) lines_of_start_ = unread_.lines();
  if (choice_ || some_row_listens(now_seconds) || listened < kMinListenSeconds) return;
  if (const auto counter = forms_.counter(kFormLines, context_.batch)) {
    choice_ = counted(*counter);
    return;
  }
  const auto time = forms_.time(kFormLines, context_.batch);
  // A time of one image is a rate only where a step is one image.
  if (time && time->off && (time->of_a_step || context_.batch <= 1)) {
    choice_ = timed(*time);
    return;
  }
  if (listened >= kTrainingSeconds) choice_ = choice_of_files();
  if (choice_) return;
  // One form came eight times without a number that counts, or many lines of any form came.
  hopeless_ = (listened >= kTrainingSeconds && forms_.longest() >= 2 * kFormLines) ||
              unread_.lines() - lines_of_start_ >= kHopelessLines;
}

int ReaderFinder::processes_heard(const ReaderChoice& choice) const {
  if (!process_named(choice.line, context_.nproc)) return 0;
  // A number that each line has once is that of a page, not of a process.
  const bool recur = std::any_of(processes_.begin(), processes_.end(),
                                 [](const auto& one) { return one.second > 1; });
  return recur ? static_cast<int>(processes_.size()) : 0;  // else numbers of things
}

void ReaderFinder::add_event(const Event& event) {
  const bool calls =
      std::holds_alternative<HelloEvent>(event) || std::holds_alternative<StepEvent>(event);
  if (calls && !is_settled()) choice_ = ReaderChoice{"steps", Reads::calls, {}, ""};
}

std::optional<ReaderChoice> ReaderFinder::choice_at_end() const {
  // A command that ended will print no third line.
  return choice_ ? choice_ : row_choice(kLinesAtEnd, true);
}

std::optional<ReaderChoice> ReaderFinder::choice_of_files() const {
  const auto found = unread_.tell_of_training() ? std::nullopt : files_.found(kFormLines);
  if (!found) return std::nullopt;
  return ReaderChoice{found->pattern, Reads::samples, false, found->line};  // of all processes
}

std::optional<FoundCounter> ReaderFinder::open_counter() const {
  return forms_.counter(kFormLines, context_.batch, true);
}

std::optional<ReaderChoice> ReaderFinder::settled(const FoundCounter& open, int batch) const {
  auto found = forms_.counter(kFormLines, context_.batch, true);
  if (!found) found = forms_.counter(kFormLines, context_.batch);
  const auto words = [](const FoundCounter& counter) {
    return counter.pattern.substr(0, counter.pattern.find("(?<"));
  };
  if (!found || words(*found) != words(open)) return std::nullopt;
  const bool steps = found->least == open.least;
  const bool samples = found->least * batch == open.least * context_.batch;
  if (steps == samples) return std::nullopt;
  ReaderChoice choice{
      "regex:" + open.pattern, steps ? Reads::steps : Reads::samples, {}, open.line};
  if (samples) replace_all(choice.log_reader, "(?<step>", "(?<sample>");
  return choice;
}

std::optional<ReaderChoice> ReaderFinder::offer() const {
  const auto time = forms_.time(1, context_.batch);
  if (!time) return std::nullopt;
  ReaderChoice choice = timed(*time);
  choice.line = time->number;
  return choice;
}

namespace {

constexpr std::size_t kQuoted = 110;  // bytes of a line

const char* reads_words(Reads reads) {
  switch (reads) {
    case Reads::samples_per_second:
      return "samples/s";
    case Reads::steps_per_second:
      return "steps/s";
    case Reads::seconds_per_step:
      return "the time of a step";
    case Reads::seconds_per_sample:
      return "the time of one image";
    case Reads::steps:
      return "a count of steps, timed by the clock";
    case Reads::samples:
      return "a count of samples, timed by the clock";
    case Reads::counts:
      return "a count of steps or samples, timed by the clock";
    case Reads::calls:
    case Reads::own:
    case Reads::runs:
      break;
  }
  return "its speed";
}

class Listener : public LogReader {
 public:
  explicit Listener(std::shared_ptr<ReaderFinder> finder) : finder_(std::move(finder)) {}
  void read_line(const std::string& line, double now_seconds,
                 std::vector<Event>& /*events*/) override {
    finder_->add(line, now_seconds);
  }
  void read_event(const Event& event, double /*now_seconds*/,
                  std::vector<Event>& /*events*/) override {
    finder_->add_event(event);
  }
  std::string name() const override { return "listener"; }
  std::int64_t known_lines() const override { return 0; }
  std::string why_unread(const std::string& followed_file) const override {
    return finder_->unread().reason("torch", followed_file, "");
  }
  bool is_hopeless() const override { return finder_->is_settled(); }

 private:
  std::shared_ptr<ReaderFinder> finder_;
};

}  // namespace

std::string choice_words(const ReaderChoice& choice, bool several_ranks) {
  if (choice.reads == Reads::runs) return "timed whole runs: the command ends by itself";
  if (choice.reads == Reads::calls) return "counted the samples of its calls of ocrtune.step()";
  const bool rate = choice.reads == Reads::samples_per_second;
  const bool of_steps =
      choice.reads == Reads::steps_per_second || choice.reads == Reads::seconds_per_step;
  const bool scoped = rate || (of_steps && several_ranks);
  const char* whose = !scoped                                           ? ""
                      : several_ranks && choice.per_rank.value_or(true) ? " of each rank"
                                                                        : " of the job";
  return fmt::format("read '{}' as {}{}", quoted_line(choice.line, kQuoted),
                     reads_words(choice.reads), whose);
}

std::string choice_options(const ReaderChoice& choice) {
  const std::string metric = "metric:";
  std::string options = starts_with(choice.log_reader, metric)
                            ? "--metric " + shell_quote(choice.log_reader.substr(metric.size()))
                            : "--log-reader " + shell_quote(choice.log_reader);
  if (choice.per_rank) options += *choice.per_rank ? " --metric-of rank" : " --metric-of job";
  return options;
}

std::unique_ptr<LogReader> make_listener(std::shared_ptr<ReaderFinder> finder) {
  return std::make_unique<Listener>(std::move(finder));
}

}  // namespace ocrtune
