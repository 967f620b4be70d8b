// Rules over one trial's counters, the surest first (kRules); each names its cause or nothing.
#include "tuner/verdict/held_back.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/observe/thread_runtimes.h"
#include "trial/observe/thread_use.h"
#include "trial/stages/page_cache.h"
#include "trial/stages/stage_meter.h"
#include "tuner/models/repeats.h"
#include "tuner/verdict/beside_load.h"

namespace ocrtune {
namespace {

// Shares and ratios are of what programs with one known stage showed (bench/why); rounded.
constexpr std::int64_t kLeastLooks = 5;  // at the threads' states
constexpr double kFull = 0.85;           // of the CPUs, from which none is free
constexpr double kNoFaster = 1.1;        // ratio of rates
constexpr double kWasted = 1.5;          // ratio of CPU times a sample
constexpr double kSameWork = 1.3;        // the same, up to which the work is the same
constexpr double kDominant = 0.6;        // of the threads' time that is not idle

// One setting's longest trial, and what others of the run showed.
struct Case {
  const Trial* trial = nullptr;
  const Setting* setting = nullptr;
  const std::vector<Setting>& settings;
  double given = 0;                    // usable CPUs
  double cpus = 0;                     // of these, that the threads may use
  const std::set<std::string>& fixed;  // knobs that the command ignores
  const Trial* warm = nullptr;         // a trial of it that read its files from memory
  const Trial* cold = nullptr;         // of the same setting, with its files out of memory
  const Trial* after_cold = nullptr;   // right after it, with its files there again
  double memory_bytes = 0;             // 0: unknown
  // Of its trial, or of others with more threads alone, which it has all the same.
  const LauncherVariable* launcher = nullptr;

