// NCCL opened at run time: see probes/p2p/cuda/nccl_library.h.
#include <dlfcn.h>

#include <cstdlib>

#include "probes/p2p/cuda/nccl_library.h"

namespace ocrtune {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

}  // namespace

Result<NcclLibrary> open_nccl(const std::string& folder) {
  const char* named = std::getenv("OCRTUNE_NCCL_PATH");
  const bool given = named != nullptr && *named != '\0';
  void* library = ::dlopen(given ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  const char* why = library == nullptr ? ::dlerror() : nullptr;
  const std::string reason = why == nullptr ? "" : why;
  if (library == nullptr && !given) {
    library = ::dlopen((folder + "/libnccl.so.2").c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    return Error{ErrorKind::unsupported, "NCCL is not there (" + reason +
                                             "): install it or name your framework's by --nccl"};
  }
  NcclLibrary api;
  const bool all =
      find(library, "ncclGetVersion", api.get_version) &&
      find(library, "ncclGetErrorString", api.error_text) &&
      find(library, "ncclGetUniqueId", api.get_unique_id) &&
      find(library, "ncclCommInitRankConfig", api.init_rank) &&
      find(library, "ncclCommGetAsyncError", api.async_error) &&
      find(library, "ncclCommFinalize", api.finalize) &&
      find(library, "ncclCommDestroy", api.destroy) && find(library, "ncclCommAbort", api.abort) &&
      find(library, "ncclAllReduce", api.all_reduce) &&
      find(library, "ncclAllGather", api.all_gather) &&
      find(library, "ncclBroadcast", api.broadcast) && find(library, "ncclSend", api.send) &&
      find(library, "ncclRecv", api.receive) && find(library, "ncclGroupStart", api.group_start) &&
      find(library, "ncclGroupEnd", api.group_end);
  if (!all) {
    return Error{ErrorKind::unsupported,
                 "this NCCL is older than 2.14 and cannot be stopped when it hangs: not run"};
  }
  return api;
}

std::string nccl_version(const NcclLibrary& library) {
  int code = 0;
  if (library.get_version(&code) != ncclSuccess) return "";
  return std::to_string(code / 10000) + "." + std::to_string(code % 10000 / 100) + "." +
         std::to_string(code % 100);
}

}  // namespace ocrtune
