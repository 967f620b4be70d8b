#include "bench/capacity/simulated_fleet.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <queue>
#include <utility>

#include "base/random.h"

namespace ocrtune {
namespace {

double lognormal(Random& random, double spread) {
  return std::exp(spread * random.normal() - 0.5 * spread * spread);
}

double batch_seconds(const FleetWorld& world, int lines, Random& random) {
  double widest = 0;
  for (int i = 0; i < lines; ++i) widest = std::max(widest, lognormal(random, world.width_spread));
  double seconds =
      (world.fixed_seconds + world.seconds_each * lines * widest) * lognormal(random, world.spread);
  if (world.pause_share > 0 && random.uniform() < world.pause_share) seconds *= world.pause_factor;
  return seconds;
}

class Fleet {
 public:
  Fleet(const FleetWorld& world, const FleetLoad& load, int machines, const FleetFault& fault,
        double speed, std::uint64_t seed)
      : world_(world), load_(load), fault_(fault), random_(mix_bits(seed + 77)) {
    for (int i = 0; i < machines; ++i) {
      Host host;
      host.speed = speed * lognormal(random_, world.machine_spread);
      host.idle = world.servers;
      hosts_.push_back(host);
    }
    left_ = load.lines;
    latency_.assign(load.at.size(), 0);
  }

  std::vector<double> run() {
    if (fault_.at_seconds >= 0) {
      events_.push({fault_.at_seconds, Event::death, 0, {}});
      events_.push({fault_.at_seconds + fault_.noticed_seconds, Event::noticed, 0, {}});
      events_.push({fault_.at_seconds + fault_.replaced_seconds, Event::replaced, 0, {}});
    }
    for (std::size_t next = 0; next < load_.at.size() || !events_.empty();) {
      const bool arrival =
          next < load_.at.size() && (events_.empty() || load_.at[next] <= events_.top().at);
      if (arrival) {
        now_ = load_.at[next];
        dispatch(next, load_.lines[next]);
        ++next;
        continue;
      }
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      happen(event);
    }
    return std::move(latency_);
  }

 private:
  struct Host {
    double speed = 1;
    double born = -1e9;
    bool works = true;                // else what is sent there waits until the balancer notices
    bool in_turn = true;              // the balancer sends requests to it
    int life = 0;                     // how often it was replaced: work of an earlier life is lost
    int idle = 0;                     // processes
    std::size_t loaded = 0;           // lines waiting and in work
    std::deque<std::size_t> waiting;  // a line's request
  };

  struct Event {
    enum Kind { done, death, noticed, replaced };
    double at;
    Kind kind;
    std::size_t host;
    std::vector<std::size_t> lines;
    int life = 0;
    bool operator<(const Event& other) const { return at > other.at; }
  };

  std::size_t choose() {
    if (world_.balancer == FleetBalancer::least_loaded) {
      std::size_t best = hosts_.size();
      for (std::size_t i = 0; i < hosts_.size(); ++i) {
        if (!hosts_[i].in_turn) continue;
        if (best == hosts_.size() || hosts_[i].loaded < hosts_[best].loaded) best = i;
      }
      return best;
    }
    for (;;) {
      const std::size_t one = world_.balancer == FleetBalancer::turns
                                  ? turn_++ % hosts_.size()
                                  : static_cast<std::size_t>(random_.integer(
                                        0, static_cast<std::int64_t>(hosts_.size()) - 1));
      if (hosts_[one].in_turn) return one;
    }
  }

  void dispatch(std::size_t request, int lines) {
    const std::size_t at = choose();
    Host& host = hosts_[at];
    host.waiting.insert(host.waiting.end(), static_cast<std::size_t>(lines), request);
    host.loaded += static_cast<std::size_t>(lines);
    serve(at);
  }

