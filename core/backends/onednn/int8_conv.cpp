// Forward in three steps: find each sample's range, write the padded image as bytes, multiply it in
// panels of channels. The zero point is taken off afterwards, by the sums of the weights.
#include "core/backends/onednn/int8_conv.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/backends/onednn/int8_kernels.h"
#include "core/backends/onednn/kept_copies.h"

namespace ocrtune {
namespace {

constexpr int kParts = 8;         // in which a sample's extremes are looked for
constexpr int kChunkPixels = 64;  // of one row of the result, for one thread

std::size_t many(int count) { return static_cast<std::size_t>(count); }

int round_up_to(int count, int unit) { return (count + unit - 1) / unit * unit; }

struct alignas(64) WeightLine {
  std::int8_t bytes[64];
};

// One convolution's weights as bytes, in panels of up to three vectors of channels.
struct Int8Weights {
  std::vector<WeightLine> lines;
  std::vector<float> scales;       // of each channel of the result, to whole vectors
  std::vector<std::int32_t> sums;  // of the bytes of each
};

// Their one order.
using PackedWeights = KeptCopies<std::monostate, const Int8Weights>;
PackedWeights& packed_weights() {
  static PackedWeights all;
  return all;
}

struct SampleScale {
  float scale = 1, zero = 0;
};

class Int8Conv final : public Operator {
 public:
  Int8Conv(const Conv& conv, const ImageDesc& in, const Shape& out)
      : conv_(conv), in_(in), out_{out, {in.layout.block == 16 ? 16 : out.c}} {
    // A product for each pixel needs no rows; long runs waste fewer pixels at the ends of tiles.
    if (conv.kernel == Extent{1, 1} && conv.stride == Extent{1, 1} && conv.pad == Extent{0, 0}) {
      in_.shape.w *= in_.shape.h;  // one long row
      out_.shape.w *= out_.shape.h;
      in_.shape.h = out_.shape.h = 1;
    }
    depth_ = round_up_to(in.shape.c, 16);
    height_ = in_.shape.h + 2 * conv.pad.h;
    width_ = in_.shape.w + 2 * conv.pad.w;
    blocks_ = (out.c + kInt8Lanes - 1) / kInt8Lanes;
    for (int h = 0; h < conv.kernel.h; ++h) {
      for (int w = 0; w < conv.kernel.w; ++w) {
        taps_.push_back(std::ptrdiff_t{(h * width_ + w)} * depth_);
      }
    }
    image_bytes_ = align_up(many(in_.shape.n) * many(height_ * width_) * many(depth_));
    extreme_bytes_ = align_up(many(in_.shape.n * kParts) * 2 * sizeof(float));
    needs_.output_layout = out_.layout;
    needs_.forward_scratch_bytes =
        image_bytes_ + extreme_bytes_ + many(in_.shape.n) * sizeof(SampleScale);
  }
  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    if (!call.fixed_parameters || weights_ == nullptr || weights_for_ != call.parameters[0]) {
      const auto make = [&] { return pack(call.parameters[0]); };
      weights_ =
          call.fixed_parameters ? packed_weights().find(call.parameters[0], {}, make) : make();
      weights_for_ = call.parameters[0];
    }
    auto* image = reinterpret_cast<std::uint8_t*>(call.scratch);
    auto* extremes = reinterpret_cast<float*>(call.scratch + image_bytes_);
    auto* scales = reinterpret_cast<SampleScale*>(call.scratch + image_bytes_ + extreme_bytes_);
    find_scales(call.inputs[0], extremes, scales);
#pragma omp parallel for collapse(2) schedule(static)
    for (int n = 0; n < in_.shape.n; ++n) {
      for (int h = 0; h < height_; ++h) write_bytes(call.inputs[0], n, h, scales[n], image);
    }
    const int panels = (blocks_ + kInt8Vectors - 1) / kInt8Vectors;
#pragma omp parallel for collapse(4) schedule(static)
    for (int n = 0; n < in_.shape.n; ++n) {
      for (int panel = 0; panel < panels; ++panel) {
        for (int h = 0; h < out_.shape.h; ++h) {
          for (int w = 0; w < out_.shape.w; w += kChunkPixels) {
            multiply_panel(call, image, {n, panel, h, w}, scales[n]);
          }
        }
      }
    }
    return Status();
  }
  Status backward(const OperatorCall&) override {
    return Error{ErrorKind::unsupported, "8-bit integers have no gradient"};
  }

