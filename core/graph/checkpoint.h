// Training state in one file: complete or not there, and of this model or refused.
//
// Layout, little-endian: magic, format version, model name, graph hash, steps, lengths of the
// sections, the floats, CRC-32 (IEEE 802.3) of all before it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct CheckpointOwner {
  std::string model;
  std::uint64_t graph_hash = 0;
};

// What stands at the beginning of a checkpoint; the rest is verified by read_checkpoint alone.
struct CheckpointHead {
  CheckpointOwner owner;
  std::int64_t steps = 0;
};

Result<CheckpointHead> read_checkpoint_head(const std::string& path);

Status write_checkpoint(const std::string& path, const CheckpointOwner& owner, std::int64_t steps,
                        const std::vector<std::span<const float>>& sections);

// Fills the sections and gives the steps; on any error the sections are untouched.
// missing: no file; invalid: damaged, truncated, of another model or of a newer version.
Result<std::int64_t> read_checkpoint(const std::string& path, const CheckpointOwner& owner,
                                     const std::vector<std::span<float>>& sections);

}  // namespace ocrtune
