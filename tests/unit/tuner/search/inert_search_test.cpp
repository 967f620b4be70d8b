#include "tuner/search/inert_search.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/sample_windows.h"
#include "tuner/verdict/recommend.h"

namespace ocrtune {
namespace {

constexpr int kCpus = 8;
constexpr double kTrialSeconds = 6;

// A program on eight CPUs, as its threads and rates would be seen.
struct Seen {
  double rate = 1, cpu_seconds = 1, busy = 1;
};
struct Program {
  const char* name;
  double noise;  // relative, of a trial's rate; its CPU seconds have half of it
  std::function<Seen(const Knobs&)> run;
};

// `wanted` threads in all, of which eight run.
Seen shared(double speed_of_one, double wanted) {
  const double running = std::min<double>(wanted, kCpus);
  return {running * speed_of_one, 1 / speed_of_one, wanted};
}

// Ten that size their own pool, or have none.
std::vector<Program> own_pools() {
  return {
      {"one thread", 0.03, [](const Knobs& k) { return shared(1, k.nproc); }},
      {"a pool of all CPUs", 0.03, [](const Knobs& k) { return shared(0.8, 8 * k.nproc); }},
      {"a pool of four", 0.03, [](const Knobs& k) { return shared(0.9, 4 * k.nproc); }},
      {"waits for the disk", 0.03,
       [](const Knobs& k) {
         return Seen{5, 0.02, 0.1 * k.nproc};
       }},
      {"a noisy machine", 0.05, [](const Knobs& k) { return shared(1, 2 * k.nproc); }},
      {"a quiet machine", 0.005, [](const Knobs& k) { return shared(1, 2 * k.nproc); }},
      {"batches matter", 0.03, [](const Knobs& k) { return shared(std::sqrt(k.batch), k.nproc); }},
      {"loses by processes", 0.03, [](const Knobs& k) { return shared(1.0 / k.nproc, 8); }},
      {"workers matter", 0.03, [](const Knobs& k) { return shared(1, 1 + 0.4 * k.workers); }},
      {"a thread now and then", 0.03,
       [](const Knobs& k) {
         Seen seen = shared(1, k.nproc);
         seen.busy += 0.4 * (k.threads % 3);
         return seen;
       }},
  };
}

// Ten where it matters, each in another way.
std::vector<Program> that_matter() {
  return {
      {"scales", 0.03, [](const Knobs& k) { return shared(1, k.nproc * k.threads); }},
      {"spins", 0.03,
       [](const Knobs& k) {
         const double threads = k.threads;
         return Seen{1, threads, threads * k.nproc};
       }},
      {"Amdahl", 0.03,
       [](const Knobs& k) {
         const double rate = k.nproc / (0.7 + 0.3 / k.threads);
         return Seen{rate, 1, 1.0 * k.nproc * k.threads};
       }},
      {"threads slow it down", 0.03,
       [](const Knobs& k) {
         const double rate = 1 / (1 + 0.2 * (k.threads - 1));
         return Seen{rate, k.threads / rate, 1.0 * k.threads};
       }},
      {"large batches alone", 0.03,
       [](const Knobs& k) { return shared(1, k.nproc * (k.batch >= 32 ? k.threads : 1)); }},
      {"gains little", 0.03,
       [](const Knobs& k) {
         return Seen{1 + 0.03 * k.threads, 1, 1 + 0.3 * k.threads};
       }},
      {"a pool that always spins", 0.03,
       [](const Knobs& k) {
         const double rate = std::sqrt(k.threads);
         return Seen{rate, 8 / rate, 8};
       }},
      {"saturates at two", 0.03,
       [](const Knobs& k) { return shared(1, k.nproc * std::min(k.threads, 2)); }},
      {"costs CPU alone", 0.02,
       [](const Knobs& k) {
         return Seen{1, 1 + 0.05 * (k.threads - 1), 1};
       }},
      {"a twelfth, on a noisy machine", 0.05,
       [](const Knobs& k) {
         return Seen{1 + 0.012 * k.threads, 1, 1};
       }},
  };
}

Space space_of_commands() {
  std::vector<Knobs> points;
  for (const int nproc : {1, 2, 4, 8}) {
    for (const int threads : {1, 2, 4, 8}) {
      for (const int batch : {4, 16, 64}) {
        for (const int workers : {0, 2}) {
          Knobs knobs;
          knobs.nproc = nproc;
          knobs.threads = threads;
          knobs.batch = batch;
          knobs.workers = workers;
          if (nproc * threads <= 2 * kCpus) points.push_back(knobs);
        }
      }
    }
  }
  return Space(points);
}

Knobs plain_start() {
  Knobs knobs;
  knobs.nproc = 1;
  knobs.threads = kCpus;
  knobs.batch = 16;
  return knobs;
}

Trial run_once(const Program& program, const Proposal& proposal, Random& random) {
  const Seen seen = program.run(proposal.knobs);
  Trial trial;
  trial.knobs = proposal.knobs;
  trial.phase = proposal.phase;
  trial.round = proposal.round;
  trial.outcome = Outcome::ok;
  trial.seconds = kTrialSeconds;
  trial.samples_per_second = seen.rate * std::exp(program.noise * random.normal());
  trial.threads.alive = 16;
  trial.threads.busy = seen.busy;
  trial.threads.runtimes = {"ONNX Runtime", "OpenBLAS"};
  trial.peak_bytes = 1 << 20;
  Sample sample = window_of(trial.samples_per_second);
  sample.interference.observed_seconds = 1;
  sample.interference.cpu_seconds =
      seen.cpu_seconds * std::exp(0.5 * program.noise * random.normal()) * trial.samples_per_second;
  trial.samples = {sample};
  return trial;
}

struct Searched {
  std::vector<InertKnob> inert;
  int trials_until_known = 0;
  std::vector<Trial> trials;
  TuneResult result;
};

Searched search_program(const Program& program, std::uint64_t seed, double budget_seconds) {
  const Space space = space_of_commands();
  SearchOptions options;
  options.cpus = kCpus;
  options.cores = kCpus;
  options.first = {plain_start()};
  options.seed = seed;
  options.doubted = {"threads"};
  const auto search = make_search(space, options);
  Random random(seed);
  Searched found;
  double left = budget_seconds;
  while (left > 0) {
    const auto proposal = search->next(left);
    if (!proposal) break;
    found.trials.push_back(run_once(program, *proposal, random));
    search->tell(found.trials.back());
    left -= kTrialSeconds;
    if (found.inert.empty() && !search->inert().empty()) {
      found.inert = search->inert();
      found.trials_until_known = static_cast<int>(found.trials.size());
    }
  }
  RecommendOptions recommended;
  recommended.baseline = plain_start();
  recommended.cpus = kCpus;
  found.result = recommend(space, *search, found.trials, recommended);
  return found;
}

TEST(InertSearch, ProgramsWithTheirOwnPoolAreToldInUnderTwoMinutes) {
  for (const Program& program : own_pools()) {
    int told = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Searched found = search_program(program, seed, 300);
      if (found.inert.empty()) continue;
      ++told;
      EXPECT_LT(found.trials_until_known * kTrialSeconds, 120) << program.name;
      EXPECT_EQ(found.inert[0].kept, "8");
      // No trial after it is spent on the knob, and the answer does not hold it.
      for (std::size_t i = found.trials_until_known; i < found.trials.size(); ++i) {
        EXPECT_EQ(found.trials[i].knobs.threads, 8) << program.name;
      }
      EXPECT_EQ(found.result.answer.text(0).find("threads="), std::string::npos) << program.name;
    }
    EXPECT_GE(told, program.noise > 0.04 ? 7 : 9) << program.name;
  }
}

TEST(InertSearch, ProgramsWhereItMattersNeverAre) {
  for (const Program& program : that_matter()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Searched found = search_program(program, seed, 150);
      EXPECT_TRUE(found.inert.empty())
          << program.name << ", seed " << seed << ", after " << found.trials_until_known;
    }
  }
}

