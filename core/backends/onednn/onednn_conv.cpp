// A primitive is described once for a shape; each pass binds addresses at every call. The plan owns
// all scratch, so primitives are made with user scratchpads. Differences of oneDNN 2 and 3 stand in
// four functions at the top.
#include "core/backends/onednn/onednn_conv.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <dnnl.hpp>
#include <fmt/core.h>

#include "base/check.h"
#include "core/backends/onednn/kept_copies.h"

namespace ocrtune {
namespace {

using dnnl::algorithm;
using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using dnnl::memory;
using dnnl::prop_kind;
using Tag = memory::format_tag;
using Type = memory::data_type;

struct Device {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

Device& device() {
  static Device instance;
  return instance;
}

// oneDNN 3 has no operation descriptors: what they held, the primitive's descriptor takes itself.
template <typename Pass, typename... Words>
typename Pass::primitive_desc describe_first(const dnnl::primitive_attr& attr,
                                             const Words&... words) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Pass::primitive_desc(device().engine, words..., attr);
#else
  return typename Pass::primitive_desc(typename Pass::desc(words...), attr, device().engine);
#endif
}

template <typename Pass, typename... Words>
typename Pass::primitive_desc describe_back(const convolution_forward::primitive_desc& forward,
                                            const dnnl::primitive_attr& attr,
                                            const Words&... words) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Pass::primitive_desc(device().engine, words..., forward, attr);
#else
  return
      typename Pass::primitive_desc(typename Pass::desc(words...), attr, device().engine, forward);
#endif
}

void append_activation(dnnl::post_ops& after, algorithm kind, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(kind, alpha, beta);
#else
  after.append_eltwise(1, kind, alpha, beta);
#endif
}

// oneDNN 2 may write to padded memory here.
void set_address(memory& argument, const void* start) {
#if DNNL_VERSION_MAJOR >= 3
  argument.set_data_handle(const_cast<void*>(start));
#else
  argument.set_data_handle(const_cast<void*>(start), device().stream);
#endif
}

memory::dims image_dims(const Shape& shape) { return {shape.n, shape.c, shape.h, shape.w}; }

// NHWC. Where that is also a blocked layout, the blocked name counts: oneDNN takes two names of one
// order for two orders, and mixed names send a convolution to its slow reference code.
bool names_block(int channels) { return channels == 1 || channels == 8 || channels == 16; }
bool is_tokens(const ImageDesc& desc) {
  return desc.layout.block == desc.shape.c && !names_block(desc.shape.c);
}

memory::desc image_desc(const ImageDesc& desc, Type type = Type::f32) {
  Tag tag = Tag::nchw;
  if (desc.layout.block == 8) tag = Tag::nChw8c;
  if (desc.layout.block == 16) tag = Tag::nChw16c;
  if (is_tokens(desc)) tag = Tag::nhwc;
  return {image_dims(desc.shape), type, tag};
}

// The block of a descriptor that oneDNN chose; plain where the choice is none of ours.
Layout layout_of(const memory::desc& desc, const Shape& shape) {
  for (const int block : {16, 8, 1, shape.c}) {
    if (image_desc({shape, Layout{block}}) == desc) return Layout{block};
  }
  return Layout{1};
}

struct ConvDims {
  memory::dims weights, bias, strides, pad;
  ConvDims(const Conv& conv, const Shape& in)
      : bias{conv.out_channels},
        strides{conv.stride.h, conv.stride.w},
        pad{conv.pad.h, conv.pad.w} {
    const int in_per_group = in.c / conv.groups;
    weights = {conv.out_channels, in_per_group, conv.kernel.h, conv.kernel.w};
    if (conv.groups > 1) {
      weights = {conv.groups, conv.out_channels / conv.groups, in_per_group, conv.kernel.h,
                 conv.kernel.w};
    }
  }
  memory::desc plain_weights() const {
    return {weights, Type::f32, weights.size() == 4 ? Tag::oihw : Tag::goihw};
  }
  memory::desc any_weights(Type type = Type::f32) const { return {weights, type, Tag::any}; }
};

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

memory::desc one_number() { return {{1, 1, 1, 1}, Type::f32, Tag::nchw}; }

// What comes behind the convolution: an addition, or an activation, then a scale and a shift.
dnnl::primitive_attr with_followers(const Conv& conv, bool adds) {
  const Activation activation = conv.activation;
  dnnl::primitive_attr attr = user_scratchpad();
  dnnl::post_ops after;
  if (adds) after.append_sum();
  if (activation == Activation::relu) append_activation(after, algorithm::eltwise_relu, 0, 0);
  if (activation == Activation::hard_swish) {
    append_activation(after, algorithm::eltwise_hardswish, 1.0F / 6, 0.5F);
  }
  if (activation == Activation::gelu) append_activation(after, algorithm::eltwise_gelu_erf, 0, 0);
  if (activation == Activation::swish) append_activation(after, algorithm::eltwise_swish, 1, 0);
  if (conv.affine) {
    after.append_binary(algorithm::binary_mul, one_number());
    after.append_binary(algorithm::binary_add, one_number());
  }
  attr.set_post_ops(after);
  return attr;
}

convolution_forward::primitive_desc describe_forward(const Conv& conv, const Shape& in,
                                                     const memory::desc& src,
                                                     const memory::desc& dst, Type weight_type,
                                                     bool training, bool adds = false) {
  const ConvDims dims(conv, in);
  const auto kind = training ? prop_kind::forward_training : prop_kind::forward_inference;
  const memory::desc bias = conv.bias ? memory::desc(dims.bias, Type::f32, Tag::x) : memory::desc();
  return describe_first<convolution_forward>(
      with_followers(conv, adds), kind, algorithm::convolution_direct, src,
      dims.any_weights(weight_type), bias, dst, dims.strides, dims.pad, dims.pad);
}

// One argument of a primitive whose address is given again at every call.
class Argument {
 public:
  Argument() = default;
  explicit Argument(const memory::desc& desc) : memory_(desc, device().engine, nullptr) {}
  // Setting a handle may write to padded memory: only when it changed.
  const dnnl::memory& at(const void* start) {
    if (start != start_) set_address(memory_, start);
    start_ = start;
    return memory_;
  }

