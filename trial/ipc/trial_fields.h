// The fields of a trial and of its samples, each named once: columns of the store, fields of the
// lines that other hosts' agents send, columns of the tables are made from these lists.
//
// list(object, visit) calls visit(name, field) for each field (trial/ipc/json_fields.h).
#pragma once

#include <nlohmann/json.hpp>

#include "trial/ipc/json_fields.h"
#include "trial/ipc/same_fields.h"
#include "trial/trial.h"

namespace ocrtune {

inline constexpr auto kSampleFields = [](auto& sample, const auto& visit) {
  OCRTUNE_VISIT(sample, samples, seconds, steps);
  OCRTUNE_VISIT(sample.step, data_seconds, compute_seconds, all_reduce_seconds, wait_seconds);
  auto& seen = sample.interference;
  OCRTUNE_VISIT(seen, observed_seconds, cpu_seconds, available_cpus, external_wait_seconds,
                longest_external_wait_seconds, external_cpus, run_queue_wait_share, pressure_share,
                throttled_seconds, steal_share, swapped_pages, spoilt_by);
};

OCRTUNE_FIELDS(LearningPoint, samples, weight, loss, part_square, whole_square)
OCRTUNE_FIELDS(Learning, global_batch, parts, seed, rate_factor, points)
OCRTUNE_FIELDS(GpuShare, index, processes, worked, peak_bytes, size_bytes, busy_share)

OCRTUNE_FIELDS(LoadPoint, in_flight, requests_per_second, p50_seconds, p95_seconds, p99_seconds,
               latency_seconds, requests, late, verdict)

OCRTUNE_FIELDS(LauncherVariable, name, value)

OCRTUNE_FIELDS(StageUse, observed_seconds, looks, busiest_thread_cpus, busiest_thread_share,
               busiest_thread, busiest_process, busiest_process_cpus, saturated_threads,
               allowed_cpus, allowed_list, starts_per_second, system_share, minor_faults_per_second,
               major_faults_per_second, storage_bytes_per_second, written_bytes_per_second,
               read_bytes_per_second, opened_bytes, opened_count, running_threads, disk_threads,
               lock_threads, mutex_threads, network_threads, sleeping_threads, pipe_threads,
               fed_threads, child_threads, asking_threads, remote_share, memory_nodes, thread_nodes,
               launcher_set, data_share, first_rate, last_rate)

// What was seen while it ran: all but knobs, outcome, samples, trace, counters, and what the search
// says of it.
inline constexpr auto kObservedFields = [](auto& trial, const auto& visit) {
  OCRTUNE_VISIT(trial, cause, reason, evidence, reproduce, kept_folder, samples_per_second,
                counted_share, counts_to, lost_loss, peak_bytes, host_peak_bytes,
                possible_peak_bytes, gpus);
  visit("tasks", trial.tasks.peak);
  visit("tasks_limit", trial.tasks.limit);
  visit("open_files", trial.files.peak);
  visit("open_files_limit", trial.files.limit);
  visit("growth_watched_seconds", trial.growth.watched_seconds);
  visit("growth_bytes_per_second", trial.growth.bytes_per_second);
  visit("growth_low", trial.growth.low);
  visit("growth_high", trial.growth.high);
  visit("growth_last_bytes", trial.growth.last_bytes);
  visit("growth_certain", trial.growth.certain);
  visit("in_flight", trial.service.in_flight);
  visit("answer_p50_seconds", trial.service.p50_seconds);
  visit("answer_p99_seconds", trial.service.p99_seconds);
  visit("answer_alone_seconds", trial.service.alone_seconds);
  visit("search_ended_early", trial.service.ended_early);
  visit("server_metrics", trial.service.server);
  visit("loads", trial.service.loads);
  visit("slow_host", trial.slow_host.name);
  visit("slow_host_words", trial.slow_host.words);
  visit("slow_host_cost_share", trial.slow_host.cost_share);
  OCRTUNE_VISIT(trial, links_down, seconds, start_seconds);
  visit("latency_steps", trial.latency.steps);
  OCRTUNE_VISIT(trial.latency, p50_seconds, p90_seconds, p95_seconds, p99_seconds);
  visit("threads_alive", trial.threads.alive);
  visit("threads_busy", trial.threads.busy);
  visit("threads_cpus", trial.threads.cpus);
  visit("threads_runnable", trial.threads.runnable);
  OCRTUNE_VISIT(trial.threads, voluntary_switches_per_second, involuntary_switches_per_second,
                throttled_share, runtimes);
  OCRTUNE_VISIT(trial, stages, same, learning, network_bytes_per_second, control_share, placement,
                log_tail, started);
};

// Why it was run, and where in the run.
inline constexpr auto kSearchFields = [](auto& trial, const auto& visit) {
  OCRTUNE_VISIT(trial, phase, why, repetition, round);
};

}  // namespace ocrtune
