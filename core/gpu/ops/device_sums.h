// Sums over the samples and pixels of each channel, in two rounds: first groups of lanes for parts
// of the samples, as many as keep a GPU busy, then one group for each channel. The order is fixed,
// so that the same input gives the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/result.h"
#include "core/gpu/ops/device_rows.h"

namespace ocrtune::device {

inline constexpr int kEnoughRows = 2048;  // groups of 128 lanes that fill the largest GPUs

// Of [count, channels, plane]; samples are cut into `chunks` parts.
struct SumSizes {
  int count, channels;
  std::size_t plane;
  int chunks;
  OCRTUNE_BOTH std::size_t rows() const { return many(chunks) * many(channels); }
  // The first sample of a chunk.
  OCRTUNE_BOTH std::size_t first(std::size_t chunk) const {
    return many(count) * chunk / many(chunks);
  }
  std::size_t bytes(int sums) const { return rows() * many(sums) * sizeof(double); }
};

// `rows`: how many groups there are for each part.
inline int chunks_of(int count, std::size_t rows) {
  const std::size_t wanted = (many(kEnoughRows) + rows - 1) / rows;
  return std::clamp(static_cast<int>(wanted), 1, std::max(1, count));
}

inline SumSizes sum_sizes(int count, int channels, std::size_t plane) {
  return {count, channels, plane, chunks_of(count, many(channels))};
}

// One element: sample, channel, pixel, and its index.
struct SumElement {
  std::size_t n, c, p, at;
};

// Additions that a lane makes in a term's own type before they go into doubles: GPUs without fast
// doubles (all but the data centre's) would otherwise compute longer than they read.
inline constexpr int kRunLength = 16;

// A Term has kSums, the type Sum and add(sums, place). partial [chunks, channels, kSums].
template <typename Term>
struct PartialSumsRow {
  SumSizes plan;
  Term term;
  double* partial;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t c = row % many(plan.channels), chunk = row / many(plan.channels);
    double sums[Term::kSums] = {};
    typename Term::Sum run[Term::kSums] = {};
    int length = 0;
    const auto close_run = [&] {
      for (int k = 0; k < Term::kSums; ++k) {
        sums[k] += static_cast<double>(run[k]);
        run[k] = 0;
      }
      length = 0;
    };
    for (std::size_t n = plan.first(chunk); n < plan.first(chunk + 1); ++n) {
      const std::size_t first = (n * many(plan.channels) + c) * plan.plane;
      for (std::size_t p = many(lane.index()); p < plan.plane; p += many(lane.count())) {
        term.add(run, SumElement{n, c, p, first + p});
        if (++length == kRunLength) close_run();
      }
    }
    close_run();
    for (int k = 0; k < Term::kSums; ++k) {
      const double total = lane.sum(sums[k]);
      if (lane.index() == 0) partial[row * many(Term::kSums) + many(k)] = total;
    }
  }
};

// finish(c, sums) is called once for each channel.
template <int kSums, typename Finish>
struct FinishSumsRow {
  SumSizes plan;
  const double* partial;
  Finish finish;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t c) const {
    double sums[kSums];
    for (int k = 0; k < kSums; ++k) {
      double mine = 0;
      for (std::size_t chunk = many(lane.index()); chunk < many(plan.chunks);
           chunk += many(lane.count())) {
        mine += partial[(chunk * many(plan.channels) + c) * many(kSums) + many(k)];
      }
      sums[k] = lane.sum(mine);
    }
    if (lane.index() == 0) finish(c, sums);
  }
};

// `partial` holds plan.bytes(Term::kSums).
template <typename Executor, typename Term, typename Finish>
Status sum_channels(Executor& executor, const SumSizes& plan, const Term& term,
                    const Finish& finish, std::byte* partial) {
  auto* sums = reinterpret_cast<double*>(partial);
  OCRTUNE_TRY(executor.rows(plan.rows(), PartialSumsRow<Term>{plan, term, sums}));
  return executor.rows(many(plan.channels), FinishSumsRow<Term::kSums, Finish>{plan, sums, finish});
}

// --- one number for each channel: a bias's gradient --------------------------------------------

template <typename Value>
struct PlainTerm {
  static constexpr int kSums = 1;
  using Sum = float;
  const Value* x;
  OCRTUNE_BOTH void add(float (&sums)[kSums], const SumElement& place) const {
    sums[0] += x[place.at];
  }
};

struct StoreSum {
  float* to;
  OCRTUNE_BOTH void operator()(std::size_t c, const double* sums) const {
    to[c] = static_cast<float>(sums[0]);
  }
};

// --- clipping: one number of all gradients ------------------------------------------------------

struct SquareTerm {
  static constexpr int kSums = 1;
  using Sum = double;
  const float* x;
  std::size_t size;  // the last sample may be short of it
  OCRTUNE_BOTH void add(Sum (&sums)[kSums], const SumElement& place) const {
    if (place.at < size) sums[0] += static_cast<double>(x[place.at]) * x[place.at];
  }
};

struct StoreShare {
  double most;  // Euclidean norm
  float* share;
  OCRTUNE_BOTH void operator()(std::size_t, const double* sums) const {
    const double norm = sqrt(sums[0]);
    *share = norm > most ? static_cast<float>(most / norm) : 1.0F;
  }
};

// --- two numbers for each channel: a norm's gradients ------------------------------------------

// The gradients of shift and scale, in the order of the sums.
struct StoreNormSums {
  float *dbeta, *dgamma;
  OCRTUNE_BOTH void operator()(std::size_t c, const double* sums) const {
    dbeta[c] = static_cast<float>(sums[0]);
    dgamma[c] = static_cast<float>(sums[1]);
  }
};

}  // namespace ocrtune::device