 private:
  dnnl::memory memory_;
  const void* start_ = nullptr;
};

KeptCopies<memory::desc, memory>& kept_weights() {
  static KeptCopies<memory::desc, memory> all;
  return all;
}

// A copy into the order and type that a primitive wants, if it is not there already.
class Conversion {
 public:
  Conversion() = default;
  Conversion(const memory::desc& from, const memory::desc& to) : from_(from), to_(to), order_(to) {
    if (from == to) return;
    dnnl::reorder::primitive_desc desc(device().engine, from, device().engine, to,
                                       user_scratchpad());
    scratch_ = Argument(desc.scratchpad_desc());
    scratch_bytes_ = desc.scratchpad_desc().get_size();
    to_bytes_ = align_up(to.get_size());
    copy_ = dnnl::reorder(desc);
  }
  std::size_t scratch_bytes() const { return to_bytes_ + align_up(scratch_bytes_); }
  // `room` has scratch_bytes(); gives the argument to use instead of `start`.
  const dnnl::memory& convert(const void* start, std::byte* room) {
    if (!copy_) return from_.at(start);
    copy_.execute(device().stream, {{DNNL_ARG_FROM, from_.at(start)},
                                    {DNNL_ARG_TO, to_.at(room)},
                                    {DNNL_ARG_SCRATCHPAD, scratch_.at(room + to_bytes_)}});
    return to_.at(room);
  }
  // The same for what never changes: converted once.
  const dnnl::memory& convert_once(const void* start, std::byte* room) {
    if (!copy_) return from_.at(start);
    if (kept_ == nullptr || kept_for_ != start) {
      kept_ = kept_weights().find(start, order_, [&] {
        auto copy = std::make_shared<memory>(order_, device().engine);
        copy_.execute(device().stream, {{DNNL_ARG_FROM, from_.at(start)},
                                        {DNNL_ARG_TO, *copy},
                                        {DNNL_ARG_SCRATCHPAD, scratch_.at(room + to_bytes_)}});
        return copy;
      });
      kept_for_ = start;
    }
    return *kept_;
  }

 private:
  Argument from_, to_, scratch_;
  memory::desc order_;
  std::shared_ptr<memory> kept_;
  const void* kept_for_ = nullptr;
  std::size_t to_bytes_ = 0, scratch_bytes_ = 0;
  dnnl::primitive copy_;
};

// A result that the primitive writes in its own order and that is then copied to ours.
class ResultConversion {
 public:
  ResultConversion() = default;
  ResultConversion(const memory::desc& from, const memory::desc& to) : from_(from), to_(to) {
    if (from == to) return;
    copy_ = dnnl::reorder({device().engine, from, device().engine, to});
    from_bytes_ = align_up(from.get_size());
  }
  std::size_t scratch_bytes() const { return from_bytes_; }
  const dnnl::memory& target(void* end, std::byte* room) {
    return from_.at(copy_ ? static_cast<void*>(room) : end);
  }
  void finish(void* end, std::byte* room) {
    if (!copy_) return;
    copy_.execute(device().stream, {{DNNL_ARG_FROM, from_.at(room)}, {DNNL_ARG_TO, to_.at(end)}});
  }

