// Two passes forward: measure() sums over all rows, apply() writes. Backward sums the slopes, then
// writes dx = scale dz + slope x + constant. The row loops are in norm_kernels.h.
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

class FastNorm final : public Operator {
 public:
  FastNorm(const BatchNorm& norm, const ImageDesc& in)
      : norm_(norm),
        in_(in),
        pool_(reference::resolve_pool(norm, in.shape)),
        out_{{in.shape.n, in.shape.c, in.shape.h / pool_.h, in.shape.w / pool_.w}, in.layout},
        lanes_(norm_lanes(in.layout.block)),
        team_(omp_get_max_threads()) {
    const bool takes_pool = block() == 16 || block() == 8 || block() == 1;
    // A byte holds the place of the maximum; 255 means that ReLU let nothing through.
    OCRTUNE_CHECK(!pooled() || (takes_pool && pool_.h * pool_.w < 255));
    table_floats_ = size(in.blocks()) * size(lanes_);
    const std::size_t sums = size(team_) * 2 * table_floats_ * sizeof(double);
    needs_.output_layout = in.layout;
    // mean, scale, offset and inverse deviation, then the place of each pool window's maximum
    tables_bytes_ = align_up(4 * table_floats_ * sizeof(float));
    needs_.saved_bytes = tables_bytes_ + (pooled() ? out_.floats() : 0);
    needs_.forward_scratch_bytes = align_up(sums) + table_floats_ * sizeof(float);
    needs_.backward_scratch_bytes = align_up(sums) + 2 * table_floats_ * sizeof(float);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    Tables tables = saved_tables(call);
    set_padding(tables);
    call.training ? measure(call, tables) : recall(call, tables);
    apply(call, tables);
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    const Tables tables = saved_tables(call);
    LaneTable slope(scratch_table(call, 0), block()), constant(scratch_table(call, 1), block());
    std::fill_n(scratch_table(call, 0), 2 * table_floats_, 0.0F);
    clear_sums(call);
    sum_slopes(call, tables);
    combine_slopes(call, tables, slope, constant);
    if (call.input_gradients[0] != nullptr) write_gradient(call, tables, slope, constant);
    return Status();
  }

 private:
  struct Tables {
    LaneTable mean, scale, offset;
    float* inverse_stddev;  // by channel
  };

  bool pooled() const { return pool_.h * pool_.w > 1; }
  bool relu() const { return norm_.activation == Activation::relu; }
  int block() const { return in_.layout.block; }
  double count() const { return static_cast<double>(in_.pixels()) * in_.shape.n; }

  Tables saved_tables(const OperatorCall& call) const {
    auto* start = reinterpret_cast<float*>(call.saved);
    return {LaneTable(start, block()), LaneTable(start + table_floats_, block()),
            LaneTable(start + 2 * table_floats_, block()), start + 3 * table_floats_};
  }
  std::uint8_t* saved_index(const OperatorCall& call) const {
    return reinterpret_cast<std::uint8_t*>(call.saved + tables_bytes_);
  }
  float* scratch_table(const OperatorCall& call, std::size_t which) const {
    const std::size_t sums = align_up(size(team_) * 2 * table_floats_ * sizeof(double));
    return reinterpret_cast<float*>(call.scratch + sums) + which * table_floats_;
  }
  // The two running sums of one thread.
  double* thread_sums(const OperatorCall& call, int thread) const {
    return reinterpret_cast<double*>(call.scratch) + size(thread) * 2 * table_floats_;
  }
  void clear_sums(const OperatorCall& call) const {
    std::fill_n(reinterpret_cast<double*>(call.scratch), size(team_) * 2 * table_floats_, 0.0);
  }
  // Channels beyond C keep scale and offset 0, so that padding stays 0.
  void set_padding(Tables& tables) const {
    for (int c = in_.shape.c; c < in_.padded_channels(); ++c) {
      tables.mean.set(c, 0);
      tables.scale.set(c, 0);
      tables.offset.set(c, 0);
    }
  }