  const StageUse& use() const { return trial->stages; }
  const ThreadUse& threads() const { return trial->threads; }
  double runnable() const { return trial->threads.runnable; }
  bool looked() const { return use().looks >= kLeastLooks; }
  bool has_free_cpus() const { return runnable() <= kFull * cpus; }
  bool serves() const { return trial->service.in_flight > 0; }
  // A thread that waits for a GPU may turn in a loop: it looks like work.
  bool on_gpu() const {
    return std::any_of(trial->gpus.begin(), trial->gpus.end(),
                       [](const GpuShare& gpu) { return gpu.worked; });
  }
  // Threads that compute or wait, at a time; those kept from a CPU count for what they ran.
  double awake() const {
    const StageUse& one = use();
    return std::min(one.running_threads, threads().cpus) + one.disk_threads + one.lock_threads +
           one.network_threads + one.sleeping_threads + one.pipe_threads;
  }
};

using Found = std::optional<HeldBack>;

// What a program opens for a moment is not seen in each of its trials.
const Trial* first_of(const std::vector<Trial>& trials, const Knobs& knobs,
                      bool (*reads)(const StageUse&), bool it_does = true) {
  const auto found = std::find_if(trials.begin(), trials.end(), [&](const Trial& trial) {
    return trial.ok() && trial.knobs == knobs && reads(trial.stages) == it_does;
  });
  return found == trials.end() ? nullptr : &*found;
}

// The settings that differ from `knobs` in this count alone.
std::vector<const Setting*> others_along(const Case& one, int Knobs::*count) {
  std::vector<const Setting*> found;
  for (const Setting& setting : one.settings) {
    Knobs same = setting.summary.knobs;
    const int value = std::exchange(same.*count, one.setting->summary.knobs.*count);
    if (setting.works() && same == one.setting->summary.knobs && value != same.*count) {
      found.push_back(&setting);
    }
  }
  return found;
}

const LauncherVariable* launcher_of(const std::vector<Trial>& trials, const Trial& mine) {
  if (!mine.stages.launcher_set.empty()) return &mine.stages.launcher_set.front();
  for (const Trial& trial : trials) {
    Knobs same = trial.knobs;
    same.threads = mine.knobs.threads;
    if (!trial.ok() || same != mine.knobs || trial.stages.launcher_set.empty()) continue;
    return &trial.stages.launcher_set.front();
  }
  return nullptr;
}

// What to try, and what came of it where the run has tried it.
Reason more_of(const Case& one, std::string_view name, int Knobs::*count, Reason what) {
  const int now = one.setting->summary.knobs.*count;
  const Setting* best = nullptr;
  Interval of_best;
  double highest = 0;  // that any of them may reach
  for (const Setting* other : others_along(one, count)) {
    if (other->summary.knobs.*count < now) continue;
    const Interval ratio = ratio_interval(*other, *one.setting);
    highest = std::max(highest, ratio.high);
    if (ratio.median > of_best.median) best = other;
    if (best == other) of_best = ratio;
  }
  if (best == nullptr && one.fixed.contains(std::string(name))) {
    return reason<ReasonCode::next_in_command>(std::move(what), fmt::format("{{{}}}", name));
  }
  if (best == nullptr) {
    const int more = std::max(1, 2 * now);
    return reason<ReasonCode::next_untried>(std::move(what),
                                            fmt::format("--{} {},{}", name, now, more));
  }
  std::string tried = fmt::format("{}={}", name, best->summary.knobs.*count);
  if (highest < kNoFaster) return reason<ReasonCode::next_in_vain>(std::move(what), tried);
  if (of_best.low <= 1) return reason<ReasonCode::next_left_open>(std::move(what), tried);
  return reason<ReasonCode::next_brings>(std::move(what), tried, in_percent(of_best.median - 1));
}

Reason more_processes(const Case& one) {
  return more_of(one, "nproc", &Knobs::nproc, reason<ReasonCode::try_more_processes>());
}

// More threads than CPUs that run at the same times, and hardly at others: those that share the
// CPUs wait for them while the mean leaves some free. Other load would keep them waiting, too.
Reason crowds_at_times(const Case& one) {
  constexpr double kThreads = 2, kRunnable = 1.12;  // of a CPU each
  const ThreadUse& use = one.threads();
  if (one.has_free_cpus() || one.trial->noisy() || one.trial->samples.empty()) return {};
  if (use.busy < kThreads * one.cpus || use.runnable < kRunnable * use.cpus) return {};
  return reason<ReasonCode::oversubscribed_at_times>(decimal(use.busy, 1), general(one.cpus, 3),
                                                     in_percent(1 - use.cpus / use.runnable));
}

// A pool that no variable sizes stays as large in every setting. `otherwise`: where none is loaded.
Reason fewer_threads(const Case& one, Reason otherwise) {
  const ThreadRuntime* const pool = pool_without_variable(one.threads().runtimes);
  if (pool == nullptr) return otherwise;
  return reason<ReasonCode::next_fewer_in_pool>(pool->name, pool->sized_by, "{threads}");
}

Found crowded(const Case& one) {
  Reason cause = crowding(one.threads(), one.cpus);
  if (cause.empty()) cause = crowds_at_times(one);
  if (cause.empty()) return std::nullopt;
  // Whom a lock wakes wants a CPU, too: where other load has them, the two look alike.
  constexpr double kSomeLock = 0.5;
  const bool starved = one.threads().cpus <= kFull * one.cpus;
  if (starved && one.use().mutex_threads >= kSomeLock) return std::nullopt;
  return HeldBack{std::move(cause), fewer_threads(one, reason<ReasonCode::next_fewer_threads>())};
}

Found masked(const Case& one) {
  if (one.cpus >= one.given || one.runnable() < kFull * one.cpus) return std::nullopt;
  return HeldBack{
      reason<ReasonCode::held_by_mask>(one.use().allowed_list, counted(one.use().allowed_cpus),
                                       general(one.given, 3)),
      reason<ReasonCode::next_lift_mask>()};
}

Found waits_for_data(const Case& one) {
  constexpr double kMuch = 0.3;
  if (one.use().data_share < kMuch) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_data>(in_percent(one.use().data_share)),
                  more_of(one, "workers", &Knobs::workers, reason<ReasonCode::try_more_workers>())};
}

Found waits_for_disk(const Case& one) {
  constexpr double kThreads = 0.1, kShare = 0.3, kBytes = 500e3;
  const StageUse& use = one.use();
  const double bytes = use.storage_bytes_per_second + use.written_bytes_per_second;
  const double other_waits = use.mutex_threads + use.network_threads;
  const double computing = std::min(use.running_threads, one.threads().cpus);
  const bool much = use.disk_threads >= kThreads &&
                    use.disk_threads >= kShare * (use.disk_threads + computing + other_waits);
  if (!one.looked() || !much || bytes < kBytes || !one.has_free_cpus()) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_disk>(decimal(use.disk_threads, 1),
                                                   in_bytes(use.storage_bytes_per_second),
                                                   in_bytes(use.written_bytes_per_second)),
                  reason<ReasonCode::next_faster_disk>()};
}

