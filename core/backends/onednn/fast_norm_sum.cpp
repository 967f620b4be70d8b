// Built as fast_norm.cpp, with tables for each branch and one offset for the sum of all. Branches
// of one input lie one after another in its channels.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/norm_kernels.h"
#include "core/backends/reference/reference_norm.h"

namespace ocrtune {
namespace {

std::size_t size(int count) { return static_cast<std::size_t>(count); }

// One summand: channels [first, first + C) of an input.
struct NormBranch {
  std::size_t input = 0;
  int first = 0;
};

class FastNormSum final : public Operator {
 public:
  FastNormSum(const NormSum& norm, const OperatorRequest& request)
      : norm_(norm),
        inputs_(request.inputs),
        out_{request.output, request.inputs[0].layout},
        lanes_(norm_lanes(block())),
        team_(omp_get_max_threads()) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      OCRTUNE_CHECK(inputs_[i].layout == out_.layout);
      OCRTUNE_CHECK(inputs_[i].shape.c == out_.shape.c || out_.shape.c % block() == 0);
      for (int c = 0; c < inputs_[i].shape.c; c += out_.shape.c) branches_.push_back({i, c});
    }
    table_floats_ = size(out_.blocks() * lanes_);
    needs_.output_layout = out_.layout;
    // mean, scale and inverse deviation of each branch, the sum of all offsets
    needs_.saved_bytes = (3 * branches_.size() + 1) * table_floats_ * sizeof(float);
    needs_.forward_scratch_bytes = sums_bytes() + table_floats_ * branches_.size() * sizeof(float);
    needs_.backward_scratch_bytes =
        sums_bytes() + 2 * table_floats_ * branches_.size() * sizeof(float);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    std::fill_n(reinterpret_cast<float*>(call.saved), needs_.saved_bytes / sizeof(float), 0.0F);
    call.training ? measure(call) : recall(call);
    apply(call);
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    over_rows(call, [&](std::size_t b, int n, int cb, int h, float* sum, float* product) {
      norm_slope_row(row(), Activation::none, branch_row(call, b, n, cb, h),
                     scale(call, b).of_block(cb), offset(call).of_block(cb),
                     mean(call, b).of_block(cb), call.output_gradient + row_start(out_, n, cb, h),
                     sum, product);
    });
    combine_slopes(call);
    write_gradients(call);
    return Status();
  }

 private:
  int block() const { return out_.layout.block; }
  double count() const { return static_cast<double>(out_.pixels()) * out_.shape.n; }
  RowShape row() const { return {size(out_.shape.w), block()}; }
  std::size_t sums_bytes() const {
    return align_up(size(team_) * branches_.size() * 2 * table_floats_ * sizeof(double));
  }

  LaneTable saved_table(const OperatorCall& call, std::size_t which) const {
    return {reinterpret_cast<float*>(call.saved) + which * table_floats_, block()};
  }
  LaneTable offset(const OperatorCall& call) const { return saved_table(call, 0); }
  LaneTable mean(const OperatorCall& call, std::size_t b) const {
    return saved_table(call, 1 + 3 * b);
  }
  LaneTable scale(const OperatorCall& call, std::size_t b) const {
    return saved_table(call, 2 + 3 * b);
  }
  LaneTable inverse(const OperatorCall& call, std::size_t b) const {
    return saved_table(call, 3 + 3 * b);
  }
  LaneTable scratch_table(const OperatorCall& call, std::size_t which) const {
    return {reinterpret_cast<float*>(call.scratch + sums_bytes()) + which * table_floats_, block()};
  }
  float of_channel(const LaneTable& table, int c) const {
    return table.of_block(c / block())[c % block()];
  }

  std::size_t row_start(const ImageDesc& desc, int n, int cb, int h) const {
    return ((size(n) * size(desc.blocks()) + size(cb)) * size(desc.shape.h) + size(h)) *
           size(desc.shape.w) * size(block());
  }
  std::size_t branch_start(std::size_t b, int n, int cb, int h) const {
    const NormBranch& branch = branches_[b];
    return row_start(inputs_[branch.input], n, branch.first / block() + cb, h);
  }
  const float* branch_row(const OperatorCall& call, std::size_t b, int n, int cb, int h) const {
    return call.inputs[branches_[b].input] + branch_start(b, n, cb, h);
  }
  // Index into the parameters (scale, then shift) of an input; statistics likewise.
  std::size_t pair(std::size_t b) const { return 2 * branches_[b].input; }

