// What a thread of the GPU core can do within its group, so that each kernel's logic is one
// template that also runs on the host, where tests compare it with the reference backend.
//
// A Lane has index(), count(), join() (all lanes of the group meet), and sum() and most() over the
// group, which every lane must call and which give every lane the result.
#pragma once

#include <cstddef>

#ifndef OCRTUNE_BOTH
#ifdef __CUDACC__
#define OCRTUNE_BOTH __host__ __device__
#else
#define OCRTUNE_BOTH
#endif
#endif

namespace ocrtune {

struct HostLane {
  int index() const { return 0; }
  int count() const { return 1; }
  void join() const {}
  double sum(double value) const { return value; }
  float most(float value) const { return value; }
};

// A matrix of a batched product: `stride` floats from one row to the next as stored, `step` from
// one batch to the next (0: the same for all).
struct DeviceMatrix {
  const float* start = nullptr;
  int stride = 0;
  bool transposed = false;  // read as its transpose
  std::size_t step = 0;
};

// C[batch][rows, columns] = scale A B + beta C, all row-major.
struct DeviceProduct {
  int batch = 1, rows = 0, columns = 0, depth = 0;
  DeviceMatrix a, b;
  float* c = nullptr;
  int c_stride = 0;
  std::size_t c_step = 0;
  float scale = 1, beta = 0;
};

}  // namespace ocrtune
