// A slot of the shared memory belongs to one worker and holds one batch. Two counters hand it to
// and fro: the worker fills when `taken` has its turn, the reader takes when `filled` is beyond it.
#include "core/data/loader_workers.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>

#include "base/interrupt.h"
#include "base/text.h"
#include "core/comm/futex.h"

namespace ocrtune {
namespace {

constexpr std::size_t kTextBytes = 240;
constexpr std::size_t kAlignment = 4096;
constexpr int kLookMilliseconds = 20;
constexpr int kLooksToWake = 50;  // for a worker that somebody has stopped alone

struct BadEntry {
  std::int64_t line;
  char why[kTextBytes];
};

void put_text(char (&to)[kTextBytes], const std::string& text) {
  const std::size_t length = std::min(text.size(), kTextBytes - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

// Ctrl-C reaches the whole group: the parent decides what it means.
void become_worker(int worker) {
  // The kernel ends the worker with its parent's thread; serve() asks for the parent as well, as it
  // may have ended before this call.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, ("ocrtune-load" + std::to_string(worker)).c_str());
  release_interrupts();
  std::signal(SIGINT, SIG_IGN);
}

}  // namespace

// In shared memory; then lines[batch], bad[2 * batch + 16], and the images.
struct alignas(std::int64_t) LoaderWorkers::Slot {  // what follows it holds 64-bit numbers
  std::atomic<std::uint32_t> filled;  // how often it was filled and taken: both count generations
  std::atomic<std::uint32_t> taken;
  std::uint32_t bad_count;
  char error[kTextBytes];  // not empty: the worker gives up

  static std::size_t max_bad(std::size_t batch) { return 2 * batch + 16; }
  static std::size_t images_offset(std::size_t batch) {
    const std::size_t end =
        sizeof(Slot) + batch * sizeof(std::int64_t) + max_bad(batch) * sizeof(BadEntry);
    return (end + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::int64_t* lines() { return reinterpret_cast<std::int64_t*>(this + 1); }
  BadEntry* bad(std::size_t batch) { return reinterpret_cast<BadEntry*>(lines() + batch); }
  float* images(std::size_t batch) {
    return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(this) + images_offset(batch));
  }
};

LoaderWorkers::LoaderWorkers(const BatchMaker& maker, int workers, int depth)
    : maker_(&maker), workers_(workers), depth_(depth) {
  const auto batch = static_cast<std::size_t>(maker.order().max_images());
  const std::size_t bytes = Slot::images_offset(batch) + maker.order().max_floats() * sizeof(float);
  slot_bytes_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

LoaderWorkers::Slot& LoaderWorkers::slot(std::int64_t sequence) const {
  const std::int64_t turn = sequence / workers_;
  const std::int64_t index = sequence % workers_ * depth_ + turn % depth_;
  return *reinterpret_cast<Slot*>(memory_ + static_cast<std::size_t>(index) * slot_bytes_);
}

std::uint32_t LoaderWorkers::generation(std::int64_t sequence) const {
  return static_cast<std::uint32_t>(sequence / workers_ / depth_);
}

Result<std::unique_ptr<LoaderWorkers>> LoaderWorkers::reserve(const BatchMaker& maker, int workers,
                                                              int depth) {
  std::unique_ptr<LoaderWorkers> pool(new LoaderWorkers(maker, workers, depth));
  pool->mapped_bytes_ = pool->slot_bytes_ * static_cast<std::size_t>(workers * depth);
  void* memory = ::mmap(nullptr, pool->mapped_bytes_, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{ErrorKind::exhausted, "no memory for the batches of " + std::to_string(workers) +
                                           " loader workers: " + format_bytes(pool->mapped_bytes_)};
  }
  pool->memory_ = static_cast<std::byte*>(memory);
  for (int i = 0; i < workers * depth; ++i) {
    new (pool->memory_ + static_cast<std::size_t>(i) * pool->slot_bytes_) Slot{};
  }
  return pool;
}

Result<std::unique_ptr<LoaderWorkers>> LoaderWorkers::start(const BatchMaker& maker, int workers,
                                                            int depth) {
  auto pool = OCRTUNE_TRY(reserve(maker, workers, depth));
  const int own_pid = ::getpid();
  for (int worker = 0; worker < workers; ++worker) {
    const int pid = ::fork();
    if (pid == 0) {
      become_worker(worker);
      pool->serve(worker, [own_pid] { return ::getppid() != own_pid; });
      ::_exit(0);
    }
    if (pid < 0) return system_error(errno, "start loader worker " + std::to_string(worker));
    pool->pids_.push_back(pid);
  }
  return pool;
}

LoaderWorkers::~LoaderWorkers() {
  for (int pid : pids_) {
    if (pid > 0) ::kill(pid, SIGKILL);
  }
  for (int pid : pids_) {
    while (pid > 0 && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (memory_ != nullptr) ::munmap(memory_, mapped_bytes_);
}

void LoaderWorkers::serve(int worker, const std::function<bool()>& ended) {
  for (std::int64_t sequence = worker;; sequence += workers_) {
    Slot& next = slot(sequence);
    const std::uint32_t turn = generation(sequence);
    for (std::uint32_t taken = next.taken; taken != turn; taken = next.taken) {
      if (ended()) return;
      sleep_on(next.taken, taken, 500);
    }
    if (ended()) return;
    try {
      fill(next, sequence);
    } catch (const std::exception& problem) {
      put_text(next.error, std::string("loader worker: ") + problem.what());
    }
    next.filled = turn + 1;
    wake_all(next.filled);
  }
}

void LoaderWorkers::fill(Slot& slot, std::int64_t sequence) {
  const auto batch = static_cast<std::size_t>(maker_->order().max_images());
  const BatchShape shape = maker_->order().shape(sequence);
  const auto count = static_cast<std::size_t>(shape.count);
  std::vector<BadLine> bad;
  const Status made =
      maker_->make(sequence, {slot.images(batch), image_floats(shape)}, {slot.lines(), count}, bad);
  slot.error[0] = '\0';
  if (!made) put_text(slot.error, made.error().what);
  // What has no room is not counted as bad.
  slot.bad_count = static_cast<std::uint32_t>(std::min(bad.size(), Slot::max_bad(batch)));
  for (std::size_t i = 0; i < slot.bad_count; ++i) {
    slot.bad(batch)[i].line = bad[i].line;
    put_text(slot.bad(batch)[i].why, bad[i].why);
  }
}

// Whether the worker still runs; its end is remembered, for it can be asked for only once.
Status LoaderWorkers::check_worker(std::size_t worker) {
  if (!failure_ || pids_.empty()) return failure_;
  int status = 0;
  const int pid = pids_[worker];
  if (::waitpid(pid, &status, WNOHANG) == 0) return Status();
  pids_[worker] = 0;
  const std::string name =
      "loader worker " + std::to_string(worker) + " (pid " + std::to_string(pid) + ") ";
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const char* hint =
        number == SIGKILL ? "; if nobody killed it, the kernel did for lack of memory" : "";
    failure_ = Error{ErrorKind::failed, name + "was killed by signal " + std::to_string(number) +
                                            " (" + ::strsignal(number) + ")" + hint};
  } else {
    failure_ = Error{ErrorKind::failed,
                     name + "ended with exit code " + std::to_string(WEXITSTATUS(status))};
  }
  return failure_;
}

Result<ReadyBatch> LoaderWorkers::take(std::int64_t sequence) {
  Slot& ready = slot(sequence);
  const auto worker = static_cast<std::size_t>(sequence % workers_);
  const std::uint32_t wanted = generation(sequence) + 1;
  int looks = 0;
  for (std::uint32_t filled = ready.filled; filled != wanted; filled = ready.filled) {
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted while loading a batch"};
    OCRTUNE_TRY(check_worker(worker));
    sleep_on(ready.filled, filled, kLookMilliseconds);
    // SIGCONT does nothing to a worker that runs.
    if (++looks % kLooksToWake == 0 && !pids_.empty()) ::kill(pids_[worker], SIGCONT);
  }
  const auto batch = static_cast<std::size_t>(maker_->order().max_images());
  const BatchShape shape = maker_->order().shape(sequence);
  const auto count = static_cast<std::size_t>(shape.count);
  ReadyBatch taken{{ready.images(batch), image_floats(shape)}, {ready.lines(), count}, {}, {}};
  if (ready.error[0] != '\0') taken.made = Error{ErrorKind::invalid, ready.error};
  for (std::size_t i = 0; i < ready.bad_count; ++i) {
    taken.bad.push_back({ready.bad(batch)[i].line, ready.bad(batch)[i].why});
  }
  return taken;
}

void LoaderWorkers::give_back(std::int64_t sequence) {
  Slot& done = slot(sequence);
  done.taken = generation(sequence) + 1;
  wake_all(done.taken);
}

}  // namespace ocrtune
