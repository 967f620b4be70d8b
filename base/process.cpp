// Everything is made ready before fork, for the child makes async-signal-safe calls only. A step
// that fails is told through a close-on-exec pipe, whose end without a word means success. A
// guarded child is forked by a guard in between, which tells its pid and its end over a socket.
#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "base/orphan_guard.h"
#include "base/raw_proc.h"
#include "base/text.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace ocrtune {
namespace {

// Everything that the child needs between fork and exec, made ready before the fork: after it only
// async-signal-safe calls are allowed.
struct Launch {
  std::string path;
  std::vector<std::string> texts;  // owns argv and envp
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::vector<cpu_set_t> mask;  // as many as the highest CPU needs; empty: none
  std::string directory;
  std::string oom_score;
  std::vector<std::string> groups;
  std::vector<int> descriptors;
  std::uint64_t data_limit = 0;
  std::uint64_t address_limit = 0;
  bool new_session = false;
  bool die_with_us = false;
  int parent = 0;
  int input = -1;
  int errors = -1;
  int output = -1;
  int report = -1;  // where a failed step writes its errno and number
};

enum Step : int { make_child, change_folder, enter_group, set_limits, bind_cpus, execute };

struct Failure {
  int step;
  int code;
};

[[noreturn]] void fail(const Launch& launch, Step step) {
  const Failure failure{step, errno};
  [[maybe_unused]] const ssize_t written = ::write(launch.report, &failure, sizeof failure);
  ::_exit(127);
}

bool limit(__rlimit_resource_t resource, std::uint64_t bytes) {
  if (bytes == 0) return true;
  rlimit current{};
  if (::getrlimit(resource, &current) != 0) return false;
  // The soft limit alone, and never above the one that the user has set.
  current.rlim_cur = std::min<rlim_t>(bytes, current.rlim_cur);
  return ::setrlimit(resource, &current) == 0;
}

bool write_text(const char* path, const char* text, std::size_t size) {
  if (size == 0) return true;
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, text, size) == static_cast<ssize_t>(size);
  ::close(file);
  return written;
}

// Runs in the child: async-signal-safe calls only.
[[noreturn]] void become(const Launch& launch) {
  // The order: first what may kill or detach the child, then its streams, then what may be refused.
  if (launch.new_session) ::setsid();
  // prctl(2): the signal is set for the thread that started the child, hence process.h's rule.
  if (launch.die_with_us) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != launch.parent) ::_exit(127);  // it died before the line above
  }
  // Ignored and blocked signals would be inherited through exec.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = launch.input >= 0 ? launch.input : ::open("/dev/null", O_RDONLY);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::dup2(launch.output, STDOUT_FILENO);
  ::dup2(launch.errors >= 0 ? launch.errors : launch.output, STDERR_FILENO);
  // By the coming exec, not at once: the report pipe is needed until then.
  close_from_on_exec(3);
  for (int descriptor : launch.descriptors) ::fcntl(descriptor, F_SETFD, 0);
  for (const std::string& group : launch.groups) {
    if (!write_text(group.c_str(), "0", 1)) fail(launch, enter_group);
  }
  // Raising one's own score needs no privilege; where even that fails, the trial still runs.
  write_text("/proc/self/oom_score_adj", launch.oom_score.data(), launch.oom_score.size());
  if (!launch.directory.empty() && ::chdir(launch.directory.c_str()) != 0)
    fail(launch, change_folder);
  if (!launch.mask.empty() &&
      ::sched_setaffinity(0, launch.mask.size() * sizeof(cpu_set_t), launch.mask.data()) != 0) {
    fail(launch, bind_cpus);
  }
  // The limits come last, so that the steps before them are not refused memory.
  if (!limit(RLIMIT_DATA, launch.data_limit) || !limit(RLIMIT_AS, launch.address_limit)) {
    fail(launch, set_limits);
  }
  ::execve(launch.path.c_str(), launch.argv.data(), launch.envp.data());
  fail(launch, execute);
}

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::vector<std::string> lines;
  const auto name_of = [](std::string_view line) { return line.substr(0, line.find('=')); };
  const auto drop = [&](std::string_view name) {
    std::erase_if(lines, [&](const std::string& line) { return name_of(line) == name; });
  };
  for (char** line = environ; line != nullptr && *line != nullptr; ++line)
    lines.emplace_back(*line);
  for (const auto& [name, value] : options.environment) {
    drop(name);
    if (value) lines.push_back(name + "=" + *value);
  }
  return lines;
}