  // Runs visit(branch, n, cb, h, sums...) over all rows; two runs of lanes are added up for each
  // branch, in double over rows.
  template <typename Visit>
  void over_rows(const OperatorCall& call, const Visit& visit) const {
    auto* all = reinterpret_cast<double*>(call.scratch);
    const std::size_t thread_sums = branches_.size() * 2 * table_floats_;
    std::fill_n(all, size(team_) * thread_sums, 0.0);
#pragma omp parallel
    {
      double* total = all + size(omp_get_thread_num()) * thread_sums;
      std::vector<float> sums(2 * size(lanes_));
#pragma omp for collapse(3) schedule(static)
      for (int n = 0; n < out_.shape.n; ++n) {
        for (int cb = 0; cb < out_.blocks(); ++cb) {
          for (int h = 0; h < out_.shape.h; ++h) {
            for (std::size_t b = 0; b < branches_.size(); ++b) {
              std::fill(sums.begin(), sums.end(), 0.0F);
              visit(b, n, cb, h, sums.data(), sums.data() + lanes_);
              double* at = total + 2 * b * table_floats_ + size(cb * lanes_);
              for (std::size_t lane = 0; lane < size(lanes_); ++lane) {
                at[lane] += static_cast<double>(sums[lane]);
                at[table_floats_ + lane] += static_cast<double>(sums[size(lanes_) + lane]);
              }
            }
          }
        }
      }
    }
  }

  double channel_sum(const OperatorCall& call, std::size_t b, int c, std::size_t which) const {
    const auto* all = reinterpret_cast<const double*>(call.scratch);
    double sum = 0;
    for (int thread = 0; thread < team_; ++thread) {
      const double* run = all + size(thread) * branches_.size() * 2 * table_floats_ +
                          (2 * b + which) * table_floats_ + size(c / block() * lanes_);
      for (int lane = c % block(); lane < lanes_; lane += block()) sum += run[lane];
    }
    return sum;
  }

  // Sums about the first pixel, as in core/backends/onednn/fast_norm.cpp.
  void measure(const OperatorCall& call) const {
    for (std::size_t b = 0; b < branches_.size(); ++b) {
      LaneTable shift = scratch_table(call, b);
      for (int c = 0; c < out_.shape.c; ++c) {
        shift.set(c, branch_row(call, b, 0, c / block(), 0)[c % block()]);
      }
    }
    over_rows(call, [&](std::size_t b, int n, int cb, int h, float* sum, float* squares) {
      norm_measure_row(row(), branch_row(call, b, n, cb, h), scratch_table(call, b).of_block(cb),
                       sum, squares);
    });
    for (std::size_t b = 0; b < branches_.size(); ++b) {
      for (int c = 0; c < out_.shape.c; ++c) {
        const double first = of_channel(scratch_table(call, b), c);
        const double distance = channel_sum(call, b, c, 0) / count();
        const double variance =
            std::max(0.0, channel_sum(call, b, c, 1) / count() - distance * distance);
        set_channel(call, b, c, first + distance, variance);
        const int at = branches_[b].first + c;
        reference::move_running(call.statistics[pair(b)][at], call.statistics[pair(b) + 1][at],
                                first + distance, variance, count());
      }
    }
  }

  void recall(const OperatorCall& call) const {
    for (std::size_t b = 0; b < branches_.size(); ++b) {
      for (int c = 0; c < out_.shape.c; ++c) {
        const int at = branches_[b].first + c;
        set_channel(call, b, c, call.statistics[pair(b)][at], call.statistics[pair(b) + 1][at]);
      }
    }
  }