TEST(InertSearch, TheRestOfTheSearchFindsTheBestAndSaysWhatItLeftOut) {
  const Program program = own_pools()[0];  // one thread: as many processes as CPUs
  const Searched found = search_program(program, 3, 300);
  ASSERT_EQ(found.result.inert.size(), 1U);
  EXPECT_EQ(found.result.recommendation.knobs.nproc, kCpus);
  const auto& reasons = found.result.recommendation.reasons;
  EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(), [](const Reason& reason) {
    return reason.is(ReasonCode::inert_pool_of) && reason.text(0) == "threads" &&
           reason.text(4) == "intra_op_num_threads";
  }));
  EXPECT_LT(found.result.space_points, space_of_commands().size());
}

TEST(InertSearch, AStoredRunIsJudgedAlike) {
  const Searched found = search_program(own_pools()[1], 2, 300);
  ASSERT_FALSE(found.inert.empty());
  const Space space = space_of_commands();
  SearchOptions options;
  options.cpus = kCpus;
  options.cores = kCpus;
  options.first = {plain_start()};
  options.doubted = {"threads"};
  const auto search = make_search(space, options);
  for (const Trial& trial : found.trials) search->tell(trial);
  ASSERT_EQ(search->inert().size(), 1U);
  EXPECT_DOUBLE_EQ(search->inert()[0].rate.median, found.inert[0].rate.median);
  const auto test = make_inert_test(space, options);
  for (const Trial& trial : found.trials) test->tell(trial);
  ASSERT_EQ(test->inert().size(), 1U);
  EXPECT_EQ(test->inert()[0].kept, search->inert()[0].kept);
  EXPECT_EQ(test->own_space()->size(), search->own_space()->size());
}

