// Copies of weights that never change, in another order or type: one for the operators of all
// shapes, as long as one of them uses it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace ocrtune {

template <typename Order, typename Weights>
class KeptCopies {
 public:
  // The copy in `order` of the weights at `start`; make() gives it where there is none yet.
  template <typename Make>
  std::shared_ptr<Weights> find(const void* start, const Order& order, const Make& make) {
    const std::lock_guard lock(mutex_);
    std::erase_if(copies_, [](const Copy& copy) { return copy.weights.expired(); });
    for (const Copy& copy : copies_) {
      if (copy.start != start || copy.order != order) continue;
      if (auto found = copy.weights.lock()) return found;
    }
    std::shared_ptr<Weights> made = make();
    copies_.push_back({start, order, made});
    return made;
  }

 private:
  struct Copy {
    const void* start;
    Order order;
    std::weak_ptr<Weights> weights;
  };
  std::mutex mutex_;
  std::vector<Copy> copies_;
};

}  // namespace ocrtune
