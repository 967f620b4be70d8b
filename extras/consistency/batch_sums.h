// Sums within one configuration that must come out: batch sizes, ranks and lists that trainers
// multiply or pair.
//
// DeepSpeed (runtime/config.py, _batch_assertion), Megatron (training/arguments.py), accelerate's
// launcher (num_processes over num_machines), PaddleOCR (SimpleDataSet pairs ratio_list with
// label_file_list). "auto" and what is not given is not summed.
#pragma once

#include <optional>
#include <vector>

#include "extras/consistency/config_difference.h"
#include "extras/consistency/flat_config.h"

namespace ocrtune {

// `world`: ranks of the whole job; nothing: unknown, only what needs no ranks is summed.
std::vector<ConfigDifference> wrong_sums(const FlatConfig& config, std::optional<int> world);

}  // namespace ocrtune
