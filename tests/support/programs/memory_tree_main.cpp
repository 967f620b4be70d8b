// A process tree whose memory is known: runs the words of its command line one after the other.
//
//   own N        N MiB of private memory, touched        shared N    the same, shared with children
//   copy N       writes to N MiB of what a parent holds  drop        gives all its own back
//   copy_slowly N R  the same, R MiB a second            read        touches all that it sees
//   file PATH N  maps N MiB of a file of that path       shm NAME N  N MiB of /dev/shm, mapped
//   shm_open NAME N  the same, written and not mapped    grow N R    N MiB more, R MiB a second
//   fork N { ... }   N children run the words between the braces; they end there
//   wait S       sleeps S seconds                        join        waits for all children
//   unlink NAME  removes that file of /dev/shm           die         SIGKILL to itself
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kMiB = 1 << 20;

struct Block {
  char* bytes;
  std::size_t size;
  bool is_private;
};
std::vector<Block> g_blocks;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::_Exit(3);
}

void nap(double seconds) { ::usleep(static_cast<useconds_t>(seconds * 1e6)); }

void take(std::size_t mib, int flags, int file = -1) {
  const std::size_t size = mib * kMiB;
  const int kind = file < 0 ? flags | MAP_ANONYMOUS : flags;
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, kind, file, 0);
  if (memory == MAP_FAILED) fail("mmap");
  ::madvise(memory, size, MADV_NOHUGEPAGE);
  std::memset(memory, 1, size);
  g_blocks.push_back({static_cast<char*>(memory), size, (flags & MAP_PRIVATE) != 0});
}

void copy_on_write(std::size_t mib) {
  std::size_t left = mib * kMiB;
  for (const Block& block : g_blocks) {
    if (!block.is_private) continue;
    const std::size_t part = std::min(left, block.size);
    std::memset(block.bytes, 2, part);
    left -= part;
  }
}

void copy_slowly(std::size_t mib, double mib_per_second) {
  for (const Block& block : g_blocks) {
    for (std::size_t at = 0; block.is_private && at < block.size && mib > 0; at += kMiB, --mib) {
      std::memset(block.bytes + at, 2, kMiB);
      nap(1 / mib_per_second);
    }
  }
}

void read_all() {
  volatile char sum = 0;
  for (const Block& block : g_blocks) {
    for (std::size_t at = 0; at < block.size; at += 4096) sum = sum + block.bytes[at];
  }
}

int open_sized(const std::string& path, std::size_t mib) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(mib * kMiB)) != 0) fail(path.c_str());
  return file;
}

void write_file_of(const std::string& path, std::size_t mib) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
  const std::string block(kMiB, 'x');
  for (std::size_t i = 0; i < mib; ++i) {
    if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size())) {
      fail(path.c_str());
    }
  }  // and stays open
}

std::size_t matching_brace(const std::vector<std::string>& words, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < words.size(); ++at) {
    if (words[at] == "{") ++depth;
    if (words[at] == "}" && --depth == 0) return at;
  }
  std::_Exit(2);
}

void run(const std::vector<std::string>& words, std::size_t from, std::size_t to) {
  for (std::size_t at = from; at < to; ++at) {
    const std::string& word = words[at];
    const auto text = [&] { return words.at(++at); };
    const auto number = [&] { return std::atof(text().c_str()); };
    const auto mib = [&] { return static_cast<std::size_t>(number()); };
    if (word == "own") take(mib(), MAP_PRIVATE);
    if (word == "shared") take(mib(), MAP_SHARED);
    if (word == "copy") copy_on_write(mib());
    if (word == "copy_slowly") {
      const std::size_t all = mib();
      copy_slowly(all, number());
    }
    if (word == "read") read_all();
    if (word == "wait") nap(number());
    if (word == "unlink") ::unlink(("/dev/shm/" + text()).c_str());
    if (word == "die") ::kill(::getpid(), SIGKILL);
    if (word == "drop") {
      for (const Block& block : g_blocks) ::munmap(block.bytes, block.size);
      g_blocks.clear();
    }
    if (word == "grow") {
      const std::size_t all = mib();
      const double each = 8 / number();
      for (std::size_t done = 0; done < all; done += 8, nap(each)) take(8, MAP_PRIVATE);
    }
    if (word == "file" || word == "shm") {
      const std::string name = text();
      const std::size_t size = mib();
      const int file = open_sized(word == "shm" ? "/dev/shm/" + name : name, size);
      take(size, MAP_SHARED, file);
      ::close(file);
    }
    if (word == "shm_open") {
      const std::string name = text();
      write_file_of("/dev/shm/" + name, mib());
    }
    if (word == "join") {
      while (::wait(nullptr) > 0) {
      }
    }
    if (word == "fork") {
      const std::size_t children = mib();
      const std::size_t open = ++at, close = matching_brace(words, open);
      for (std::size_t i = 0; i < children; ++i) {
        if (::fork() != 0) continue;
        run(words, open + 1, close);
        std::_Exit(0);
      }
      at = close;
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  run(words, 0, words.size());
  return 0;
}
