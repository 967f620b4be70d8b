// The stages of a command as a trial sees them, and what looking at them costs.
//
//   why_look SECONDS COMMAND [WORD...]
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/process_tree.h"
#include "trial/ipc/trial_fields.h"
#include "trial/observe/interference.h"
#include "trial/stages/stage_meter.h"

namespace ocrtune {
namespace {

double own_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int look(double seconds, const std::vector<std::string>& command) {
  constexpr double kStart = 1;
  Clock& clock = steady_clock();
  ProcessTree tree;
  ProcessOptions options;
  options.arguments = command;
  if (!tree.start(options)) return 1;
  clock.sleep_seconds(kStart);
  tree.scan();
  StageMeter meter;
  const double begin = clock.now_seconds();
  const LoadSnapshot before = take_load_snapshot(FileRoot(), tree, begin);
  meter.begin(begin, tree.members());
  double spent = 0, now = begin;
  while ((now = clock.now_seconds()) - begin < seconds) {
    const double cpu = own_cpu_seconds();
    meter.look(now, tree.members());
    spent += own_cpu_seconds() - cpu;
    clock.sleep_seconds(0.02);
    for (const auto& root : tree.roots()) root->read_output([](std::string_view) {});
  }
  tree.scan();
  meter.add_window(before, take_load_snapshot(FileRoot(), tree, now));
  fmt::print("{}\n", FieldsJson(meter.use({})).dump(1));
  fmt::print("looking took {:.3f} % of a CPU\n", 100 * spent / (now - begin));
  return 0;
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("use: why_look SECONDS COMMAND [WORD...]\n", stderr);
    return 2;
  }
  return ocrtune::look(std::atof(argv[1]), {argv + 2, argv + argc});
}
