// DialectReader works out what a line means: which process speaks, whether the number is a rate or
// a total (rate_check.h), which bar counts (counter_series.h). Then come the time since the line
// before and the warm-up. A number that proves to be something else voids what was measured, by a
// ReadyEvent with `anew`.
#include "trial/logs/log_reader.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/ipc/copy_mark.h"
#include "trial/logs/counter_series.h"
#include "trial/logs/event_reader.h"
#include "trial/logs/line_numbers.h"
#include "trial/logs/log_dialects.h"
#include "trial/logs/log_text.h"
#include "trial/logs/rate_check.h"
#include "trial/logs/step_processes.h"
#include "trial/logs/unread_lines.h"

namespace ocrtune {
namespace {

constexpr double kWarmUpSeconds = 0.5;
// What follows the line of the first step is warm-up, unless it takes this long: a checkpoint or an
// evaluation at step 0 is one of a kind. Guess.
constexpr double kLongFirstSeconds = 20;
constexpr double kJoinSeconds = 5;  // in which each process of a job has printed a second line
// A counter that grows by more than this between two lines was not counting.
constexpr double kMaxStepsOfALine = 1e6, kMaxSamplesOfALine = 1e9;
constexpr double kJump = 1000;  // times its last growth
constexpr const char* kStepsAlone = "steps";

std::string reader_that_knows(const UnreadLines& unread, const LogContext& context);

bool counts_none_before(const LogReading& reading, const std::string& line) {
  if (reading.step_count || reading.sample_count) {
    // A step of 0 means that no step lies before this line.
    return reading.step_count.value_or(0) == 0 && reading.sample_count.value_or(0) == 0;
  }
  const auto step = step_counter_in(line);
  return (step ? step : bracket_counter_in(line)) == 0;
}

class DialectReader : public LogReader {
 public:
  DialectReader(std::string name, LogDialect dialect, const LogContext& context, bool per_rank)
      : name_(std::move(name)),
        fresh_(dialect),
        dialect_(std::move(dialect)),
        nproc_(context.nproc),
        ranks_(per_rank ? context.nproc : 1),
        // A step of the job is a step of every rank, no matter which rank prints it; one that is
        // said to be the job's has the batch that the command was given.
        batch_of_a_step_(static_cast<double>(context.batch) *
                         (context.per_rank.value_or(true) ? context.nproc : 1)),
        check_(static_cast<double>(context.batch) * context.nproc),
        context_(context),
        unread_(context.batch) {}

  void read_line(const std::string& line, double now_seconds, std::vector<Event>& events) override {
    const std::string text = plain_line(line);
    auto reading = dialect_(text);
    if (!reading) {
      // Once a line was read there is nothing to explain.
      if (known_lines_ == 0) unread_.add(text, now_seconds);
      return;
    }
    ++known_lines_;
    if (reading->partial) return;
    // Where every rank prints, the first one that was heard speaks for all; of numbers that are
    // each process's own, all are added up.
    const bool own = context_.per_rank.value_or(false);
    auto rank = own ? process_named(text, nproc_) : rank_named(text, nproc_);
    // rank-exec's own mark is surer than a word in the text.
    if (const auto copy = marked_copy(line); copy && own) rank = copy;
    if (rank && !speaker_) speaker_ = rank;
    if (rank && rank != speaker_) {
      if (own) hear_other(*rank, line, now_seconds, events);
      return;
    }
    if (!reading->data_share) reading->data_share = data_share_in(text);
    // Puts the reading right before its counter is looked at.
    check_.look(text, now_seconds, ranks_, *reading);
    if (check_.take_found_job() && !context_.per_rank) {
      check_.take_note();
      ranks_ = 1;
      events.emplace_back(NoteEvent{
          0, "steps and clock show that the rate is the job's: it counts once (--metric-of job)"});
      return begin_anew(*reading, now_seconds, events);
    }
    if (std::string note = check_.take_note(); !note.empty()) {
      events.emplace_back(NoteEvent{0, std::move(note)});
    }
    if (reading->partial) return;
    if (check_.take_found_total()) {
      events.emplace_back(NoteEvent{0,
                                    "the number that is read only rises: it is a total, and its "
                                    "growth from line to line is the speed"});
      return begin_anew(*reading, now_seconds, events);
    }
    if (!reading->counter.empty()) {
      const auto place = series_.hear(reading->counter, reading->counter_of_things,
                                      reading->counter_ended, now_seconds);
      if (place == CounterSeries::Place::other) return;
      // A step of this counter is a page or an image, so it is a count of samples.
      const bool holds = series_.holds_others() && reading->step_count;
      if (holds) reading->sample_count = std::exchange(reading->step_count, std::nullopt);
      const bool found = holds && !std::exchange(holds_, true);
      if (found || place == CounterSeries::Place::anew) {
        return begin_anew(*reading, now_seconds, events);
      }
    }
    if (!begun()) {
      at_first_step_ = counts_none_before(*reading, text);
      const std::vector<double> totals = totals_in(text);
      if (totals.size() == 1) counts_to_ = totals[0];  // of several nothing says which it is
    }
    advance(*reading, now_seconds, events);
  }

