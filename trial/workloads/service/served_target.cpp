// A server that is started is knocked at until it answers or its patience is over, and its end is
// watched beside the requests. Where an address answers before the start, another program would be
// measured, so that is refused.
#include "trial/workloads/service/served_target.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "trial/proc/listening_ports.h"
#include "trial/workloads/command/copy_number.h"
#include "trial/workloads/service/command_target.h"
#include "trial/workloads/service/server_address.h"
#include "trial/workloads/service/spread_target.h"
#include "trial/workloads/service/start_patience.h"

namespace ocrtune {
namespace {

constexpr double kStopSeconds = 5;
constexpr double kPauseSeconds = 0.1;  // between two knocks at a server that starts
constexpr double kScanSeconds = 0.5;   // between two looks for what an ended root left

Result<HttpTargetOptions> http_options(const ServedTargetOptions& options) {
  HttpTargetOptions http;
  http.url = options.url;
  http.timeout_seconds = options.request_seconds;
  http.start_seconds = std::max(options.start_seconds, options.busy_start_seconds);
  http.max_connections = options.max_in_flight;
  http.check = options.check;
  for (const std::string& path : options.inputs) {
    http.bodies.push_back(OCRTUNE_TRY(read_request(path)));
  }
  return http;
}

std::vector<std::string> urls_of(const ServedTargetOptions& options) {
  if (options.url.find("{copy}") == std::string::npos) return {options.url};
  std::vector<std::string> urls;
  for (int copy = 0; copy < options.copies; ++copy) urls.push_back(fill_copy(options.url, copy));
  return urls;
}

// All that answer at these addresses. Errors: those of the first that does not.
Result<std::unique_ptr<LoadTarget>> make_http_targets(const std::vector<std::string>& urls,
                                                      HttpTargetOptions http,
                                                      bool* may_still_start = nullptr) {
  std::vector<std::unique_ptr<LoadTarget>> targets;
  for (const std::string& url : urls) {
    http.url = url;
    targets.push_back(OCRTUNE_TRY(make_http_target(http, may_still_start)));
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
  JobTimes job_times() const override { return inner_->job_times(); }

 private:
  // Notes the server's end. One that left the work to its children lives as long as they do.
  void look() {
    (void)root_->read_output(nullptr);
    const double now = steady_clock().now_seconds();
    // A scan of the tree is dear beside a request.
    if (!ended_.empty() || !root_->poll_exit() || now < next_scan_) return;
    next_scan_ = now + kScanSeconds;
    if (tree_.scan().empty())
      ended_ = "the server ended with " + root_->poll_exit()->text() + said();
  }
  std::string other_ports(const std::string& url);
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

// Where it listens instead of where it is asked; empty: nowhere.
std::string StartedServer::other_ports(const std::string& url) {
  const std::vector<int> ports = listening_ports(tree_.scan());
  const int asked = url_place(url).port;
  if (ports.empty() || std::find(ports.begin(), ports.end(), asked) != ports.end()) return "";
  return fmt::format("; it listens on {}, not on {}: does its command take {{port}}?",
                     fmt::join(ports, ", "), asked);
}

Status StartedServer::open(const ServedTargetOptions& options, const HttpTargetOptions& http) {
  ProcessOptions process;
  process.arguments = options.command;
  root_ = OCRTUNE_TRY(tree_.start(process));
  StartPatience patience(options.start_seconds, http.start_seconds, steady_clock().now_seconds());
  HttpTargetOptions knock = http;
  bool over = false;
  knock.go_on = [&]() -> Status {
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
    next_scan_ = 0;
    look();
    if (!ended_.empty()) return Error{ErrorKind::failed, ended_};
    const double now = steady_clock().now_seconds();
    patience.look(now, cpu_seconds_of(tree_));
    over = patience.over(now);
    return over ? Status(Error{ErrorKind::failed, "it does not answer"}) : Status();
  };
  while (true) {
    // A knock that is taken may be answered late: the model is loaded before it.
    knock.start_seconds = std::max(kPauseSeconds, patience.left(steady_clock().now_seconds()));
    bool may_still_start = false;
    auto target = make_http_targets(urls_of(options), knock, &may_still_start);
    // A server that ends at once is noticed here and not after the next knock.
    root_->wait(target ? 0 : kPauseSeconds);
    const Status goes_on = knock.go_on();
    if (!goes_on && !over) return goes_on.error();
    if (target) {
      inner_ = std::move(*target);
      tree_.scan();  // while parents tell whose the children are
      return Status();
    }
    if (!over && (target.error().kind != ErrorKind::failed || !may_still_start)) {
      return target.error();
    }
    if (over) {
      return Error{ErrorKind::failed,
                   fmt::format("the server gave no good answer within {}: {}{}{}",
                               format_duration(patience.waited(steady_clock().now_seconds())),
                               target.error().what, said(), other_ports(urls_of(options)[0]))};
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

Status check_server_answers(const std::string& url, const std::vector<std::string>& inputs) {
  ServedTargetOptions running;
  running.url = url;
  running.inputs = inputs;
  const auto answers = make_served_target(running);
  return answers ? Status() : Status(answers.error());
}

Result<std::unique_ptr<LoadTarget>> make_served_target(const ServedTargetOptions& options) {
  if (options.url.empty()) {
    CommandTargetOptions command;
    command.command = options.command;
    command.inputs = options.inputs;
    command.start_seconds = options.start_seconds;
    command.check = options.check;
    command.busy_start_seconds = options.busy_start_seconds;
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
