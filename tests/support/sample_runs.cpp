#include "tests/support/sample_runs.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/random.h"
#include "tests/support/sample_windows.h"
#include "tuner/verdict/settings.h"
#include "tuner/verdict/verdict.h"

namespace ocrtune {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

double true_rate(const Knobs& knobs) {
  const double busy = knobs.nproc * knobs.threads;
  const double scaled = busy / (1 + 0.02 * (busy - 1) + 0.0004 * busy * (busy - 1));
  const double over = std::max(busy / 32, 1.0);
  const double saturation = knobs.batch / (knobs.batch + 12.0);
  return 42 * scaled * saturation / (over * over) / (1 + 0.015 * knobs.threads);
}

double true_bytes(const Knobs& knobs) {
  return (0.4 + knobs.nproc * (0.7 + 0.021 * knobs.batch)) * kGiB;
}

std::vector<Sample> samples_of(double rate, Random& random) {
  std::vector<Sample> samples;
  for (int i = 0; i < 5; ++i) {
    Sample sample = window_of(rate * (1 + 0.012 * random.normal()), 0.3);
    sample.steps = 12;
    const double step = 0.3 / 12;
    sample.step = {0.06 * step, 0.72 * step, 0.14 * step, 0.08 * step};
    if (random.uniform() < 0.03) {
      sample.samples *= 0.6;
      sample.interference.external_cpus = 1.4;
      sample.interference.spoilt_by = "external load: 1.4 CPUs";
    }
    samples.push_back(sample);
  }
  return samples;
}

Trial make_trial(const Knobs& knobs, int number, Random& random) {
  Trial trial;
  trial.id = number + 1;
  trial.knobs = knobs;
  trial.phase = number == 0 ? "baseline" : number < 10 ? "ladder" : number < 80 ? "sweep" : "race";
  trial.why = number == 0 ? "the setting in use now" : "next in the interleaved sweep";
  trial.reproduce = "ocrtune worker " + knobs_text(knobs);
  trial.started = fmt::format("2026-11-21T08:{:02}:{:02}Z", number / 20 % 60, number * 3 % 60);
  trial.seconds = 2.1;
  trial.start_seconds = 0.4;
  for (int rank = 0; rank < knobs.nproc; ++rank) {
    const int cores = std::min(knobs.threads, 32 / knobs.nproc);
    if (cores > 0) {
      trial.placement += fmt::format("{}{}:{}", rank > 0 ? " " : "", rank,
                                     CpuSet::range(rank * cores, rank * cores + cores - 1).text());
    }
  }
  trial.log_tail = "loaded 4096 lines\nstep 10 loss 3.21\nstep 20 loss 2.88";
  const double bytes = true_bytes(knobs);
  if (bytes > 60 * kGiB) {
    trial.outcome = Outcome::out_of_memory;
    trial.cause = bytes > 70 * kGiB ? "predicted" : "cgroup";
    trial.reason = fmt::format("out of memory: {:.1f} GiB of 60.0 GiB", bytes / kGiB);
    trial.evidence = {"memory.events: oom_kill 0 -> 1", "rank 3 ended by signal 9"};
    return trial;
  }
  if (knobs.nproc * knobs.threads == 64 && knobs.batch == 8) {
    trial.outcome = Outcome::hung;
    trial.reason = "no step for 12 s while 4 ranks wait in the all-reduce";
    trial.evidence = {"rank 7: futex_wait"};
    trial.seconds = 14;
    return trial;
  }
  trial.outcome = Outcome::ok;
  trial.peak_bytes = trial.host_peak_bytes = static_cast<std::uint64_t>(bytes);
  trial.samples = samples_of(true_rate(knobs) * (1 + 0.008 * random.normal()), random);
  std::vector<double> clean;
  for (const Sample& sample : trial.samples) {
    if (sample.clean()) clean.push_back(sample.samples_per_second());
  }
  trial.samples_per_second = median(clean);
  return trial;
}

std::vector<SettingSummary> summarise(const std::vector<Trial>& trials) {
  std::map<Knobs, std::vector<const Trial*>> groups;
  for (const Trial& trial : trials) groups[trial.knobs].push_back(&trial);
  std::vector<SettingSummary> settings;
  for (const auto& [knobs, group] : groups) {
    SettingSummary setting;
    setting.knobs = knobs;
    setting.trials = static_cast<int>(group.size());
    std::vector<double> rates;
    for (const Trial* trial : group) {
      setting.outcome = trial->outcome;
      setting.reason = verbatim(trial->reason);
      add_peaks(*trial, setting);
      for (const Sample& sample : trial->samples) {
        ++(sample.clean() ? setting.clean_samples : setting.discarded_samples);
        if (sample.clean()) rates.push_back(sample.samples_per_second());
      }
    }
    if (!rates.empty()) setting.samples_per_second = bootstrap_median(rates, 0.95, 1, 200);
    settings.push_back(setting);
  }
  std::stable_sort(settings.begin(), settings.end(), [](const auto& a, const auto& b) {
    return a.samples_per_second.median > b.samples_per_second.median;
  });
  return settings;
}

Interval ratio(const Interval& a, const Interval& b) {
  if (b.median <= 0) return {};
  return {a.median / b.median, a.low / b.high, a.high / b.low};
}

RuleVerdict rule(const TuneResult& result, const std::string& name, int cap, ReasonCode code) {
  RuleVerdict verdict;
  verdict.name = name;
  verdict.text = {code, {counted(cap)}};
  for (const SettingSummary& setting : result.settings) {
    if (setting.knobs.nproc > cap || setting.samples_per_second.median <= 0) continue;
    verdict.setting = setting;
    break;
  }
  const Interval share =
      ratio(verdict.setting.samples_per_second, result.recommendation.samples_per_second);
  verdict.loss = {1 - share.median, 1 - share.high, 1 - share.low};
  verdict.verdict = verdict.loss.median < 0.01
                        ? reason<ReasonCode::ties>()
                        : reason<ReasonCode::rule_costs>(decimal(100 * verdict.loss.median, 0),
                                                         decimal(100 * verdict.loss.low, 0),
                                                         decimal(100 * verdict.loss.high, 0));
  return verdict;
}

void judge(RunRecord& run) {
  TuneResult& result = run.result;
  result.run_id = run.id;
  result.settings = summarise(run.trials);
  result.trials = static_cast<int>(run.trials.size());
  for (const Trial& trial : run.trials) {
    ++result.outcomes[std::string(outcome_name(trial.outcome))];
    result.seconds += trial.seconds;
    for (const Sample& sample : trial.samples) result.discarded_samples += sample.clean() ? 0 : 1;
  }
  result.stop_reason = "budget";
  result.space_points = 180;
  result.noise = 0.012;
  for (const SettingSummary& setting : result.settings) {
    if (setting.knobs == run.search.baseline) result.baseline = setting;
  }
  const SettingSummary* best = result.settings.empty() ? nullptr : &result.settings[0];
  result.found = best != nullptr && best->samples_per_second.median > 0;
  if (!result.found) {
    result.answer = run.trials.empty()
                        ? reason<ReasonCode::nothing_run>()
                        : reason<ReasonCode::none_works_unexplained>(
                              "nproc=1 threads=1", reason<ReasonCode::outcome_out_of_memory>());
    return;
  }
  Recommendation& recommended = result.recommendation;
  recommended.knobs = best->knobs;
  recommended.env = knob_environment(best->knobs);
  recommended.command = fmt::format(
      "OMP_NUM_THREADS={} python3 -m paddle.distributed.launch --nproc_per_node={} "
      "tools/train.py -c configs/rec/svtrv2.yml -o Train.loader.batch_size_per_card={}",
      best->knobs.threads, best->knobs.nproc, best->knobs.batch);
  recommended.samples_per_second = best->samples_per_second;
  recommended.peak_bytes = best->peak_bytes;
  recommended.limit_bytes = static_cast<std::uint64_t>(60 * kGiB);
  recommended.reasons = {
      reason<ReasonCode::times_the_baseline>(decimal(1.12, 2), decimal(1.1, 2), decimal(1.14, 2)),
      reason<ReasonCode::peak_of_limit>(in_bytes(37.1 * kGiB), in_bytes(60 * kGiB),
                                        in_percent(0.381), in_percent(0.1))};
  RecommendOptions limits;
  limits.host_limit_bytes = recommended.limit_bytes;
  result.verdict.safety = judge_safety(*best, SafetyState::safe, limits);
  result.gain = ratio(best->samples_per_second, result.baseline.samples_per_second);
  for (std::size_t i = 0; i < std::min<std::size_t>(result.settings.size(), 3); ++i) {
    result.ties.push_back(result.settings[i]);
  }
  result.certificate =
      reason<ReasonCode::certified>(counted(3), reason<ReasonCode::number_of_ties>(counted(3)));
  result.rules = {rule(result, "memory_half", 32, ReasonCode::rule_half_of_memory),
                  rule(result, "cores_60_percent", 19, ReasonCode::rule_60_percent_of_cores),
                  rule(result, "seven", 7, ReasonCode::rule_seven)};
  for (const SettingSummary& setting : result.settings) {
    if (result.rejected.size() < 6 && setting.samples_per_second.median <= 0) {
      result.rejected.push_back({setting.knobs, setting.reason});
    }
  }
  result.close = {{result.settings[3].knobs,
                   reason<ReasonCode::within_noise>(reason<ReasonCode::slower>(decimal(2, 0)))}};
  result.terms = {{"serial fraction", 0.09, reason<ReasonCode::term_serial_share>(decimal(9, 0))}};
  result.advice = reason<ReasonCode::interval_to_halve_or_stop>(in_seconds(180), "nproc=8");
  result.verdict.answer = judge_answer(result);
}

RunRecord bare_run() {
  RunRecord run;
  run.id = "2026-11-21-0a3f9";
  run.started = "2026-11-21T08:00:00Z";
  run.command_line = "ocrtune tune --budget 5m --data lines";
  run.state = "done";
  run.versions = {{"ocrtune", "0.1.0"}, {"oneDNN", "2.6.3"}, {"kernel", "6.1.0"}};
  run.machine = sample_machine();
  run.search.memory_limit_bytes = static_cast<std::uint64_t>(60 * kGiB);
  run.search.baseline.nproc = 1;
  run.search.baseline.threads = 8;
  run.search.baseline.batch = 32;
  return run;
}

std::vector<Knobs> sample_space() {
  std::vector<Knobs> space;
  for (const int nproc : {1, 2, 4, 8, 16, 32}) {
    for (const int threads : {1, 2, 4, 8, 16}) {
      for (const int batch : {8, 16, 32, 64, 128, 256}) {
        if (nproc * threads > 64) continue;
        Knobs knobs;
        knobs.nproc = nproc;
        knobs.threads = threads;
        knobs.batch = batch;
        space.push_back(knobs);
      }
    }
  }
  return space;
}

// The settings that were not run, as a model would see them.
std::vector<PredictedSetting> predict(const RunRecord& run, const std::vector<Knobs>& space) {
  std::vector<PredictedSetting> predicted;
  for (const Knobs& knobs : space) {
    const auto same = [&](const SettingSummary& setting) { return setting.knobs == knobs; };
    const auto& tried = run.result.settings;
    if (std::any_of(tried.begin(), tried.end(), same)) continue;
    const double rate = true_rate(knobs), bytes = true_bytes(knobs);
    PredictedSetting setting;
    setting.knobs = knobs;
    setting.samples_per_second = {rate, 0.9 * rate, 1.1 * rate};
    setting.peak_bytes = static_cast<std::uint64_t>(bytes);
    setting.admitted = bytes < 57 * kGiB;
    if (!setting.admitted) setting.reason = reason<ReasonCode::not_in_space>();
    predicted.push_back(setting);
  }
  return predicted;
}
}  // namespace