  std::int64_t known_lines() const override { return known_lines_; }

  std::string name() const override { return name_; }

  std::string why_unread(const std::string& followed_file) const override {
    return unread_.reason(name_, followed_file, reader_that_knows(unread_, context_));
  }

  bool is_hopeless() const override { return known_lines_ == 0 && unread_.training_goes_on(); }

  double counted_share() const override { return check_.counted_share(); }
  double counts_to() const override { return counts_to_; }

 protected:
  // The first reading is where the watch begins.
  void advance(const LogReading& reading, double now_seconds, std::vector<Event>& events) {
    if (first_ < 0) {
      first_ = now_seconds;
      remember(reading, now_seconds);
      events.emplace_back(ReadyEvent());
      return;
    }
    if (stands_still(reading)) return;  // drawn again: its time is part of the steps that follow
    const auto step = step_of(reading, now_seconds);
    const bool watched = !stepped_;  // the whole of this step
    const LogReading before = last_reading_;
    remember(reading, now_seconds);
    if (!step) return;
    stepped_ = true;
    if (context_.from_start) {
      if (watched) add_first_steps(before, reading, *step, events);
    } else if (!warm_ && !warm_up_is_over(watched, now_seconds, events)) {
      return;
    }
    if (others_.empty()) {
      events.emplace_back(*step);
    } else {
      add_up(*step, *speaker_, now_seconds, events);
    }
  }

  void count_line() { ++known_lines_; }
  bool begun() const { return first_ >= 0; }

  StepProcesses processes;  // where several speak for themselves

 private:
  // A line of another process than the first: read as if it were alone. What that one printed
  // before counted for all of them.
  void hear_other(int process, const std::string& line, double now_seconds,
                  std::vector<Event>& events) {
    if (!begun()) return;
    if (others_.empty()) {
      ranks_ = 1;
      batch_of_a_step_ = static_cast<double>(context_.batch);
      check_ = RateCheck(batch_of_a_step_);
      watch_anew(now_seconds, events);
    }
    auto& other = others_[process];
    if (!other) {
      // A reader of its own for each process: counters, warm-up and pauses differ.
      LogContext alone = context_;
      alone.nproc = 1;
      other = std::make_unique<DialectReader>(name_, fresh_, alone, false);
      joined_seconds_ = now_seconds;
    }
    std::vector<Event> said;
    other->read_line(line, now_seconds, said);
    for (const Event& event : said) {
      const auto* step = std::get_if<StepEvent>(&event);
      if (step != nullptr) add_up(*step, process, now_seconds, events);
    }
  }

  void add_up(StepEvent step, int process, double now_seconds, std::vector<Event>& events) {
    step.rank = process;
    reported_.insert(process);
    const auto together = processes.add(step, now_seconds);
    // Until every process has told a rate, the sum would be too small.
    const bool all =
        reported_.size() > others_.size() || now_seconds - joined_seconds_ > kJoinSeconds;
    if (!all || !together || !(*together->samples > 0)) return;
    step.rank = 0;
    // Samples are whole; the seconds are stretched with the rounding so that the rate stays.
    step.samples = std::max<std::int64_t>(1, std::llround(*together->samples));
    step.seconds = *together->seconds * static_cast<double>(step.samples) / *together->samples;
    events.emplace_back(step);
  }

