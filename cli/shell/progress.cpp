#include "cli/shell/progress.h"

#include <algorithm>
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

Progress::Progress(std::string title, std::int64_t total)
    : title_(std::move(title)),
      total_(total),
      terminal_(is_terminal(stderr)),
      started_(steady_clock().now_seconds()) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::show(std::int64_t done, const std::string& remark) {
  if (!terminal_) return;
  const double now = steady_clock().now_seconds();
  if (last_ >= 0 && now - last_ < 0.2 && done < total_) return;
  last_ = now;
  shown_ = true;
  const double share =
      static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(total_, 1));
  std::string left = "";
  if (done > 0 && done < total_ && now - started_ > 0.5) {
    left = ", " + format_duration((now - started_) * (1 - share) / share) + " left";
  }
  std::fprintf(stderr, "\r\033[K%s %lld of %lld (%s)%s%s%s", title_.c_str(),
               static_cast<long long>(done), static_cast<long long>(total_),
               format_percent(share).c_str(), left.c_str(), remark.empty() ? "" : ", ",
               remark.c_str());
  std::fflush(stderr);
}

std::string search_text(const SearchState& state, int width) {
  std::vector<std::string> parts;
  parts.push_back(state.trials_about > 0 ? fmt::format("trial {} of about {}", state.trial,
                                                       std::max(state.trials_about, state.trial))
                                         : fmt::format("trial {}", state.trial));
  if (state.best.median > 0) {
    parts.push_back(fmt::format("best {}/s", rate_text(state.best)));
  }
  if (state.seconds_left > 0) {
    parts.push_back(format_duration(state.seconds_left) + " left");
  }
  std::string now = state.phase;
  if (!state.setting.empty()) now += (now.empty() ? "" : " ") + plain_line(state.setting);
  if (!now.empty()) parts.push_back(now);
  return cut_to_width(join(parts, " | "), width);
}

SearchProgress::SearchProgress(std::FILE* stream)
    : stream_(stream), enabled_(is_terminal(stream)), colour_(may_colour(stream)) {}

SearchProgress::~SearchProgress() { clear(); }

void SearchProgress::show(const SearchState& state) {
  if (!enabled_) return;
  // The last column stays free: some terminals wrap a line that fills it.
  const std::string text = search_text(state, terminal_width(stream_) - 1);
  std::fprintf(stream_, "\r%s%s%s\x1b[K", colour_ ? "\x1b[2m" : "", text.c_str(),
               colour_ ? "\x1b[0m" : "");
  std::fflush(stream_);
  shown_ = true;
}

void SearchProgress::note(const std::string& line) {
  clear();
  std::fprintf(stream_, "%s\n", plain_line(line).c_str());
  std::fflush(stream_);
}

void SearchProgress::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  shown_ = false;
}

}  // namespace ocrtune
