// A worker with faults, for tests of what becomes of a trial: fake_worker MODE[@RANK] --spec JSON.
// A rank that is not the named one behaves well. Everything here really happens to a real process.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "core/backends/backend_table.h"
#include "core/comm/shm_comm.h"
#include "core/graph/network.h"
#include "trial/ipc/events.h"
#include "trial/workloads/engine_infer/infer_worker.h"
#include "trial/workloads/engine_train/fit_process.h"
#include "trial/workloads/engine_train/worker_spec.h"

namespace {

using namespace ocrtune;  // NOLINT(google-build-using-namespace): a program of one file

volatile std::sig_atomic_t g_asked_to_end = 0;
int g_events = -1;

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void say(const Event& event) { write_all(g_events, event_line(event)); }

[[noreturn]] void hang() {
  while (true) ::pause();
}

void step(const WorkerSpec& spec, double seconds) {
  steady_clock().sleep_seconds(seconds);
  StepEvent event;
  event.rank = spec.place.rank;
  event.samples = spec.batch;
  event.seconds = seconds;
  event.times.compute_seconds = seconds;
  say(event);
}

[[noreturn]] void train(const WorkerSpec& spec, double seconds) {
  while (g_asked_to_end == 0) step(spec, seconds);
  say(DoneEvent{spec.place.rank, 1, 0});
  std::exit(0);
}

// What CUDA would compute on here: the first that this process may see.
std::string gpu_of(const std::string& mode, const WorkerSpec& spec) {
  if (mode == "no-gpu") return "";
  if (mode == "wrong-gpu") return "GPU-aaaa-0";
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const char* order = std::getenv("CUDA_DEVICE_ORDER");
  if (visible == nullptr || order == nullptr || std::strcmp(order, "PCI_BUS_ID") != 0) return "";
  return spec.segment.empty() ? "" : visible;  // without a place to meet it could not train
}

void say_gpu_memory(const WorkerSpec& spec) {
  say(MemoryEvent{spec.place.rank, static_cast<std::uint64_t>(1000 + spec.place.rank) << 20,
                  std::uint64_t{24} << 30, "NVML"});
}

void fail_on_gpu(const std::string& mode, const WorkerSpec& spec) {
  if (mode == "gpu-memory") {
    say(ErrorEvent{spec.place.rank, Outcome::out_of_memory, "gpu",
                   "the GPU has 1 GiB free of 24 GiB; 3 GiB more are needed"});
    std::exit(1);
  }
  if (mode == "no-nccl") {
    say(ErrorEvent{spec.place.rank, Outcome::unsupported, "setting",
                   "libnccl.so.2: cannot open shared object file"});
    std::exit(1);
  }
}

// Reads with the CPUs' kernels, on a GPU that is not there. OCRTUNE_FAKE_INFER is MODE or MODE:GPU,
// which misbehaves on that GPU alone.
class FakeReader final : public InferDevice, public LogitMaker {
 public:
  explicit FakeReader(const InferSpec& spec) : largest_(largest(spec)) {
    const char* mode = std::getenv("OCRTUNE_FAKE_INFER");
    const auto parts = split(mode == nullptr ? "" : mode, ':');
    if (parts.size() < 2 || parts[1] == spec.gpu) mode_ = parts[0];
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible != nullptr && spec.gpu == visible) gpu_ = visible;
    if (mode_ == "first") gpu_ = "GPU-aaaa-0";
  }
  Status open() override {
    if (mode_ == "hang-open") hang();
    if (mode_ == "segv") std::raise(SIGSEGV);
    if (mode_ == "memory") {
      return Error{ErrorKind::exhausted,
                   "the GPU has 1 GiB free of 24 GiB; 3 GiB more are needed",
                   {},
                   Scarce::gpu_memory};
    }
    if (mode_ != "no-device") return Status();
    return Error{ErrorKind::unsupported, "no GPU: CUDA finds no driver or no device"};
  }
  LogitMaker& maker() override { return *this; }
  GpuPlace place() override { return {gpu_, std::uint64_t{700} << 20, "NVML"}; }
  Status take(const Graph& graph, std::span<const float> parameters,
              std::span<const float> statistics) override {
    auto backend = make_backend({"onednn", "fp32"});
    if (!backend) return backend.error();
    backend_ = std::move(*backend);
    network_ = std::make_unique<Network>(graph, *backend_);
    parameters_ = parameters;
    statistics_ = statistics;
    return network_->prepare(largest_, false);
  }
  Result<std::span<const float>> infer(const Batch& batch) override {
    constexpr int kGoodCalls = 5;
    if (mode_ == "hang" && ++calls_ > kGoodCalls) hang();
    const auto logits = network_->infer(batch, parameters_, statistics_);
    if (!logits || mode_ != "wrong") return logits;
    wrong_.assign(logits->size(), 1.0F);
    return std::span<const float>(wrong_);
  }