bool runs_python(const Case& one) { return starts_with(one.use().busiest_process, "python"); }

// Threads that run or wait for each other. Where other load has the CPUs, hardly one of them counts
// as busy.
double at_work(const Case& one) {
  const StageUse& use = one.use();
  const double running = std::min(use.running_threads, one.runnable());
  return std::max(one.threads().busy, running + use.lock_threads + use.pipe_threads);
}

Reason turns(const Case& one) {
  const Number threads = decimal(at_work(one), 1), used = decimal(one.threads().cpus, 1);
  const Number cpus = general(one.given, 3);
  return runs_python(one) ? reason<ReasonCode::held_by_interpreter>(threads, used, cpus)
                          : reason<ReasonCode::held_by_turns>(threads, used, cpus);
}

// Threads that turn in a loop of system calls. Reads and sockets of a service take such time, too.
Found asks(const Case& one) {
  constexpr double kThreads = 0.8, kShare = 0.3, kReadSeconds = 1e-9, kOfReads = 0.1;
  const StageUse& use = one.use();
  if (!one.looked() || one.serves() || one.on_gpu()) return std::nullopt;
  if (use.asking_threads < kThreads || use.asking_threads < kShare * use.running_threads)
    return std::nullopt;
  if (kReadSeconds * use.read_bytes_per_second > kOfReads) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_asking>(decimal(use.asking_threads, 1),
                                                     decimal(use.running_threads, 1)),
                  reason<ReasonCode::next_wait_asleep>()};
}

// What the GPUs that worked computed, by the driver; a service waits for requests.
Found gpus_wait(const Case& one) {
  constexpr double kBusy = 0.6;
  double busy = 0, count = 0;
  for (const GpuShare& gpu : one.trial->gpus) {
    if (!gpu.worked || gpu.busy_share < 0) continue;
    busy += gpu.busy_share;
    ++count;
  }
  if (count == 0 || busy > kBusy * count || one.serves()) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_cpu_side>(in_percent(busy / count)),
                  reason<ReasonCode::next_feed_gpus>()};
}

Found remote_memory(const Case& one) {
  constexpr double kMuch = 0.4;
  const StageUse& use = one.use();
  if (use.remote_share < kMuch) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_remote_memory>(in_percent(use.remote_share),
                                                            use.memory_nodes, use.thread_nodes),
                  reason<ReasonCode::next_same_node>(use.thread_nodes)};
}

Found waits_for_lock(const Case& one) {
  constexpr double kThreads = 0.8, kShare = 0.5;
  const StageUse& use = one.use();
  // One that sleeps watches the others.
  const double sleeps = std::min(1.0, use.sleeping_threads);
  const double awake = one.awake() - sleeps - use.lock_threads + use.mutex_threads;
  const bool much = use.mutex_threads >= kThreads && use.mutex_threads >= kShare * awake;
  // Whom the lock wakes waits for a CPU where other load has them: what the threads use decides.
  if (!one.looked() || !much || one.threads().cpus > kFull * one.cpus) return std::nullopt;
  if (runs_python(one)) return HeldBack{turns(one), more_processes(one)};
  return HeldBack{
      reason<ReasonCode::held_by_lock>(decimal(use.mutex_threads, 1), decimal(awake, 1)),
      more_processes(one)};
}

