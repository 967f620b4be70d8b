// ocrtune rank-exec: started by a launcher in place of the training program; binds, then becomes
// it. With --copies-on it is the launcher of processes that know nothing of each other.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/line_splitter.h"
#include "base/process.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/shell/terminal.h"
#include "probes/gpu/gpu.h"
#include "probes/gpu/gpu_ids.h"
#include "probes/machine_gpus.h"
#include "trial/ipc/copy_mark.h"
#include "trial/ipc/events.h"
#include "trial/observe/rank_binding.h"
#include "trial/workloads/command/copy_number.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace ocrtune {
namespace {

Status bind_this_rank() {
  const char* text = std::getenv(kRankCpusVariable);
  if (text == nullptr || *text == '\0') return Status();
  const auto masks = OCRTUNE_TRY(parse_rank_cpus(text));
  std::string environment;
  for (char** line = environ; *line != nullptr; ++line) environment += std::string(*line) + '\0';
  const auto rank = local_rank_of(environment, "");
  const auto index = static_cast<std::size_t>(rank.value_or(0));
  // Without a rank every process would be bound to the CPUs of the first.
  if (!rank && masks.size() > 1) {
    return Error{ErrorKind::usage,
                 "no rank in the environment (LOCAL_RANK, PADDLE_LOCAL_RANK, ...): start it with "
                 "the launcher"};
  }
  if (index >= masks.size()) {
    return Error{ErrorKind::usage,
                 std::string(kRankCpusVariable) + " has no CPUs for rank " + std::to_string(index)};
  }
  return masks[index].empty() ? Status() : set_affinity(0, masks[index]);
}

// This rank sees its own GPU and no other.
Status take_gpu(const std::string& wanted) {
  if (wanted.empty()) return Status();
  const Environment environment = process_environment();
  const GpuReport report = probe_gpus(GpuProbeOptions{"", 20}, environment);
  if (report.gpus.empty()) {
    return Error{ErrorKind::missing, "--gpu " + wanted + ": " + report.state};
  }
  const GpuView view = visible_gpus(physical_gpus(report.gpus), environment, GpuVendor::nvidia);
  const auto gpu = OCRTUNE_TRY(gpu_of_rank(view, wanted, environment));
  if (gpu.physical < 0) return Error{ErrorKind::usage, view.problems.front()};
  for (const auto& [name, value] : gpu_environment(gpu, GpuVendor::nvidia)) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }
  return Status();
}

Result<int> rank_exec(const std::vector<std::string>& command, const std::string& gpu) {
  const auto path = OCRTUNE_TRY(find_executable(command[0]));
  // The GPU first: its probe starts a child, which would inherit the rank's CPUs.
  OCRTUNE_TRY(take_gpu(gpu));
  OCRTUNE_TRY(bind_this_rank());
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: execv's old signature
  }
  arguments.push_back(nullptr);
  release_interrupts();  // the program shall not inherit what we block and ignore
  ::execv(path.c_str(), arguments.data());
  return system_error(errno, "start " + command[0]);
}

// A guess: long enough for a program to save, and a failed copy shall not hold the GPUs for long.
constexpr double kStopSeconds = 5;

// The text for copy `number` on the GPU of this name. It sees no other, so its number there is 0.
// An empty name: a copy on the CPUs, of which nothing is said of GPUs.
std::string filled_for(std::string text, const std::string& gpu, std::size_t number) {
  text = fill_copy(std::move(text), static_cast<int>(number));
  std::vector<std::pair<std::string, std::string>> values;
  if (!gpu.empty()) {
    values.emplace_back("CUDA_VISIBLE_DEVICES={gpu}", "CUDA_VISIBLE_DEVICES=" + gpu);
    values.emplace_back("{gpu}", "0");
  }
  for (const auto& [name, value] : values) replace_all(text, name, value);
  return text;
}

// Prints what a copy writes in whole lines, so that those of two copies do not mix.
class CopyOutput {
 public:
  // `mark` stands in front of each line; empty: every byte as it was written.
  explicit CopyOutput(std::string mark) : mark_(std::move(mark)) {}

  void add(std::string_view bytes) {
    const std::size_t before = open_.size();
    open_.append(bytes);
    // Only the new bytes are looked at: a long line without an end would be read again each time.
    const std::size_t end = bytes.find_last_of(mark_.empty() ? "\n" : "\r\n");
    if (end == std::string::npos && open_.size() < kMostOpen) return;
    const std::size_t whole = end == std::string::npos ? open_.size() : before + end + 1;
    print(std::string_view(open_).substr(0, whole));
    open_.erase(0, whole);
  }

  // The copy has ended: nothing follows what it wrote last.
  void end() {
    if (!open_.empty()) print(open_);
    open_.clear();
  }

  const std::string& last_line() const { return last_line_; }  // that is not blank

 private:
  static constexpr std::size_t kMostOpen = 64 << 20;  // of one line

  void print(std::string_view lines) {
    if (mark_.empty()) std::fwrite(lines.data(), 1, lines.size(), stdout);
    LineSplitter splitter;
    const auto take = [&](const std::string& line) {
      if (!mark_.empty()) std::fputs((mark_ + line + "\n").c_str(), stdout);
      if (!trim(line).empty()) last_line_ = trim(line);
    };
    splitter.add(lines, take);
    if (!splitter.open_line().empty()) take(splitter.open_line());
  }

  std::string mark_, open_, last_line_;
};

