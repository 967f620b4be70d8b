// The runtimes that make a program's compute threads: which variable sizes the pool of each, and
// which of them a process has loaded.
//
// Sources: the runtimes' manuals; OpenCV core/src/parallel.cpp; TensorFlow
// core/common_runtime/process_util.cc. oneTBB, ONNX Runtime and OpenVINO read no variable.
//
// OMP_THREAD_LIMIT is not among them although Tesseract's fixed teams of four obey nothing else. It
// caps the team of each initial thread, nested teams included (libgomp, libomp and libiomp5 alike),
// and OpenBLAS built on OpenMP spins forever in a gemm whose team it has made smaller than
// omp_set_num_threads() asked for (0.3.21, seen). Presets of programs that need it set it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/process_tree.h"

namespace ocrtune {

struct ThreadRuntime {
  const char* name;
  std::vector<const char*> libraries;  // parts of the paths of its mapped files
  const char* word;                    // in a program that holds it statically; "": none does
  const char* variable;                // sizes its pool; "": there is none
  const char* sized_by;                // where there is none: what sizes its pool
  const char* carried_in = "";         // folder of a framework that links its own copy of it and
                                       // does not compute with it by itself
};

const std::vector<ThreadRuntime>& thread_runtime_table();

// Names of the runtimes that these processes have loaded. Reads their executables once for a
// path, up to 64 MiB of each.
std::set<std::string> loaded_runtimes(const std::vector<ProcessFacts>& members);

// The same of one process's /proc/PID/maps, without what is held statically.
std::set<std::string> mapped_runtimes(const std::string& maps);

// Whether a program with these runtimes loaded reads the variable. OMP_NUM_THREADS is taken as read
// by all: scripts pass it on to what they start.
bool reads_thread_variable(const std::set<std::string>& runtimes, const std::string& variable);

// Of runtimes by name the first whose pool no variable sizes; null: none is such.
const ThreadRuntime* pool_without_variable(const std::vector<std::string>& runtimes);

// Variables of the table that nothing of `runtimes` reads.
std::vector<std::string> unread_thread_variables(const std::set<std::string>& runtimes);

}  // namespace ocrtune