Machine sample_machine() {
  Machine machine;
  machine.host = "ocr-node-07";
  machine.kernel = "6.1.0-18-amd64";
  machine.os = "Debian GNU/Linux 12";
  machine.fingerprint = "4b1d7a90";
  machine.container = {"none", "/proc/1/cgroup"};
  machine.virtual_machine = {std::nullopt, "no hypervisor flag and no DMI table"};
  machine.cpu.model = "AMD EPYC 7302 16-Core Processor";
  for (int cpu = 0; cpu < 64; ++cpu) {
    const int core = cpu % 32;
    machine.cpu.places.push_back({cpu, core, core / 4, core / 8, core / 16, cpu / 32, 0});
  }
  machine.cpu.allowed = CpuSet::range(0, 63);
  machine.cpu.packages = 2;
  machine.cpu.numa_nodes = 4;
  machine.cpu.l3_groups = 8;
  machine.cpu.l3_bytes_each = 16u << 20;
  machine.cpu.physical_cores = 32;
  machine.cpu.logical_cpus = 64;
  machine.cpu.usable_cpus = {48, "cpu.max of /docker/ab12"};
  machine.cpu.limits = {{48, "cpu.max of /docker/ab12"}, {64, "affinity"}};
  machine.cpu.effective_cores = {31.2, "measured"};
  machine.cpu.isa = {"avx2", "fma"};
  machine.cpu.native_bf16 = {false, "CPUID"};
  machine.memory.total_bytes = static_cast<std::uint64_t>(64 * kGiB);
  machine.memory.available_bytes = static_cast<std::uint64_t>(61.5 * kGiB);
  machine.memory.limit_bytes = {60 * kGiB, "memory.max of /docker/ab12"};
  machine.memory.limits = {{60 * kGiB, "memory.max of /docker/ab12"}, {64 * kGiB, "MemTotal"}};
  machine.memory.shm_bytes = {64u << 20, "/dev/shm"};
  machine.memory.bandwidth = {{1, 18.2e9}, {16, 121e9}, {32, 204e9}};
  machine.memory.bandwidth_bytes_per_second = {204e9, "NT-store triad, 3 x 512 MiB"};
  machine.ulimits = {{"nofile", "1024"}};
  machine.thread_env = {{"OMP_NUM_THREADS", "1", "OpenMP teams have at most 1 thread", true}};
  machine.gpu_state = "no GPU: no NVIDIA driver";
  machine.rules_of_thumb = {32, 19, 7};
  machine.unknowns = {"frequency governor: no cpufreq in this kernel"};
  machine.warnings = {"/dev/shm has 64 MiB: start the container with --shm-size=8g"};
  return machine;
}