 private:
  static Shape largest(const InferSpec& spec) {
    return {spec.recognizer.batch, 3, spec.recognizer.height, spec.recognizer.width};
  }

  Shape largest_;
  int calls_ = 0;
  std::string mode_, gpu_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Network> network_;
  std::span<const float> parameters_, statistics_;
  std::vector<float> wrong_;
};

int read_lines(const char* text) {
  const auto spec = parse_infer_spec(text);
  if (!spec) return 2;
  FakeReader device(*spec);
  return run_infer_worker_on(*spec, device) ? 0 : 1;
}

void leave_a_daemon() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() == 0) {
      std::signal(SIGTERM, SIG_IGN);
      hang();
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

void flood(std::size_t bytes) {
  const std::string block(1 << 16, 'x');
  for (std::size_t done = 0; done < bytes; done += block.size()) write_all(STDOUT_FILENO, block);
}

// Private memory, in touched pieces, until the limit of this process refuses.
[[noreturn]] void allocate(const WorkerSpec& spec) {
  std::vector<std::unique_ptr<char[]>> pieces;
  try {
    while (true) {
      pieces.push_back(std::make_unique<char[]>(8 << 20));
      std::memset(pieces.back().get(), 1, 8 << 20);
    }
  } catch (const std::bad_alloc&) {
    pieces.clear();
    say(ErrorEvent{spec.place.rank, Outcome::out_of_memory, "process", "an allocation failed"});
    std::exit(1);
  }
}

// Shared memory, which no limit of a single process counts, 64 MiB a turn.
[[noreturn]] void grow(const WorkerSpec& spec) {
  while (true) {
    constexpr std::size_t kBytes = 64 << 20;
    void* piece =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) std::exit(5);
    std::memset(piece, 1, kBytes);
    step(spec, 0.02);
  }
}

void misbehave(const std::string& mode, const WorkerSpec& spec) {
  const int rank = spec.place.rank;
  if (mode == "hang") hang();
  if (mode == "spin") {
    while (true) std::this_thread::yield();
  }
  if (mode == "exit3") std::exit(3);
  if (mode == "exit0") std::exit(0);
  if (mode == "segv") std::raise(SIGSEGV);
  if (mode == "abort") std::abort();
  if (mode == "sigkill") ::kill(::getpid(), SIGKILL);
  if (mode == "wrong") {
    say(ErrorEvent{rank, Outcome::wrong_result, "reference", "differs from the reference"});
    std::exit(1);
  }
  if (mode == "result") {
    say(NoteEvent{rank, "tried 100/s"});
    say(ResultEvent{rank, 123.5, 0.25, 40, "123.5/s held"});
    hang();
  }
  if (mode == "no-result") {
    say(ErrorEvent{rank, Outcome::unsupported, "promise", "30 ms too long"});
    std::exit(1);
  }
  if (mode == "peer") {
    say(ErrorEvent{rank, Outcome::crashed, "peer", "rank 0 died; its peers cannot go on"});
    std::exit(1);
  }
  if (mode == "garbage") write_all(g_events, "\xff\xfe not json {\n");
  if (mode == "partial") {
    write_all(g_events, "{\"event\":\"step\",\"ra");
    std::exit(0);
  }
  if (mode == "ignore") std::signal(SIGTERM, SIG_IGN);
  if (mode == "daemon") leave_a_daemon();
  if (mode == "flood") flood(64 << 20);
  if (mode == "allocate") allocate(spec);
  if (mode == "grow") grow(spec);
}

}  // namespace

// Ends, or falls silent, at its third step.
class FrailTrainer final : public Trainer {
 public:
  FrailTrainer(std::unique_ptr<Trainer> inner, std::string mode)
      : inner_(std::move(inner)), mode_(std::move(mode)) {}
  Result<StepReport> step(const Batch& batch) override {
    if (steps() >= 2 && mode_ == "segv-later") std::raise(SIGSEGV);
    if (steps() >= 2 && mode_ == "hang-later") hang();
    if (steps() >= 2 && mode_ == "fail-later") {
      return Error{ErrorKind::invalid, "too many lines are bad"};
    }
    return inner_->step(batch);
  }
  Result<double> check_against_reference() override { return inner_->check_against_reference(); }
  Result<std::vector<float>> logits(const Batch& batch) override { return inner_->logits(batch); }
  std::size_t parameter_count() const override { return inner_->parameter_count(); }
  std::int64_t steps() const override {
    if (inner_->steps() >= 2 && mode_ == "hang-between") hang();
    return inner_->steps();
  }
  Status save(const std::string& path) const override { return inner_->save(path); }
  Status load(const std::string& path) override { return inner_->load(path); }

