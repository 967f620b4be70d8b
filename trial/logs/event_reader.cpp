// mpirun and srun hand on lines, perhaps with a mark in front of each, so an event begins at its
// brace. All ranks step together, so one of them is the clock; the split by hosts is told once,
// when the first steps have shown it.
#include "trial/logs/event_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::int64_t kToldAfter = 8;                // reports of rank 0
constexpr double kSlow = 0.05;                        // of a step, that a host costs the others
constexpr std::int64_t kMostSamples = 1'000'000'000;  // of a rank in a report

void add(StepTimes& sum, const StepTimes& one, double share = 1) {
  sum.data_seconds += share * one.data_seconds;
  sum.compute_seconds += share * one.compute_seconds;
  sum.all_reduce_seconds += share * one.all_reduce_seconds;
  sum.wait_seconds += share * one.wait_seconds;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", 1e3 * seconds); }

}  // namespace

void EventReader::read_line(const std::string& line, std::vector<Event>& events) {
  // Behind what a launcher puts in front, such as "[1,0]<stdout>:".
  const std::size_t from = line.find('{');
  if (from == std::string::npos) return;
  const auto event = parse_event(line.substr(from));
  if (!event) return;
  if (const auto* hello = std::get_if<HelloEvent>(&*event)) {
    if (!hello->host.empty()) hosts_[hello->rank] = hello->host;
  } else if (const auto* ready = std::get_if<ReadyEvent>(&*event)) {
    if (ready->rank == 0) events.emplace_back(ReadyEvent());
  } else if (const auto* step = std::get_if<StepEvent>(&*event)) {
    on_step(*step, events);
  } else if (const auto* error = std::get_if<ErrorEvent>(&*event)) {
    ErrorEvent placed = *error;
    const auto host = hosts_.find(error->rank);
    if (host != hosts_.end()) placed.reason = host->second + ": " + placed.reason;
    // All events of this reader are of rank 0, which stands for the job.
    placed.rank = 0;
    events.emplace_back(std::move(placed));
  }
}

void EventReader::on_step(const StepEvent& step, std::vector<Event>& events) {
  // A rank that the job does not have is another program's line.
  const bool ours = step.rank >= 0 && step.rank < ranks_;
  if (!ours || step.samples < 1 || step.samples > kMostSamples || !(step.seconds > 0)) return;
  ++known_lines_;
  latest_[step.rank] = step.times;
  const auto host = hosts_.find(step.rank);
  if (host != hosts_.end()) {
    HostTimes& times = times_[host->second];
    add(times.sum, step.times);
    ++times.reports;
  }
  if (step.rank != 0) return;
  StepEvent job = step;
  // Every rank has the same batch.
  job.samples *= ranks_;
  job.times = StepTimes();
  for (const auto& [rank, times] : latest_) {
    add(job.times, times, 1 / static_cast<double>(latest_.size()));
  }
  events.emplace_back(job);
  // One host alone has none to be compared with.
  if (++reports_ != kToldAfter || times_.size() < 2) return;
  split(events);
}

void EventReader::split(std::vector<Event>& events) const {
  std::vector<std::string> hosts, lines;
  std::vector<double> computing;  // of each host
  double step = 0;
  for (const auto& [host, times] : times_) {
    StepTimes mean;
    add(mean, times.sum, 1 / times.reports);
    // Moving gradients and waiting are left out: they hold the time that others took.
    computing.push_back(mean.compute_seconds + mean.data_seconds);
    hosts.push_back(host);
    lines.push_back(fmt::format(
        "of a step, computing {}, moving gradients {}, waiting {}", milliseconds(computing.back()),
        milliseconds(mean.all_reduce_seconds), milliseconds(mean.wait_seconds)));
    step = std::max(step, computing.back() + mean.all_reduce_seconds + mean.wait_seconds);
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    events.emplace_back(NoteEvent{0, hosts[i] + ": " + lines[i]});
  }
  const auto slowest = std::max_element(computing.begin(), computing.end());
  const auto at = static_cast<std::size_t>(slowest - computing.begin());
  const double longest = *slowest;
  computing.erase(slowest);
  // The median of the others is what a step would take without this host.
  const double cost = (longest - median(computing)) / step;
  if (cost > kSlow) events.emplace_back(SlowHostEvent{0, {hosts[at], lines[at], cost}});
}

}  // namespace ocrtune
