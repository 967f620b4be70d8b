// One convolution by cuDNN: see core/cuda_conv.h.
#include <algorithm>
#include <string>

#include "core/cuda_conv.h"

namespace ocrtune::device {

Status dnn_result(cudnnStatus_t code, const char* what) {
  if (code == CUDNN_STATUS_SUCCESS) return Status();
  return Error{ErrorKind::failed, std::string(what) + ": " + cudnnGetErrorString(code)};
}

namespace {

constexpr std::size_t kMostScratchBytes = std::size_t{512} << 20;

// The fastest by cuDNN's own estimate that fits the scratch and gives the same bits every time;
// where there is none of those, the fastest that fits.
template <typename Algorithm>
Status pick(const Algorithm* found, int count, const char* what, Algorithm& into) {
  for (const bool any : {false, true}) {
    for (int i = 0; i < count; ++i) {
      if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].memory > kMostScratchBytes) continue;
      if (!any && found[i].determinism != CUDNN_DETERMINISTIC) continue;
      into = found[i];
      return Status();
    }
  }
  return Error{ErrorKind::unsupported, std::string(what) + ": cuDNN has no algorithm"};
}

class CudnnConv final : public ConvEngine {
 public:
  explicit CudnnConv(cudnnHandle_t handle) : handle_(handle) {}
  CudnnConv(const CudnnConv&) = delete;
  CudnnConv& operator=(const CudnnConv&) = delete;
  ~CudnnConv() override {
    if (x_ != nullptr) cudnnDestroyTensorDescriptor(x_);
    if (y_ != nullptr) cudnnDestroyTensorDescriptor(y_);
    if (w_ != nullptr) cudnnDestroyFilterDescriptor(w_);
    if (conv_ != nullptr) cudnnDestroyConvolutionDescriptor(conv_);
  }

  Status open(const ConvSizes& sizes, bool tensor_cores) {
    const Conv& conv = sizes.conv;
    OCRTUNE_DEVICE_TRY(tensor(x_, sizes.in));
    OCRTUNE_DEVICE_TRY(tensor(y_, sizes.out));
    OCRTUNE_DEVICE_TRY(dnn_result(cudnnCreateFilterDescriptor(&w_), "weights"));
    OCRTUNE_DEVICE_TRY(dnn_result(
        cudnnSetFilter4dDescriptor(w_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, conv.out_channels,
                                   sizes.in.c / conv.groups, conv.kernel.h, conv.kernel.w),
        "weights"));
    OCRTUNE_DEVICE_TRY(dnn_result(cudnnCreateConvolutionDescriptor(&conv_), "convolution"));
    OCRTUNE_DEVICE_TRY(dnn_result(
        cudnnSetConvolution2dDescriptor(conv_, conv.pad.h, conv.pad.w, conv.stride.h, conv.stride.w,
                                        1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "convolution"));
    OCRTUNE_DEVICE_TRY(dnn_result(cudnnSetConvolutionGroupCount(conv_, conv.groups), "groups"));
    OCRTUNE_DEVICE_TRY(dnn_result(
        cudnnSetConvolutionMathType(conv_, tensor_cores ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH),
        "math"));
    return choose(sizes.training);
  }

  std::size_t scratch_bytes() const override {
    return std::max({forward_.memory, input_.memory, weight_.memory});
  }
  Status forward(const void* x, const void* w, void* y, std::byte* scratch) override {
    return dnn_result(cudnnConvolutionForward(handle_, &kOne, x_, x, w_, w, conv_, forward_.algo,
                                              scratch, forward_.memory, &kZero, y_, y),
                      "convolution");
  }
  Status backward_input(const void* w, const void* dy, void* dx, std::byte* scratch) override {
    return dnn_result(
        cudnnConvolutionBackwardData(handle_, &kOne, w_, w, y_, dy, conv_, input_.algo, scratch,
                                     input_.memory, &kZero, x_, dx),
        "convolution, input gradient");
  }
  Status backward_weight(const void* x, const void* dy, float* dw, std::byte* scratch) override {
    return dnn_result(
        cudnnConvolutionBackwardFilter(handle_, &kOne, x_, x, y_, dy, conv_, weight_.algo, scratch,
                                       weight_.memory, &kZero, w_, dw),
        "convolution, weight gradient");
  }

 private:
  static constexpr float kOne = 1, kZero = 0;

  static Status tensor(cudnnTensorDescriptor_t& into, const Shape& shape) {
    OCRTUNE_DEVICE_TRY(dnn_result(cudnnCreateTensorDescriptor(&into), "tensor"));
    return dnn_result(cudnnSetTensor4dDescriptor(into, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, shape.n,
                                                 shape.c, shape.h, shape.w),
                      "tensor");
  }

  Status choose(bool training) {
    constexpr int kMost = 8;
    int count = 0;
    cudnnConvolutionFwdAlgoPerf_t forward[kMost];
    OCRTUNE_DEVICE_TRY(dnn_result(
        cudnnGetConvolutionForwardAlgorithm_v7(handle_, x_, w_, conv_, y_, kMost, &count, forward),
        "forward algorithms"));
    OCRTUNE_DEVICE_TRY(pick(forward, count, "convolution", forward_));
    if (!training) return Status();
    cudnnConvolutionBwdDataAlgoPerf_t input[kMost];
    OCRTUNE_DEVICE_TRY(dnn_result(cudnnGetConvolutionBackwardDataAlgorithm_v7(
                                      handle_, w_, y_, conv_, x_, kMost, &count, input),
                                  "input gradient algorithms"));
    OCRTUNE_DEVICE_TRY(pick(input, count, "input gradient", input_));
    cudnnConvolutionBwdFilterAlgoPerf_t weight[kMost];
    OCRTUNE_DEVICE_TRY(dnn_result(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                                      handle_, x_, y_, conv_, w_, kMost, &count, weight),
                                  "weight gradient algorithms"));
    return pick(weight, count, "weight gradient", weight_);
  }

  cudnnHandle_t handle_;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t conv_ = nullptr;
  cudnnConvolutionFwdAlgoPerf_t forward_{};
  cudnnConvolutionBwdDataAlgoPerf_t input_{};
  cudnnConvolutionBwdFilterAlgoPerf_t weight_{};
};

}  // namespace

Result<std::unique_ptr<ConvEngine>> make_cudnn_conv(const ConvSizes& sizes, cudnnHandle_t handle,
                                                    bool tensor_cores) {
  auto engine = std::make_unique<CudnnConv>(handle);
  const Status opened = engine->open(sizes, tensor_cores);
  if (!opened) return opened.error();
  return std::unique_ptr<ConvEngine>(std::move(engine));
}

}  // namespace ocrtune::device