  // Runs row(n, cb, h, sums) over the image rows of all samples and blocks on the team; `row` adds
  // to two runs of lanes, which are then added to the thread's sums in double.
  template <typename Row>
  void over_rows(const OperatorCall& call, int heights, const Row& row) const {
#pragma omp parallel
    {
      double* total = thread_sums(call, omp_get_thread_num());
      std::vector<float> sums(2 * size(lanes_));
#pragma omp for collapse(3) schedule(static)
      for (int n = 0; n < in_.shape.n; ++n) {
        for (int cb = 0; cb < in_.blocks(); ++cb) {
          for (int h = 0; h < heights; ++h) {
            std::fill(sums.begin(), sums.end(), 0.0F);
            row(n, cb, h, sums.data(), sums.data() + lanes_);
            double* at = total + size(cb) * size(lanes_);
            for (int lane = 0; lane < lanes_; ++lane) {
              at[lane] += static_cast<double>(sums[size(lane)]);
              at[table_floats_ + size(lane)] += static_cast<double>(sums[size(lanes_ + lane)]);
            }
          }
        }
      }
    }
  }

  // The sums of one channel over threads and over the lanes that stand for it.
  double channel_sum(const OperatorCall& call, int channel, std::size_t which) const {
    double sum = 0;
    for (int thread = 0; thread < team_; ++thread) {
      const double* run = thread_sums(call, thread) + which * table_floats_ +
                          size(channel / block()) * size(lanes_);
      for (int lane = channel % block(); lane < lanes_; lane += block()) sum += run[lane];
    }
    return sum;
  }

  std::size_t row_start(const ImageDesc& desc, int n, int cb, int h) const {
    return ((size(n) * size(desc.blocks()) + size(cb)) * size(desc.shape.h) + size(h)) *
           size(desc.shape.w) * size(block());
  }

  // Sums of x and x^2 about the batch's first pixel, which keeps the difference of squares exact.
  void measure(const OperatorCall& call, Tables& tables) const {
    const float* x = call.inputs[0];
    LaneTable shift(scratch_table(call, 0), block());
    std::fill_n(scratch_table(call, 0), table_floats_, 0.0F);
    for (int c = 0; c < in_.shape.c; ++c) {
      shift.set(c, x[row_start(in_, 0, c / block(), 0) + size(c % block())]);
    }
    clear_sums(call);
    const RowShape row{size(in_.shape.w), block()};
    over_rows(call, in_.shape.h, [&](int n, int cb, int h, float* sum, float* squares) {
      norm_measure_row(row, x + row_start(in_, n, cb, h), shift.of_block(cb), sum, squares);
    });
    for (int c = 0; c < in_.shape.c; ++c) {
      const double first = shift.of_block(c / block())[c % block()];
      const double distance = channel_sum(call, c, 0) / count();
      const double variance =
          std::max(0.0, channel_sum(call, c, 1) / count() - distance * distance);
      set_channel(call, tables, c, first + distance, variance);
      reference::move_running(call.statistics[0][c], call.statistics[1][c], first + distance,
                              variance, count());
    }
  }

  void recall(const OperatorCall& call, Tables& tables) const {
    for (int c = 0; c < in_.shape.c; ++c) {
      set_channel(call, tables, c, call.statistics[0][c], call.statistics[1][c]);
    }
  }

  void set_channel(const OperatorCall& call, Tables& tables, int c, double mean,
                   double variance) const {
    const double inverse = 1 / std::sqrt(variance + norm_.epsilon);
    const double scale = call.parameters[0][c] * inverse;
    tables.mean.set(c, static_cast<float>(mean));
    tables.scale.set(c, static_cast<float>(scale));
    tables.offset.set(c, static_cast<float>(call.parameters[1][c] - scale * mean));
    tables.inverse_stddev[c] = static_cast<float>(inverse);
  }

  WindowShape window() const { return {pool_.h, pool_.w, size(in_.shape.w) * size(block())}; }

  void apply(const OperatorCall& call, const Tables& tables) const {
    const RowShape row{size(out_.shape.w), block()};
#pragma omp parallel for collapse(3) schedule(static)
    for (int n = 0; n < out_.shape.n; ++n) {
      for (int cb = 0; cb < out_.blocks(); ++cb) {
        for (int h = 0; h < out_.shape.h; ++h) {
          const float* x = call.inputs[0] + row_start(in_, n, cb, h * pool_.h);
          const std::size_t to = row_start(out_, n, cb, h);
          const float* scale = tables.scale.of_block(cb);
          const float* offset = tables.offset.of_block(cb);
          if (pooled()) {
            pool_apply_row(row, window(), relu(), x, scale, offset, call.output + to,
                           saved_index(call) + to);
          } else {
            norm_apply_row(row, norm_.activation, x, scale, offset, call.output + to);
          }
        }
      }
    }
  }