 private:
  std::unique_ptr<Trainer> inner_;
  std::string mode_;
};

// Trains on the CPUs as on the GPU that it was given, or does not. OCRTUNE_FAKE_FIT is MODE or
// MODE:GPU. Ranks meet in shared memory, by their starter and the name of their folder.
class FakeFit final : public FitDevice {
 public:
  explicit FakeFit(const FitSpec& spec) : spec_(spec) {
    const char* mode = std::getenv("OCRTUNE_FAKE_FIT");
    const auto parts = split(mode == nullptr ? "" : mode, ':');
    if (parts.size() < 2 || parts[1] == spec.gpu) mode_ = parts[0];
  }
  Status open() override {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible == nullptr || spec_.gpu != visible) {
      return Error{ErrorKind::unsupported, "this process computes on another GPU"};
    }
    if (mode_ == "memory") {
      return Error{ErrorKind::exhausted, "the GPU has 1 GiB free", {}, Scarce::gpu_memory};
    }
    if (mode_ == "segv") std::raise(SIGSEGV);
    if (mode_ == "hang") hang();
    if (mode_ == "noise") write_all(STDOUT_FILENO, "a library's words\n{\"fit\": 7}\n");
    return Status();
  }
  Result<std::unique_ptr<Comm>> make_comm() override {
    ShmCommOptions options;
    const char* owner = std::getenv("OCRTUNE_FAKE_FIT_OWNER");  // of the test that clears up
    options.segment = std::string("/ocrtune-fit-") + (owner != nullptr ? owner : "0") + "-" +
                      spec_.folder.substr(spec_.folder.rfind('/') + 1);
    options.place = spec_.run.place;
    return make_shm_comm(options);
  }
  Result<std::unique_ptr<Trainer>> make_trainer(const TrainerOptions& options,
                                                Comm& comm) override {
    auto made = Trainer::create(options, comm);
    if (!made || !(ends_with(mode_, "-later") || mode_ == "hang-between")) return made;
    return std::unique_ptr<Trainer>(std::make_unique<FrailTrainer>(std::move(*made), mode_));
  }

 private:
  const FitSpec& spec_;
  std::string mode_;
};

int fit(const char* text) {
  const auto spec = parse_fit_spec(text);
  if (!spec) return 2;
  catch_interrupts();
  FakeFit device(*spec);
  return run_fit_on(*spec, device, STDOUT_FILENO) ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  if (std::string(argv[1]) == "fit") return fit(argv[3]);
  std::signal(SIGTERM, [](int) { g_asked_to_end = 1; });
  if (std::string(argv[1]) == "infer") return read_lines(argv[3]);
  const auto parts = split(argv[1], '@');
  const auto spec = parse_spec(argv[3]);
  const char* events = std::getenv(kEventDescriptorVariable);
  if (!spec || events == nullptr) return 2;
  g_events = std::atoi(events);  // NOLINT(cert-err34-c)
  const bool mine = parts.size() < 2 || parts[1] == std::to_string(spec->place.rank);
  const std::string mode = mine ? parts[0] : "good";
  if (mode == "mute") hang();
  HelloEvent hello;
  hello.rank = spec->place.rank;
  hello.world_size = spec->place.world_size;
  hello.pid = ::getpid();
  hello.cpus = mode == "elsewhere" ? "77" : current_affinity().text();
  hello.team_size = mode == "narrow" ? 1 : spec->threads;
  if (!spec->gpu.empty()) hello.gpu = gpu_of(mode, *spec);
  say(hello);
  if (!spec->gpu.empty()) say_gpu_memory(*spec);
  fail_on_gpu(mode, *spec);
  for (int i = 0; i < 3; ++i) step(*spec, 0.002);
  say(ReadyEvent{spec->place.rank, 1e-6});
  if (mode == "slow") train(*spec, 0.1);
  for (int i = 0; i < 3; ++i) step(*spec, 0.002);
  misbehave(mode, *spec);
  train(*spec, 0.005);
}
