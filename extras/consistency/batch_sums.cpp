// Each trainer's sum by keys of its own, looked for wherever its file nests them. A sum is checked
// only where all of its terms are there.
#include "extras/consistency/batch_sums.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"

namespace ocrtune {
namespace {

// The whole number of a key, wherever a trainer's file nests it, "-" for "_" as well.
std::optional<std::int64_t> whole_of(const FlatConfig& config, std::string_view key) {
  for (const auto& [name, value] : config.values) {
    std::string last = name.substr(name.find_last_of('.') + 1);
    std::replace(last.begin(), last.end(), '-', '_');
    if (last != key) continue;
    const auto number = parse_integer(value);
    if (number) return *number;
  }
  return std::nullopt;
}

ConfigDifference wrong(const FlatConfig& config, const char* key, std::string sum,
                       const char* effect) {
  return {key, {{config.name, std::move(sum)}}, effect};
}

// train_batch_size = micro batch x accumulation x ranks.
std::optional<ConfigDifference> deepspeed_sum(const FlatConfig& config, std::optional<int> world) {
  const auto whole = whole_of(config, "train_batch_size");
  const auto micro = whole_of(config, "train_micro_batch_size_per_gpu");
  if (!whole || !micro) return std::nullopt;
  const std::int64_t steps = whole_of(config, "gradient_accumulation_steps").value_or(1);
  // Without the ranks only what no number of them could mend is wrong.
  if (!world) {
    if (*micro * steps == 0 || *whole % (*micro * steps) == 0) return std::nullopt;
    return wrong(config, "train_batch_size",
                 fmt::format("{} is no multiple of {} x {}", *whole, *micro, steps),
                 "DeepSpeed stops at the start, whatever the number of ranks");
  }
  const std::int64_t product = *micro * steps * *world;
  if (product == *whole) return std::nullopt;
  return wrong(config, "train_batch_size",
               fmt::format("{} != {} x {} x {} ranks = {}", *whole, *micro, steps, *world, product),
               "DeepSpeed stops at the start: leave one of the three out, or set it to \"auto\"");
}

// global batch = micro batch x data-parallel ranks x a whole number of steps.
std::optional<ConfigDifference> megatron_sum(const FlatConfig& config, std::optional<int> world) {
  const auto global = whole_of(config, "global_batch_size");
  const auto micro = whole_of(config, "micro_batch_size");
  if (!global || !micro || !world) return std::nullopt;
  std::int64_t shares = 1;
  for (const char* key :
       {"tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"}) {
    shares *= std::max<std::int64_t>(whole_of(config, key).value_or(1), 1);
  }
  if (*world % shares != 0) {
    return wrong(config, "tensor_model_parallel_size",
                 fmt::format("{} ranks are not divisible by {}", *world, shares),
                 "the trainer stops at the start: ranks must fill whole copies of the model");
  }
  const std::int64_t step = *micro * (*world / shares);
  if (step == 0 || *global % step == 0) return std::nullopt;
  return wrong(config, "global_batch_size",
               fmt::format("{} is no multiple of {} x {} data-parallel ranks", *global, *micro,
                           *world / shares),
               "the trainer stops at the start");
}

// accelerate's num_processes is that of all machines together.
std::optional<ConfigDifference> accelerate_sum(const FlatConfig& config, std::optional<int> world) {
  const auto processes = whole_of(config, "num_processes");
  const std::int64_t machines = whole_of(config, "num_machines").value_or(1);
  if (!processes) return std::nullopt;
  if (machines > 0 && *processes % machines != 0) {
    return wrong(
        config, "num_processes",
        fmt::format("{} on {}", how_many(*processes, "process"), how_many(machines, "machine")),
        "num_processes counts all machines together: each must get as many");
  }
  if (!world || *processes == *world) return std::nullopt;
  return wrong(config, "num_processes",
               fmt::format("{}, started with {}", *processes, how_many(*world, "process")),
               "ranks wait for others that are never started");
}

// PaddleOCR takes a ratio for each label file.
std::optional<ConfigDifference> ratio_list_sum(const FlatConfig& config) {
  std::int64_t labels = 0, ratios = 0;
  for (const auto& [name, value] : config.values) {
    labels += starts_with(name, "Train.dataset.label_file_list[");
    ratios += starts_with(name, "Train.dataset.ratio_list[");
  }
  if (labels == 0 || ratios == 0 || labels == ratios) return std::nullopt;
  return wrong(config, "Train.dataset.ratio_list",
               fmt::format("{} for {}", how_many(ratios, "ratio"), how_many(labels, "label file")),
               "PaddleOCR stops at the start: the two lists must be of one length");
}

}  // namespace

std::vector<ConfigDifference> wrong_sums(const FlatConfig& config, std::optional<int> world) {
  std::vector<ConfigDifference> wrong;
  for (auto sum : {deepspeed_sum(config, world), megatron_sum(config, world),
                   accelerate_sum(config, world), ratio_list_sum(config)}) {
    if (sum) wrong.push_back(std::move(*sum));
  }
  return wrong;
}

}  // namespace ocrtune
