// A process that fails in a named way, for tests of the diagnosis: the failures are real ones
// wherever a process can make them without harm to the machine.
//
//   fault_worker MODE
//   fault_worker train FOLDER ODDS [--resume]
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void step(int number) {
  std::printf("epoch: [1/1], global_step: %d, loss: %.3f, ips: 10.0\n", number, 1.0 / number);
  std::fflush(stdout);
}

void limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

[[noreturn]] void complain(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

void run_out_of_address_space() {
  limit(RLIMIT_AS, 1ULL << 30);
  std::vector<std::vector<char>> kept;
  for (;;) kept.emplace_back(64 << 20, 'x');  // ends by std::bad_alloc
}

void run_out_of_descriptors() {
  limit(RLIMIT_NOFILE, 64);
  while (::open("/dev/null", O_RDONLY) >= 0) {
  }
  complain("open /dev/null");
}

void fill_the_disk() {
  const int full = ::open("/dev/full", O_WRONLY);
  if (::write(full, "checkpoint", 10) < 0) complain("write latest.pdparams");
}

// Reading a mapping beyond the end of its file is what a full /dev/shm does to a loader worker.
void read_beyond_a_file() {
  char name[] = "/tmp/ocrtune.fault.XXXXXX";
  const int file = ::mkstemp(name);
  ::unlink(name);
  auto* bytes = static_cast<volatile char*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  bytes[0] = 'x';
}

void bind_twice() {
  int sockets[2];
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  for (int i = 0; i < 2; ++i) {
    sockets[i] = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::bind(sockets[i], reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      complain("bind the rendezvous port");
    }
    ::getsockname(sockets[i], reinterpret_cast<sockaddr*>(&address), &size);
  }
}

void start_too_many_threads() {
  limit(RLIMIT_AS, 1ULL << 30);  // each thread wants a stack of its own
  for (;;) {
    pthread_t thread;
    const int code = ::pthread_create(
        &thread, nullptr, [](void*) -> void* { return ::pause(), nullptr; }, nullptr);
    if (code == 0) continue;
    errno = code;
    complain("libgomp: Thread creation failed");
  }
}

void free_twice() {
  void* volatile block = std::malloc(64);
  std::free(block);
  std::free(block);
}

void leak() {
  for (int i = 1;; ++i) {
    auto* block = static_cast<char*>(std::malloc(1 << 20));
    std::memset(block, i, 1 << 20);
    step(i);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

void python(const char* code) { ::execlp("python3", "python3", "-c", code, nullptr); }

// A training of 40 steps that can be resumed: state = f(state, step), saved every 5 steps. Two
// ranks in sessions of their own; rank 1 dies by SIGKILL at a moment that `seed` and the pid
// choose, with a chance of one in `odds` a step. The launcher then fails as launchers do.
int train(const std::string& directory, unsigned odds, bool resume) {
  const std::string checkpoint = directory + "/state";
  int begun = 0;
  double state = 1;
  if (std::FILE* file = resume ? std::fopen(checkpoint.c_str(), "r") : nullptr) {
    if (std::fscanf(file, "%d %lf", &begun, &state) != 2) return 3;
    std::fclose(file);
  }
  const pid_t rank = ::fork();
  if (rank == 0) {
    ::setsid();
    unsigned random = static_cast<unsigned>(::getpid()) * 2654435761U;
    for (int i = begun; i < 40; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
      random = random * 1664525U + 1013904223U;
      if (odds > 0 && (random >> 16) % odds == 0) ::kill(::getpid(), SIGKILL);
    }
    ::pause();
  }
  for (int i = begun + 1; i <= 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
    state = state * 0.9 + 1.0 / i;
    std::printf("epoch: [1/1], global_step: %d, loss: %.17g, ips: 10.0\n", i, state);
    std::fflush(stdout);
    if (i % 5 == 0) {
      std::FILE* file = std::fopen((checkpoint + ".part").c_str(), "w");
      std::fprintf(file, "%d %.17g\n", i, state);
      std::fclose(file);
      std::rename((checkpoint + ".part").c_str(), checkpoint.c_str());
    }
    int status = 0;
    if (::waitpid(rank, &status, WNOHANG) == rank) {
      std::printf(
          "LAUNCH ERROR Container failed !!!\nContainer rank 1 status failed cmd ['x'] code "
          "-9 log workerlog.1\n");
      return 247;
    }
  }
  return 0;  // rank 1 stays behind: an orphan for the supervisor to end
}

const std::map<std::string, std::function<void()>>& modes() {
  static const std::map<std::string, std::function<void()>> kModes = {
      {"clean", [] {}},
      {"segv", [] { *static_cast<volatile int*>(nullptr) = 1; }},
      {"abort", [] { std::abort(); }},
      {"ill", [] { __builtin_trap(); }},
      {"fpe", [] { std::raise(SIGFPE); }},
      {"killed", [] { ::kill(::getpid(), SIGKILL); }},
      {"terminated", [] { ::kill(::getpid(), SIGTERM); }},
      {"hangup", [] { ::kill(::getpid(), SIGHUP); }},
      {"interrupt", [] { ::kill(::getpid(), SIGINT); }},
      {"memory", run_out_of_address_space},
      {"descriptors", run_out_of_descriptors},
      {"disk", fill_the_disk},
      {"sigbus", read_beyond_a_file},
      {"port", bind_twice},
      {"threads", start_too_many_threads},
      {"heap", free_twice},
      {"exception", [] { throw std::runtime_error("the model has no head"); }},
      {"missing",
       [] {
         if (::open("/nowhere/train_list.txt", O_RDONLY) < 0)
           complain("open /nowhere/train_list.txt");
       }},
      {"futex", [] { ::pause(); }},
      {"livelock",
       [] {
         for (volatile bool on = true; on;) {
         }
       }},
      {"leak", leak},
      {"eat",
       [] {
         std::vector<std::vector<char>> kept;
         for (;;) kept.emplace_back(16 << 20, 'x');
       }},
      {"nan",
       [] {
         std::puts("epoch: [1/1], global_step: 5, loss: nan, ips: 10.0");
         std::exit(1);
       }},
      {"python", [] { python("raise ValueError('no such head')"); }},
      {"python_module", [] { python("import no_such_module_of_ours"); }},
      {"python_file", [] { python("open('/nowhere/dict.txt')"); }},
      {"python_memory",
       [] {
         limit(RLIMIT_AS, 2ULL << 30);
         python("x = bytearray(8 << 30)");
       }},
      {"python_worker",
       [] {
         python(
             "import multiprocessing as m, os, signal, sys\n"
             "p = m.Process(target=lambda: os.kill(os.getpid(), signal.SIGKILL)); p.start(); "
             "p.join()\n"
             "sys.exit(f'SystemError: (Fatal) DataLoader process (pid {p.pid}) exited is killed by "
             "signal: Killed.')");
       }},
      {"ranks",
       [] {
         std::fputs(
             "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running "
             "collective: ALLREDUCE, but Rank 1 is running ALLGATHER\n",
             stderr);
         std::exit(1);
       }},
  };
  return kModes;
}

}  // namespace

int main(int argc, char** argv) {
  limit(RLIMIT_CORE, 0);
  if (argc > 3 && std::string(argv[1]) == "train") {
    return train(argv[2], static_cast<unsigned>(std::atoi(argv[3])), argc > 4);
  }
  const auto mode = modes().find(argc > 1 ? argv[1] : "");
  if (mode == modes().end()) {
    std::fprintf(stderr, "usage: fault_worker MODE\n");
    return 2;
  }
  for (int i = 1; i <= 3; ++i) step(i);
  mode->second();
  return 0;
}
