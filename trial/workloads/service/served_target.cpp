#include "trial/workloads/service/served_target.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/process.h"
#include "base/text.h"
#include "trial/workloads/service/command_target.h"
#include "trial/workloads/service/http_target.h"

namespace ocrtune {
namespace {

constexpr double kStopSeconds = 5;
constexpr double kPauseSeconds = 0.1;  // between two knocks at a server that starts

std::string content_type(const std::string& path) {
  const std::string name = lower(path);
  if (ends_with(name, ".png")) return "image/png";
  if (ends_with(name, ".jpg") || ends_with(name, ".jpeg")) return "image/jpeg";
  if (ends_with(name, ".json")) return "application/json";
  return "application/octet-stream";
}

Result<HttpTargetOptions> http_options(const ServedTargetOptions& options) {
  HttpTargetOptions http;
  http.url = options.url;
  for (const std::string& path : options.inputs) {
    auto bytes = read_file(path);
    if (!bytes) return bytes.error();
    http.bodies.push_back({content_type(path), std::move(*bytes)});
  }
  return http;
}

// A server that was started here, and the requests to it.
class StartedServer final : public LoadTarget {
 public:
  StartedServer(Process process, std::unique_ptr<LoadTarget> inner)
      : process_(std::move(process)), inner_(std::move(inner)) {}
  ~StartedServer() override {
    process_.signal(SIGTERM);
    process_.wait(kStopSeconds);  // the destructor of Process kills what is left
  }
  void start(std::uint64_t request, int kind) override { inner_->start(request, kind); }
  void collect(double until_seconds, std::vector<Completion>& finished) override {
    (void)process_.read_output(nullptr);
    inner_->collect(until_seconds, finished);
  }
  std::string failure() const override { return inner_->failure(); }

 private:
  Process process_;
  std::unique_ptr<LoadTarget> inner_;
};

Result<std::unique_ptr<LoadTarget>> start_server(const ServedTargetOptions& options,
                                                 const HttpTargetOptions& http) {
  ProcessOptions process;
  process.arguments = options.command;
  auto started = Process::start(process);
  if (!started) return started.error();
  const double end = steady_clock().now_seconds() + options.start_seconds;
  HttpTargetOptions knock = http;
  knock.timeout_seconds = std::min(http.timeout_seconds, options.start_seconds);
  while (true) {
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
    auto target = make_http_target(knock);
    if (target) {
      return std::unique_ptr<LoadTarget>(
          std::make_unique<StartedServer>(std::move(*started), std::move(*target)));
    }
    // A refused connection or a 503 is a server that still starts; any other answer is its last.
    const std::string& said_no = target.error().what;
    const bool answers = said_no.find(" answers HTTP ") != std::string::npos;
    const bool starting = said_no.find(" answers HTTP 503") != std::string::npos;
    if (target.error().kind != ErrorKind::failed || (answers && !starting)) return target.error();
    const auto& exit = started->wait(kPauseSeconds);
    const std::string last = started->output().tail(1);
    const std::string said = last.empty() ? "" : ": " + last.substr(0, last.find('\n'));
    if (exit) {
      return Error{ErrorKind::failed, "the server ended with " + exit->text() + said};
    }
    if (steady_clock().now_seconds() > end) {
      return Error{ErrorKind::failed,
                   fmt::format("the server gave no good answer within {}: {}{}",
                               format_duration(options.start_seconds), target.error().what, said)};
    }
  }
}

}  // namespace

Result<std::unique_ptr<LoadTarget>> make_served_target(const ServedTargetOptions& options) {
  if (options.url.empty()) {
    CommandTargetOptions command;
    command.command = options.command;
    command.inputs = options.inputs;
    command.start_seconds = options.start_seconds;
    auto target = CommandTarget::start(command);
    if (!target) return target.error();
    return std::unique_ptr<LoadTarget>(std::move(*target));
  }
  const auto http = http_options(options);
  if (!http) return http.error();
  return options.command.empty() ? make_http_target(*http) : start_server(options, *http);
}

}  // namespace ocrtune
