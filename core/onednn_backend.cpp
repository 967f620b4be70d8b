#include "core/onednn_backend.h"

#include <variant>

#include "core/fast_elementwise.h"
#include "core/fast_linear.h"
#include "core/fast_lstm.h"
#include "core/fast_norm.h"
#include "core/onednn_conv.h"

namespace ocrtune {
namespace {

using Made = Result<std::unique_ptr<Operator>>;

struct WantedLayout {
  const ImageDesc& offered;
  const Shape& output;

  Layout tokens() const { return Layout{offered.shape.c}; }
  Layout operator()(const Conv& conv) const {
    if (offered.layout == tokens() && offered.shape.c > 1) return offered.layout;
    return preferred_conv_layout(conv, offered.shape, output);
  }
  Layout operator()(const BatchNorm& norm) const {
    const int block = offered.layout.block;
    const bool pools = norm.pool != Extent{1, 1};
    return pools && block != 16 && block != 8 ? Layout{1} : offered.layout;
  }
  Layout operator()(const Sum&) const { return offered.layout; }
  Layout operator()(const BiLstm&) const { return tokens(); }
  Layout operator()(const Linear&) const { return tokens(); }
};

struct Factory {
  const OperatorRequest& request;
  ConvPrecision precision;

  const ImageDesc& in() const { return request.inputs[0]; }
  Made operator()(const Conv& conv) const { return make_onednn_conv(conv, request, precision); }
  Made operator()(const BatchNorm& norm) const { return make_fast_norm(norm, in()); }
  Made operator()(const Sum&) const { return make_fast_sum(in()); }
  Made operator()(const BiLstm& lstm) const { return make_fast_lstm(lstm, in().shape); }
  Made operator()(const Linear& linear) const { return make_fast_linear(linear, in().shape); }
};

class OnednnBackend final : public Backend {
 public:
  explicit OnednnBackend(bool bf16) : precision_{bf16} {}
  const char* name() const override { return "onednn"; }
  Layout wanted_layout(const Layer& layer, const ImageDesc& offered, const Shape& output,
                       int) const override {
    return std::visit(WantedLayout{offered, output}, layer.operation);
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