RunRecord sample_run(int trials) {
  RunRecord run = bare_run();
  std::vector<Knobs> space = sample_space();
  Random random(7);
  random.shuffle(space);
  std::map<Knobs, int> seen;
  for (int i = 0; i < trials; ++i) {
    const Knobs knobs =
        i == 0 ? run.search.baseline : space[static_cast<std::size_t>(i) % space.size()];
    run.trials.push_back(make_trial(knobs, i, random));
    run.trials.back().repetition = seen[knobs]++;
  }
  judge(run);
  run.result.predicted = predict(run, space);
  return run;
}

RunRecord empty_run() {
  RunRecord run = bare_run();
  run.state = "interrupted";
  run.machine = Machine();
  judge(run);
  return run;
}

RunRecord run_without_success() {
  RunRecord run = bare_run();
  Random random(3);
  for (int i = 0; i < 9; ++i) {
    Knobs knobs;
    knobs.nproc = 32;
    knobs.batch = 128 << (i % 3);
    run.trials.push_back(make_trial(knobs, i, random));
  }
  judge(run);
  return run;
}

std::string hostile_text(const std::string& field) {
  return "</script><script>window.broken='" + field +
         "'</script>\"'><img src=x onerror=\"window.broken='" + field +
         "'\">&amp; \x1b[31m\x07 \xE2\x80\xAE"
         "gnp.exe \xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D \xFF\xFE {} \n<!-- " +
         field;
}

