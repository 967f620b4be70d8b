// Puts `ocrtune rank-exec` between a launcher and the program that its ranks run, so that each rank
// is on its CPUs before its first instruction, in a trial and in the line that is recommended.
//
// Paddle's launcher starts by python what ends in .py and anything else as it is; torchrun does so
// with --no_python. Sources: paddle/distributed/launch/controllers/controller.py (3.2),
// torch/distributed/run.py (1.13).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ocrtune {

// `starter`: the path of ocrtune. Empty: not a launcher that is known (paddle.distributed.launch,
// torchrun, torch.distributed.run), or one that starts a module.
std::optional<std::vector<std::string>> with_rank_starter(const std::vector<std::string>& command,
                                                          const std::string& starter);

}  // namespace ocrtune
