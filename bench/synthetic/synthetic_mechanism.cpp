// A training job played event by event: who waits for whom, and what runs out first.
//
// Ranks, loader workers and a storage server share the same cores. Nothing here is a scaling law:
// a rate is what a played dozen of steps took. Differences from the other kinds: loaders and ranks
// compete core by core, waiting ranks may spin, storage serves one request after the other, pinned
// ranks keep their loaders on their own cores, and settings end in many ways besides memory:
// /dev/shm, a cap on processes, descriptors, an address-space limit of one rank, too few samples.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "bench/synthetic/synthetic_surface.h"

namespace ocrtune {
namespace {

double log_uniform(Random& random, double low, double high) {
  return std::exp(random.uniform(std::log(low), std::log(high)));
}

struct Job {
  int cores = 4;
  double serial_seconds = 0.002;                // of a step, on one core
  double sample_seconds = 0.01;                 // of a sample, on one core
  double pieces_a_sample = 2;                   // that threads can share out
  double bytes_a_core_second = 4e9;             // memory traffic of a core that misses its cache
  double channel_bytes = 3e10;                  // per second, all cores together
  double cache_bytes = 2e7, working_set = 4e6;  // of a sample
  double decode_seconds = 0.002;                // of a sample, on one core
  double read_seconds = 0.0002;                 // of a sample, at the storage
  double reduce_seconds = 0.01;                 // of a step and a further rank, one after the other
  double switch_loss = 0.05;     // of a core's time for each further thread that it runs
  bool spins = false;            // a rank that waits keeps its threads busy
  double migration_loss = 0.02;  // of unbound threads
  // Memory.
  double shared_bytes = 1e8, rank_bytes = 3e8, sample_bytes = 4e6, arena_bytes = 2e7;
  double loader_bytes = 6e7, image_bytes = 1.2e5;
  int block = 4;  // the allocator keeps room for whole blocks of samples
  // Limits; 0: none.
  double shm_bytes = 0, rank_limit_bytes = 0;
  int max_processes = 0, max_descriptors = 0, samples = 0;
};

enum class Doing { waits_for_batch, serial, parallel, waits_for_ranks };

struct Rank {
  Doing doing = Doing::waits_for_batch;
  double left = 0;  // core-seconds of one thread of what it does now
  int batches = 0;  // ready in its queue
  int steps = 0;
};

struct Loader {
  int rank = 0;
  bool reads = false, decodes = false;  // neither: its queue is full
  double left = 0;
};

// Plays steps of one setting; time goes from one end of somebody's work to the next.
class Play {
 public:
  Play(const Job& job, const Knobs& knobs)
      : job_(job),
        knobs_(knobs),
        ranks_(static_cast<std::size_t>(knobs.nproc)),
        room_(2 * std::max(1, knobs.workers)) {
    for (int rank = 0; rank < knobs.nproc; ++rank) {
      for (int w = 0; w < knobs.workers; ++w) loaders_.push_back({rank});
    }
    const double set = knobs.nproc * knobs.batch * job.working_set;
    missed_ = std::clamp(1 - job.cache_bytes / set, 0.1, 1.0);
  }

  double step_seconds() {
    constexpr int kWarm = 3, kSteps = 9;
    double warm = 0;
    double now = 0;
    while (finished_ < kWarm + kSteps) {
      start_what_can();
      now += advance();
      if (finished_ >= kWarm && warm <= 0) warm = now;
    }
    return (now - warm) / kSteps;
  }

 private:
  const Job& job_;
  const Knobs& knobs_;
  std::vector<Rank> ranks_;
  std::vector<Loader> loaders_;
  int room_;
  double missed_ = 1;
  double reducing_ = 0;  // seconds left of the exchange; 0: none under way
  int finished_ = 0;

  double pieces() const { return std::max(1.0, std::floor(knobs_.batch * job_.pieces_a_sample)); }

  void begin_step(Rank& rank) {
    rank.doing = Doing::serial;
    rank.left = job_.serial_seconds;
    // Without workers the rank reads and decodes by itself.
    if (knobs_.workers == 0) rank.left += knobs_.batch * (job_.decode_seconds + job_.read_seconds);
  }

  void start_what_can() {
    for (Rank& rank : ranks_) {
      if (rank.doing != Doing::waits_for_batch) continue;
      if (knobs_.workers > 0 && rank.batches == 0) continue;
      rank.batches -= knobs_.workers > 0 ? 1 : 0;
      begin_step(rank);
    }
    for (Loader& loader : loaders_) {
      const bool idle = !loader.reads && !loader.decodes;
      if (!idle || reserved(loader.rank) >= room_) continue;
      loader.reads = true;
      loader.left = knobs_.batch * job_.read_seconds;
    }
    const bool all_wait = std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
      return rank.doing == Doing::waits_for_ranks;
    });
    if (all_wait && reducing_ <= 0) {
      reducing_ = 1e-9 + job_.reduce_seconds * (knobs_.nproc - 1) / 4;
    }
  }