 private:
  Argument from_, to_;
  std::size_t from_bytes_ = 0;
  dnnl::primitive copy_;
};

// oneDNN's last resort, a hundred times slower than its kernels.
template <typename Description>
bool is_reference(const Description& desc) {
  return std::string_view(desc.impl_info_str()).starts_with("ref");
}

class ForwardPass {
 public:
  ForwardPass(const Conv& conv, const ImageDesc& in, const ImageDesc& out,
              const convolution_forward::primitive_desc& desc)
      : primitive_(desc),
        source_(image_desc(in), desc.src_desc()),
        weights_(ConvDims(conv, in.shape).plain_weights(), desc.weights_desc()),
        target_(image_desc(out)),
        scratch_(desc.scratchpad_desc()) {
    if (conv.bias) bias_ = Argument(desc.bias_desc());
    plain_loops_ = is_reference(desc);
    scratch_bytes_ = align_up(desc.scratchpad_desc().get_size());
    has_bias_ = conv.bias;
    if (!conv.affine) return;
    first_affine_ = conv.activation == Activation::none ? 0 : 1;
    affine_ = {Argument(one_number()), Argument(one_number())};
  }
  std::size_t scratch_bytes() const {
    return source_.scratch_bytes() + weights_.scratch_bytes() + scratch_bytes_;
  }
  bool plain_loops() const { return plain_loops_; }
  void run(const OperatorCall& call) {
    // Scratch has three parts, one behind the other: source, weights, the primitive's own.
    std::byte* room = call.scratch;
    std::byte* weight_room = room + source_.scratch_bytes();
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, source_.convert(call.inputs[0], room)},
        {DNNL_ARG_WEIGHTS, call.fixed_parameters
                               ? weights_.convert_once(call.parameters[0], weight_room)
                               : weights_.convert(call.parameters[0], weight_room)},
        {DNNL_ARG_DST, target_.at(call.output)},
        {DNNL_ARG_SCRATCHPAD, scratch_.at(weight_room + weights_.scratch_bytes())}};
    if (has_bias_) arguments.insert({DNNL_ARG_BIAS, bias_.at(call.parameters[1])});
    for (std::size_t i = 0; i < affine_.size(); ++i) {
      const float* number = call.parameters[(has_bias_ ? 2 : 1) + i];
      const int follower = first_affine_ + static_cast<int>(i);
      arguments.insert(
          {DNNL_ARG_ATTR_MULTIPLE_POST_OP(follower) | DNNL_ARG_SRC_1, affine_[i].at(number)});
    }
    primitive_.execute(device().stream, arguments);
  }

 private:
  convolution_forward primitive_;
  Conversion source_, weights_;
  Argument target_, bias_, scratch_;
  std::vector<Argument> affine_;  // scale and shift
  int first_affine_ = 0;          // which follower the scale is
  std::size_t scratch_bytes_ = 0;
  bool has_bias_ = false, plain_loops_ = false;
};

class InputGradientPass {
 public:
  InputGradientPass(const Conv& conv, const ImageDesc& in, const ImageDesc& out, Type type,
                    const convolution_forward::primitive_desc& forward)
      : InputGradientPass(conv, in, out, describe(conv, in, out, type, forward)) {}
  std::size_t scratch_bytes() const {
    return gradient_.scratch_bytes() + weights_.scratch_bytes() + scratch_bytes_;
  }
  bool plain_loops() const { return plain_loops_; }
  void run(const OperatorCall& call) {
    std::byte* weight_room = call.scratch + gradient_.scratch_bytes();
    primitive_.execute(
        device().stream,
        {{DNNL_ARG_DIFF_DST, gradient_.convert(call.output_gradient, call.scratch)},
         {DNNL_ARG_WEIGHTS, weights_.convert(call.parameters[0], weight_room)},
         {DNNL_ARG_DIFF_SRC, target_.at(call.input_gradients[0])},
         {DNNL_ARG_SCRATCHPAD, scratch_.at(weight_room + weights_.scratch_bytes())}});
  }