std::vector<cpu_set_t> mask_of(const CpuSet& cpus) {
  std::vector<cpu_set_t> mask;
  if (cpus.empty()) return mask;
  // cpu_set_t holds 1,024 CPUs; sched_setaffinity(2) takes a mask of any length.
  const auto highest = static_cast<std::size_t>(cpus.cpus().back());
  mask.resize(highest / CPU_SETSIZE + 1);
  const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
  CPU_ZERO_S(bytes, mask.data());
  for (int cpu : cpus.cpus()) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, mask.data());
  return mask;
}

Launch prepare(const ProcessOptions& options, std::string path) {
  Launch launch;
  launch.path = std::move(path);
  launch.texts = options.arguments;
  const std::vector<std::string> environment = environment_of(options);
  launch.texts.insert(launch.texts.end(), environment.begin(), environment.end());
  for (std::size_t i = 0; i < launch.texts.size(); ++i) {
    (i < options.arguments.size() ? launch.argv : launch.envp).push_back(launch.texts[i].data());
  }
  launch.argv.push_back(nullptr);
  launch.envp.push_back(nullptr);
  launch.mask = mask_of(options.cpus);
  launch.directory = options.directory;
  if (options.oom_score_adjust > 0) launch.oom_score = fmt::format("{}", options.oom_score_adjust);
  launch.groups = options.join_groups;
  launch.descriptors = options.descriptors;
  launch.input = options.input;
  launch.errors = options.errors;
  launch.data_limit = options.data_limit_bytes;
  launch.address_limit = options.address_limit_bytes;
  launch.new_session = options.new_session;
  launch.die_with_us = options.die_with_us;
  launch.parent = ::getpid();
  return launch;
}

Error explain(const Failure& failure, const ProcessOptions& options) {
  const std::string& program = options.arguments[0];
  switch (failure.step) {
    case make_child:
      return system_error(failure.code, "fork for " + program);
    case change_folder:
      return system_error(failure.code, "change to folder " + options.directory);
    case bind_cpus:
      return system_error(failure.code,
                          fmt::format("bind {} to CPUs {}", program, options.cpus.text()));
    case enter_group:
      return system_error(failure.code, "move " + program + " to its control group");
    case set_limits:
      return system_error(failure.code, "set memory limits of " + program);
    default:
      return system_error(failure.code, "start " + program);
  }
}

constexpr double kReapSeconds = 5;  // for the kernel to end a killed process

// A flood of output costs a wake-up of both ends for each filling of the pipe.
constexpr int kOutputPipeBytes = 1 << 20;

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  void close_write() {
    ::close(write);
    write = -1;
  }
};

std::string absolute_path(const std::string& path) {
  std::array<char, 4096> here{};
  if (path.empty() || path[0] == '/' || ::getcwd(here.data(), here.size()) == nullptr) return path;
  return std::string(here.data()) + "/" + path;
}

bool executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::mutex g_started_mutex;
std::set<int>& started_pids() {
  static std::set<int> pids;
  return pids;
}

// A child is noted before anybody who sees it in /proc can ask whose it is.
pid_t fork_noted() {
  const std::lock_guard lock(g_started_mutex);
  const pid_t pid = ::fork();
  if (pid > 0) started_pids().insert(pid);
  return pid;
}

void note_reaped(int pid) {
  const std::lock_guard lock(g_started_mutex);
  started_pids().erase(pid);
}

// The child has ended and the guard has not said so: somebody may have stopped it.
void wake_if_needed(int guard, int child) {
  char block[kStatBytes];
  ProcessStat stat;
  if (read_process_stat(child, block, stat) && stat.ended()) ::kill(guard, SIGCONT);
}

}  // namespace

bool started_here(int pid) {
  const std::lock_guard lock(g_started_mutex);
  return started_pids().count(pid) != 0;
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

std::string ProcessExit::text() const {
  if (signal != 0) return "killed by " + signal_name(signal);
  return fmt::format("exit code {}", code);
}

std::string own_program() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0 || static_cast<std::size_t>(size) == path.size()) return "/proc/self/exe";
  const std::string own(path.data(), static_cast<std::size_t>(size));
  // Replaced on disk since it was started: the new file has the old name.
  const std::string deleted = " (deleted)";
  return ends_with(own, deleted) ? own.substr(0, own.size() - deleted.size()) : own;
}

