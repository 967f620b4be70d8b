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

// One direction: its algorithm and a descriptor of its own, since the arithmetic (and with it the
// scratch) belongs to the choice: https://github.com/pytorch/pytorch/pull/15881.
template <typename Algorithm>
struct Direction {
  Direction() = default;
  Direction(const Direction&) = delete;
  Direction& operator=(const Direction&) = delete;
  ~Direction() {
    if (descriptor != nullptr) cudnnDestroyConvolutionDescriptor(descriptor);
  }
  cudnnConvolutionDescriptor_t descriptor = nullptr;
  Algorithm chosen{};
};

// The fastest by cuDNN's own estimate that fits the scratch and gives the same bits every time;
// where there is none of those, the fastest that fits. What the estimate lists may not run all the
// same, or need another scratch: `scratch` asks cuDNN for the very call.
template <typename Algorithm, typename Scratch>
Status pick(const Algorithm* found, int count, bool tensor_cores, const char* what,
            const Scratch& scratch, Direction<Algorithm>& into) {
  for (const bool any : {false, true}) {
    for (int i = 0; i < count; ++i) {
      Algorithm one = found[i];
      if (one.status != CUDNN_STATUS_SUCCESS) continue;
      if (!any && one.determinism != CUDNN_DETERMINISTIC) continue;
      if (one.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION) continue;  // to fp16
      if (!tensor_cores && one.mathType != CUDNN_FMA_MATH) continue;        // to tf32
      if (cudnnSetConvolutionMathType(into.descriptor, one.mathType) != CUDNN_STATUS_SUCCESS ||
          scratch(into.descriptor, one.algo, &one.memory) != CUDNN_STATUS_SUCCESS ||
          one.memory > kMostScratchBytes) {
        continue;
      }
      into.chosen = one;
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
    for (cudnnConvolutionDescriptor_t* into :
         {&forward_.descriptor, &input_.descriptor, &weight_.descriptor}) {
      OCRTUNE_DEVICE_TRY(describe(conv, tensor_cores, *into));
    }
    tensor_cores_ = tensor_cores;
    return choose(sizes.training);
  }

  std::size_t scratch_bytes() const override {
    return std::max({forward_.chosen.memory, input_.chosen.memory, weight_.chosen.memory});
  }
  Status forward(const void* x, const void* w, void* y, std::byte* scratch) override {
    return dnn_result(cudnnConvolutionForward(handle_, &kOne, x_, x, w_, w, forward_.descriptor,
                                              forward_.chosen.algo, scratch, forward_.chosen.memory,
                                              &kZero, y_, y),
                      "convolution");
  }
  Status backward_input(const void* w, const void* dy, void* dx, std::byte* scratch) override {
    return dnn_result(cudnnConvolutionBackwardData(handle_, &kOne, w_, w, y_, dy, input_.descriptor,
                                                   input_.chosen.algo, scratch,
                                                   input_.chosen.memory, &kZero, x_, dx),
                      "convolution, input gradient");
  }
  Status backward_weight(const void* x, const void* dy, float* dw, std::byte* scratch) override {
    return dnn_result(cudnnConvolutionBackwardFilter(
                          handle_, &kOne, x_, x, y_, dy, weight_.descriptor, weight_.chosen.algo,
                          scratch, weight_.chosen.memory, &kZero, w_, dw),
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

  static Status describe(const Conv& conv, bool tensor_cores, cudnnConvolutionDescriptor_t& into) {
    OCRTUNE_DEVICE_TRY(dnn_result(cudnnCreateConvolutionDescriptor(&into), "convolution"));
    OCRTUNE_DEVICE_TRY(dnn_result(
        cudnnSetConvolution2dDescriptor(into, conv.pad.h, conv.pad.w, conv.stride.h, conv.stride.w,
                                        1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "convolution"));
    OCRTUNE_DEVICE_TRY(dnn_result(cudnnSetConvolutionGroupCount(into, conv.groups), "groups"));
    return dnn_result(
        cudnnSetConvolutionMathType(into, tensor_cores ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH),
        "math");
  }

  Status choose(bool training) {
    constexpr int kMost = 16;  // algorithms come once for each kind of arithmetic
    int count = 0;
    cudnnConvolutionFwdAlgoPerf_t forward[kMost];
    OCRTUNE_DEVICE_TRY(
        dnn_result(cudnnGetConvolutionForwardAlgorithm_v7(handle_, x_, w_, forward_.descriptor, y_,
                                                          kMost, &count, forward),
                   "forward algorithms"));
    OCRTUNE_DEVICE_TRY(pick(
        forward, count, tensor_cores_, "convolution",
        [&](cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo, std::size_t* bytes) {
          return cudnnGetConvolutionForwardWorkspaceSize(handle_, x_, w_, conv, y_, algo, bytes);
        },
        forward_));
    if (!training) return Status();
    cudnnConvolutionBwdDataAlgoPerf_t input[kMost];
    OCRTUNE_DEVICE_TRY(dnn_result(cudnnGetConvolutionBackwardDataAlgorithm_v7(
                                      handle_, w_, y_, input_.descriptor, x_, kMost, &count, input),
                                  "input gradient algorithms"));
    OCRTUNE_DEVICE_TRY(pick(
        input, count, tensor_cores_, "input gradient",
        [&](cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdDataAlgo_t algo,
            std::size_t* bytes) {
          return cudnnGetConvolutionBackwardDataWorkspaceSize(handle_, w_, y_, conv, x_, algo,
                                                              bytes);
        },
        input_));
    cudnnConvolutionBwdFilterAlgoPerf_t weight[kMost];
    OCRTUNE_DEVICE_TRY(
        dnn_result(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                       handle_, x_, y_, weight_.descriptor, w_, kMost, &count, weight),
                   "weight gradient algorithms"));
    return pick(
        weight, count, tensor_cores_, "weight gradient",
        [&](cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdFilterAlgo_t algo,
            std::size_t* bytes) {
          return cudnnGetConvolutionBackwardFilterWorkspaceSize(handle_, x_, y_, conv, w_, algo,
                                                                bytes);
        },
        weight_);
  }

  cudnnHandle_t handle_;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  bool tensor_cores_ = false;
  Direction<cudnnConvolutionFwdAlgoPerf_t> forward_;
  Direction<cudnnConvolutionBwdDataAlgoPerf_t> input_;
  Direction<cudnnConvolutionBwdFilterAlgoPerf_t> weight_;
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
