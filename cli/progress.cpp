#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace ocrtune {

Progress::Progress(std::string title, std::int64_t total)
    : title_(std::move(title)),
      total_(total),
      terminal_(::isatty(STDERR_FILENO) == 1),
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

}  // namespace ocrtune
