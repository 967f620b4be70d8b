#include "trial/workloads/service/served_target.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "trial/workloads/service/command_target.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/spread_target.h"

namespace ocrtune {
namespace {

constexpr double kStopSeconds = 5;
constexpr double kPauseSeconds = 0.1;  // between two knocks at a server that starts
constexpr double kScanSeconds = 0.5;   // between two looks for what an ended root left

Result<HttpTargetOptions> http_options(const ServedTargetOptions& options) {
  HttpTargetOptions http;
  http.url = options.url;
  http.check = options.check;
  for (const std::string& path : options.inputs) {
    http.bodies.push_back(OCRTUNE_TRY(read_request(path)));
  }
  return http;
}

std::vector<std::string> urls_of(const ServedTargetOptions& options) {
  const std::string name = "{copy}";
  const std::size_t at = options.url.find(name);
  if (at == std::string::npos) return {options.url};
  std::vector<std::string> urls;
  for (int copy = 0; copy < options.copies; ++copy) {
    urls.push_back(options.url);
    urls.back().replace(at, name.size(), fmt::format("{}", copy));
  }
  return urls;
}

// All that answer at these addresses. Errors: those of the first that does not.
Result<std::unique_ptr<LoadTarget>> make_http_targets(const std::vector<std::string>& urls,
                                                      HttpTargetOptions http) {
  std::vector<std::unique_ptr<LoadTarget>> targets;
  for (const std::string& url : urls) {
    http.url = url;
    targets.push_back(OCRTUNE_TRY(make_http_target(http)));
  }
  if (targets.size() == 1) return std::move(targets.front());
  return std::unique_ptr<LoadTarget>(std::make_unique<SpreadTarget>(std::move(targets)));
}

// A server that was started here, and the requests to it.
class StartedServer final : public LoadTarget {
 public:
  ~StartedServer() override { tree_.stop(kStopSeconds); }

  // Starts the server and knocks until it answers.
  Status open(const ServedTargetOptions& options, const HttpTargetOptions& http);

  void start(std::uint64_t request, int kind) override {
    if (ended_.empty()) return inner_->start(request, kind);
    refused_.push_back({request, steady_clock().now_seconds(), false});
  }
  void collect(double until_seconds, std::vector<Completion>& finished) override {
    const std::size_t before = finished.size();
    inner_->collect(refused_.empty() ? until_seconds : 0, finished);
    look();
    if (ended_.empty()) return;
    // Any server may answer at the address now, it is another server.
    for (std::size_t i = before; i < finished.size(); ++i) finished[i].ok = false;
    finished.insert(finished.end(), refused_.begin(), refused_.end());
    refused_.clear();
  }
  std::string failure() const override { return ended_.empty() ? inner_->failure() : ended_; }
  std::string ended() const override { return ended_; }

 private:
  // Notes the server's end. One that left the work to its children lives as long as they do.
  void look() {
    (void)root_->read_output(nullptr);
    const double now = steady_clock().now_seconds();
    if (!ended_.empty() || !root_->poll_exit() || now < next_scan_) return;
    next_scan_ = now + kScanSeconds;
    if (tree_.scan().empty())
      ended_ = "the server ended with " + root_->poll_exit()->text() + said();
  }
  std::string said() const {
    const std::string last = root_->output().tail(1);
    return last.empty() ? "" : ": " + last.substr(0, last.find('\n'));
  }

  ProcessTree tree_;
  Process* root_ = nullptr;
  std::unique_ptr<LoadTarget> inner_;
  std::string ended_;
  std::vector<Completion> refused_;  // asked for after the server's end
  double next_scan_ = 0;
};

Status StartedServer::open(const ServedTargetOptions& options, const HttpTargetOptions& http) {
  ProcessOptions process;
  process.arguments = options.command;
  root_ = OCRTUNE_TRY(tree_.start(process));
  const double end = steady_clock().now_seconds() + options.start_seconds;
  HttpTargetOptions knock = http;
  knock.timeout_seconds = std::min(http.timeout_seconds, options.start_seconds);
  while (true) {
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
    auto target = make_http_targets(urls_of(options), knock);
    root_->wait(target ? 0 : kPauseSeconds);
    next_scan_ = 0;
    look();
    if (!ended_.empty()) return Error{ErrorKind::failed, ended_};
    if (target) {
      inner_ = std::move(*target);
      tree_.scan();  // while parents tell whose the children are
      return Status();
    }
    // A refused connection or a 503 is a server that still starts; any other answer is its last.
    const std::string& said_no = target.error().what;
    const bool answers = said_no.find(" answers HTTP ") != std::string::npos;
    const bool starting = said_no.find(" answers HTTP 503") != std::string::npos;
    if (target.error().kind != ErrorKind::failed || (answers && !starting)) return target.error();
    if (steady_clock().now_seconds() > end) {
      return Error{ErrorKind::failed,
                   fmt::format("the server gave no good answer within {}: {}{}",
                               format_duration(options.start_seconds), said_no, said())};
    }
  }
}

}  // namespace

Status check_address_is_free(const std::vector<std::string>& command, const std::string& url) {
  if (command.empty() || url.empty() || !is_listened_at(url)) return Status();
  return Error{ErrorKind::failed,
               "another program listens at " + url +
                   " already and would be measured instead of the command; end it, take another "
                   "port, or leave the command out to measure what runs there"};
}

Result<std::unique_ptr<LoadTarget>> make_served_target(const ServedTargetOptions& options) {
  if (options.url.empty()) {
    CommandTargetOptions command;
    command.command = options.command;
    command.inputs = options.inputs;
    command.start_seconds = options.start_seconds;
    command.check = options.check;
    auto target = OCRTUNE_TRY(CommandTarget::start(command));
    return std::unique_ptr<LoadTarget>(std::move(target));
  }
  const auto http = OCRTUNE_TRY(http_options(options));
  if (options.command.empty()) return make_http_targets(urls_of(options), http);
  for (const std::string& url : urls_of(options)) {
    OCRTUNE_TRY(check_address_is_free(options.command, url));
  }
  auto server = std::make_unique<StartedServer>();
  OCRTUNE_TRY(server->open(options, http));
  return std::unique_ptr<LoadTarget>(std::move(server));
}

}  // namespace ocrtune
