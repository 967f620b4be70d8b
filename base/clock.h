// Time behind one door: tests bring a scripted clock.
#pragma once

namespace ocrtune {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now_seconds() = 0;  // monotonic, from an arbitrary start
  virtual void sleep_seconds(double seconds) = 0;
};

Clock& steady_clock();  // CLOCK_MONOTONIC, the one of the machine

inline double steady_seconds() { return steady_clock().now_seconds(); }

double wall_seconds();  // seconds since 1970-01-01 UTC, for dates of reports and files

// CPU time that this thread, and all threads of this process, have used.
double thread_cpu_seconds();
double process_cpu_seconds();

}  // namespace ocrtune
