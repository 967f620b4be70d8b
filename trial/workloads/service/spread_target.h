// Several targets as one: each request goes to the one with the fewest requests under way.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trial/workloads/service/load_target.h"

namespace ocrtune {

class SpreadTarget final : public LoadTarget {
 public:
  explicit SpreadTarget(std::vector<std::unique_ptr<LoadTarget>> targets);  // one at least

  void start(std::uint64_t request, int kind) override;
  void collect(double until_seconds, std::vector<Completion>& finished) override;
  std::string failure() const override;
  std::string ended() const override;

 private:
  struct Part {
    std::unique_ptr<LoadTarget> target;
    std::size_t under_way = 0;
  };

  void take(Part& part, double until_seconds, std::vector<Completion>& finished) const;

  std::vector<Part> parts_;
};

}  // namespace ocrtune
