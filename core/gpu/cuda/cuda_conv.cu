// One convolution by cuDNN: see core/gpu/cuda/cuda_conv.h.
#include <algorithm>
#include <string>

#include "core/gpu/cuda/cuda_conv.h"
#include "core/gpu/cuda/cuda_kernels.h"

namespace ocrtune::device {

Status dnn_result(cudnnStatus_t code, const char* what) {
  if (code == CUDNN_STATUS_SUCCESS) return Status();
  const bool lacks = CUDNN_STATUS_CATEGORY(code) == CUDNN_STATUS_NOT_SUPPORTED;
  return Error{lacks ? ErrorKind::unsupported : ErrorKind::failed,
               std::string(what) + ": " + cudnnGetErrorString(code)};
}

namespace {

constexpr std::size_t kMaxScratchBytes = std::size_t{512} << 20;

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

struct WidenEach {
  const Bf16* from;
  float* to;
  __device__ void operator()(std::size_t i) const { to[i] = from[i]; }
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
          one.memory > kMaxScratchBytes) {
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
  CudnnConv(cudnnHandle_t handle, cudaStream_t stream, const ConvSizes& sizes)
      : handle_(handle), stream_(stream), sizes_(sizes) {}
  CudnnConv(const CudnnConv&) = delete;
  CudnnConv& operator=(const CudnnConv&) = delete;
  ~CudnnConv() override {
    if (x_ != nullptr) cudnnDestroyTensorDescriptor(x_);
    if (y_ != nullptr) cudnnDestroyTensorDescriptor(y_);
    if (w_ != nullptr) cudnnDestroyFilterDescriptor(w_);
  }

  Status open(bool tensor_cores) {
    const Conv& conv = sizes_.conv;
    OCRTUNE_TRY(tensor(x_, sizes_.in));
    OCRTUNE_TRY(tensor(y_, sizes_.out));
    OCRTUNE_TRY(dnn_result(cudnnCreateFilterDescriptor(&w_), "weights"));
    OCRTUNE_TRY(dnn_result(
        cudnnSetFilter4dDescriptor(w_, type(), CUDNN_TENSOR_NCHW, conv.out_channels,
                                   sizes_.in.c / conv.groups, conv.kernel.h, conv.kernel.w),
        "weights"));
    for (cudnnConvolutionDescriptor_t* into :
         {&forward_.descriptor, &input_.descriptor, &weight_.descriptor}) {
      OCRTUNE_TRY(describe(conv, tensor_cores, *into));
    }
    tensor_cores_ = tensor_cores;
    return choose(sizes_.training);
  }

  std::size_t scratch_bytes() const override {
    const std::size_t weight =
        small() && sizes_.training ? slopes_at() + weights() * sizeof(Bf16) : weight_.chosen.memory;
    return std::max({forward_.chosen.memory, input_.chosen.memory, weight});
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
  // cuDNN's sums of bf16 come as bf16, which are then made floats.
  Status backward_weight(const void* x, const void* dy, float* dw, std::byte* scratch) override {
    auto* slopes = reinterpret_cast<Bf16*>(scratch + slopes_at());
    OCRTUNE_TRY(dnn_result(
        cudnnConvolutionBackwardFilter(handle_, &kOne, x_, x, y_, dy, weight_.descriptor,
                                       weight_.chosen.algo, scratch, weight_.chosen.memory, &kZero,
                                       w_, small() ? static_cast<void*>(slopes) : dw),
        "convolution, weight gradient"));
    if (!small()) return Status();
    return launch_each(stream_, weights(), WidenEach{slopes, dw});
  }

 private:
  static constexpr float kOne = 1, kZero = 0;

  bool small() const { return sizes_.element == Element::bf16; }
  cudnnDataType_t type() const { return small() ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT; }
  std::size_t weights() const {
    const Conv& conv = sizes_.conv;
    return many(conv.out_channels) * many(sizes_.in.c / conv.groups) * many(conv.kernel.h) *
           many(conv.kernel.w);
  }
  std::size_t slopes_at() const { return align_up(weight_.chosen.memory, 256); }

  Status tensor(cudnnTensorDescriptor_t& into, const Shape& shape) const {
    OCRTUNE_TRY(dnn_result(cudnnCreateTensorDescriptor(&into), "tensor"));
    return dnn_result(cudnnSetTensor4dDescriptor(into, CUDNN_TENSOR_NCHW, type(), shape.n, shape.c,
                                                 shape.h, shape.w),
                      "tensor");
  }

  Status describe(const Conv& conv, bool tensor_cores, cudnnConvolutionDescriptor_t& into) const {
    OCRTUNE_TRY(dnn_result(cudnnCreateConvolutionDescriptor(&into), "convolution"));
    OCRTUNE_TRY(dnn_result(
        cudnnSetConvolution2dDescriptor(into, conv.pad.h, conv.pad.w, conv.stride.h, conv.stride.w,
                                        1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "convolution"));
    OCRTUNE_TRY(dnn_result(cudnnSetConvolutionGroupCount(into, conv.groups), "groups"));
    return dnn_result(cudnnSetConvolutionMathType(into, small()        ? CUDNN_TENSOR_OP_MATH
                                                        : tensor_cores ? CUDNN_DEFAULT_MATH
                                                                       : CUDNN_FMA_MATH),
                      "math");
  }

  Status choose(bool training) {
    constexpr int kMost = 16;  // algorithms come once for each kind of arithmetic
    int count = 0;
    cudnnConvolutionFwdAlgoPerf_t forward[kMost];
    OCRTUNE_TRY(dnn_result(cudnnGetConvolutionForwardAlgorithm_v7(
                               handle_, x_, w_, forward_.descriptor, y_, kMost, &count, forward),
                           "forward algorithms"));
    OCRTUNE_TRY(pick(
        forward, count, tensor_cores_, "convolution",
        [&](cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo, std::size_t* bytes) {
          return cudnnGetConvolutionForwardWorkspaceSize(handle_, x_, w_, conv, y_, algo, bytes);
        },
        forward_));
    if (!training) return Status();
    cudnnConvolutionBwdDataAlgoPerf_t input[kMost];
    OCRTUNE_TRY(dnn_result(cudnnGetConvolutionBackwardDataAlgorithm_v7(
                               handle_, w_, y_, input_.descriptor, x_, kMost, &count, input),
                           "input gradient algorithms"));
    OCRTUNE_TRY(pick(
        input, count, tensor_cores_, "input gradient",
        [&](cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdDataAlgo_t algo,
            std::size_t* bytes) {
          return cudnnGetConvolutionBackwardDataWorkspaceSize(handle_, w_, y_, conv, x_, algo,
                                                              bytes);
        },
        input_));
    cudnnConvolutionBwdFilterAlgoPerf_t weight[kMost];
    OCRTUNE_TRY(dnn_result(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
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
  cudaStream_t stream_;
  ConvSizes sizes_;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  bool tensor_cores_ = false;
  Direction<cudnnConvolutionFwdAlgoPerf_t> forward_;
  Direction<cudnnConvolutionBwdDataAlgoPerf_t> input_;
  Direction<cudnnConvolutionBwdFilterAlgoPerf_t> weight_;
};

}  // namespace

Result<std::unique_ptr<ConvEngine>> make_cudnn_conv(cudnnHandle_t handle, cudaStream_t stream,
                                                    const ConvSizes& sizes, bool tensor_cores) {
  auto engine = std::make_unique<CudnnConv>(handle, stream, sizes);
  const Status opened = engine->open(tensor_cores);
  if (!opened) return opened.error();
  return std::unique_ptr<ConvEngine>(std::move(engine));
}

}  // namespace ocrtune::device