// Several threads that together run like one.
Found take_turns(const Case& one) {
  constexpr double kLow = 0.8, kHigh = 1.25, kOfBusiest = 0.75;
  const StageUse& use = one.use();
  const double runnable = one.runnable(), threads = at_work(one);
  // Where other load keeps the one that runs from its CPU, those that were woken wait beside it.
  // Several processes that are kept from their CPUs look the same and are independent.
  const double most = use.busiest_process_cpus;
  const bool one_process = !(most > 0) || most >= kOfBusiest * one.threads().cpus;
  const double kept_waiting = std::max(0.0, runnable - one.threads().cpus);
  if (!one_process && one.threads().cpus < kLow) return std::nullopt;
  if (!one.looked() || one.cpus < 2 || runnable < kLow) return std::nullopt;
  if (runnable > kHigh + (one_process ? kept_waiting / 2 : 0) || one.threads().cpus > kHigh)
    return std::nullopt;
  const bool waits = use.lock_threads + use.pipe_threads >= kDominant * (threads - 1);
  // Threads in turns are one together: one that is busy all the time waits for no other.
  const bool shared = use.busiest_thread_share <= kOfBusiest * std::min(1.0, runnable);
  if (!waits || !shared || threads < kDominant * 2) return std::nullopt;
  return HeldBack{turns(one), more_processes(one)};
}

// A script that starts a program for each page, and waits for its end.
Found one_after_another(const Case& one) {
  constexpr double kWaits = 0.5, kStarts = 0.2, kFew = 4, kLow = 0.6, kHigh = 1.25,
                   kOneThread = 0.8;
  const StageUse& use = one.use();
  if (!one.looked() || one.cpus < 2 || !one.has_free_cpus()) return std::nullopt;
  // A launcher waits for its ranks, too, but starts them once.
  const bool few = use.starts_per_second * use.observed_seconds < kFew;
  if (use.child_threads < kWaits || (use.starts_per_second < kStarts && few)) return std::nullopt;
  if (one.runnable() < kLow || one.runnable() > kHigh) return std::nullopt;
  if (use.busiest_thread_share >= kOneThread) return std::nullopt;
  return HeldBack{
      reason<ReasonCode::held_by_one_process>(decimal(one.runnable(), 1), general(one.given, 3)),
      more_processes(one)};
}

// The pool of the processes that compute is as large as a launcher made it, and is busy: its
// threads want a CPU all the time, however many other load leaves them.
Found held_by_launcher(const Case& one) {
  if (one.launcher == nullptr || !one.has_free_cpus()) return std::nullopt;
  const auto threads = parse_integer(one.launcher->value);
  const double wanted = std::max(one.use().busiest_process_cpus, one.use().saturated_threads);
  const bool busy = threads && *threads > 0 && wanted >= kDominant * static_cast<double>(*threads);
  if (!busy) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_launcher>(one.launcher->text()),
                  reason<ReasonCode::next_in_launcher>()};
}

Found faults_pages(const Case& one) {
  constexpr double kSystem = 0.3, kSecondsEach = 1e-6, kShare = 0.1;
  const StageUse& use = one.use();
  const double seconds = kSecondsEach * use.minor_faults_per_second;
  if (use.system_share < kSystem || seconds < kShare * one.threads().cpus) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_faults>(in_percent(use.system_share),
                                                     as_rate(use.minor_faults_per_second)),
                  reason<ReasonCode::next_allocator>()};
}

// A setting with more threads that was faster: the program's work can be shared. Beside load one of
// the two may have had more of the CPUs.
std::optional<Reason> threads_help(const Case& one) {
  const std::vector<const Setting*> others = others_along(one, &Knobs::threads);
  const bool beside_load = one.setting->summary.modelled ||
                           std::any_of(others.begin(), others.end(), [](const Setting* other) {
                             return other->summary.modelled;
                           });
  if (beside_load) return std::nullopt;
  Reason next = more_of(one, "threads", &Knobs::threads, reason<ReasonCode::try_more_threads>());
  return next.is(ReasonCode::next_brings) ? std::optional(std::move(next)) : std::nullopt;
}

Found one_thread(const Case& one) {
  constexpr double kShare = 0.8;
  const StageUse& use = one.use();
  if (one.cpus < 2 || !one.has_free_cpus() || one.on_gpu()) return std::nullopt;
  if (use.busiest_thread_share < kShare || use.saturated_threads > 1) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_one_thread>(
                      use.busiest_process, in_percent(use.busiest_thread_share),
                      decimal(one.runnable(), 1), general(one.given, 3)),
                  threads_help(one).value_or(more_processes(one))};
}

