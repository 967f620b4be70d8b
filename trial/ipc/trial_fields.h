// The fields of a trial and of its samples, each named once: columns of the store, fields of the
// lines that other hosts' agents send, columns of the tables are made from these lists.
//
// list(object, visit) calls visit(name, field) for each field (trial/ipc/json_fields.h).
#pragma once

#include <nlohmann/json.hpp>

#include "trial/ipc/json_fields.h"
#include "trial/ipc/learning_fields.h"
#include "trial/ipc/same_fields.h"
#include "trial/trial.h"

namespace ocrtune {

inline constexpr auto kSampleFields = [](auto& sample, const auto& visit) {
  visit("samples_per_second", sample.samples_per_second);
  visit("seconds", sample.seconds);
  visit("steps", sample.steps);
  visit("data_seconds", sample.step.data_seconds);
  visit("compute_seconds", sample.step.compute_seconds);
  visit("all_reduce_seconds", sample.step.all_reduce_seconds);
  visit("wait_seconds", sample.step.wait_seconds);
  auto& seen = sample.interference;
  visit("observed_seconds", seen.observed_seconds);
  visit("cpu_seconds", seen.cpu_seconds);
  visit("available_cpus", seen.available_cpus);
  visit("external_wait_seconds", seen.external_wait_seconds);
  visit("longest_external_wait_seconds", seen.longest_external_wait_seconds);
  visit("external_cpus", seen.external_cpus);
  visit("run_queue_wait_share", seen.run_queue_wait_share);
  visit("pressure_share", seen.pressure_share);
  visit("throttled_seconds", seen.throttled_seconds);
  visit("steal_share", seen.steal_share);
  visit("swapped_pages", seen.swapped_pages);
  visit("spoilt_by", seen.spoilt_by);
};

inline constexpr auto kGpuShareFields = [](auto& share, const auto& visit) {
  visit("index", share.index);
  visit("processes", share.processes);
  visit("worked", share.worked);
  visit("peak_bytes", share.peak_bytes);
  visit("size_bytes", share.size_bytes);
  visit("busy_share", share.busy_share);
};

constexpr auto listed_fields(const GpuShare*) { return kGpuShareFields; }

inline constexpr auto kLoadPointFields = [](auto& point, const auto& visit) {
  visit("in_flight", point.in_flight);
  visit("requests_per_second", point.requests_per_second);
  visit("p50_seconds", point.p50_seconds);
  visit("p95_seconds", point.p95_seconds);
  visit("p99_seconds", point.p99_seconds);
  visit("latency_seconds", point.latency_seconds);
  visit("requests", point.requests);
  visit("late", point.late);
  visit("verdict", point.verdict);
};

constexpr auto listed_fields(const LoadPoint*) { return kLoadPointFields; }

inline constexpr auto kLauncherVariableFields = [](auto& variable, const auto& visit) {
  visit("name", variable.name);
  visit("value", variable.value);
};

constexpr auto listed_fields(const LauncherVariable*) { return kLauncherVariableFields; }

inline constexpr auto kStageFields = [](auto& stages, const auto& visit) {
  visit("observed_seconds", stages.observed_seconds);
  visit("looks", stages.looks);
  visit("busiest_thread_cpus", stages.busiest_thread_cpus);
  visit("busiest_thread_share", stages.busiest_thread_share);
  visit("busiest_thread", stages.busiest_thread);
  visit("busiest_process", stages.busiest_process);
  visit("busiest_process_cpus", stages.busiest_process_cpus);
  visit("saturated_threads", stages.saturated_threads);
  visit("allowed_cpus", stages.allowed_cpus);
  visit("allowed_list", stages.allowed_list);
  visit("starts_per_second", stages.starts_per_second);
  visit("system_share", stages.system_share);
  visit("minor_faults_per_second", stages.minor_faults_per_second);
  visit("major_faults_per_second", stages.major_faults_per_second);
  visit("storage_bytes_per_second", stages.storage_bytes_per_second);
  visit("written_bytes_per_second", stages.written_bytes_per_second);
  visit("read_bytes_per_second", stages.read_bytes_per_second);
  visit("opened_bytes", stages.opened_bytes);
  visit("opened_count", stages.opened_count);
  visit("running_threads", stages.running_threads);
  visit("disk_threads", stages.disk_threads);
  visit("lock_threads", stages.lock_threads);
  visit("mutex_threads", stages.mutex_threads);
  visit("network_threads", stages.network_threads);
  visit("sleeping_threads", stages.sleeping_threads);
  visit("pipe_threads", stages.pipe_threads);
  visit("fed_threads", stages.fed_threads);
  visit("child_threads", stages.child_threads);
  visit("asking_threads", stages.asking_threads);
  visit("remote_share", stages.remote_share);
  visit("memory_nodes", stages.memory_nodes);
  visit("thread_nodes", stages.thread_nodes);
  visit("launcher_set", stages.launcher_set);
  visit("data_share", stages.data_share);
  visit("first_rate", stages.first_rate);
  visit("last_rate", stages.last_rate);
};

constexpr auto listed_fields(const StageUse*) { return kStageFields; }

// What was seen while it ran: all but knobs, outcome, samples, trace, counters, and what the search
// says of it.
inline constexpr auto kObservedFields = [](auto& trial, const auto& visit) {
  visit("cause", trial.cause);
  visit("reason", trial.reason);
  visit("evidence", trial.evidence);
  visit("reproduce", trial.reproduce);
  visit("samples_per_second", trial.samples_per_second);
  visit("counted_share", trial.counted_share);
  visit("counts_to", trial.counts_to);
  visit("lost_loss", trial.lost_loss);
  visit("peak_bytes", trial.peak_bytes);
  visit("host_peak_bytes", trial.host_peak_bytes);
  visit("possible_peak_bytes", trial.possible_peak_bytes);
  visit("gpus", trial.gpus);
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
  visit("links_down", trial.links_down);
  visit("seconds", trial.seconds);
  visit("start_seconds", trial.start_seconds);
  visit("latency_steps", trial.latency.steps);
  visit("p50_seconds", trial.latency.p50_seconds);
  visit("p90_seconds", trial.latency.p90_seconds);
  visit("p95_seconds", trial.latency.p95_seconds);
  visit("p99_seconds", trial.latency.p99_seconds);
  visit("threads_alive", trial.threads.alive);
  visit("threads_busy", trial.threads.busy);
  visit("threads_cpus", trial.threads.cpus);
  visit("threads_runnable", trial.threads.runnable);
  visit("voluntary_switches_per_second", trial.threads.voluntary_switches_per_second);
  visit("involuntary_switches_per_second", trial.threads.involuntary_switches_per_second);
  visit("throttled_share", trial.threads.throttled_share);
  visit("runtimes", trial.threads.runtimes);
  visit("stages", trial.stages);
  visit("same", trial.same);
  visit("learning", trial.learning);
  visit("network_bytes_per_second", trial.network_bytes_per_second);
  visit("control_share", trial.control_share);
  visit("placement", trial.placement);
  visit("log_tail", trial.log_tail);
  visit("started", trial.started);
};

// Why it was run, and where in the run.
inline constexpr auto kSearchFields = [](auto& trial, const auto& visit) {
  visit("phase", trial.phase);
  visit("why", trial.why);
  visit("repetition", trial.repetition);
  visit("round", trial.round);
};

}  // namespace ocrtune