  void begin_anew(const LogReading& reading, double now_seconds, std::vector<Event>& events) {
    remember(reading, now_seconds);
    watch_anew(now_seconds, events);
  }

  void watch_anew(double now_seconds, std::vector<Event>& events) {
    first_ = now_seconds;
    stepped_ = warm_ = at_first_step_ = false;
    events.emplace_back(ReadyEvent{0, 0, true});
  }

  // Those before the first line, at the pace of the `second` one's: its counter began at 0, unless
  // it stood far above what it grows by.
  static void add_first_steps(const LogReading& first, const LogReading& second,
                              const StepEvent& step, std::vector<Event>& events) {
    const auto& from = first.step_count ? first.step_count : first.sample_count;
    const auto& to = first.step_count ? second.step_count : second.sample_count;
    // More than two lines' worth before the first line is a run that was resumed.
    if (!from || !to || !(*from > 0) || *from > 2 * (*to - *from)) return;
    const double share = *from / (*to - *from);
    StepEvent earlier = step;
    earlier.steps =
        std::max<std::int64_t>(1, std::llround(share * static_cast<double>(step.steps)));
    earlier.samples = std::llround(share * static_cast<double>(step.samples));
    earlier.seconds *= share;
    earlier.loss = first.loss.value_or(0);
    if (earlier.samples > 0) events.emplace_back(earlier);
  }

  void remember(const LogReading& reading, double now_seconds) {
    last_ = now_seconds;
    last_reading_ = reading;
  }

  // A long step behind the first line was watched from its begin, and counts unless it is the
  // program's first; short ones are dropped until half a second has passed. Then the watch begins
  // anew.
  bool warm_up_is_over(bool watched, double now_seconds, std::vector<Event>& events) {
    const double lasted = now_seconds - first_;
    warm_ = lasted >= kWarmUpSeconds;
    const bool counts = watched && (!at_first_step_ || lasted >= kLongFirstSeconds);
    if (warm_ && !counts) events.emplace_back(ReadyEvent());
    return warm_ && counts;
  }

  // Samples of all ranks and seconds since the last line, or nothing where the line cannot say.
  std::optional<StepEvent> step_of(const LogReading& reading, double now_seconds) {
    const double between = now_seconds - last_;
    double samples = 0;
    double seconds = reading.seconds.value_or(between);
    double steps = reading.steps.value_or(1);
    // The order of trust: samples with their seconds, rates, counters by the clock.
    if (reading.samples && reading.seconds) {
      samples = *reading.samples * ranks_;
    } else if (reading.samples_per_second) {
      samples = *reading.samples_per_second * seconds * ranks_;
    } else if (reading.steps_per_second) {
      steps = *reading.steps_per_second * seconds;
      samples = steps * batch_of_a_step_;
    } else if (reading.step_count && same_counter(reading)) {
      steps = counted(last_reading_.step_count, *reading.step_count, kMaxStepsOfALine);
      samples = steps * batch_of_a_step_;
    } else if (reading.sample_count && same_counter(reading)) {
      samples =
          counted(last_reading_.sample_count, *reading.sample_count, kMaxSamplesOfALine) * ranks_;
    }
    if (!(samples > 0) || !(seconds > 0) || !(steps > 0)) return std::nullopt;
    StepEvent event;
    event.steps = std::max<std::int64_t>(1, std::llround(steps));
    event.samples = std::max<std::int64_t>(1, std::llround(samples));
    event.seconds = seconds * static_cast<double>(event.samples) / samples;  // the rate stays
    const double step_seconds = event.seconds / static_cast<double>(event.steps);
    event.times.data_seconds = reading.data_share.value_or(0) * step_seconds;
    event.times.compute_seconds = step_seconds - event.times.data_seconds;
    event.loss = reading.loss.value_or(0);
    return event;
  }