RunRecord hostile_run() {
  RunRecord run = sample_run(40);
  run.machine.host = hostile_text("host");
  run.machine.cpu.model = hostile_text("model");
  run.machine.memory.limit_bytes.source = hostile_text("source");
  run.machine.warnings = {hostile_text("warning")};
  run.machine.unknowns = {hostile_text("unknown")};
  run.machine.ulimits = {{hostile_text("ulimit"), hostile_text("limit")}};
  run.machine.thread_env = {
      {hostile_text("name"), hostile_text("value"), hostile_text("effect"), true}};
  run.command_line = hostile_text("command line");
  run.versions[hostile_text("library")] = hostile_text("version");
  run.search.baseline_source = hostile_text("baseline");
  for (Trial& trial : run.trials) {
    trial.knobs.dims[hostile_text("dim")] = hostile_text("dim value");
    trial.reason = hostile_text("reason");
    trial.cause = hostile_text("cause");
    trial.why = hostile_text("why");
    trial.phase = hostile_text("phase");
    trial.placement = hostile_text("placement");
    trial.reproduce = hostile_text("reproduce");
    trial.log_tail = hostile_text("log") + std::string(10000, 'x');
    trial.evidence = {hostile_text("evidence"), std::string(10000, '<')};
    for (Sample& sample : trial.samples) {
      if (!sample.clean()) sample.interference.spoilt_by = hostile_text("discarded");
    }
  }
  run.search.baseline.dims[hostile_text("dim")] = hostile_text("dim value");
  run.result = TuneResult();
  judge(run);
  TuneResult& result = run.result;
  result.recommendation.command = hostile_text("command");
  result.recommendation.env.emplace_back(hostile_text("variable"), hostile_text("env"));
  result.recommendation.env.emplace_back("PLAIN_NAME", hostile_text("value"));
  result.recommendation.reasons = {verbatim(hostile_text("reason"))};
  result.certificate = verbatim(hostile_text("certificate"));
  result.advice = verbatim(hostile_text("advice"));
  result.stop_reason = hostile_text("stop");
  for (RuleVerdict& rule : result.rules) {
    rule.text = verbatim(hostile_text("rule"));
    rule.verdict = verbatim(hostile_text("verdict"));
  }
  for (Neighbour& neighbour : result.rejected)
    neighbour.reason = verbatim(hostile_text("neighbour"));
  result.close = result.rejected;
  result.terms = {{hostile_text("term"), 1, verbatim(hostile_text("words"))}};
  return run;
}

}  // namespace ocrtune
