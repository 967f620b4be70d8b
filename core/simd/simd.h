// OCRTUNE_SIMD: a function compiled once for each vector width that x86-64 has, picked at start.
//
// Put it on plain loops without lambdas or OpenMP regions of their own: those would not be cloned.
// Elsewhere (ARM has one width; sanitizers run before the choice is made) it means nothing.
// Built with -DOCRTUNE_AVX2_ONLY the widest is AVX2, so that bench/frameworks can show what a CPU
// without AVX-512 would do; oneDNN's own kernels are masked by ONEDNN_MAX_CPU_ISA=AVX2.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(OCRTUNE_AVX2_ONLY)
#define OCRTUNE_SIMD __attribute__((target_clones("arch=x86-64-v3", "default"), optimize("O3")))
#else
#define OCRTUNE_SIMD \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#endif
#else
#define OCRTUNE_SIMD
#endif