  void sum_slopes(const OperatorCall& call, const Tables& tables) const {
    const RowShape row{size(out_.shape.w), block()};
    over_rows(call, out_.shape.h, [&](int n, int cb, int h, float* sum, float* product) {
      const float* x = call.inputs[0] + row_start(in_, n, cb, h * pool_.h);
      const std::size_t at = row_start(out_, n, cb, h);
      const float* scale = tables.scale.of_block(cb);
      const float* offset = tables.offset.of_block(cb);
      const float* mean = tables.mean.of_block(cb);
      if (pooled()) {
        pool_slope_row(row, window(), x, mean, call.output_gradient + at, saved_index(call) + at,
                       sum, product);
      } else {
        norm_slope_row(row, norm_.activation, x, scale, offset, mean, call.output_gradient + at,
                       sum, product);
      }
    });
  }

  // Parameter gradients, and the two coefficients of dx = scale dz + slope x + constant.
  void combine_slopes(const OperatorCall& call, const Tables& tables, LaneTable& slope,
                      LaneTable& constant) const {
    for (int c = 0; c < in_.shape.c; ++c) {
      const double inverse = tables.inverse_stddev[c];
      const double sum = channel_sum(call, c, 0);
      const double product = channel_sum(call, c, 1) * inverse;
      call.parameter_gradients[0][c] = static_cast<float>(product);
      call.parameter_gradients[1][c] = static_cast<float>(sum);
      const double scale = call.parameters[0][c] * inverse;
      const double mean = tables.mean.of_block(c / block())[c % block()];
      // dx = scale (dz - sum / n - normal product / n) with normal = inverse (x - mean). It is
      // sorted by dz, x and constants here.
      const double k = -scale * inverse * product / count();
      slope.set(c, static_cast<float>(k));
      constant.set(c, static_cast<float>(-scale * sum / count() - k * mean));
    }
  }

  void write_gradient(const OperatorCall& call, const Tables& tables, const LaneTable& slope,
                      const LaneTable& constant) const {
    const RowShape row{size(out_.shape.w), block()};
    float* dx = call.input_gradients[0];
#pragma omp parallel for collapse(3) schedule(static)
    for (int n = 0; n < out_.shape.n; ++n) {
      for (int cb = 0; cb < out_.blocks(); ++cb) {
        for (int h = 0; h < out_.shape.h; ++h) {
          const std::size_t from = row_start(in_, n, cb, h * pool_.h);
          const std::size_t at = row_start(out_, n, cb, h);
          const float* scale = tables.scale.of_block(cb);
          const float* offset = tables.offset.of_block(cb);
          if (pooled()) {
            pool_gradient_row(row, window(), call.inputs[0] + from, scale, slope.of_block(cb),
                              constant.of_block(cb), call.output_gradient + at,
                              saved_index(call) + at, dx + from);
          } else {
            norm_gradient_row(row, norm_.activation, call.inputs[0] + from, scale, offset,
                              slope.of_block(cb), constant.of_block(cb), call.output_gradient + at,
                              dx + from);
          }
        }
      }
    }
    if (pooled()) write_uncovered(call, slope, constant);
  }

  // Rows and columns that no pool window covers still follow the mean and the variance.
  void write_uncovered(const OperatorCall& call, const LaneTable& slope,
                       const LaneTable& constant) const {
    const int covered_h = out_.shape.h * pool_.h, covered_w = out_.shape.w * pool_.w;
    for (int n = 0; n < in_.shape.n; ++n) {
      for (int cb = 0; cb < in_.blocks(); ++cb) {
        for (int h = 0; h < in_.shape.h; ++h) {
          const int first = h < covered_h ? covered_w : 0;
          const std::size_t start = row_start(in_, n, cb, h);
          for (std::size_t i = size(first * block()); i < size(in_.shape.w * block()); ++i) {
            const std::size_t lane = i % size(block());
            call.input_gradients[0][start + i] =
                slope.of_block(cb)[lane] * call.inputs[0][start + i] + constant.of_block(cb)[lane];
          }
        }
      }
    }
  }

  BatchNorm norm_;
  ImageDesc in_;
  Extent pool_;
  ImageDesc out_;
  int lanes_, team_;
  std::size_t table_floats_ = 0, tables_bytes_ = 0;
  OperatorNeeds needs_;
};

}  // namespace

std::unique_ptr<Operator> make_fast_norm(const BatchNorm& norm, const ImageDesc& in) {
  return std::make_unique<FastNorm>(norm, in);
}

}  // namespace ocrtune
