// Where the tests find the source tree and the built tool; included before every test file, so that
// their objects do not depend on where the tree lies and one compiler cache serves all.
#pragma once

#include <string>

std::string test_source_directory();
std::string test_binary();
std::string test_fake_worker();
std::string test_nvml_stub();
std::string test_fake_gpu_worker();

#define OCRTUNE_SOURCE_DIR test_source_directory()
#define OCRTUNE_BINARY test_binary()
#define OCRTUNE_FAKE_WORKER test_fake_worker()
#define OCRTUNE_NVML_STUB_LIBRARY test_nvml_stub()
#define OCRTUNE_FAKE_GPU_WORKER test_fake_gpu_worker()
