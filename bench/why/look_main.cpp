// The stages of a command as a trial sees them, what they say, and what looking at them costs.
//
//   why_look SECONDS COMMAND [WORD...]
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/process_tree.h"
#include "reports/catalogue/reasons.h"
#include "trial/ipc/trial_fields.h"
#include "trial/observe/interference.h"
#include "trial/watch/load_watch.h"
#include "tuner/verdict/held_back.h"

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
  constexpr double kStart = 1, kWindow = 3;
  Clock& clock = steady_clock();
  ProcessTree tree;
  ProcessOptions options;
  options.arguments = command;
  if (!tree.start(options)) return 1;
  clock.sleep_seconds(kStart);
  tree.scan();
  const double begin = clock.now_seconds(), cpus = std::thread::hardware_concurrency();
  LoadDemand demand;
  demand.threads = demand.cpus = cpus;
  LoadWatch watch(tree, demand);
  watch.begin(begin);
  double spent = 0, now = begin, window_end = begin + kWindow;
  Interference disturbed;
  while ((now = clock.now_seconds()) - begin < seconds) {
    const double cpu = own_cpu_seconds();
    watch.look(now);
    spent += own_cpu_seconds() - cpu;
    if (now > window_end) {
      tree.scan();
      watch.close(now, disturbed);
      window_end = now + kWindow;
    }
    clock.sleep_seconds(0.02);
    for (const auto& root : tree.roots()) root->read_output([](std::string_view) {});
  }
  tree.scan();
  watch.close(now, disturbed);
  Trial trial;
  trial.threads = watch.threads().use();
  trial.stages = watch.stages().use({});
  fmt::print("{}\nbusy {:.2f}, on {:.2f} CPUs, runnable {:.2f}\n", FieldsJson(trial.stages).dump(1),
             trial.threads.busy, trial.threads.cpus, trial.threads.runnable);
  for (const HeldBack& held : held_back(trial, cpus, {})) {
    fmt::print("why: {}\n", sentence(held_back_reason(held)));
  }
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
