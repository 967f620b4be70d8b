# The fuzzing program: only what its readers need is compiled, a fifth of the tree. A link error names
# what is missing in the list.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/base/*.cpp ${CMAKE_SOURCE_DIR}/extras/consistency/*.cpp
     ${CMAKE_SOURCE_DIR}/diagnosis/*.cpp
     ${CMAKE_SOURCE_DIR}/diagnosis/signatures/*.cpp)
foreach(file
  extras/capacity/day_profile extras/capacity/page_lines cli/flags cli/settings_file core/data/alphabet core/data/image_file
  core/data/label_file core/data/lmdb_source core/data/samples_path
  core/data/sample_source core/graph/checkpoint core/graph/graph core/graph/tensor core/onnx/onnx_arithmetic
  core/onnx/onnx_file core/onnx/onnx_lstm core/onnx/onnx_bytes core/onnx/onnx_recognizer core/onnx/onnx_translator extras/hosts/agent_messages
  extras/hosts/host_list extras/hosts/host_trial probes/gpu/gpu_ids probes/host/allocators probes/host/arm_cores
  probes/host/cgroups probes/host/memory_nodes probes/host/topology
  probes/machine/gpu_report probes/machine/machine_json probes/p2p/steps/nccl_log trial/ipc/events trial/ipc/frames
  trial/knobs trial/logs/event_reader trial/logs/log_dialects trial/logs/log_reader trial/logs/log_text
  trial/logs/rate_dialects trial/logs/regex_dialect trial/malloc_environment trial/observe/oom_watch
  trial/observe/pid_namespace trial/observe/rank_binding trial/table_runner trial/trial
  trial/workloads/command/command_template trial/workloads/command/paddleocr_config
  trial/workloads/command/preset_file trial/workloads/command/toml_reader trial/workloads/command/toml_text
  trial/workloads/engine_infer/framework_table trial/workloads/engine_infer/infer_device
  trial/workloads/engine_infer/infer_process
  trial/workloads/engine_infer/infer_spec trial/workloads/engine_infer/infer_trial_spec
  trial/workloads/engine_train/fit_spec trial/workloads/engine_train/worker_spec trial/workloads/service/arrivals
  trial/workloads/service/http_target trial/workloads/service/request_file tuner/space/objective
  tuner/store/flat_json tuner/store/run_holder tuner/store/run_record tuner/store/sqlite tuner/store/store
  tuner/store/store_file)
  list(APPEND sources ${CMAKE_SOURCE_DIR}/${file}.cpp)
endforeach()
add_executable(fuzz tests/fuzz/fuzz_main.cpp ${sources})
target_include_directories(fuzz SYSTEM PRIVATE ${TOMLPLUSPLUS_INCLUDE_DIR})
target_link_libraries(fuzz PRIVATE ocrtune_flags fmt::fmt Threads::Threads PkgConfig::RE2 PkgConfig::HWLOC
                      nlohmann_json::nlohmann_json yaml-cpp dnnl_library Freetype::Freetype PNG::PNG JPEG::JPEG
                      SQLite::SQLite3 CURL::libcurl ${LMDB_LIBRARY} ${CMAKE_DL_LIBS})
target_link_options(fuzz PRIVATE -fsanitize=fuzzer)
