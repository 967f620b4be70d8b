// Terminal control by a carriage return and four sequences of ECMA-48: erase the line's or the
// screen's rest, cursor up, dim. A thread ticks each second, so that the time left goes down while
// a trial runs; one mutex guards the state and the stream.
#include "cli/shell/progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/shell/terminal.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"

namespace ocrtune {
namespace {

constexpr std::size_t kBarWidth = 10;
constexpr double kRedrawSeconds = 0.2;
constexpr double kLineSeconds = 10;  // between lines that stay
constexpr auto kQuickWork = std::chrono::seconds(2);

}  // namespace

Progress::Progress(std::string title, std::int64_t total)
    : title_(std::move(title)),
      total_(total),
      terminal_(may_redraw(stderr)),
      started_(steady_clock().now_seconds()),
      last_(terminal_ ? -1 : started_) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::show(std::int64_t done, const std::string& remark) {
  const double now = steady_clock().now_seconds();
  // On a terminal the last step is always shown, however early it comes.
  const bool early = last_ >= 0 && now - last_ < (terminal_ ? kRedrawSeconds : kLineSeconds);
  if (early && (!terminal_ || done < total_)) return;
  last_ = now;
  shown_ = terminal_;
  const double share =
      static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(total_, 1));
  std::string left = "";
  // Half a second of work: a time left reckoned from less would jump.
  if (done > 0 && done < total_ && now - started_ > 0.5) {
    left = ", " + format_duration((now - started_) * (1 - share) / share) + " left";
  }
  std::fprintf(stderr, "%s%s %lld of %lld (%s)%s%s%s%s", terminal_ ? "\r\033[K" : "",
               title_.c_str(), static_cast<long long>(done), static_cast<long long>(total_),
               format_percent(share).c_str(), left.c_str(), remark.empty() ? "" : ", ",
               remark.c_str(), terminal_ ? "" : "\n");
  std::fflush(stderr);
}

std::string search_text(const SearchState& state, int width) {
  std::vector<std::string> parts;
  std::string first = state.trial > 0 ? fmt::format("trial {}", state.trial) : "";
  if (state.budget_seconds > 0) {
    const double done = 1 - std::clamp(state.seconds_left / state.budget_seconds, 0.0, 1.0);
    const auto marks = static_cast<std::size_t>(done * kBarWidth);
    first += " [" + std::string(marks, '#') + std::string(kBarWidth - marks, '.') + "]";
  }
  if (state.seconds_left > 0) first += " " + format_duration(state.seconds_left) + " left";
  if (!first.empty()) parts.push_back(std::string(trim(first)));
  if (state.best.median > 0) {
    const bool exact = state.best.low == state.best.high;
    parts.push_back(fmt::format(
        "best {} {}{}", exact ? format_count(state.best.median) : rate_text(state.best), state.unit,
        state.best_setting.empty() ? "" : " with " + plain_line(state.best_setting)));
  }
  std::string now = state.phase;
  if (!state.setting.empty()) now += (now.empty() ? "" : " ") + plain_line(state.setting);
  if (!now.empty()) parts.push_back(now);
  if (state.seconds > 0) parts.push_back(format_duration(state.seconds));
  return cut_to_width(join(parts, " | "), width);
}

SearchProgress::SearchProgress(std::FILE* stream)
    : stream_(stream), enabled_(may_redraw(stream)), colour_(may_colour(stream)) {}

SearchProgress::~SearchProgress() { clear(); }

void SearchProgress::show(const SearchState& state) {
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  state_ = state;
  shown_at_ = steady_clock().now_seconds();
  draw(0);
  if (ticker_.joinable()) return;
  ended_ = false;
  // Started by the first line that is shown: a command that shows none has no thread.
  ticker_ = std::thread([this] { tick(); });
}

void SearchProgress::tick() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; })) {
    if (shown_) draw(steady_clock().now_seconds() - shown_at_);
  }
}

void SearchProgress::draw(double seconds_since_shown) {
  SearchState now = state_;
  now.seconds_left = std::max(0.0, now.seconds_left - seconds_since_shown);
  if (now.seconds > 0) now.seconds += seconds_since_shown;
  const char* const dim = colour_ ? "\x1b[2m" : "";
  const char* const plain = colour_ ? "\x1b[0m" : "";
  // The whole block is written at once, so that no half of it shows.
  std::string text = to_first_row();
  for (const std::string& row : rows_) text += fmt::format("{}{}{}\x1b[K\n", dim, row, plain);
  text += fmt::format("{}{}{}\x1b[J", dim, search_text(now, width()), plain);
  std::fputs(text.c_str(), stream_);
  std::fflush(stream_);
  drawn_rows_ = rows_.size();
  shown_ = true;
}

// The last column stays free: some terminals wrap a line that fills it.
int SearchProgress::width() const { return terminal_width(stream_) - 1; }

int SearchProgress::rows_that_fit() const {
  // At most half of the screen: the notes above must stay readable.
  constexpr int kMost = 10;
  return enabled_ ? std::clamp(terminal_height(stream_) / 2 - 1, 0, kMost) : 0;
}

void SearchProgress::set_rows(std::vector<std::string> rows) {
  const std::lock_guard lock(mutex_);
  rows_ = std::move(rows);
}

void SearchProgress::note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const bool below = shown_;
  erase();
  std::fprintf(stream_, "%s\n", plain_line(line).c_str());
  std::fflush(stream_);
  if (below) draw(steady_clock().now_seconds() - shown_at_);
}

void SearchProgress::plain(const std::string& line) {
  if (!enabled_) note(line);
}

std::string SearchProgress::to_first_row() const {
  return drawn_rows_ > 0 ? fmt::format("\r\x1b[{}A", drawn_rows_) : "\r";
}

void SearchProgress::erase() {
  if (!shown_) return;
  std::fputs((to_first_row() + "\x1b[J").c_str(), stream_);
  std::fflush(stream_);
  drawn_rows_ = 0;
  shown_ = false;
}

void SearchProgress::clear() {
  {
    const std::lock_guard lock(mutex_);
    erase();
    ended_ = true;
  }
  changed_.notify_all();
  if (ticker_.joinable()) ticker_.join();
}

WorkLine::WorkLine(std::string what, bool silent) {
  if (silent) return;
  waiter_ = std::thread([this, what = std::move(what)] {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kQuickWork, [this] { return ended_; })) return;
    SearchState state;
    state.phase = what;
    state.seconds = std::chrono::duration<double>(kQuickWork).count();
    line_.show(state);
    line_.plain(what);
  });
}

WorkLine::~WorkLine() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (waiter_.joinable()) waiter_.join();
}

}  // namespace ocrtune
