// The worker's side of a step: its arguments, its findings and the files by which ranks meet. No
// CUDA here, so it is compiled and tested on every machine.
#include "probes/p2p/steps/gpu_step_order.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"

namespace ocrtune {

double GpuStepOrder::number(const std::string& name, double otherwise) const {
  const auto at = options.find(name);
  return at == options.end() ? otherwise : parse_number(at->second).value_or(otherwise);
}

std::string GpuStepOrder::text(const std::string& name) const {
  const auto at = options.find(name);
  return at == options.end() ? "" : at->second;
}

GpuFinding GpuStepOrder::finding(const std::string& what, const std::string& outcome) const {
  GpuFinding out;
  out.what = what;
  out.outcome = outcome;
  out.rank = rank;
  return out;
}

Result<GpuStepOrder> parse_gpu_step(int argc, char** argv) {
  if (argc < 3 || std::string(argv[1]) != "step") {
    return Error{ErrorKind::usage, "a step and its kind are wanted"};
  }
  GpuStepOrder order;
  order.kind = argv[2];
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (!starts_with(argument, "--") || equals == std::string::npos) {
      return Error{ErrorKind::usage, "'" + argument + "' is no --name=value"};
    }
    order.options[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
  }
  order.rank = static_cast<int>(order.number("rank", 0));
  order.world = static_cast<int>(order.number("world", 1));
  order.folder = order.text("folder");
  order.device = static_cast<int>(order.number("device", -1));
  if (order.rank < 0 || order.world < 1 || order.rank >= order.world) {
    return Error{ErrorKind::usage, "rank and world do not fit"};
  }
  return order;
}

void say(const GpuFinding& finding) {
  // Where nobody listens nobody is told.
  [[maybe_unused]] const Status told =
      write_all(STDOUT_FILENO, gpu_finding_line(finding), "a finding");
}

int say_end(const GpuStepOrder& order, const std::string& outcome, const std::string& detail) {
  GpuFinding end = order.finding("end", outcome);
  end.detail = detail;
  say(end);
  return 0;
}

Status Rendezvous::publish(const std::string& name, const std::string& bytes) {
  // write_file() renames a complete file, so a rank that sees the name can read all of it.
  return write_file(join_path(folder_, "meet." + name), bytes);
}

Result<std::string> Rendezvous::fetch(const std::string& name) {
  const std::string path = join_path(folder_, "meet." + name);
  const double start = steady_clock().now_seconds();
  while (!path_exists(path)) {
    if (steady_clock().now_seconds() - start > seconds_) {
      return Error{ErrorKind::failed,
                   fmt::format("rank {} waited {:.0f} s for {}", rank_, seconds_, name)};
    }
    steady_clock().sleep_seconds(0.002);
  }
  return read_file(path);
}

Status Rendezvous::meet(const std::string& name) {
  const Status here = publish(fmt::format("{}.{}", name, rank_), "here");
  if (!here) return here;
  for (int other = 0; other < world_; ++other) {
    OCRTUNE_TRY(fetch(fmt::format("{}.{}", name, other)));
  }
  return Status();
}

}  // namespace ocrtune