Result<std::string> find_executable(const std::string& name) {
  if (name.empty()) return Error{ErrorKind::usage, "the command is empty"};
  if (name.find('/') != std::string::npos) {
    if (executable_file(name)) return name;
    struct stat status {};
    if (::stat(name.c_str(), &status) != 0) return system_error(errno, "start " + name);
    return Error{ErrorKind::denied, name + " is not an executable file"};
  }
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (executable_file(candidate)) return candidate;
  }
  return Error{ErrorKind::missing, fmt::format("'{}' is not in PATH", name)};
}

void OutputRing::append(std::string_view bytes) {
  total_bytes_ += bytes.size();
  if (bytes.size() >= max_bytes_) {
    bytes_.assign(bytes.substr(bytes.size() - max_bytes_));
    return;
  }
  bytes_.append(bytes);
  // Trimmed at twice the size only, so that the kept bytes are not moved at each piece.
  if (bytes_.size() > 2 * max_bytes_) bytes_.erase(0, bytes_.size() - max_bytes_);
}

std::string OutputRing::contents() const {
  return bytes_.size() <= max_bytes_ ? bytes_ : bytes_.substr(bytes_.size() - max_bytes_);
}

std::string OutputRing::tail(std::size_t max_lines) const {
  const std::string all = contents();
  std::size_t end = all.size();
  while (end > 0 && (all[end - 1] == '\n' || all[end - 1] == '\r')) --end;
  std::size_t begin = end;
  for (std::size_t lines = 0; begin > 0; --begin) {
    if (all[begin - 1] == '\n' && ++lines == max_lines) break;
  }
  return valid_utf8(std::string_view(all).substr(begin, end - begin));
}

