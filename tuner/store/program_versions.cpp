// Values come from macros of this build and from libraries that can be asked. They are stored with
// each run, and a verdict is shown again only where they are the same (Store::list_runs).
#include "tuner/store/program_versions.h"

#include <hwloc.h>
#include <sqlite3.h>

#include <Eigen/Core>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "trial/workloads/engine_parts.h"

#ifdef OCRTUNE_HAS_CURL
#include <curl/curlver.h>
#endif

namespace ocrtune {
namespace {

std::string three(unsigned major, unsigned minor, unsigned patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string hwloc() {
  const unsigned version = hwloc_get_api_version();
  // The interface that it keeps; its release is not told.
  return "API " + three(version >> 16, version >> 8 & 0xff, version & 0xff);
}

std::string compiler() {
#ifdef __clang__
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string openmp() {
#ifdef _OPENMP
  return fmt::format("{}", _OPENMP);  // the month of the specification
#else
  return "none";
#endif
}

// What every function may use, whatever the machine; vector loops pick more at start.
std::string compiled_for() {
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#elif defined(__x86_64__)
  return "x86-64 baseline";
#elif defined(__aarch64__)
  return "ARMv8";
#else
  return "an unnamed architecture";
#endif
}

// As core/simd/simd.h decides.
constexpr bool kClones =
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    true;
#else
    false;
#endif

constexpr bool kSanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#else
    false;
#endif

constexpr bool kCuda =
#ifdef OCRTUNE_HAS_CUDA
    true;
#else
    false;
#endif

constexpr bool kMpi =
#ifdef OCRTUNE_HAS_MPI
    true;
#else
    false;
#endif

constexpr bool kCurl =
#ifdef OCRTUNE_HAS_CURL
    true;
#else
    false;
#endif

constexpr bool kLmdb =
#ifdef OCRTUNE_HAS_LMDB
    true;
#else
    false;
#endif

}  // namespace

std::string program_version() { return OCRTUNE_VERSION; }

const std::vector<std::pair<std::string, std::string>>& program_versions() {
  static const auto kVersions = [] {
    std::vector<std::pair<std::string, std::string>> versions = {
        {"ocrtune", program_version()},
        {"hwloc", hwloc()},
        {"SQLite", sqlite3_libversion()},
        {"fmt", three(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
        {"nlohmann-json", three(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                NLOHMANN_JSON_VERSION_PATCH)},
        {"Eigen", three(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
    };
#ifdef OCRTUNE_HAS_CURL
    versions.emplace_back("libcurl", LIBCURL_VERSION);  // loaded when it is needed
#endif
    if (engine_parts() != nullptr) {
      // Behind "ocrtune", which stands first.
      const auto of_engine = engine_parts()->versions();
      versions.insert(versions.begin() + 1, of_engine.begin(), of_engine.end());
    }
    versions.emplace_back("OpenMP", openmp());
    versions.emplace_back("compiler", compiler());
    return versions;
  }();
  return kVersions;
}

const std::vector<Feature>& program_features() {
  static const std::vector<Feature> kFeatures = {
      {"cuda-worker", kCuda,
       "peer-to-peer and NCCL measured on GPUs by ocrtune-cuda-worker; needs CUDA and NCCL at "
       "build"},
      {"gpu-probe", true, "GPUs and their links, asked of the driver by ocrtune-gpu-worker"},
      {"mpi", kMpi, "ranks on several machines; needs an MPI library at build"},
      {"vector-loops", kClones,
       "loops for x86-64-v3 and -v4, picked at start; the rest is for " + compiled_for()},
      {"engine", engine_parts() != nullptr || engine_program().ok(),
       "the built-in OCR engine: ocrtune-engine, beside ocrtune or in PATH"},
      {"lmdb", kLmdb, "PaddleOCR's LMDB folders as training data; needs liblmdb at build"},
      {"http", kCurl, "slo --url; needs libcurl at build"},
      {"sanitizers", kSanitized, "address and undefined-behaviour checks; such a build is slow"},
  };
  return kFeatures;
}

}  // namespace ocrtune
