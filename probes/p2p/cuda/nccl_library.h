// NCCL opened at run time, so that the library that a framework brings along can be tested and a
// missing one is an answer. For .cu files alone.
#pragma once

#include <nccl.h>

#include <string>

#include "base/result.h"

namespace ocrtune {

struct NcclLibrary {
  decltype(&::ncclGetVersion) get_version = nullptr;
  decltype(&::ncclGetErrorString) error_text = nullptr;
  decltype(&::ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&::ncclCommGetAsyncError) async_error = nullptr;
  decltype(&::ncclCommFinalize) finalize = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommAbort) abort = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclAllGather) all_gather = nullptr;
  decltype(&::ncclBroadcast) broadcast = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) receive = nullptr;
  decltype(&::ncclGroupStart) group_start = nullptr;
  decltype(&::ncclGroupEnd) group_end = nullptr;
};

// OCRTUNE_NCCL_PATH, else the loader's libnccl.so.2, else the one in `folder`. unsupported: none is
// there, or it is older than 2.14.
Result<NcclLibrary> open_nccl(const std::string& folder);

std::string nccl_version(const NcclLibrary& library);  // "2.28.9"

}  // namespace ocrtune