// Copies of a program, one for each name of a list of GPUs (empty: on the CPUs). They end together:
// with the first that fails, with this process, with the reader of their output, or when all are
// done.
class Copies {
 public:
  Status start(const std::vector<std::string>& command, const std::vector<std::string>& gpus) {
    // A trial reads what all copies write through one pipe, so each line is marked with its copy.
    const bool measured = std::getenv(kEventPathVariable) != nullptr;
    std::vector<CpuSet> masks;
    if (const char* text = std::getenv(kRankCpusVariable); text != nullptr && *text != '\0') {
      masks = OCRTUNE_TRY(parse_rank_cpus(text));
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      ProcessOptions options;
      for (const std::string& word : command) {
        options.arguments.push_back(filled_for(word, gpus[i], i));
      }
      for (const auto& [name, value] : process_environment()) {
        std::string own = filled_for(value, gpus[i], i);
        if (own != value) options.environment.emplace_back(name, std::move(own));
      }
      if (!gpus[i].empty()) show_gpu(gpus[i], options);
      options.environment.emplace_back(kRankCpusVariable, std::nullopt);
      if (i < masks.size()) options.cpus = masks[i];
      options.input = STDIN_FILENO;
      if (!measured) options.errors = STDERR_FILENO;
      CopyOutput output(measured ? copy_mark(static_cast<int>(i)) : "");
      copies_.push_back({OCRTUNE_TRY(tree_.start(std::move(options))), std::move(output), gpus[i]});
    }
    return Status();
  }

  int run() {
    while (true) {
      bool running = false;
      for (std::size_t i = 0; i < copies_.size(); ++i) {
        Copy& copy = copies_[i];
        pass_on(copy);
        const auto& exit = copy.process->poll_exit();
        running = running || !exit;
        if (!exit) continue;
        pass_on(copy);
        copy.output.end();
        if (!exit->clean()) return stop_for(i, *exit);
      }
      std::fflush(stdout);
      if (reader_is_gone(stdout)) {
        tree_.stop(kStopSeconds);
        return kExitPipe;
      }
      if (!running) return kExitOk;
      if (interrupted()) {
        tree_.stop(kStopSeconds);
        return kExitInterrupted;
      }
      steady_clock().sleep_seconds(0.005);
    }
  }

 private:
  struct Copy {
    Process* process = nullptr;
    CopyOutput output;
    std::string gpu;
  };

  static void show_gpu(const std::string& gpu, ProcessOptions& options) {
    // Without the variable the names are the driver's numbers, which go by the bus.
    if (std::getenv("CUDA_VISIBLE_DEVICES") == nullptr) {
      options.environment.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    }
    options.environment.emplace_back("CUDA_VISIBLE_DEVICES", gpu);
  }

  static void pass_on(Copy& copy) {
    while (copy.process->output_descriptor() >= 0 &&
           copy.process->read_output([&](std::string_view bytes) { copy.output.add(bytes); }) > 0) {
    }
  }

  // Copy `i` failed. Gives the exit code of all.
  int stop_for(std::size_t i, const ProcessExit& exit) {
    std::fflush(stdout);
    const std::string& gpu = copies_[i].gpu;
    const std::string& last = copies_[i].output.last_line();
    std::fputs(fmt::format("ocrtune: copy {}{}: {}; the others are stopped{}\n", i,
                           gpu.empty() ? "" : " on GPU " + gpu, exit.text(),
                           last.empty() ? "" : ": " + last)
                   .c_str(),
               stderr);
    tree_.stop(kStopSeconds);
    return exit.signal != 0 ? 128 + exit.signal : exit.code;
  }

  ProcessTree tree_;
  std::vector<Copy> copies_;
};

// `list`: names of GPUs; `count`: copies on the CPUs where there is no list.
Result<int> run_copies(const std::vector<std::string>& command, const std::string& list,
                       int count) {
  OCRTUNE_TRY(find_executable(command[0]));
  std::vector<std::string> gpus(static_cast<std::size_t>(count));
  if (!list.empty()) gpus = split(list, ',');
  for (const std::string& gpu : gpus) {
    if (!list.empty() && trim(gpu).empty()) {
      return Error{ErrorKind::usage,
                   "--copies-on " + list + ": needs names of GPUs, such as 0,0,1"};
    }
  }
  Copies copies;
  OCRTUNE_TRY(copies.start(command, gpus));
  return copies.run();
}

}  // namespace

CommandRun declare_rank_exec(Flags& cli) {
  auto command = std::make_shared<std::vector<std::string>>();
  cli.argument("command", *command, "Program that the rank runs")
      .require("name the program after --, for example: ocrtune rank-exec -- python train.py")
      .file();
  auto gpu = std::make_shared<std::string>();
  cli.option("--gpu", *gpu, "auto|IDS",
             "Show rank r only its own GPU (auto) or the r-th of the list, as device 0");
  auto copies = std::make_shared<std::string>();
  cli.option("--copies-on", *copies, "IDS",
             "Start a copy of the program for each GPU of this list, which it sees as {gpu}, "
             "device 0; {copy} is its number");
  auto count = std::make_shared<int>(0);
  cli.option("--copies", *count, "N",
             "Start N copies of the program on the CPUs; {copy} is its number, from 0")
      .range(1, 1024);
  return [command, gpu, copies, count]() -> Result<int> {
    if (copies->empty() && *count == 0) return rank_exec(*command, *gpu);
    if (!gpu->empty()) {
      return Error{ErrorKind::usage, "--copies-on names the GPUs: leave --gpu out"};
    }
    if (!copies->empty() && *count > 0) {
      return Error{ErrorKind::usage, "--copies are on the CPUs: leave --copies-on out"};
    }
    return run_copies(*command, *copies, *count);
  };
}

}  // namespace ocrtune
