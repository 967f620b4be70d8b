// Learning as JSON and back: for the store and for other hosts' agents.
#pragma once

#include "trial/ipc/json_fields.h"
#include "trial/learning.h"

namespace ocrtune {

inline constexpr auto kLearningPointFields = [](auto& point, const auto& visit) {
  visit("samples", point.samples);
  visit("weight", point.weight);
  visit("loss", point.loss);
  visit("part_square", point.part_square);
  visit("whole_square", point.whole_square);
};

inline constexpr auto kLearningFields = [](auto& learning, const auto& visit) {
  visit("global_batch", learning.global_batch);
  visit("parts", learning.parts);
  visit("seed", learning.seed);
  visit("rate_factor", learning.rate_factor);
  visit("points", learning.points);
};

constexpr auto listed_fields(const LearningPoint*) { return kLearningPointFields; }
constexpr auto listed_fields(const Learning*) { return kLearningFields; }

}  // namespace ocrtune