  // How far a counter went since the last line; 0 when it jumped: a time stamp or another counter
  // was taken for it, or the run was resumed elsewhere, and it starts anew from there.
  double counted(const std::optional<double>& before, double now, double most) {
    double grown = now - before.value_or(now);
    // A bar that begins again after its end: what was between is part of the steps that follow.
    if (grown < 0 && last_reading_.counter_ended) grown = now;
    const bool jumped = grown > most || (usual_growth_ > 0 && grown > kJump * usual_growth_);
    if (grown > 0 && !jumped) usual_growth_ = grown;
    return jumped ? 0 : grown;
  }

  bool stands_still(const LogReading& reading) const {
    const auto& now = reading.step_count ? reading.step_count : reading.sample_count;
    const auto& before = reading.step_count ? last_reading_.step_count : last_reading_.sample_count;
    if (!now || !before || !same_counter(reading)) return false;
    return *now == *before || (*now == 0 && last_reading_.counter_ended);
  }

  bool same_counter(const LogReading& reading) const {
    return reading.counter == last_reading_.counter;
  }

  std::string name_;
  LogDialect fresh_;  // of which no line was asked
  LogDialect dialect_;
  int nproc_;
  std::optional<int> speaker_;
  std::map<int, std::unique_ptr<DialectReader>> others_;  // beside the speaker, by their numbers
  std::set<int> reported_;                                // of them all: a rate is known
  double joined_seconds_ = 0;                             // when the last one was heard first
  double ranks_;
  double batch_of_a_step_;
  double first_ = -1, last_ = -1;
  double usual_growth_ = 0;  // of the counter, between two lines
  bool stepped_ = false, warm_ = false;
  bool at_first_step_ = false;  // the first line came with it
  std::int64_t known_lines_ = 0;
  LogReading last_reading_;
  CounterSeries series_;
  double counts_to_ = 0;
  bool holds_ = false;  // what is counted holds other counters
  RateCheck check_;
  LogContext context_;
  UnreadLines unread_;
};

// Of the readers that need no argument and read a program's own words, the one that knows the most
// of the lines, and of how many; two are the least.
std::string reader_that_knows(const UnreadLines& unread, const LogContext& context) {
  std::string best;
  std::int64_t most = 1;
  for (const LogReaderRow& row : log_reader_table()) {
    const std::string_view name = row.name;
    if (name == "metric" || name == "regex" || name == "runs" || name == "ocrtune") continue;
    // A bar without its own clock may count anything.
    if (name == "progress" && !unread.counting_pattern().empty()) continue;
    const auto reader = make_log_reader(row.name, context);
    if (!reader) continue;
    std::vector<Event> events;
    for (const auto& [seconds, line] : unread.latest()) {
      // The lines are read with the times at which they came.
      (*reader)->read_line(line, seconds, events);
    }
    if ((*reader)->known_lines() <= most) continue;
    most = (*reader)->known_lines();
    best =
        fmt::format("--log-reader {} reads {} of the last {}", name, most, unread.latest().size());
  }
  return best;
}

class EventLines : public LogReader {
 public:
  explicit EventLines(int ranks) : reader_(ranks) {}
  void read_line(const std::string& line, double /*now_seconds*/,
                 std::vector<Event>& events) override {
    reader_.read_line(line, events);
  }
  std::string name() const override { return "ocrtune"; }
  std::int64_t known_lines() const override { return reader_.known_lines(); }
  std::string why_unread(const std::string& /*followed_file*/) const override {
    return "no event of a worker was printed";
  }
  bool is_hopeless() const override { return false; }

 private:
  EventReader reader_;
};

// What `ocrtune.step()` of the Python package reports; a program may print the same events.
class StepReader : public DialectReader {
 public:
  explicit StepReader(const LogContext& context)
      : DialectReader(
            "steps", [](const std::string&) { return std::nullopt; }, context, false) {}

  void read_line(const std::string& line, double now_seconds, std::vector<Event>& events) override {
    // A program may print the events where it cannot open the path.
    const auto event = line.starts_with('{') ? parse_event(line) : Error{};
    if (event) read_event(*event, now_seconds, events);
  }

