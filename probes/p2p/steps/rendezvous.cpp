#include "probes/p2p/steps/rendezvous.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"

namespace ocrtune {

Status Rendezvous::publish(const std::string& name, const std::string& bytes) {
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
