// The Executor of the GPU core: see core/gpu/cuda/cuda_executor.h.
#include <algorithm>
#include <cstring>
#include <string>

#include "core/gpu/cuda/cuda_conv.h"
#include "core/gpu/cuda/cuda_executor.h"

namespace ocrtune::device {

Result<Precision> precision_named(const std::string& name) {
  if (name == "fp32") return Precision::fp32;
  if (name == "tf32") return Precision::tf32;
  if (name == "bf16") return Precision::bf16;
  return Error{ErrorKind::usage, "precision " + name + ": there is fp32, tf32 and bf16"};
}

namespace {

Status blas_result(cublasStatus_t code, const char* what) {
  if (code == CUBLAS_STATUS_SUCCESS) return Status();
  return Error{code == CUBLAS_STATUS_ALLOC_FAILED ? ErrorKind::exhausted : ErrorKind::failed,
               std::string(what) + ": " + cublasGetStatusString(code),
               {},
               Scarce::gpu_memory};
}

constexpr std::size_t kBlasWorkBytes = std::size_t{32} << 20;  // what NVIDIA asks for on Hopper

}  // namespace

Result<std::unique_ptr<CudaExecutor>> CudaExecutor::open(int device, const CudaOptions& options) {
  int count = 0;
  const cudaError_t asked = cudaGetDeviceCount(&count);
  if (asked != cudaSuccess || count == 0) {
    return Error{ErrorKind::unsupported, "no GPU: CUDA finds no driver or no device"};
  }
  if (device < 0 || device >= count) {
    return Error{ErrorKind::missing, "there is no GPU " + std::to_string(device) + "; " +
                                         std::to_string(count) + " visible"};
  }
  cudaDeviceProp properties{};
  OCRTUNE_CUDA(cudaGetDeviceProperties(&properties, device));
  if (options.precision != Precision::fp32 && properties.major < 8) {
    return Error{ErrorKind::unsupported, std::string(properties.name) + " has compute capability " +
                                             std::to_string(properties.major) + "." +
                                             std::to_string(properties.minor) +
                                             "; tf32 and bf16 need 8.0"};
  }
  OCRTUNE_CUDA(cudaSetDevice(device));
  std::unique_ptr<CudaExecutor> executor(new CudaExecutor(device, options));
  OCRTUNE_CUDA(cudaStreamCreateWithFlags(&executor->stream_, cudaStreamNonBlocking));
  OCRTUNE_TRY(blas_result(cublasCreate(&executor->blas_), "cuBLAS"));
  OCRTUNE_TRY(blas_result(cublasSetStream(executor->blas_, executor->stream_), "cuBLAS"));
  // A workspace of its own, set after the stream (which resets it): with cuBLAS's a capture would
  // hold allocations, and products would not be the same bits every time.
  auto work = executor->allocate(kBlasWorkBytes);
  if (!work) return work.error();
  executor->blas_work_ = std::move(work).value();
  OCRTUNE_TRY(blas_result(
      cublasSetWorkspace(executor->blas_, executor->blas_work_.as<void>(), kBlasWorkBytes),
      "cuBLAS"));
  OCRTUNE_TRY(dnn_result(cudnnCreate(&executor->dnn_), "cuDNN"));
  OCRTUNE_TRY(dnn_result(cudnnSetStream(executor->dnn_, executor->stream_), "cuDNN"));
  for (cudaEvent_t& stamp : executor->stamps_) {
    OCRTUNE_CUDA(cudaEventCreate(&stamp));
  }
  return Result<std::unique_ptr<CudaExecutor>>(std::move(executor));
}

CudaExecutor::~CudaExecutor() {
  if (staging_ != nullptr) cudaFreeHost(staging_);
  for (cudaEvent_t stamp : stamps_) {
    if (stamp != nullptr) cudaEventDestroy(stamp);
  }
  if (dnn_ != nullptr) cudnnDestroy(dnn_);
  if (blas_ != nullptr) cublasDestroy(blas_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

// A row-major matrix is its transpose to cuBLAS, so C = A B is asked for as C' = B' A'.
Status CudaExecutor::product(const DeviceProduct& p) {
  if (p.a.element != p.b.element) {
    return Error{ErrorKind::failed, "a product: its factors are of two types"};
  }
  const bool floats = p.a.element == Element::fp32;
  const cublasComputeType_t compute = floats && options_.precision != Precision::fp32
                                          ? CUBLAS_COMPUTE_32F_FAST_TF32
                                          : CUBLAS_COMPUTE_32F;
  const cudaDataType_t factors = floats ? CUDA_R_32F : CUDA_R_16BF;
  const cudaDataType_t cells = p.c.element == Element::fp32 ? CUDA_R_32F : CUDA_R_16BF;
  const auto operation = [](const DeviceMatrix& m) {
    return m.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  return blas_result(
      cublasGemmStridedBatchedEx(
          blas_, operation(p.b), operation(p.a), p.columns, p.rows, p.depth, &p.scale, p.b.start,
          factors, p.b.stride, static_cast<long long>(p.b.step), p.a.start, factors, p.a.stride,
          static_cast<long long>(p.a.step), &p.beta, p.c.start, cells, p.c_stride,
          static_cast<long long>(p.c_step), p.batch, compute, CUBLAS_GEMM_DEFAULT),
      "a product");
}

Status CudaExecutor::begin_capture() {
  return cuda_status(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
}

Status CudaExecutor::end_capture(Recording& into, const Status& recorded) {
  cudaGraph_t graph = nullptr;
  cudaError_t code = cudaStreamEndCapture(stream_, &graph);
  if (code == cudaSuccess && recorded) code = cudaGraphInstantiate(&into.graph, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (code != cudaSuccess) cudaGetLastError();  // a capture that failed is no lasting error
  return recorded ? cuda_status(code, "capture") : recorded;
}

Status CudaExecutor::clear(void* start, std::size_t bytes) {
  return cuda_status(cudaMemsetAsync(start, 0, bytes, stream_), "clearing");
}

Result<std::unique_ptr<ConvEngine>> CudaExecutor::make_conv(const ConvSizes& sizes) {
  auto engine = make_cudnn_conv(dnn_, stream_, sizes, options_.precision != Precision::fp32);
  if (!engine || sizes.element == Element::fp32) return engine;
  const Status ran = try_out(**engine, sizes);
  if (!ran) return ran.error();
  return engine;
}

// On zeros: an algorithm may be listed for bf16 and not be there.
Status CudaExecutor::try_out(ConvEngine& engine, const ConvSizes& sizes) {
  const Conv& conv = sizes.conv;
  const std::size_t weights = many(conv.out_channels) * many(sizes.in.c / conv.groups) *
                              many(conv.kernel.h) * many(conv.kernel.w);
  auto x = allocate(floats(sizes.in) * sizeof(Bf16)),
       y = allocate(floats(sizes.out) * sizeof(Bf16));
  auto w = allocate(weights * sizeof(Bf16)), dw = allocate(weights * sizeof(float));
  auto scratch = allocate(std::max<std::size_t>(engine.scratch_bytes(), 256));
  for (const auto* buffer : {&x, &y, &w, &dw, &scratch}) {
    if (!*buffer) return buffer->error();
  }
  OCRTUNE_TRY(clear(x->as<void>(), floats(sizes.in) * sizeof(Bf16)));
  OCRTUNE_TRY(clear(w->as<void>(), weights * sizeof(Bf16)));
  auto* work = scratch->as<std::byte>();
  OCRTUNE_TRY(engine.forward(x->as<void>(), w->as<void>(), y->as<void>(), work));
  if (sizes.training) {
    OCRTUNE_TRY(engine.backward_input(w->as<void>(), y->as<void>(), x->as<void>(), work));
    OCRTUNE_TRY(engine.backward_weight(x->as<void>(), y->as<void>(), dw->as<float>(), work));
  }
  return wait();
}

Result<DeviceMemory> CudaExecutor::allocate(std::size_t bytes) {
  DeviceMemory memory;
  OCRTUNE_TRY(memory.allocate(device_, bytes));
  return Result<DeviceMemory>(std::move(memory));
}

// Grows to what one step uploads, so that only the first step waits.
Status CudaExecutor::make_room(std::size_t bytes) {
  if (staged_ + bytes <= staging_bytes_) return Status();
  const std::size_t wanted = staged_ + bytes;
  OCRTUNE_TRY(wait());
  if (staging_ != nullptr) cudaFreeHost(staging_);
  staging_ = nullptr;
  staging_bytes_ = 0;
  void* start = nullptr;
  OCRTUNE_CUDA(cudaMallocHost(&start, wanted));
  staging_ = static_cast<std::byte*>(start);
  staging_bytes_ = wanted;
  return Status();
}

Status CudaExecutor::upload(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t kMaxStaged = std::size_t{64} << 20;
  const bool staged = bytes <= kMaxStaged && staged_ + bytes <= 2 * kMaxStaged;
  if (staged && make_room(align_up(bytes))) {
    std::byte* place = staging_ + staged_;
    staged_ += align_up(bytes);
    std::memcpy(place, from, bytes);
    return cuda_status(cudaMemcpyAsync(to, place, bytes, cudaMemcpyHostToDevice, stream_),
                       "upload");
  }
  cudaGetLastError();  // page-locked memory that there is not is no lasting error
  OCRTUNE_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_));
  return wait();
}

Status CudaExecutor::download(void* to, const void* from, std::size_t bytes) {
  OCRTUNE_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_));
  return wait();
}

Status CudaExecutor::stamp(int slot) {
  return cuda_status(cudaEventRecord(stamps_[slot], stream_), "an event");
}

Result<double> CudaExecutor::seconds_between(int from, int to) {
  float milliseconds = 0;
  OCRTUNE_CUDA(cudaEventSynchronize(stamps_[to]));
  OCRTUNE_CUDA(cudaEventElapsedTime(&milliseconds, stamps_[from], stamps_[to]));
  return milliseconds * 1e-3;
}

Status CudaExecutor::wait() {
  staged_ = 0;  // all of it has been read; after an error nothing is read any more
  return cuda_status(cudaStreamSynchronize(stream_), "waiting");
}

}  // namespace ocrtune::device
