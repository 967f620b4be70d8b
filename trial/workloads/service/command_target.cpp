// The input is a pipe that never blocks this process: what it does not take waits in outbox_. A
// shell opens the pipe as its standard input and then becomes the command. The first request loads
// the model and is not measured.
#include "trial/workloads/service/command_target.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "trial/proc/listening_ports.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/server_address.h"
#include "trial/workloads/service/start_patience.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kWarmUpRequest = UINT64_MAX >> 12;  // exact as a JSON number everywhere
constexpr double kEndSeconds = 2;
constexpr double kLookSeconds = 0.2;  // between two looks for an interrupt
constexpr double kServerSeconds = 5;  // then, each time, it is looked at whether it is a server

// Waits for one of the descriptors to the nanosecond; a negative time is none.
void wait_for(std::vector<pollfd>& descriptors, double seconds) {
  const double held = std::clamp(seconds, 0.0, 3600.0);
  timespec time{};
  time.tv_sec = static_cast<time_t>(held);
  time.tv_nsec = static_cast<long>((held - std::floor(held)) * 1e9);
  ::ppoll(descriptors.data(), descriptors.size(), &time, nullptr);
}

}  // namespace

Result<std::unique_ptr<CommandTarget>> CommandTarget::start(const CommandTargetOptions& options) {
  if (options.command.empty()) return Error{ErrorKind::usage, "no command is given"};
  OCRTUNE_TRY(find_executable(options.command[0]));
  std::unique_ptr<CommandTarget> target(new CommandTarget(options));
  OCRTUNE_TRY(target->open(options));
  target->start(kWarmUpRequest, 0);
  std::vector<Completion> finished;
  StartPatience patience(options.start_seconds,
                         std::max(options.start_seconds, options.busy_start_seconds),
                         steady_clock().now_seconds());
  double next_look = steady_clock().now_seconds() + kServerSeconds;
  while (finished.empty() && !patience.over(steady_clock().now_seconds())) {
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
    target->collect(steady_clock().now_seconds() + kLookSeconds, finished);
    const double now = steady_clock().now_seconds();
    patience.look(now, cpu_seconds_of(target->tree_));
    if (!finished.empty() || now < next_look) continue;
    next_look = now + kServerSeconds;
    OCRTUNE_TRY(target->check_reads());
  }
  if (finished.empty()) {
    return Error{ErrorKind::failed,
                 fmt::format("{} answered nothing on its standard output in {}", options.command[0],
                             format_duration(patience.waited(steady_clock().now_seconds())))};
  }
  if (!finished[0].ok) return Error{ErrorKind::failed, target->failure()};
  target->tree_.scan();  // while parents tell whose the children are
  return target;
}

CommandTarget::CommandTarget(const CommandTargetOptions& options)
    : inputs_(options.inputs), check_(options.check) {}

Status CommandTarget::open(const CommandTargetOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a command that has ended is an error of the write
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error(errno, "pipe");
  input_ = ends[1];
  ::fcntl(input_, F_SETFL, O_NONBLOCK);
  ProcessOptions process;
  process.arguments = {"/bin/sh", "-c",
                       fmt::format("exec \"$0\" \"$@\" </proc/self/fd/{}", ends[0])};
  process.arguments.insert(process.arguments.end(), options.command.begin(), options.command.end());
  process.descriptors = {ends[0]};
  const auto started = tree_.start(process);
  ::close(ends[0]);
  if (!started) return started.error();
  process_ = *started;
  return Status();
}

CommandTarget::~CommandTarget() {
  tree_.scan();
  if (input_ >= 0) ::close(input_);
  // A command that ends by the end of its input may put its things in order.
  if (process_ != nullptr) process_->wait(kEndSeconds);
  tree_.stop(kEndSeconds);
}

Status CommandTarget::check_reads() {
  int unread = 0;
  // What lies in the pipe unread shows that the command does not read its input.
  if (input_ < 0 || ::ioctl(input_, FIONREAD, &unread) != 0 || unread == 0) return Status();
  const int port = http_port(tree_.scan());
  if (port == 0) return Status();
  return Error{ErrorKind::failed,
               fmt::format("it reads no standard input and answers HTTP on port {0}: add --url "
                           "http://127.0.0.1:{{port}}/PATH, with {{port}} for {0} in the command",
                           port)};
}

void CommandTarget::start(std::uint64_t request, int kind) {
  nlohmann::ordered_json line = {{"id", request}};
  if (!inputs_.empty()) {
    // A kind beyond the list sends the last input.
    const auto at = std::min(static_cast<std::size_t>(std::max(kind, 0)), inputs_.size() - 1);
    line["input"] = inputs_[at];
  }
  outbox_ += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  waiting_[request] = kind;
  send();
}

void CommandTarget::send() {
  while (!outbox_.empty() && input_ >= 0) {
    const ssize_t sent = ::write(input_, outbox_.data(), outbox_.size());
    if (sent > 0) {
      outbox_.erase(0, static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {  // it no longer reads; its end is seen on its output
      ::close(input_);
      input_ = -1;
    }
  }
}

void CommandTarget::read_line(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("id") || !json["id"].is_number_integer()) return;
  const auto request = json["id"].get<std::uint64_t>();
  const auto asked = waiting_.find(request);
  // A second answer to one request, or a number of nobody's.
  if (asked == waiting_.end()) return;
  bool ok = !json.contains("error");
  if (!ok) {
    failure_ = json["error"].is_string() ? json["error"].get<std::string>() : json["error"].dump();
  } else if (check_) {
    const std::string fault = check_(asked->second, line, static_cast<int>(waiting_.size()));
    ok = fault.empty();
    if (!ok) failure_ = "its answer " + fault;
  }
  waiting_.erase(asked);
  answers_.push_back({request, steady_clock().now_seconds(), ok});
}

void CommandTarget::end_all(const std::string& why) {
  failure_ = ended_ = why;
  for (const auto& [request, kind] : waiting_) {
    answers_.push_back({request, steady_clock().now_seconds(), false});
  }
  waiting_.clear();
  outbox_.clear();
}

void CommandTarget::collect(double until_seconds, std::vector<Completion>& finished) {
  do {
    send();
    process_->read_output([this](std::string_view bytes) {
      lines_.add(bytes, [this](const std::string& line) { read_line(line); });
    });
    // Its output is closed: nothing more will come, even if the process still lives.
    const bool ended = process_->output_descriptor() < 0;
    if (ended && !waiting_.empty()) {
      const auto& exit = process_->wait(kEndSeconds);
      const std::string last = process_->output().tail(1);
      end_all("the command ended with " + (exit ? exit->text() : "its output closed") +
              (last.empty() ? "" : ": " + last.substr(0, last.find('\n'))));
    }
    const double left = until_seconds - steady_clock().now_seconds();
    if (!answers_.empty() || left <= 0) break;
    std::vector<pollfd> descriptors;
    if (!ended) descriptors.push_back({process_->output_descriptor(), POLLIN, 0});
    if (!outbox_.empty() && input_ >= 0) descriptors.push_back({input_, POLLOUT, 0});
    wait_for(descriptors, left);
  } while (answers_.empty() && steady_clock().now_seconds() < until_seconds);
  finished.insert(finished.end(), answers_.begin(), answers_.end());
  answers_.clear();
}

}  // namespace ocrtune