 private:
  using Description = convolution_backward_data::primitive_desc;
  static Description describe(const Conv& conv, const ImageDesc& in, const ImageDesc& out,
                              Type type, const convolution_forward::primitive_desc& forward) {
    const ConvDims dims(conv, in.shape);
    return describe_back<convolution_backward_data>(
        forward, user_scratchpad(), algorithm::convolution_direct, image_desc(in),
        dims.any_weights(type), image_desc(out, type), dims.strides, dims.pad, dims.pad);
  }
  InputGradientPass(const Conv& conv, const ImageDesc& in, const ImageDesc& out,
                    const Description& desc)
      : primitive_(desc),
        gradient_(image_desc(out), desc.diff_dst_desc()),
        weights_(ConvDims(conv, in.shape).plain_weights(), desc.weights_desc()),
        target_(image_desc(in)),
        scratch_(desc.scratchpad_desc()),
        scratch_bytes_(align_up(desc.scratchpad_desc().get_size())),
        plain_loops_(is_reference(desc)) {}

  convolution_backward_data primitive_;
  Conversion gradient_, weights_;
  Argument target_, scratch_;
  std::size_t scratch_bytes_ = 0;
  bool plain_loops_ = false;
};

class WeightGradientPass {
 public:
  WeightGradientPass(const Conv& conv, const ImageDesc& in, const ImageDesc& out, Type type,
                     const convolution_forward::primitive_desc& forward)
      : WeightGradientPass(conv, in, out, describe(conv, in, out, type, forward)) {}
  std::size_t scratch_bytes() const {
    return source_.scratch_bytes() + gradient_.scratch_bytes() + weights_.scratch_bytes() +
           scratch_bytes_;
  }
  bool plain_loops() const { return plain_loops_; }
  void run(const OperatorCall& call) {
    std::byte* gradient_room = call.scratch + source_.scratch_bytes();
    std::byte* weight_room = gradient_room + gradient_.scratch_bytes();
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, source_.convert(call.inputs[0], call.scratch)},
        {DNNL_ARG_DIFF_DST, gradient_.convert(call.output_gradient, gradient_room)},
        {DNNL_ARG_DIFF_WEIGHTS, weights_.target(call.parameter_gradients[0], weight_room)},
        {DNNL_ARG_SCRATCHPAD, scratch_.at(weight_room + weights_.scratch_bytes())}};
    if (has_bias_) arguments.insert({DNNL_ARG_DIFF_BIAS, bias_.at(call.parameter_gradients[1])});
    primitive_.execute(device().stream, arguments);
    weights_.finish(call.parameter_gradients[0], weight_room);
  }

 private:
  using Description = convolution_backward_weights::primitive_desc;
  static Description describe(const Conv& conv, const ImageDesc& in, const ImageDesc& out,
                              Type type, const convolution_forward::primitive_desc& forward) {
    const ConvDims dims(conv, in.shape);
    const memory::desc bias =
        conv.bias ? memory::desc(dims.bias, Type::f32, Tag::x) : memory::desc();
    return describe_back<convolution_backward_weights>(
        forward, user_scratchpad(), algorithm::convolution_direct, image_desc(in, type),
        dims.any_weights(), bias, image_desc(out, type), dims.strides, dims.pad, dims.pad);
  }
  WeightGradientPass(const Conv& conv, const ImageDesc& in, const ImageDesc& out,
                     const Description& desc)
      : primitive_(desc),
        source_(image_desc(in), desc.src_desc()),
        gradient_(image_desc(out), desc.diff_dst_desc()),
        weights_(desc.diff_weights_desc(), ConvDims(conv, in.shape).plain_weights()),
        scratch_(desc.scratchpad_desc()),
        scratch_bytes_(align_up(desc.scratchpad_desc().get_size())),
        has_bias_(conv.bias),
        plain_loops_(is_reference(desc)) {
    if (conv.bias) bias_ = Argument(desc.diff_bias_desc());
  }

  convolution_backward_weights primitive_;
  Conversion source_, gradient_;
  ResultConversion weights_;
  Argument bias_, scratch_;
  std::size_t scratch_bytes_ = 0;
  bool has_bias_ = false, plain_loops_ = false;
};