Result<Process> Process::start(const ProcessOptions& options) {
  if (options.arguments.empty()) return Error{ErrorKind::usage, "the command is empty"};
  const std::string& program = options.arguments[0];
  // Looked up where the child will be, for it changes its folder before exec.
  const bool relative = program.find('/') != std::string::npos && program[0] != '/';
  auto path = find_executable(
      relative && !options.directory.empty() ? options.directory + "/" + program : program);
  if (!path) return path.error();
  if (relative) path = absolute_path(*path);  // the child changes its folder before exec
  Pipe output;
  Pipe report;
  std::array<int, 2> ends = {-1, -1};
  if (!output.open() || !report.open() ||
      (options.guarded &&
       ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)) {
    return system_error(errno, "open a pipe for " + options.arguments[0]);
  }
  // Refused (pipe-user-pages-soft): the usual 64 KiB do.
  [[maybe_unused]] const int size = ::fcntl(output.read, F_SETPIPE_SZ, kOutputPipeBytes);
  Launch launch = prepare(options, *std::move(path));
  launch.output = output.write;
  launch.report = report.write;
  const pid_t pid = fork_noted();
  if (pid == 0) {
    if (options.guarded && (launch.parent = become_guard(ends[1])) < 0) fail(launch, make_child);
    become(launch);
  }
  const int fork_error = errno;
  Process process(options.output_bytes);
  process.connection_ = ends[0];
  if (options.guarded) ::close(ends[1]);
  if (pid < 0) return system_error(fork_error, "fork for " + options.arguments[0]);
  (options.guarded ? process.guard_ : process.pid_) = pid;
  output.close_write();
  // The own copy of the writing end must be closed, else the read below would never end.
  report.close_write();
  Failure failure{};
  ssize_t got = 0;
  do {
    got = ::read(report.read, &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  // On every return from here the destructor kills and reaps what has been forked.
  if (got == sizeof failure) return explain(failure, options);
  // The guard writes the pid before anything else; its death gives an end, and no pid.
  while (options.guarded && ::recv(ends[0], &process.pid_, sizeof process.pid_, 0) < 0 &&
         errno == EINTR) {
  }
  if (process.pid_ < 0) return Error{ErrorKind::failed, "the guard of " + program + " was killed"};
  ::fcntl(output.read, F_SETFL, O_NONBLOCK);
  process.output_ = std::exchange(output.read, -1);
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      guard_(std::exchange(other.guard_, -1)),
      connection_(std::exchange(other.connection_, -1)),
      output_(std::exchange(other.output_, -1)),
      ring_(std::move(other.ring_)),
      listener_(std::move(other.listener_)),
      exit_(std::exchange(other.exit_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(guard_, other.guard_);
  std::swap(connection_, other.connection_);
  std::swap(output_, other.output_);
  std::swap(ring_, other.ring_);
  std::swap(listener_, other.listener_);
  std::swap(exit_, other.exit_);
  return *this;
}

// Waits for `gone`. What is stuck in the kernel (a dead network disk, a driver) is left to the
// process that inherits it.
template <typename Fact>
void wait_for_reap(Fact gone) {
  const double deadline = steady_clock().now_seconds() + kReapSeconds;
  for (double pause = 0.0002; !gone() && steady_clock().now_seconds() < deadline;) {
    steady_clock().sleep_seconds(pause = std::min(2 * pause, 0.02));
  }
}

Process::~Process() {
  if (pid_ > 0 && !poll_exit()) {
    ::kill(pid_, SIGKILL);
    wait_for_reap([this] { return poll_exit().has_value(); });
  }
  // This is the guard's order to kill all that descends from the child.
  if (connection_ >= 0) ::close(connection_);
  if (guard_ > 0 && (exit_ || pid_ < 0)) {  // it cannot end before the child does
    ::kill(guard_, SIGCONT);
    // The guard ends by itself once the tree below it is dead; a stopped one is woken for that.
    wait_for_reap([this] { return ::waitpid(guard_, nullptr, WNOHANG) != 0; });
    note_reaped(guard_);
  }
  close_output();
}

void Process::close_output() {
  if (output_ >= 0) ::close(output_);
  output_ = -1;
}

std::size_t Process::read_output(const std::function<void(std::string_view)>& sink) {
  // A child that writes without end must not keep the caller from its other work.
  static constexpr std::size_t kMaxBytes = 1 << 20;
  std::size_t total = 0;
  std::array<char, 65536> block;  // NOLINT: not filled on purpose
  while (output_ >= 0 && total < kMaxBytes) {
    const ssize_t got = ::read(output_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      close_output();
      break;
    }
    const std::string_view piece(block.data(), static_cast<std::size_t>(got));
    ring_.append(piece);
    if (sink) {
      sink(piece);
    } else if (listener_) {
      listener_(piece);
    }
    total += piece.size();
  }
  return total;
}

const std::optional<ProcessExit>& Process::poll_exit() {
  if (exit_ || pid_ <= 0) return exit_;
  GuardedExit ended;
  if (guard_ > 0) {
    const ssize_t got = ::recv(connection_, &ended, sizeof ended, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      wake_if_needed(guard_, pid_);
      return exit_;
    }
    if (got != sizeof ended) ended.signal = SIGKILL;  // the guard was killed, and it with the guard
  } else {
    int status = 0;
    const pid_t got = ::wait4(pid_, &status, WNOHANG, &ended.used);
    if (got == 0 || (got < 0 && errno == EINTR)) return exit_;
    if (got != pid_) {
      ended.code = 127;  // reaped behind our back: its true status is lost
    } else if (WIFSIGNALED(status)) {
      ended.signal = WTERMSIG(status);
    } else {
      ended.code = WEXITSTATUS(status);
    }
    note_reaped(pid_);
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  exit_ = ProcessExit{ended.code, ended.signal,
                      seconds(ended.used.ru_utime) + seconds(ended.used.ru_stime),
                      static_cast<std::uint64_t>(ended.used.ru_maxrss) * 1024};
  return exit_;
}

const std::optional<ProcessExit>& Process::wait(double seconds, Clock& clock) {
  const double deadline = clock.now_seconds() + seconds;
  while (true) {
    read_output({});
    if (poll_exit()) {
      for (int more = 0; more < 16 && read_output({}) > 0;) ++more;  // a descendant may flood on
      return exit_;
    }
    const double left = deadline - clock.now_seconds();
    if (left <= 0) return exit_;
    // A short poll, not one to the deadline: nothing wakes it when the child ends and the pipe does
    // not. A scripted clock of a test must not be waited for in real time.
    if (output_ >= 0 && &clock == &steady_clock()) {
      pollfd ready{output_, POLLIN, 0};
      ::poll(&ready, 1, static_cast<int>(std::min(left, 0.01) * 1000) + 1);
    } else {
      clock.sleep_seconds(std::min(left, 0.005));
    }
  }
}

void Process::signal(int number) {
  if (pid_ > 0 && !poll_exit()) ::kill(pid_, number);
}

}  // namespace ocrtune
