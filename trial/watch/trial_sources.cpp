// A user's command is read on three ways at once: its output, a log file, and a pipe by path. All
// go through the log reader. Where a log file is named, the output is read all the same, as a sign
// of life and for its last lines.
#include "trial/watch/trial_sources.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ocrtune {
namespace {

constexpr double kMinWaitSeconds = 0.001;  // poll() counts milliseconds
constexpr double kMaxWaitSeconds = 0.02;   // guess

}  // namespace

TrialSources::TrialSources(const TrialPlan& plan, Clock& clock, Sink sink)
    : plan_(plan), clock_(clock), sink_(std::move(sink)), followed_(plan.followed_file) {}

Status TrialSources::open(ProcessOptions& options) {
  const bool by_path = plan_.reader != nullptr;
  pipes_.push_back(OCRTUNE_TRY(EventPipe::open_for(options, by_path)));
  return Status();
}

void TrialSources::started() {
  // With a reader the writing end stays open here: processes open the pipe by its path at any time.
  if (plan_.reader == nullptr) pipes_.back().close_write();
  lines_.emplace_back();
}

void TrialSources::wait(const ProcessTree& tree, double seconds) const {
  std::vector<pollfd> polled;
  for (const EventPipe& pipe : pipes_) {
    if (pipe.read_descriptor() >= 0) polled.push_back({pipe.read_descriptor(), POLLIN, 0});
  }
  for (const auto& root : tree.roots()) {
    if (root->output_descriptor() >= 0) polled.push_back({root->output_descriptor(), POLLIN, 0});
  }
  // Signs of life and memory are looked at several times a tenth of a second.
  seconds = std::clamp(seconds, kMinWaitSeconds, kMaxWaitSeconds);
  ::poll(polled.data(), polled.size(), static_cast<int>(std::ceil(seconds * 1000)));
}

void TrialSources::hear(const std::function<void(std::vector<Event>& events)>& read) {
  std::vector<Event> events;
  read(events);
  for (const Event& event : events) sink_.event(event);
  sink_.heard();
}

void TrialSources::on_pipe(const Event& event) {
  if (plan_.reader == nullptr) return sink_.event(event);
  sink_.sign_of_life(0);
  hear([&](auto& events) { plan_.reader->read_event(event, clock_.now_seconds(), events); });
}

void TrialSources::look(const ProcessTree& tree) {
  const auto line = [&](const std::string& text) {
    hear([&](auto& events) { plan_.reader->read_line(text, clock_.now_seconds(), events); });
  };
  for (std::size_t i = 0; i < tree.roots().size(); ++i) {
    const std::size_t got = tree.roots()[i]->read_output([&](std::string_view bytes) {
      if (plan_.reader != nullptr && plan_.followed_file.empty()) lines_[i].add(bytes, line);
    });
    // A user command's words are signs of life; a worker's only sign is an event.
    if (got > 0 && plan_.reader != nullptr) sink_.sign_of_life(static_cast<int>(i));
  }
  if (!plan_.followed_file.empty() && followed_.read(line)) sink_.sign_of_life(0);
  for (EventPipe& pipe : pipes_) {
    pipe.read([&](const Event& event) { on_pipe(event); },
              // A user's program may write anything to the pipe; only our own workers must not.
              [&](const std::string& broken) {
                if (plan_.reader == nullptr) sink_.broken(broken);
              });
  }
}

}  // namespace ocrtune
