// One `ocrtune infer-worker` and the two pipes to it (trial/workloads/engine_infer/infer_worker.h
// has the messages).
#pragma once

#include <memory>
#include <string>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/process_tree.h"
#include "base/result.h"
#include "trial/ipc/frames.h"
#include "trial/workloads/engine_infer/infer_spec.h"

namespace ocrtune {

// Kills and reaps; the tree that it was started in keeps the object.
struct EndOfRoot {
  void operator()(Process* process) const;
};

struct InferProcess {
  std::unique_ptr<Process, EndOfRoot> process;
  Descriptor requests, answers;
  FrameReader reader;
};

// `program`: the ocrtune that has infer-worker, or the GPU worker where the spec names a GPU, which
// then is the only one that it sees. An empty mask leaves the worker free.
Result<InferProcess> start_infer_process(ProcessTree& tree, const std::string& program,
                                         InferSpec spec, const CpuSet& mask);

// What 'E' holds: the kind of the error and its words.
std::string error_body(const Error& error);
Error parse_error_body(std::string_view body);

}  // namespace ocrtune