Found few_threads(const Case& one) {
  const StageUse& use = one.use();
  const bool few = use.saturated_threads >= std::max(2.0, kFull * one.runnable());
  if (!few || one.on_gpu() || !one.has_free_cpus() || asks(one)) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_few_threads>(
                      counted(std::llround(use.saturated_threads)), general(one.given, 3)),
                  more_of(one, "threads", &Knobs::threads, reason<ReasonCode::try_more_threads>())};
}

// Threads that compute or wait, less those that wait for another process of these.
double awake_by_itself(const Case& one) { return one.awake() - one.use().fed_threads; }

// Hardly anything computes, and nearly all that is awake waits in one way.
bool waits_for(const Case& one, double threads) {
  constexpr double kThreads = 0.5;
  if (!one.looked() || one.serves() || one.on_gpu() || !one.has_free_cpus()) return false;
  return threads >= kThreads && threads >= kDominant * awake_by_itself(one);
}

Found waits_for_network(const Case& one) {
  const double threads = one.use().network_threads, awake = awake_by_itself(one);
  // What other load keeps from a CPU may be a child of its own that it waits for.
  const double kept = std::max(0.0, one.use().running_threads - one.threads().cpus);
  if (!waits_for(one, threads) || threads < kDominant * (awake + kept)) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_network>(in_percent(threads / awake)),
                  reason<ReasonCode::next_more_at_once>()};
}

Found sleeps(const Case& one) {
  const double threads = one.use().sleeping_threads;
  if (!waits_for(one, threads)) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_sleep>(in_percent(threads / awake_by_itself(one))),
                  reason<ReasonCode::next_find_sleep>()};
}

// Two settings that differ in their threads alone: the one with fewer, the one with more.
struct Pair {
  const Setting* few = nullptr;
  const Setting* many = nullptr;

  bool found() const { return few != nullptr; }
  double ratio() const { return rate(*many).median / rate(*few).median; }
  double highest_ratio() const { return rate(*many).high / rate(*few).low; }
  bool gains() const { return ratio_interval(*many, *few).low > 1; }
  double more_runnable() const {  // of each added thread
    const SettingSummary &more = many->summary, &less = few->summary;
    return (more.threads.runnable - less.threads.runnable) /
           (more.knobs.threads - less.knobs.threads);
  }
  double cpu_ratio() const {
    return many->summary.cpu_seconds_per_sample / few->summary.cpu_seconds_per_sample;
  }
  static const Interval& rate(const Setting& one) { return one.summary.samples_per_second; }
  static std::string text(const Setting& one) {
    return fmt::format("threads={}", one.summary.knobs.threads);
  }
};

Pair pair_of_threads(const Case& one) {
  Pair pair;
  int farthest = 0;
  const SettingSummary& mine = one.setting->summary;
  for (const Setting* setting : others_along(one, &Knobs::threads)) {
    const SettingSummary& other = setting->summary;
    const int step = std::abs(other.knobs.threads - mine.knobs.threads);
    const bool known = mine.cpu_seconds_per_sample > 0 && other.cpu_seconds_per_sample > 0 &&
                       mine.samples_per_second.low > 0 && other.samples_per_second.low > 0;
    const bool crowds = !crowding(other.threads, one.cpus).empty();
    if (step <= farthest || !known || crowds) continue;
    farthest = step;
    const bool more = other.knobs.threads > mine.knobs.threads;
    pair = more ? Pair{one.setting, setting} : Pair{setting, one.setting};
  }
  return pair;
}

Found spins(const Case& one) {
  constexpr double kSpinning = 0.3;  // where the CPUs are fewer than the threads, they share them
  const Pair pair = pair_of_threads(one);
  if (!pair.found() || pair.ratio() > kNoFaster || pair.cpu_ratio() < kWasted) return std::nullopt;
  if (pair.more_runnable() < kSpinning) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_spin>(pair.text(*pair.many), pair.text(*pair.few),
                                                   decimal(pair.cpu_ratio(), 1)),
                  reason<ReasonCode::next_passive_wait>()};
}

