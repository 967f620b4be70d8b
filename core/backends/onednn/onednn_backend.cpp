// Two visitors over the operations: WantedLayout says in which layout a layer takes its input,
// Factory makes its operator. The order of the tests in Factory is the order of preference.
#include "core/backends/onednn/onednn_backend.h"

#include <variant>

#include "core/backends/onednn/fast_operators.h"
#include "core/backends/onednn/int8_conv.h"
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
  OnednnPrecision precision;

  const ImageDesc& in() const { return request.inputs[0]; }
  bool in_int8(const Conv& conv) const {
    return precision == OnednnPrecision::int8 && fits_int8(conv, in());
  }
  Made operator()(const Conv& conv) const {
    if (in_int8(conv)) return make_int8_conv(conv, request);
    if (!request.training && precision != OnednnPrecision::bf16 &&
        is_depthwise_inference(conv, in())) {
      return make_depthwise_inference(conv, request);
    }
    // With a bias oneDNN has only its reference for the weight gradient: 20 times slower, as
    // measured on PP-OCRv4.
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
    return make_onednn_conv(conv, request, {precision == OnednnPrecision::bf16});
  }
  Made operator()(const BatchNorm& norm) const { return make_fast_norm(norm, in()); }
  Made operator()(const Sum&) const { return make_fast_sum(in()); }
  Made operator()(const BiLstm& lstm) const { return make_fast_lstm(lstm, in().shape); }
  Made operator()(const Linear& linear) const {
    const Conv conv = point_conv(linear.out_channels, linear.bias);
    if (in_int8(conv)) return make_int8_conv(conv, request);
    if (!request.training && keeps_tokens(conv, in())) return make_kept_linear(conv, linear);
    return make_fast_linear(linear, in().shape);
  }
  // Of weights that are kept in the kernel's order; all pixels as one row.
  Made make_kept_linear(const Conv& conv, const Linear& linear) const {
    OperatorRequest row = request;
    for (Shape* shape : {&row.inputs[0].shape, &row.output}) {
      *shape = {1, shape->c, 1, shape->n * shape->h * shape->w};
    }
    auto made = make_onednn_conv(conv, row, {precision == OnednnPrecision::bf16});
    if (made && !(*made)->needs().runs_plain_loops) return made;
    return make_fast_linear(linear, in().shape);
  }
  Made operator()(const LayerNorm& norm) const { return make_fast_layer_norm(norm, in().shape); }
  Made operator()(const Attention& attention) const {
    return make_fast_attention(attention, in().shape);
  }
  Made operator()(const Activate& activate) const { return make_fast_activate(activate, in()); }
  Made operator()(const Concat&) const { return make_fast_concat(request); }
  Made operator()(const AveragePool& pool) const { return make_fast_average_pool(pool, in()); }
  Made operator()(const MaxPool& pool) const { return make_fast_max_pool(pool, in()); }
  Made operator()(const Scale&) const { return make_fast_scale(in()); }
  Made operator()(const NormSum& norm) const {
    return request.joined == nullptr ? Made(make_fast_norm_sum(norm, request))
                                     : make_joined_branches(norm, request);
  }
  Made operator()(const Affine& affine) const { return make_fast_affine(affine, in()); }
};

class OnednnBackend final : public Backend {
 public:
  explicit OnednnBackend(OnednnPrecision precision) : precision_(precision) {}
  const char* name() const override { return "onednn"; }
  Layout wanted_layout(const Layer& layer, std::span<const ImageDesc> offered, const Shape& output,
                       int index) const override {
    return std::visit(WantedLayout{offered, output, index}, layer.operation);
  }
  bool joins(const Layer& first, const Layer& second, const Shape& in) const override {
    const auto* conv = std::get_if<Conv>(&first.operation);
    const auto* sum = std::get_if<NormSum>(&second.operation);
    return precision_ == OnednnPrecision::fp32 && conv != nullptr && sum != nullptr &&
           second.inputs.size() <= 2 && joins_branches(*conv, *sum, second.inputs.size() == 2, in);
  }
  Made create(const OperatorRequest& request) const override {
    if (request.training && precision_ == OnednnPrecision::int8) {
      return Error{ErrorKind::unsupported,
                   "precision int8 is for inference; train in fp32 or bf16"};
    }
    return std::visit(Factory{request, precision_}, request.layer.operation);
  }

 private:
  OnednnPrecision precision_;
};

}  // namespace

std::unique_ptr<Backend> make_onednn_backend(OnednnPrecision precision) {
  return std::make_unique<OnednnBackend>(precision);
}

}  // namespace ocrtune