 private:
  std::shared_ptr<const Int8Weights> pack(const float* weights) const {
    auto packed = std::make_shared<Int8Weights>();
    const int taps = static_cast<int>(taps_.size()), channels = in_.shape.c;
    const std::size_t count = many(taps * channels);
    packed->lines.resize(many(blocks_ * taps * depth_) / 4);
    packed->scales.assign(many(blocks_ * kInt8Lanes), 1);
    packed->sums.assign(packed->scales.size(), 0);
    for (int o = 0; o < out_.shape.c; ++o) {
      const float* own = weights + many(o) * count;  // [channel][tap]
      float low = 0, high = 0;
      find_extremes(own, count, low, high);
      const float most = std::max(-low, high);
      // Symmetric, from -127 to 127: weights have no zero point.
      const float scale = most > 0 ? most / 127 : 1;
      packed->scales[many(o)] = scale;
      const int block = o / kInt8Lanes, lane = o % kInt8Lanes;
      const int vectors = vectors_of(block / kInt8Vectors), vector = block % kInt8Vectors;
      WeightLine* panel = packed->lines.data() + panel_line(block / kInt8Vectors);
      for (int t = 0; t < taps; ++t) {
        for (int c = 0; c < channels; ++c) {
          const float exact = own[many(c * taps + t)] / scale;
          const auto byte = static_cast<std::int8_t>(std::lround(std::clamp(exact, -127.F, 127.F)));
          panel[many((t * depth_ + c) / 4 * vectors + vector)].bytes[lane * 4 + c % 4] = byte;
          packed->sums[many(o)] += byte;
        }
      }
    }
    return packed;
  }
  int vectors_of(int panel) const { return std::min(kInt8Vectors, blocks_ - panel * kInt8Vectors); }
  std::size_t panel_line(int panel) const {
    return many(panel * kInt8Vectors) * taps_.size() * many(depth_) / 4;
  }

  // A range that holds 0, so that 0 is one of the 256 numbers.
  void find_scales(const float* x, float* extremes, SampleScale* scales) const {
    const std::size_t floats = in_.floats() / many(in_.shape.n);
    const std::size_t part = (floats + kParts - 1) / kParts;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < in_.shape.n * kParts; ++i) {
      const std::size_t first = std::min(floats, many(i % kParts) * part);
      find_extremes(x + many(i / kParts) * floats + first, std::min(part, floats - first),
                    extremes[many(2 * i)], extremes[many(2 * i + 1)]);
    }
    for (int n = 0; n < in_.shape.n; ++n) {
      float low = 0, high = 0;
      for (int i = n * kParts; i < (n + 1) * kParts; ++i) {
        low = std::min(low, extremes[many(2 * i)]);
        high = std::max(high, extremes[many(2 * i + 1)]);
      }
      scales[n].scale = high > low ? (high - low) / 255 : 1;
      scales[n].zero = std::round(-low / scales[n].scale);
    }
  }

  // Row h of the image with its padding, [width][depth].
  void write_bytes(const float* x, int n, int h, const SampleScale& scale,
                   std::uint8_t* image) const {
    std::uint8_t* row = image + many(n * height_ + h) * many(width_ * depth_);
    const auto zero = static_cast<std::uint8_t>(scale.zero);
    const int source = h - conv_.pad.h;
    if (source < 0 || source >= in_.shape.h) {
      std::fill_n(row, width_ * depth_, zero);
      return;
    }
    const int block = in_.layout.block, blocks = in_.blocks(), plane = in_.shape.h * in_.shape.w;
    std::fill_n(row, conv_.pad.w * depth_, zero);
    std::fill_n(row + many(width_ - conv_.pad.w) * many(depth_), conv_.pad.w * depth_, zero);
    const float* from =
        x + (many(n * blocks) * many(plane) + many(source * in_.shape.w)) * many(block);
    quantise({in_.shape.w, blocks, block, depth_, many(plane) * many(block), 1 / scale.scale,
              scale.zero},
             from, row + many(conv_.pad.w * depth_));
  }