Error from_exception(const dnnl::error& error) {
  const ErrorKind kind = error.status == dnnl_out_of_memory   ? ErrorKind::exhausted
                         : error.status == dnnl_unimplemented ? ErrorKind::unsupported
                                                              : ErrorKind::failed;
  return Error{kind, fmt::format("oneDNN convolution: {}", error.what())};
}

class OnednnConv final : public Operator {
 public:
  OnednnConv(const Conv& conv, const ImageDesc& in, const ImageDesc& out,
             const convolution_forward::primitive_desc& desc)
      : forward_(conv, in, out, desc) {
    needs_.output_layout = out.layout;
    needs_.forward_scratch_bytes = forward_.scratch_bytes();
    needs_.runs_plain_loops = forward_.plain_loops();
  }

  void add_backward(const Conv& conv, const ImageDesc& in, const ImageDesc& out, Type type,
                    const convolution_forward::primitive_desc& desc, bool wants_input_gradient) {
    weight_gradient_ = std::make_unique<WeightGradientPass>(conv, in, out, type, desc);
    needs_.backward_scratch_bytes = weight_gradient_->scratch_bytes();
    needs_.runs_plain_loops |= weight_gradient_->plain_loops();
    if (!wants_input_gradient) return;
    input_gradient_ = std::make_unique<InputGradientPass>(conv, in, out, type, desc);
    needs_.backward_scratch_bytes =
        std::max(needs_.backward_scratch_bytes, input_gradient_->scratch_bytes());
    needs_.runs_plain_loops |= input_gradient_->plain_loops();
  }

  const OperatorNeeds& needs() const override { return needs_; }

  Status forward(const OperatorCall& call) override {
    try {
      forward_.run(call);
    } catch (const dnnl::error& error) {
      return from_exception(error);
    }
    return Status();
  }

  Status backward(const OperatorCall& call) override {
    try {
      weight_gradient_->run(call);
      if (call.input_gradients[0] != nullptr) input_gradient_->run(call);
    } catch (const dnnl::error& error) {
      return from_exception(error);
    }
    return Status();
  }

 private:
  OperatorNeeds needs_;
  ForwardPass forward_;
  std::unique_ptr<WeightGradientPass> weight_gradient_;
  std::unique_ptr<InputGradientPass> input_gradient_;
};

}  // namespace

Conv point_conv(int out_channels, bool bias) {
  Conv conv;
  conv.out_channels = out_channels;
  conv.kernel = {1, 1};
  conv.pad = {0, 0};
  conv.bias = bias;
  return conv;
}

bool keeps_tokens(const Conv& conv, const ImageDesc& in) {
  return is_tokens(in) && !names_block(conv.out_channels);
}

Layout preferred_conv_layout(const Conv& conv, const Shape& in, const Shape& out) {
  try {
    const memory::desc src(image_dims(in), Type::f32, Tag::any);
    const memory::desc dst(image_dims(out), Type::f32, Tag::any);
    return layout_of(describe_forward(conv, in, src, dst, Type::f32, true).src_desc(), in);
  } catch (const dnnl::error&) {
    return Layout{1};
  }
}

Result<std::unique_ptr<Operator>> make_onednn_conv(const Conv& conv, const OperatorRequest& request,
                                                   const ConvOptions& options) {
  try {
    const ImageDesc& in = request.inputs[0];
    const bool tokens = keeps_tokens(conv, in);
    const Type type = options.bf16 ? Type::bf16 : Type::f32;
    // The first description asks in which layout oneDNN wants the result; the second is the one
    // that is run, with that layout.
    memory::desc dst(image_dims(request.output), Type::f32, tokens ? Tag::nhwc : Tag::any);
    const ImageDesc out{
        request.output,
        tokens
            ? Layout{request.output.c}
            : layout_of(
                  describe_forward(conv, in.shape, image_desc(in), dst, Type::f32, true).dst_desc(),
                  request.output)};
    const auto desc = describe_forward(conv, in.shape, image_desc(in, type), image_desc(out), type,
                                       request.training, options.adds);
    auto made = std::make_unique<OnednnConv>(conv, in, out, desc);
    if (request.training) {
      made->add_backward(conv, in, out, type, desc, request.wants_input_gradient);
    }
    return std::unique_ptr<Operator>(std::move(made));
  } catch (const dnnl::error& error) {
    Error reason = from_exception(error);
    reason.what = fmt::format("layer {}: {}", request.layer.name, reason.what);
    return reason;
  }
}

bool has_native_bf16() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (isa & needed) == needed;
}

}  // namespace ocrtune