// Amdahl: with n times the threads, s of the time stays as it was and the rest takes an nth.
Found serial_share(const Case& one) {
  constexpr double kLeast = 0.3, kMost = 0.95;
  const Pair pair = pair_of_threads(one);
  if (!pair.found() || pair.cpu_ratio() > kSameWork) return std::nullopt;
  const double n =
      static_cast<double>(pair.many->summary.knobs.threads) / pair.few->summary.knobs.threads;
  if (pair.many->summary.knobs.threads > one.cpus || !pair.gains()) return std::nullopt;
  const auto serial = [&](double ratio) { return (n / ratio - 1) / (n - 1); };
  if (serial(pair.highest_ratio()) < kLeast || serial(pair.ratio()) > kMost) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_serial_share>(
                      in_percent(serial(pair.ratio())), pair.text(*pair.few), pair.text(*pair.many),
                      decimal(pair.ratio(), 2)),
                  more_processes(one)};
}

// Of processes that come and go: what a step takes whatever its batch.
Found start_up(const Case& one) {
  constexpr double kLeast = 0.3, kEach = 0.5;
  const SettingSummary& mine = one.setting->summary;
  if (!(mine.samples_per_second.median > 0)) return std::nullopt;
  const auto seconds = [](const SettingSummary& setting) {
    return setting.knobs.batch * setting.knobs.nproc / setting.samples_per_second.median;
  };
  const double each = seconds(mine);
  if (one.use().starts_per_second * each < kEach) return std::nullopt;
  double share = 0;
  for (const Setting* setting : others_along(one, &Knobs::batch)) {
    const SettingSummary& other = setting->summary;
    const double samples = other.knobs.batch - mine.knobs.batch;
    const double fixed = each - mine.knobs.batch * (seconds(other) - each) / samples;
    share = std::max(share, std::min(1.0, fixed / each));
  }
  if (share < kLeast) return std::nullopt;
  return HeldBack{reason<ReasonCode::held_by_start>(in_percent(share), in_seconds(share * each)),
                  more_of(one, "batch", &Knobs::batch, reason<ReasonCode::try_larger_batch>())};
}

Found all_cpus(const Case& one) {
  const bool used = one.threads().cpus >= kFull * one.cpus;
  const bool wanted = one.use().saturated_threads >= one.cpus;  // other load may have some
  if (one.has_free_cpus() || !(used || wanted) || asks(one)) return std::nullopt;
  Reason next = reason<ReasonCode::next_more_cpus>();
  const bool threads = one.threads().busy >= one.setting->summary.knobs.nproc + 1;
  if (threads && !one.serves() && others_along(one, &Knobs::threads).empty()) {
    next = fewer_threads(
        one, reason<ReasonCode::next_untried>(reason<ReasonCode::try_fewer_threads>(),
                                              fmt::format("--threads 1,{:.0f}", one.cpus)));
  }
  return HeldBack{
      reason<ReasonCode::held_by_cpus>(decimal(one.runnable(), 1), general(one.given, 3)), next};
}

Found falls(const Case& one) {
  constexpr double kMuch = 0.85, kThirds = 2.0 / 3;
  const StageUse& use = one.use();
  if (!(use.first_rate > 0) || use.last_rate > kMuch * use.first_rate) return std::nullopt;
  if (!falls_surely(steady_rates(one.trial->samples))) return std::nullopt;
  return rate_fell(use.first_rate, use.last_rate, kThirds * one.trial->measured_seconds());
}

// What the trial with the files out of memory showed. Beside load it is compared with the one that
// ran right after it, both as they went.
Reason after_cold_pass(const Case& one) {
  constexpr double kAlike = 0.9;
  const bool beside_load = one.cold != nullptr && one.cold->noisy();
  const auto files = static_cast<double>(one.warm->stages.opened_bytes);
  if (one.cold == nullptr || (beside_load && one.after_cold == nullptr)) {
    if (one.memory_bytes > 0 && files > one.memory_bytes) {
      return reason<ReasonCode::next_beyond_memory>(in_bytes(files), in_bytes(one.memory_bytes));
    }
    return reason<ReasonCode::next_cold_pass>();
  }
  const double cold = beside_load ? measured_rate(*one.cold) : one.cold->samples_per_second;
  const double warm =
      beside_load ? measured_rate(*one.after_cold) : one.setting->summary.samples_per_second.median;
  if (cold >= kAlike * warm) {
    return reason<ReasonCode::next_cold_alike>(as_rate(cold), as_rate(warm));
  }
  return reason<ReasonCode::next_cold_slower>(as_rate(cold), as_rate(warm),
                                              in_bytes(one.cold->stages.storage_bytes_per_second));
}