  int reserved(int rank) const {
    int count = ranks_[static_cast<std::size_t>(rank)].batches;
    for (const Loader& loader : loaders_) {
      count += loader.rank == rank && (loader.reads || loader.decodes) ? 1 : 0;
    }
    return count;
  }

  // Threads that want a core, of one rank with its loaders.
  double runnable(int rank) const {
    const Rank& one = ranks_[static_cast<std::size_t>(rank)];
    double threads = 0;
    if (one.doing == Doing::serial) threads = 1;
    if (one.doing == Doing::parallel) threads = knobs_.threads;
    if (one.doing == Doing::waits_for_ranks && job_.spins) threads = 1;
    if (one.doing == Doing::serial && job_.spins) threads += 0.3 * (knobs_.threads - 1);
    for (const Loader& loader : loaders_) threads += loader.rank == rank && loader.decodes ? 1 : 0;
    return threads;
  }

  // Of a core, what one thread gets.
  double share_of(double threads, double cores) const {
    const double crowd = std::max(1.0, threads / cores);
    return 1 / (crowd * (1 + job_.switch_loss * (crowd - 1)));
  }

  double advance() {
    const bool pinned = knobs_.binding == "compact";
    std::vector<double> shares(ranks_.size(), 1.0);
    double all = 0;
    double computing = 0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const double threads = runnable(static_cast<int>(i));
      all += threads;
      computing += ranks_[i].doing == Doing::parallel ? knobs_.threads : 0;
      if (pinned) shares[i] = share_of(threads, knobs_.threads);
    }
    if (!pinned) {
      const double share = share_of(all, job_.cores) * (1 - job_.migration_loss);
      std::fill(shares.begin(), shares.end(), share);
    }
    const double cores = std::min(computing, static_cast<double>(job_.cores));
    const double traffic = cores * job_.bytes_a_core_second * missed_;
    const double stalled = std::max(1.0, traffic / job_.channel_bytes);
    const auto readers = std::count_if(loaders_.begin(), loaders_.end(),
                                       [](const Loader& loader) { return loader.reads; });
    const auto speed_of_rank = [&](std::size_t i) {
      const bool parallel = ranks_[i].doing == Doing::parallel;
      const bool works = parallel || ranks_[i].doing == Doing::serial;
      return works ? shares[i] / (parallel ? stalled : 1.0) : 0.0;
    };
    const auto speed_of_loader = [&](const Loader& loader) {
      if (loader.reads) return 1.0 / static_cast<double>(std::max<long>(1, readers));
      return loader.decodes ? shares[static_cast<std::size_t>(loader.rank)] : 0.0;
    };
    double step = reducing_ > 0 ? reducing_ : std::numeric_limits<double>::max();
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (speed_of_rank(i) > 0) step = std::min(step, ranks_[i].left / speed_of_rank(i));
    }
    for (const Loader& loader : loaders_) {
      if (speed_of_loader(loader) > 0) step = std::min(step, loader.left / speed_of_loader(loader));
    }
    step = std::max(step, 1e-9);
    // Speeds first: ends change who is runnable.
    std::vector<double> rank_speeds;
    for (std::size_t i = 0; i < ranks_.size(); ++i) rank_speeds.push_back(speed_of_rank(i));
    std::vector<double> loader_speeds;
    for (const Loader& loader : loaders_) loader_speeds.push_back(speed_of_loader(loader));
    for (std::size_t i = 0; i < ranks_.size(); ++i) finish_part(ranks_[i], step * rank_speeds[i]);
    for (std::size_t i = 0; i < loaders_.size(); ++i) {
      finish_part(loaders_[i], step * loader_speeds[i]);
    }
    if (reducing_ > 0) {
      reducing_ -= step;
      if (reducing_ <= 1e-12) end_step();
    }
    return step;
  }

  void end_step() {
    reducing_ = 0;
    ++finished_;
    for (Rank& rank : ranks_) rank.doing = Doing::waits_for_batch;
  }

  void finish_part(Rank& rank, double done) {
    if (done <= 0) return;
    rank.left -= done;
    if (rank.left > 1e-12) return;
    if (rank.doing == Doing::serial) {
      rank.doing = Doing::parallel;
      // The busiest thread has whole pieces to do.
      const double rounds = std::ceil(pieces() / knobs_.threads);
      rank.left = knobs_.batch * job_.sample_seconds * rounds / pieces();
    } else {
      rank.doing = Doing::waits_for_ranks;
    }
  }

  void finish_part(Loader& loader, double done) {
    if (done <= 0) return;
    loader.left -= done;
    if (loader.left > 1e-12) return;
    if (loader.reads) {
      loader.reads = false;
      loader.decodes = true;
      loader.left = knobs_.batch * job_.decode_seconds;
    } else {
      loader.decodes = false;
      ++ranks_[static_cast<std::size_t>(loader.rank)].batches;
    }
  }
};

