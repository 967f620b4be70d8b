// Lines of programs that serve or infer: PaddleX, vLLM, SGLang, ONNX Runtime, OpenVINO, Burn.
// Sources: vLLM's v1/engine, SGLang's srt/managers, PaddleX's utils/deps, onnxruntime's
// core/session, OpenVINO's core, CubeCL's memory management.
#include "diagnosis/signatures.h"

namespace ocrtune {

std::vector<SignatureRow> serving_signatures();

namespace {

std::vector<SignatureRow> language_model_rows() {
  return {
      {"vllm_cache_memory", "gpu_out_of_memory", Role::primary, 0.9,
       R"(No available memory for the cache blocks|KV cache is needed, which is larger than the available KV cache memory|larger than the maximum number of tokens that can be stored in KV cache|Free memory on device .* is less than desired GPU memory utilization)"},
      {"vllm_model_unknown", "bad_configuration", Role::primary, 0.8,
       R"(Model architectures \[.*\] (?:are not supported|failed to be inspected))"},
      {"vllm_engine_dead", "process_failed", Role::generic, 0.35,
       R"(EngineDeadError|EngineCore (?:failed to start|encountered (?:a fatal error|an issue))|Engine core (?:initialization failed|proc \S+ died)|MQEngine is dead|WorkerProc initialization failed|WorkerProc hit an exception)"},
      {"sglang_static_memory", "gpu_out_of_memory", Role::primary, 0.85,
       R"(Please try to increase --mem-fraction-static|Not enough memory\. Please try|KV cache pool is full|Out of memory\. Try to lower your)"},
      {"sglang_child_failed", "process_failed", Role::generic, 0.3,
       R"(Received sigquit from a child proce|Scheduler hit an exception|Subprocess .* crashed with exit code)"},
      {"server_watchdog", "stalled", Role::primary, 0.8,
       R"(\[CRITICAL\] WORKER TIMEOUT|Watchdog timeout \(self\.watchdog_timeout)"},
      {"serving_request_failed", "process_failed", Role::note, 0.2,
       R"(500 Internal Server Error|"errorCode": ?500)"},
  };
}

std::vector<SignatureRow> inference_rows() {
  return {
      {"paddlex_dependency", "missing_module", Role::primary, 0.9,
       R"(requires additional dependencies\. To install|plugin is not available\. Please install|DependencyError: )"},
      {"paddle_model_source", "missing_file", Role::primary, 0.75,
       R"(No model (?:hoster|source) is available)"},
      {"paddlex_not_exists", "missing_file", Role::primary, 0.8,
       R"(AssertionError: .* is not exists?|The (?:model|pipeline|config) .{0,80}(?:could not be found|does not exist))"},
      {"onnx_bad_model", "checkpoint_damaged", Role::primary, 0.85,
       R"(INVALID_PROTOBUF|Protobuf parsing failed|ModelProto does not have a graph)"},
      {"tensorrt_plan", "checkpoint_mismatch", Role::primary, 0.75,
       R"(engine plan file is (?:generated on an incompatible device|not compatible))"},
      {"onnx_no_model", "missing_file", Role::primary, 0.9,
       R"(NO_SUCHFILE|Load model .* failed\. File doesn't exist)"},
      {"onnx_input", "bad_configuration", Role::primary, 0.7,
       R"(Got invalid dimensions for input|INVALID_ARGUMENT : |Required inputs \(.*\) are missing)"},
      {"onnx_provider", "cuda_library_missing", Role::symptom, 0.5,
       R"(Failed to load library libonnxruntime_providers_\w+\.so|LoadLibrary failed with error \d+.*onnxruntime_providers|Failed to create \w+ExecutionProvider)"},
      {"onnx_fallback", "cuda_library_missing", Role::note, 0.2,
       R"(Falling back to \['CPUExecutionProvider'\])"},
      {"openvino_no_device", "no_gpu_visible", Role::primary, 0.8,
       R"(as no supported devices found|Device with "\w+" name is not registered|No device with \w+ name is registered)"},
      {"openvino_no_file", "missing_file", Role::primary, 0.85,
       R"(Could not open the file: |Unable to read the model: .* Please check that model format|Model file .* cannot be opened|Empty weights data in bin file)"},
      {"model_version", "bad_configuration", Role::primary, 0.75,
       R"(Unsupported (?:operator|model IR) version|(?:[Oo]pset|IR) version \d+ is not supported|[Uu]nsupported ONNX opset)"},
      {"openvino_memory", "gpu_out_of_memory", Role::primary, 0.85,
       R"(Exceeded max size of memory (?:object )?allocation)"},
      {"cubecl_memory", "gpu_out_of_memory", Role::primary, 0.85,
       R"(No (?:memory )?pool (?:handles allocation of size|big enough to reserve)|failed to reserve \d+ bytes of device memory|can't allocate buffer of size)"},
      {"cubecl_channel", "native_exception", Role::consequence, 0.2,
       R"(unwrap\(\)` on an `Err` value: (?:SendError|RecvError|PoisonError)|PoisonError \{)"},
      {"rust_image", "bad_training_data", Role::symptom, 0.6,
       R"(Format error decoding (?:Png|Jpeg|Gif|Bmp)|ImageError|IoError\(Custom \{ kind: UnexpectedEof)"},
  };
}

}  // namespace

std::vector<SignatureRow> serving_signatures() {
  std::vector<SignatureRow> rows;
  for (auto& part : {language_model_rows(), inference_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace ocrtune
