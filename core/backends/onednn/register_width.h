// The widest vector registers that the loops compiled once for each width may use.
#pragma once

namespace ocrtune {

inline int register_bytes() {
#if defined(__x86_64__)
#if !defined(OCRTUNE_AVX2_ONLY)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
    return 64;
  }
#endif
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 32;
#endif
  return 16;
}

}  // namespace ocrtune