Found cached(const Case& one) {
  if (one.warm == nullptr) return std::nullopt;
  const StageUse& use = one.warm->stages;
  return HeldBack{
      reason<ReasonCode::reads_from_memory>(in_bytes(use.read_bytes_per_second),
                                            in_bytes(static_cast<double>(use.opened_bytes))),
      after_cold_pass(one)};
}

enum class Kind { stage, data, disk, gpu, waste, memory, change };

struct Rule {
  Kind kind;
  Found (*find)(const Case&);
};

// Of one kind the first that holds is said; row by row, the surest first.
constexpr Rule kRules[] = {
    {Kind::stage, masked},       {Kind::stage, waits_for_lock},   {Kind::waste, asks},
    {Kind::stage, crowded},      {Kind::memory, remote_memory},   {Kind::data, waits_for_data},
    {Kind::gpu, gpus_wait},      {Kind::disk, waits_for_disk},    {Kind::stage, one_after_another},
    {Kind::stage, take_turns},   {Kind::stage, held_by_launcher}, {Kind::waste, faults_pages},
    {Kind::stage, one_thread},   {Kind::stage, few_threads},      {Kind::stage, waits_for_network},
    {Kind::stage, sleeps},       {Kind::waste, start_up},         {Kind::waste, spins},
    {Kind::waste, serial_share}, {Kind::stage, all_cpus},         {Kind::disk, cached},
    {Kind::change, falls},
};

}  // namespace

HeldBack rate_fell(double first, double last, double seconds) {
  const double a_minute = 60 * (1 - last / first) / seconds;
  return {reason<ReasonCode::rate_falls>(as_rate(first), as_rate(last),
                                         in_percent(std::min(1.0, a_minute))),
          reason<ReasonCode::next_watch_longer>()};
}

Reason held_back_reason(const HeldBack& held) {
  return reason<ReasonCode::held_back>(held.cause, held.next);
}

std::vector<HeldBack> held_back(const std::vector<Trial>& trials,
                                const std::vector<Setting>& settings, const Knobs& knobs,
                                double cpus, const std::set<std::string>& fixed,
                                const std::vector<Trial>& cold, double memory_bytes) {
  constexpr std::size_t kMost = 2;
  const Setting* setting = find_setting(settings, knobs);
  const Trial* trial = longest_of(trials, knobs);
  if (cpus <= 0 || setting == nullptr || trial == nullptr || trial->threads.alive == 0) return {};
  const int allowed = trial->stages.allowed_cpus;
  const Case one{trial,
                 setting,
                 settings,
                 cpus,
                 allowed > 0 ? std::min<double>(allowed, cpus) : cpus,
                 fixed,
                 first_of(trials, knobs, reads_from_memory),
                 first_of(cold, knobs, reads_from_disk),
                 first_of(cold, knobs, reads_from_disk, false),
                 memory_bytes,
                 launcher_of(trials, *trial)};
  std::vector<HeldBack> found;
  std::vector<Kind> kinds;
  for (const Rule& rule : kRules) {
    if (found.size() == kMost) break;
    if (std::find(kinds.begin(), kinds.end(), rule.kind) != kinds.end()) continue;
    Found one_more = rule.find(one);
    if (!one_more) continue;
    found.push_back(*std::move(one_more));
    kinds.push_back(rule.kind);
  }
  return found;
}

std::vector<HeldBack> held_back(Trial trial, double cpus, const std::set<std::string>& fixed) {
  trial.outcome = Outcome::ok;
  const std::vector<Trial> trials = {std::move(trial)};
  return held_back(trials, settings_of(trials, kExpectedNoise), trials.front().knobs, cpus, fixed);
}

std::vector<HeldBack> held_back(const std::vector<Trial>& trials, double cpus,
                                const std::set<std::string>& fixed) {
  const Trial* longest = nullptr;
  for (const Trial& trial : trials) {
    if (trial.outcome != Outcome::timed_out) continue;
    const double seconds = trial.stages.observed_seconds;
    if (longest == nullptr || seconds > longest->stages.observed_seconds) longest = &trial;
  }
  return longest == nullptr ? std::vector<HeldBack>() : held_back(*longest, cpus, fixed);
}

}  // namespace ocrtune
