// A recogniser of the model table trained in PaddlePaddle: a command of Paddle's launcher, tuned as
// a user's command is. What the built-in engine says of processes and batch holds for a Paddle job,
// what it says of threads does not: a second one doubles the engine's speed and halves Paddle's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "trial/workloads/engine_train/training_workload.h"

namespace ocrtune {

// `python`, which can import paddle, on {nproc} processes with {batch} and, where lines are read,
// {workers}; its output is for the log reader "paddleocr". usage: no such model, or
// what of the workload it cannot train; missing: its script is not where this program was
// installed.
Result<std::vector<std::string>> training_in_paddle(const TrainingWorkload& workload,
                                                    const std::string& python);

}  // namespace ocrtune
