#include "core/backends/onednn/onednn_backend.h"

#include <variant>

#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/onednn_conv.h"

namespace ocrtune {
namespace {

using Made = Result<std::unique_ptr<Operator>>;

struct WantedLayout {
  std::span<const ImageDesc> all;
  const Shape& output;
  int index;

  const ImageDesc& offered() const { return all[static_cast<std::size_t>(index)]; }
  Layout tokens() const { return Layout{offered().shape.c}; }
  Layout operator()(const Conv& conv) const {
    if (is_fast_depthwise(conv, offered().shape)) {
      Conv one = conv;  // oneDNN knows no branches
      one.branches = 1;
      one.out_channels = offered().shape.c;
      const Shape out{output.n, one.out_channels, output.h, output.w};
      return depthwise_layout(conv, offered(), preferred_conv_layout(one, offered().shape, out));
    }
    if (keeps_tokens(conv, offered())) return offered().layout;
    return preferred_conv_layout(conv, offered().shape, output);
  }
  Layout operator()(const BatchNorm& norm) const {
    const int block = offered().layout.block;
    const bool pools = norm.pool != Extent{1, 1};
    return pools && block != 16 && block != 8 ? Layout{1} : offered().layout;
  }
  Layout operator()(const Activate&) const { return offered().layout; }
  Layout operator()(const AveragePool&) const { return offered().layout; }
  Layout operator()(const MaxPool&) const { return offered().layout; }
  // All inputs as the first.
  Layout operator()(const Sum&) const { return all[0].layout; }
  Layout operator()(const Scale&) const { return all[0].layout; }
  Layout operator()(const Affine&) const { return offered().layout; }
  Layout operator()(const NormSum& norm) const { return norm_sum_layout(norm, all[0]); }
  Layout operator()(const BiLstm&) const { return tokens(); }
  Layout operator()(const Linear&) const { return tokens(); }
  Layout operator()(const LayerNorm&) const { return tokens(); }
  Layout operator()(const Attention&) const { return tokens(); }
  Layout operator()(const Concat&) const { return tokens(); }
};

struct Factory {
  const OperatorRequest& request;
  ConvPrecision precision;

  const ImageDesc& in() const { return request.inputs[0]; }
  Made operator()(const Conv& conv) const {
    const bool blocked = in().layout.block == 8 || in().layout.block == 16;
    if (is_fast_depthwise(conv, in().shape, request.training && blocked)) {
      return make_fast_depthwise(conv, request);
    }
    if (conv.branches > 1 && conv.groups > 1) {
      return Error{ErrorKind::unsupported,
                   "layer " + request.layer.name +
                       ": branches of grouped convolutions must be depthwise, with a multiple of 8 "
                       "channels"};
    }
    return make_onednn_conv(conv, request, precision);
  }
  Made operator()(const BatchNorm& norm) const { return make_fast_norm(norm, in()); }
  Made operator()(const Sum&) const { return make_fast_sum(in()); }
  Made operator()(const BiLstm& lstm) const { return make_fast_lstm(lstm, in().shape); }
  Made operator()(const Linear& linear) const { return make_fast_linear(linear, in().shape); }
  Made operator()(const LayerNorm& norm) const { return make_fast_layer_norm(norm, in().shape); }
  Made operator()(const Attention& attention) const {
    return make_fast_attention(attention, in().shape);
  }
  Made operator()(const Activate& activate) const { return make_fast_activate(activate, in()); }
  Made operator()(const Concat&) const { return make_fast_concat(request); }
  Made operator()(const AveragePool& pool) const { return make_fast_average_pool(pool, in()); }
  Made operator()(const MaxPool& pool) const { return make_fast_max_pool(pool, in()); }
  Made operator()(const Scale&) const { return make_fast_scale(in()); }
  Made operator()(const NormSum& norm) const { return make_fast_norm_sum(norm, request); }
  Made operator()(const Affine& affine) const { return make_fast_affine(affine, in()); }
};

class OnednnBackend final : public Backend {
 public:
  explicit OnednnBackend(bool bf16) : precision_{bf16} {}
  const char* name() const override { return "onednn"; }
  Layout wanted_layout(const Layer& layer, std::span<const ImageDesc> offered, const Shape& output,
                       int index) const override {
    return std::visit(WantedLayout{offered, output, index}, layer.operation);
  }
  Made create(const OperatorRequest& request) const override {
    return std::visit(Factory{request, precision_}, request.layer.operation);
  }

 private:
  ConvPrecision precision_;
};

}  // namespace

std::unique_ptr<Backend> make_onednn_backend(bool bf16) {
  return std::make_unique<OnednnBackend>(bf16);
}

}  // namespace ocrtune