double rank_bytes(const Job& job, const Knobs& knobs) {
  const double kept = std::ceil(static_cast<double>(knobs.batch) / job.block) * job.block;
  return job.rank_bytes + kept * job.sample_bytes + job.arena_bytes * (knobs.threads - 1);
}

double queue_bytes(const Job& job, const Knobs& knobs) {
  return 2.0 * knobs.nproc * knobs.workers * knobs.batch * job.image_bytes;
}

double peak(const Job& job, const Knobs& knobs) {
  const double loaders = knobs.workers * job.loader_bytes;
  return job.shared_bytes + knobs.nproc * (rank_bytes(job, knobs) + loaders) +
         queue_bytes(job, knobs);
}

const char* ending(const Job& job, const Knobs& knobs) {
  const int processes = knobs.nproc * (1 + knobs.workers);
  if (job.samples > 0 && knobs.batch * knobs.nproc > job.samples) return "dataset_too_small";
  if (job.max_processes > 0 && processes > job.max_processes) return "process_limit";
  if (job.shm_bytes > 0 && queue_bytes(job, knobs) > job.shm_bytes) return "shm_full";
  if (job.max_descriptors > 0 && 24 * processes > job.max_descriptors) return "too_many_open_files";
  if (job.rank_limit_bytes > 0 && rank_bytes(job, knobs) > job.rank_limit_bytes) {
    return "host_allocation_failed";
  }
  return "";
}

}  // namespace

Surface make_mechanism_surface(SurfaceRequest request) {
  Random& random = request.random;
  Job job;
  job.cores = request.cores;
  job.sample_seconds = log_uniform(random, 0.002, 0.1);
  job.serial_seconds = job.sample_seconds * log_uniform(random, 0.05, 4);
  job.pieces_a_sample = log_uniform(random, 0.25, 8);
  job.bytes_a_core_second = log_uniform(random, 5e8, 1e10);
  job.channel_bytes = log_uniform(random, 8e9, 1e10 * job.cores);
  job.working_set = log_uniform(random, 5e5, 2e7);
  job.cache_bytes = job.cores * log_uniform(random, 5e5, 4e6);
  job.decode_seconds = job.sample_seconds * log_uniform(random, 0.02, 1);
  job.read_seconds = job.sample_seconds * log_uniform(random, 0.001, 0.3);
  job.reduce_seconds = job.sample_seconds * log_uniform(random, 0.05, 2);
  job.switch_loss = log_uniform(random, 0.01, 0.5);
  job.spins = random.uniform() < 0.5;
  job.migration_loss = random.uniform(0, 0.08);
  job.rank_bytes = log_uniform(random, 2e8, 2e9);
  job.shared_bytes = job.rank_bytes * random.uniform(0.05, 0.5);
  job.sample_bytes = log_uniform(random, 1e6, 6e7);
  job.arena_bytes = random.uniform(0, 6e7);
  job.loader_bytes = job.rank_bytes * random.uniform(0.05, 0.5);
  job.image_bytes = log_uniform(random, 3e4, 2e6);
  job.block = 1 << random.integer(0, 4);
  if (random.uniform() < 0.35) job.shm_bytes = 64.0 * (1 << 20) * (1 << random.integer(0, 4));
  if (random.uniform() < 0.25) {
    job.max_processes = static_cast<int>(random.integer(3, std::int64_t{3} * job.cores));
  }
  if (random.uniform() < 0.2) job.max_descriptors = 1024;
  if (random.uniform() < 0.2) {
    job.rank_limit_bytes = job.rank_bytes + job.sample_bytes * log_uniform(random, 8, 100);
  }
  if (random.uniform() < 0.25) job.samples = static_cast<int>(log_uniform(random, 60, 2000));
  if (request.other_model) {
    for (double* size : {&job.sample_seconds, &job.serial_seconds, &job.working_set,
                         &job.decode_seconds, &job.reduce_seconds, &job.sample_bytes}) {
      *size *= log_uniform(random, 0.4, 2.5);
    }
  }
  return [job](const Knobs& knobs) {
    SurfacePoint point;
    point.ends_by = ending(job, knobs);
    point.peak_bytes = peak(job, knobs);
    if (point.ends_by.empty()) {
      point.samples_per_second = knobs.nproc * knobs.batch / Play(job, knobs).step_seconds();
    }
    return point;
  };
}

}  // namespace ocrtune