  void serve(std::size_t at) {
    Host& host = hosts_[at];
    while (host.works && host.idle > 0 && !host.waiting.empty()) {
      const auto count = std::min(host.waiting.size(), static_cast<std::size_t>(world_.batch));
      const auto end = host.waiting.begin() + static_cast<std::ptrdiff_t>(count);
      std::vector<std::size_t> lines(host.waiting.begin(), end);
      host.waiting.erase(host.waiting.begin(), end);
      --host.idle;
      double seconds = batch_seconds(world_, static_cast<int>(count), random_) / host.speed;
      if (now_ - host.born < world_.warm_up_seconds) seconds *= world_.warm_up_factor;
      if (at == 0) in_work_.push_back(lines);  // what its death loses
      events_.push({now_ + seconds, Event::done, at, std::move(lines), host.life});
    }
  }

  void happen(const Event& event) {
    Host& host = hosts_[event.host];
    switch (event.kind) {
      case Event::done:
        if (event.life != host.life) return;  // lost with the machine
        finish(event);
        return;
      case Event::death:
        host.works = false;
        ++host.life;
        for (const auto& lines : in_work_) {
          host.waiting.insert(host.waiting.end(), lines.begin(), lines.end());
        }
        return;
      case Event::noticed: {
        host.in_turn = false;
        std::deque<std::size_t> lost;
        lost.swap(host.waiting);
        host.loaded = 0;
        for (const std::size_t request : lost) dispatch(request, 1);
        return;
      }
      case Event::replaced:
        in_work_.clear();
        host.works = host.in_turn = true;
        host.idle = world_.servers;
        host.born = now_;
        return;
    }
  }

  void finish(const Event& event) {
    Host& host = hosts_[event.host];
    ++host.idle;
    host.loaded -= event.lines.size();
    for (const std::size_t request : event.lines) {
      if (--left_[request] == 0) latency_[request] = now_ - load_.at[request];
    }
    if (event.host == 0) {
      in_work_.erase(std::find(in_work_.begin(), in_work_.end(), event.lines));
    }
    serve(event.host);
  }

  const FleetWorld& world_;
  const FleetLoad& load_;
  const FleetFault& fault_;
  Random random_;
  std::vector<Host> hosts_;
  std::priority_queue<Event> events_;
  std::vector<std::vector<std::size_t>> in_work_;  // of the first machine
  std::vector<int> left_;                          // lines of each request
  std::vector<double> latency_;
  double now_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace

FleetLoad bursty_load(double rate, double seconds, double burst, double burst_seconds,
                      const std::vector<int>& lines_per_page, std::uint64_t seed) {
  // A quarter of the time at `burst` times the rate of the rest.
  constexpr double kShare = 0.25;
  Random random(mix_bits(seed + 5));
  const double calm = rate / (1 - kShare + kShare * burst);
  FleetLoad load;
  bool high = random.uniform() < kShare;
  double now = 0, until = 0;
  while (now < seconds) {
    until = now + random.exponential(1 / (high ? burst_seconds : burst_seconds * (1 / kShare - 1)));
    for (double at = now; at < std::min(until, seconds);) {
      at += random.exponential(high ? calm * burst : calm);
      if (at >= std::min(until, seconds)) break;
      load.at.push_back(at);
      load.lines.push_back(lines_per_page.empty()
                               ? 1
                               : lines_per_page[static_cast<std::size_t>(random.integer(
                                     0, static_cast<std::int64_t>(lines_per_page.size()) - 1))]);
    }
    now = until;
    high = !high;
  }
  return load;
}

std::vector<double> simulate_fleet(const FleetWorld& world, const FleetLoad& load, int machines,
                                   const FleetFault& fault, double speed, std::uint64_t seed) {
  return Fleet(world, load, machines, fault, speed, seed).run();
}

std::vector<double> saturated_batches(const FleetWorld& world, int batch, double speed, int count,
                                      std::uint64_t seed) {
  Random random(mix_bits(seed + 3));
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(batch_seconds(world, batch, random) / speed);
  return seconds;
}

}  // namespace ocrtune
