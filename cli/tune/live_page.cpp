// The page is judged from all trials so far, as at the end, so its cost grows with the run. It is
// written only as often as that cost allows.
#include "cli/tune/live_page.h"

#include "base/files.h"
#include "reports/html/page.h"
#include "tuner/session/tune_setup.h"

namespace ocrtune {
namespace {

constexpr int kRefreshSeconds = 5;
// The judgement is paid from the budget: at most a twentieth of it, however large the space is.
constexpr double kRestTimes = 19;

}  // namespace

std::string LivePage::add(const Trial& trial) {
  if (folder_.empty()) return "";
  run_.trials.push_back(trial);
  const double start = clock_.now_seconds();
  if (start < next_seconds_) return "";
  const std::string path = join_path(folder_, "report.html");
  PageOptions options;
  options.refresh_seconds = kRefreshSeconds;
  const bool first = !written_;
  if (judge(run_)) written_ = write_file(path, page_html(run_, options)).ok() || written_;
  const double end = clock_.now_seconds();
  next_seconds_ = end + kRestTimes * (end - start);
  return first && written_ ? path : "";
}

}  // namespace ocrtune