TEST(InertSearch, ABudgetThatHoldsFewTrialsIsNotSpentOnIt) {
  const Searched found = search_program(own_pools()[0], 1, 8 * kTrialSeconds);
  EXPECT_TRUE(std::none_of(found.trials.begin(), found.trials.end(),
                           [](const Trial& trial) { return trial.phase == "inert"; }));
}

TEST(InertSearch, WithoutASecondWitnessNothingIsCalledInert) {
  const Space space = space_of_commands();
  SearchOptions options;
  options.cpus = kCpus;
  options.cores = kCpus;
  options.first = {plain_start()};
  options.doubted = {"threads"};
  const auto search = make_search(space, options);
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    const auto proposal = search->next(300);
    if (!proposal) break;
    Trial trial = run_once(own_pools()[0], *proposal, random);
    trial.threads = {};
    search->tell(trial);
    EXPECT_NE(proposal->phase, "inert") << "the first trial shows no threads";
  }
  EXPECT_TRUE(search->inert().empty());
}

// A sleeping program beside other load, in a budget that holds no test of its own: the trials of
// the search agree as well. It has windows without a tick of CPU time.
TEST(InertSearch, TrialsOfTheSearchTellOfAKnobToo) {
  std::vector<Knobs> points(2);
  points[1].threads = 2;
  const Space space(points);
  SearchOptions options;
  options.cores = options.cpus = 2;
  options.first = {points[0]};
  options.doubted = {"threads"};
  options.safety.limit_bytes = 1 << 30;
  const auto search = make_search(space, options);
  int trials = 0;
  for (double left = 75; left > 0 && trials < 14; left -= 9, ++trials) {
    const auto proposal = search->next(left);
    if (!proposal) break;
    Trial trial;
    trial.knobs = proposal->knobs;
    trial.phase = proposal->phase;
    trial.round = proposal->round;
    trial.outcome = Outcome::ok;
    trial.seconds = 9;
    trial.samples_per_second = 50.25 + 0.05 * (trials % 3 - 1);
    trial.threads.alive = 1;
    Sample sample = window_of(trial.samples_per_second, 0.3, "other processes used 1.00 CPUs");
    sample.interference.observed_seconds = 0.3;
    sample.interference.available_cpus = 2;
    sample.interference.external_cpus = 1;
    trial.samples.assign(6, sample);
    trial.samples[trials % 6].interference.cpu_seconds = 0.01;
    search->tell(trial);
  }
  ASSERT_EQ(search->inert().size(), 1U);
  EXPECT_EQ(search->inert()[0].name, "threads");
}

}  // namespace
}  // namespace ocrtune
