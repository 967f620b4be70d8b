// Collectives whose results are known to the last bit. For .cu files alone.
#pragma once

#include <cstdint>
#include <string>

#include "probes/p2p/cuda/cuda_call.h"
#include "probes/p2p/cuda/nccl_rank.h"

namespace ocrtune {

class NcclCheck {
 public:
  explicit NcclCheck(NcclRank& rank) : rank_(rank) {}
  // `max_bytes` of the largest message.
  Status open(std::size_t max_bytes);
  // All operations, types and sizes once, with new contents. invalid: wrong data.
  Status run(std::uint32_t seed);

 private:
  template <typename T>
  Status all_reduce(const char* name, ncclDataType_t type, std::size_t count, bool in_place,
                    std::uint32_t seed);
  Status all_gather(std::size_t words, std::uint32_t seed);
  Status broadcast(std::size_t words, std::uint32_t seed);
  Status send_around(std::size_t words, std::uint32_t seed);
  Status finish(const std::string& what);

  NcclRank& rank_;
  std::size_t max_bytes_ = 0;
  DeviceMemory input_, output_, errors_;
};

}  // namespace ocrtune
