// The truth of one simulated machine: rate and peak memory of any setting. One maker per kind.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/random.h"
#include "trial/knobs.h"

namespace ocrtune {

struct SurfacePoint {
  double samples_per_second = 0;
  double peak_bytes = 0;
  std::string ends_by = {};  // a cause of diagnosis/causes.h besides main memory; empty: it runs
};

using Surface = std::function<SurfacePoint(const Knobs&)>;

struct SurfaceRequest {
  int cores = 16;
  int sockets = 1;
  Random random{1};
  bool other_model = false;
};

Surface make_formula_surface(SurfaceRequest request);    // bench/synthetic/synthetic_formula.cpp
Surface make_queue_surface(SurfaceRequest request);      // bench/synthetic/synthetic_queue.cpp
Surface make_field_surface(SurfaceRequest request);      // bench/synthetic/synthetic_field.cpp
Surface make_mechanism_surface(SurfaceRequest request);  // bench/synthetic/synthetic_mechanism.cpp

// exp(normal) of a setting that is the same whenever it is asked for.
double frozen_factor(const Knobs& knobs, std::uint64_t seed, double sigma);

}  // namespace ocrtune
