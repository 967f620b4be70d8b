#include "paths.h"

std::string test_source_directory() { return OCRTUNE_TEST_SOURCE_DIRECTORY; }
std::string test_binary() { return OCRTUNE_TEST_BINARY; }
std::string test_nvml_stub() { return OCRTUNE_TEST_NVML_STUB; }
std::string test_fake_worker() { return OCRTUNE_TEST_FAKE_WORKER; }
std::string test_fake_gpu_worker() { return OCRTUNE_TEST_FAKE_GPU_WORKER; }
