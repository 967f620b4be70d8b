/* What every program here shares: the flags, the clock, work of a known length, and the line that a
   log reader takes for the rate. */
#pragma once
#ifdef __cplusplus
#include <atomic>
using Count = std::atomic<long>;
#else
#define _GNU_SOURCE
typedef _Atomic long Count;
#endif
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline int flag(int argc, char** argv, const char* name, int otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return atoi(argv[i + 1]);
  }
  return otherwise;
}

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* About a millisecond of arithmetic for each unit, where it is called: no compiler moves it out of
 * a lock. */
static inline double burn(int units) {
  double s = 0;
  for (int i = 1; i < units * 500000; ++i) {
    s += 1.0 / i;
    __asm__ volatile("" ::: "memory");
  }
  return s;
}

/* Counts samples and prints their rate four times a second. */
static inline void done(int samples) {
  static double last = 0;
  static long count = 0;
  if (last == 0) last = now();
  count += samples;
  const double t = now();
  if (t - last < 0.25) return;
  printf("speed %.2f pages/s\n", (double)count / (t - last));
  fflush(stdout);
  last = t;
  count = 0;
}

static inline void pause_seconds(double seconds) {
  struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  nanosleep(&t, NULL);
}

static inline void start_threads(int count, void* (*work)(void*)) {
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
  }
}

/* Prints the rate of what other threads count. */
static inline void report(Count* pages) {
  long seen = 0;
  for (;;) {
    pause_seconds(0.25);
    const long count = *pages;
    done((int)(count - seen));
    seen = count;
  }
}
