// What a thread of the GPU core can do within its group, so that each kernel's logic is one
// template that also runs on the host, where tests compare it with the reference backend.
//
// A Lane has index(), count(), sync() (all lanes of the group meet), sum() and reduce_max() over
// the group, and sum_of_column(value, width) over the lanes whose index leaves the same rest by
// width; every lane must call these, and each gets the result.
#pragma once

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
  void sync() const {}
  double sum(double value) const { return value; }
  double sum_of_column(double value, int) const { return value; }
  float reduce_max(float value) const { return value; }
};

}  // namespace ocrtune