  struct ChunkPlace {
    int n, panel, h, w;
  };

  void multiply_panel(const OperatorCall& call, const std::uint8_t* image, const ChunkPlace& at,
                      const SampleScale& scale) const {
    const int vectors = vectors_of(at.panel), first = at.panel * kInt8Vectors;
    float factors[kInt8Vectors * kInt8Lanes], shifts[kInt8Vectors * kInt8Lanes];
    for (int i = 0; i < vectors * kInt8Lanes; ++i) {
      const int o = first * kInt8Lanes + i;
      const bool has_bias = conv_.bias && o < out_.shape.c;
      factors[i] = scale.scale * weights_->scales[many(o)];
      // sum w (x - zero) = sum w x - zero sum w.
      shifts[i] = (has_bias ? call.parameters[1][o] : 0) -
                  factors[i] * scale.zero * static_cast<float>(weights_->sums[many(o)]);
    }
    const std::ptrdiff_t step = std::ptrdiff_t{conv_.stride.w} * depth_;
    Int8Tile tile{nullptr,      step,
                  taps_.data(), static_cast<int>(taps_.size()),
                  depth_,       weights_->lines[panel_line(at.panel)].bytes};
    const std::uint8_t* row =
        image + many(at.n * height_ + at.h * conv_.stride.h) * many(width_ * depth_);
    const int end = std::min(out_.shape.w, at.w + kChunkPixels);
    for (int w = at.w; w < end; w += kInt8Pixels) {
      const int pixels = std::min(kInt8Pixels, end - w);
      std::int32_t sums[kInt8Pixels * kInt8Vectors * kInt8Lanes];
      tile.first = row + w * step;
      multiply_int8(tile, pixels, vectors, sums);
      for (int v = 0; v < vectors; ++v) {
        const std::size_t lane = many(v * kInt8Lanes);
        finish(call, {at.n, first + v, at.h, w}, factors + lane, shifts + lane, sums + lane,
               vectors * kInt8Lanes, pixels);
      }
    }
  }

  // `at.panel` is a block of channels here.
  void finish(const OperatorCall& call, const ChunkPlace& at, const float* factor,
              const float* shift, const std::int32_t* sums, int sum_step, int pixels) const {
    Int8Finish how;
    how.activation = conv_.activation;
    if (conv_.affine) {
      const std::size_t behind = conv_.bias ? 2 : 1;
      how.s1 = *call.parameters[behind];
      how.t1 = *call.parameters[behind + 1];
    }
    how.factor = factor;
    how.shift = shift;
    how.lanes = std::min(kInt8Lanes, out_.shape.c - at.panel * kInt8Lanes);
    how.pads = out_.layout.block == kInt8Lanes;
    const std::size_t plane = out_.pixels(), pixel = many(at.h * out_.shape.w + at.w);
    const std::size_t block = many(out_.layout.block);
    const std::size_t start =
        how.pads ? ((many(at.n * blocks_ + at.panel)) * plane + pixel) * block
                 : (many(at.n) * plane + pixel) * block + many(at.panel * kInt8Lanes);
    finish_int8(how, sums, sum_step, pixels, call.output + start, out_.layout.block);
  }

  Conv conv_;
  ImageDesc in_, out_;
  int depth_ = 0, height_ = 0, width_ = 0, blocks_ = 0;
  std::vector<std::ptrdiff_t> taps_;
  std::size_t image_bytes_ = 0, extreme_bytes_ = 0;
  std::shared_ptr<const Int8Weights> weights_;
  const float* weights_for_ = nullptr;
  OperatorNeeds needs_;
};

}  // namespace

bool fits_int8(const Conv& conv, const ImageDesc& in) {
  const int block = in.layout.block;
  return conv.groups == 1 && conv.branches == 1 && in.shape.c >= kInt8Lanes && in.pixels() > 1 &&
         (block == kInt8Lanes || block == in.shape.c);
}

std::unique_ptr<Operator> make_int8_conv(const Conv& conv, const OperatorRequest& request) {
  return std::make_unique<Int8Conv>(conv, request.inputs[0], request.output);
}

}  // namespace ocrtune
