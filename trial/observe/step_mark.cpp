// Each rank has a mapped file of eight bytes: step count times two, plus one inside of a step. A
// rank that hangs or was killed leaves its last value in it.
#include "trial/observe/step_mark.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"

namespace ocrtune {

Result<StepMark> StepMark::create(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return system_error(errno, "create " + path);
  void* word = MAP_FAILED;
  if (::ftruncate(file, sizeof(std::int64_t)) == 0) {
    word = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int problem = errno;
  // The mapping stays without the descriptor.
  ::close(file);
  if (word == MAP_FAILED) return system_error(problem, "map " + path);
  StepMark mark;
  mark.word_ = static_cast<std::atomic<std::int64_t>*>(word);
  return Result<StepMark>(std::move(mark));
}

StepMark::StepMark(StepMark&& other) noexcept : word_(std::exchange(other.word_, nullptr)) {}

StepMark& StepMark::operator=(StepMark&& other) noexcept {
  std::swap(word_, other.word_);
  return *this;
}

StepMark::~StepMark() {
  if (word_ != nullptr) ::munmap(word_, sizeof(std::int64_t));
}

void StepMark::set(const StepCounter& place) {
  // One atomic store, so that a reader never sees half of a value.
  if (word_ != nullptr) word_->store(2 * place.steps + (place.inside ? 1 : 0));
}

std::string step_mark_path(const std::string& folder, int rank) {
  return join_path(folder, "step." + std::to_string(rank));
}

std::optional<StepCounter> read_step_mark(const std::string& path) {
  // Read as a file: the reader maps nothing of a rank that may be dead.
  const auto bytes = read_file(path);
  std::int64_t word = 0;
  if (!bytes || bytes->size() != sizeof word) return std::nullopt;
  std::memcpy(&word, bytes->data(), sizeof word);
  return StepCounter{word / 2, word % 2 != 0};
}

}  // namespace ocrtune