  void set_channel(const OperatorCall& call, std::size_t b, int c, double mean_value,
                   double variance) const {
    const int at = branches_[b].first + c;
    const double inverse_stddev = 1 / std::sqrt(variance + norm_.epsilon);
    const double factor = call.parameters[pair(b)][at] * inverse_stddev;
    mean(call, b).set(c, static_cast<float>(mean_value));
    scale(call, b).set(c, static_cast<float>(factor));
    inverse(call, b).set(c, static_cast<float>(inverse_stddev));
    const double shift = call.parameters[pair(b) + 1][at] - factor * mean_value;
    // Shifts of all branches add up to one, so apply() adds only one offset.
    LaneTable total = offset(call);
    total.set(c, of_channel(total, c) + static_cast<float>(shift));
  }

  void apply(const OperatorCall& call) const {
#pragma omp parallel for collapse(3) schedule(static)
    for (int n = 0; n < out_.shape.n; ++n) {
      for (int cb = 0; cb < out_.blocks(); ++cb) {
        for (int h = 0; h < out_.shape.h; ++h) {
          float* y = call.output + row_start(out_, n, cb, h);
          norm_apply_row(row(), Activation::none, branch_row(call, 0, n, cb, h),
                         scale(call, 0).of_block(cb), offset(call).of_block(cb), y);
          for (std::size_t b = 1; b < branches_.size(); ++b) {
            norm_add_row(row(), branch_row(call, b, n, cb, h), scale(call, b).of_block(cb), y);
          }
        }
      }
    }
  }

  // Parameter gradients, and the two coefficients of dx = scale dy + slope x + constant.
  void combine_slopes(const OperatorCall& call) const {
    std::fill_n(reinterpret_cast<float*>(call.scratch + sums_bytes()),
                2 * table_floats_ * branches_.size(), 0.0F);
    for (std::size_t b = 0; b < branches_.size(); ++b) {
      LaneTable slope = scratch_table(call, 2 * b), constant = scratch_table(call, 2 * b + 1);
      for (int c = 0; c < out_.shape.c; ++c) {
        const int at = branches_[b].first + c;
        const double inverse_stddev = of_channel(inverse(call, b), c);
        const double sum = channel_sum(call, b, c, 0);
        const double product = channel_sum(call, b, c, 1) * inverse_stddev;
        call.parameter_gradients[pair(b)][at] = static_cast<float>(product);
        call.parameter_gradients[pair(b) + 1][at] = static_cast<float>(sum);
        const double factor = of_channel(scale(call, b), c);
        // The coefficients are those of fast_norm.cpp.
        const double k = -factor * inverse_stddev * product / count();
        slope.set(c, static_cast<float>(k));
        constant.set(
            c, static_cast<float>(-factor * sum / count() - k * of_channel(mean(call, b), c)));
      }
    }
  }

  void write_gradients(const OperatorCall& call) const {
#pragma omp parallel for collapse(3) schedule(static)
    for (int n = 0; n < out_.shape.n; ++n) {
      for (int cb = 0; cb < out_.blocks(); ++cb) {
        for (int h = 0; h < out_.shape.h; ++h) {
          const float* dy = call.output_gradient + row_start(out_, n, cb, h);
          for (std::size_t b = 0; b < branches_.size(); ++b) {
            float* dx = call.input_gradients[branches_[b].input];
            if (dx == nullptr) continue;
            norm_gradient_row(
                row(), Activation::none, branch_row(call, b, n, cb, h), scale(call, b).of_block(cb),
                offset(call).of_block(cb), scratch_table(call, 2 * b).of_block(cb),
                scratch_table(call, 2 * b + 1).of_block(cb), dy, dx + branch_start(b, n, cb, h));
          }
        }
      }
    }
  }

  NormSum norm_;
  std::vector<ImageDesc> inputs_;
  ImageDesc out_;
  int lanes_, team_;
  std::vector<NormBranch> branches_;
  std::size_t table_floats_ = 0;
  OperatorNeeds needs_;
};

}  // namespace

Layout norm_sum_layout(const NormSum& norm, const ImageDesc& offered) {
  return norm.channels % offered.layout.block == 0 ? offered.layout : Layout{1};
}

std::unique_ptr<Operator> make_fast_norm_sum(const NormSum& norm, const OperatorRequest& request) {
  return std::make_unique<FastNormSum>(norm, request);
}

}  // namespace ocrtune
