// Where a trial's rank computes, when that is not this machine's CPUs:
// trial/workloads/engine_train/worker.h asks it for the trainer and for how the ranks meet.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "core/comm/comm.h"
#include "core/train/trainer.h"
#include "trial/ipc/events.h"

namespace ocrtune {

class WorkerDevice {
 public:
  virtual ~WorkerDevice() = default;

  // Once the loader's processes are forked. Fills what the hello says of the device. unsupported:
  // no such device here, or another one than was meant.
  virtual Status open(HelloEvent& hello) = 0;
  virtual Result<std::unique_ptr<Comm>> make_comm() = 0;  // of several ranks
  virtual Result<std::unique_ptr<Trainer>> make_trainer(const TrainerOptions& options,
                                                        Comm& comm) = 0;
  virtual std::optional<MemoryEvent> memory() = 0;  // in use now; nullopt: it cannot be told
};

}  // namespace ocrtune