  void read_event(const Event& event, double now_seconds, std::vector<Event>& events) override {
    const auto* step = std::get_if<StepEvent>(&event);
    if (step == nullptr && !std::holds_alternative<HelloEvent>(event)) return;
    count_line();
    const auto reading = step != nullptr ? processes.add(*step, now_seconds) : std::nullopt;
    if (reading) {
      advance(*reading, now_seconds, events);
    } else if (!begun()) {  // a process says hello with its first call, where its clock begins
      advance(LogReading(), now_seconds, events);
    }
  }

  std::string why_unread(const std::string& /*followed_file*/) const override {
    return "nothing called ocrtune.step(samples): the loop of the command calls it, in a Python "
           "where ocrtune is installed";
  }
  bool is_hopeless() const override { return false; }
};

// "NAME" or "NAME:UNIT"; a colon inside of a name is not a unit's.
Result<LogDialect> named_dialect(const std::string& kind, const std::string& argument) {
  const std::size_t colon = argument.rfind(':');
  const std::string name = argument.substr(0, colon);
  std::optional<MetricUnit> unit;
  if (colon != std::string::npos) {
    auto parsed = metric_unit(argument.substr(colon + 1));
    if (!parsed) return Error{ErrorKind::usage, "metric " + name + ": " + parsed.error().what};
    unit = *parsed;
  }
  if (kind == "json-lines") return json_dialect(name, unit);
  if (name.empty()) {
    return Error{ErrorKind::usage, "say which number is the speed: --metric NAME[:UNIT]"};
  }
  if (name.find('\\') != std::string::npos || name.find("[0-9") != std::string::npos) {
    return Error{ErrorKind::usage,
                 "--metric '" + name +
                     "' looks like a pattern; it takes the word before the number. Patterns: "
                     "--log-reader 'regex:(?<samples_per_second>[0-9.]+) pages/s'"};
  }
  return metric_dialect(name, unit);
}

Result<LogDialect> runs_of(const std::string& samples) {
  if (samples.empty()) return runs_dialect(1);
  const auto count = parse_integer(samples);
  if (count && *count > 0 && *count <= std::numeric_limits<int>::max()) {
    return runs_dialect(static_cast<double>(*count));
  }
  return Error{ErrorKind::usage, "log reader runs:" + samples +
                                     ": it takes the samples of one run, such as runs:200 for a "
                                     "command that reads 200 images"};
}

std::string table_names() {
  std::vector<std::string> names;
  for (const LogReaderRow& row : log_reader_table()) names.emplace_back(row.name);
  return join(names, ", ");
}

}  // namespace

const std::vector<LogReaderRow>& log_reader_table() {
  static const std::vector<LogReaderRow> kTable = {
      {"paddleocr", "PaddleOCR 2.0 to 3.x; ips of rank 0",
       "[2024/09/13 15:19:38] ppocr INFO: epoch: [84/100], global_step: 1637830, lr: 0.000005, "
       "loss: 1.214002, avg_reader_cost: 0.00010 s, avg_batch_cost: 0.11974 s, avg_samples: 34.0, "
       "ips: 283.94729 samples/s, eta: 11:15:11",
       true},
      {"paddleocr-infer",
       "predict_system.py, paddleocr 3.x: a line for each image, timed by arrival",
       "[2024/09/13 15:19:38] ppocr DEBUG: 3  Predict time of imgs/12.jpg: 0.122s", false},
      {"torch",
       "torch[:steps]: a rate with its unit: samples/s, images/sec, img/s: ..., or steps/s, it/s "
       "alone; of one rank",
       "epoch 1 step 40 loss 2.31 412.7 samples/s", true},
      {"progress", "tqdm bars (Lightning, Hugging Face): steps counted, timed by arrival",
       "Epoch 0:  50%|#####     | 50/100 [00:05<00:05,  9.87it/s, v_num=0]", true},
      {"burn", "burn-train without its terminal interface: items counted, timed by arrival",
       "TrainingProgress { progress: Progress { items_processed: 320, items_total: 60000 }, epoch: "
       "1, epoch_total: 10, iteration: 5 }",
       true},
      {"json-lines", "objects with samples_per_second, or samples and seconds; of the whole job",
       "{\"step\": 40, \"samples_per_second\": 412.7}", false},
      {"metric",
       "--metric NAME[:UNIT]: the number that follows NAME, or stands before a NAME like pages/s; "
       "of one rank",
       "metric:throughput   reads   loss 2.31 throughput: 412.7 img/s", true},
      {"ocrtune", "events of ocrtune-mpi-worker, all ranks in one output",
       R"({"check_error": 0.0001, "event": "ready", "rank": 0})", false},
      {"steps", "ocrtune.step(samples) of the Python package, in each process; nothing is printed",
       R"({"event": "step", "rank": 71, "steps": 4, "samples": 128, "seconds": 0.31})", false},
      {"runs",
       "runs[:SAMPLES]: a command that prints nothing of use and ends by itself is started again "
       "and again, each run counts as SAMPLES (1)",
       kRunEnded, false},
      {"regex", "regex:PATTERN with named groups such as (?<samples_per_second>[0-9.]+)",
       "regex:speed (?<samples_per_second>[0-9.]+)", true},
  };
  return kTable;
}

bool reads_steps(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const std::string argument = colon == std::string::npos ? "" : name.substr(colon + 1);
  if (kind == "progress") return true;
  if (kind == "torch") return argument == kStepsAlone;
  if (kind == "regex") {
    const auto reads = [&](const char* group) { return argument.find(group) != argument.npos; };
    return !reads("<sample") && (reads("<step") || reads("_per_step>"));
  }
  if (kind != "metric" && kind != "json-lines") return false;
  const auto unit = parse_metric_unit(argument.substr(argument.rfind(':') + 1));
  return unit && unit->of_steps;
}

bool counts_for_all(const std::string& name) {
  return name == "paddleocr-infer" || name.find("<file>") != std::string::npos;
}

Result<std::unique_ptr<LogReader>> make_log_reader(const std::string& name,
                                                   const LogContext& context) {
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const std::string argument = colon == std::string::npos ? "" : name.substr(colon + 1);
  const LogReaderRow* row = nullptr;
  std::vector<std::string> names;
  for (const LogReaderRow& one : log_reader_table()) {
    names.emplace_back(one.name);
    if (kind == one.name) row = &one;
  }
  if (row == nullptr) {
    const std::string near = nearest_name(kind, names);
    return Error{ErrorKind::usage,
                 fmt::format("log reader '{}': {}there are {}", kind,
                             near.empty() ? "" : "did you mean '" + near + "'? ", table_names())};
  }
  if (kind == "ocrtune") {
    return std::unique_ptr<LogReader>(std::make_unique<EventLines>(context.nproc));
  }
  if (kind == "steps") return std::unique_ptr<LogReader>(std::make_unique<StepReader>(context));
  LogDialect dialect;
  if (kind == "paddleocr") dialect = paddleocr_dialect(context.print_interval);
  if (kind == "paddleocr-infer") dialect = paddleocr_infer_dialect();
  if (kind == "torch" && !argument.empty() && argument != kStepsAlone) {
    return Error{ErrorKind::usage, "log reader " + name + ": torch, or torch:steps"};
  }
  if (kind == "torch") dialect = argument.empty() ? rate_dialect() : step_rate_dialect();
  if (kind == "progress") dialect = progress_dialect();
  if (kind == "burn") dialect = burn_dialect();
  if (kind == "runs") dialect = OCRTUNE_TRY(runs_of(argument));
  if (*row->pattern != '\0') dialect = OCRTUNE_TRY(regex_dialect(row->pattern));
  if (kind == "json-lines" || kind == "metric" || kind == "regex") {
    dialect =
        OCRTUNE_TRY(kind == "regex" ? regex_dialect(argument) : named_dialect(kind, argument));
  }
  return std::unique_ptr<LogReader>(std::make_unique<DialectReader>(
      kind, std::move(dialect), context, context.per_rank.value_or(row->per_rank)));
}

}  // namespace ocrtune
