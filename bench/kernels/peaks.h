// What the machine can do at most, measured: the roof over every kernel.
#pragma once

namespace ocrtune {

// Multiply-adds on registers alone, on `threads` OpenMP threads; two operations each.
double measure_peak_flops(int threads);
// y = a x + b z over arrays that no cache holds: three floats moved for each y.
double measure_peak_bytes(int threads);

}  // namespace ocrtune
