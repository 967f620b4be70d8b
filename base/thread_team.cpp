// The threads wait at a gate until all of them have been made, and do nothing if it opens with
// "no". std::jthread joins in every case, also as the exception passes.
#include "base/thread_team.h"

#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace ocrtune {

bool run_team(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::promise<bool> gate;
  const std::shared_future<bool> complete = gate.get_future().share();
  std::vector<std::jthread> threads;
  threads.reserve(count);
  try {
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&work, complete, i] {
        if (complete.get()) work(i);
      });
    }
  } catch (const std::system_error&) {
    gate.set_value(false);
    return false;
  }
  gate.set_value(true);
  return true;
}

}  // namespace ocrtune
