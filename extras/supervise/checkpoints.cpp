// States are told by names that trainers give them. Zip archives, pickles and safetensors files are
// whole where they end as their format says. States that changed since the last look come first,
// then the newest by time and number.
#include "extras/supervise/checkpoints.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "trial/state_files.h"

namespace ocrtune {
namespace {

struct FileFacts {
  double seconds = 0;
  std::uint64_t bytes = 0;
};

std::optional<FileFacts> file_facts(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return FileFacts{changed_seconds(facts), static_cast<std::uint64_t>(facts.st_size)};
}

constexpr off_t kMinBytes = 4;  // of weights, in any format

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Of "checkpoint_300" in "checkpoint_300.pth.tar".
std::size_t stem_bytes(const std::string& name) {
  std::string stem = name;
  while (has_end(stem, kFileEnds) || has_end(stem, kLooseEnds)) stem.resize(stem.rfind('.'));
  return stem.size();
}

// 300 of "checkpoint-300", "epoch=3-step=300.ckpt", "iter_300"; -1: it ends in no number.
std::int64_t number_of(const std::string& name) {
  const std::string_view stem = std::string_view(name).substr(0, stem_bytes(name));
  std::size_t begin = stem.size();
  while (begin > 0 && is_digit(stem[begin - 1])) --begin;
  return parse_integer(stem.substr(begin)).value_or(-1);
}

// "checkpoint-300", "global_step300", "epoch_3": a folder that is one state.
bool names_one_state(const std::string& folder) {
  constexpr std::array<const char*, 6> kWords = {"checkpoint", "global_step", "step",
                                                 "iter",       "epoch",       "ckpt"};
  std::size_t end = folder.size();
  while (end > 0 && is_digit(folder[end - 1])) --end;
  if (end == folder.size()) return false;
  if (end > 0 && std::string_view("-_=").find(folder[end - 1]) != std::string_view::npos) --end;
  const std::string word = folder.substr(0, end);
  return std::any_of(kWords.begin(), kWords.end(), [&](const char* one) { return word == one; });
}

// The files of one state, by their paths below it.
struct Parts {
  std::set<std::string> names;
  Checkpoint state;

  void add(const std::string& path, const std::string& name) {
    const auto facts = file_facts(path);
    if (!facts) return;
    names.insert(name);
    state.seconds = std::max(state.seconds, facts->seconds);
    state.bytes += facts->bytes;
    state.whole = state.whole && is_whole_file(path);
  }

  void add_folder(const std::string& folder, const std::string& below, int depth) {
    for (const std::string& name : list_directory(folder).value_or({})) {
      const std::string path = join_path(folder, name);
      if (!is_directory(path)) {
        add(path, below + name);
      } else if (depth < 2) {
        add_folder(path, below + name + "/", depth + 1);
      }
    }
  }
};

using States = std::map<std::string, Parts>;  // path to resume from -> what is there

// `loose`: what counts only where there are no states of a surer name.
void look_in(const std::string& folder, int depth, States& states, States& loose) {
  const auto names = list_directory(folder).value_or({});
  // Beside weights that belong to their folder, a .pt is the optimizer's.
  const bool one_state =
      (depth > 0 && names_one_state(base_name(folder)) &&
       (starts_with(base_name(folder), "checkpoint") ||
        std::none_of(names.begin(), names.end(),
                     [](const std::string& name) { return has_end(name, kPaddleEnds); }))) ||
      std::any_of(names.begin(), names.end(),
                  [](const std::string& name) { return has_end(name, kFolderEnds); });
  const bool numbered = one_state && depth > 0 && names_one_state(base_name(folder));
  if (numbered) {
    Parts parts;
    parts.add_folder(folder, "", depth);
    if (!parts.names.empty()) states[folder] = std::move(parts);
    return;
  }
  for (const std::string& name : names) {
    const std::string path = join_path(folder, name);
    if (is_directory(path)) {
      // "tmp-checkpoint-300" is being written.
      if (depth < 2 && !starts_with(name, "tmp")) look_in(path, depth + 1, states, loose);
    } else if (has_end(name, kPaddleEnds)) {
      states[path.substr(0, path.rfind('.'))].add(path, name.substr(name.rfind('.')));
    } else if (has_end(name, kFolderEnds) || has_end(name, kFileEnds)) {
      states[one_state ? folder : path].add(path, one_state ? name : "");
    } else if (has_end(name, kLooseEnds)) {
      loose[path].add(path, "");
    }
  }
}

// "out/checkpoint-" of "out/checkpoint-300": states that are alike but for their number.
std::string series_of(const std::string& path) {
  std::size_t end = stem_bytes(path);
  while (end > 0 && is_digit(path[end - 1])) --end;
  return path.substr(0, end);
}

bool any_digit(const std::string& name) { return std::any_of(name.begin(), name.end(), is_digit); }

// A state of several files lacks those that were not written yet. Names with numbers are left out:
// how many ranks and shards there are may change. A state of half the size is cut in any format.
// `states`: the newest first.
void compare_with_earlier(const std::vector<Parts*>& states) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::string series = series_of(states[i]->state.path);
    const auto earlier = std::find_if(
        states.begin() + static_cast<std::ptrdiff_t>(i) + 1, states.end(), [&](const Parts* other) {
          return other->state.whole && series_of(other->state.path) == series;
        });
    if (earlier == states.end()) continue;
    if (2 * states[i]->state.bytes < (*earlier)->state.bytes) states[i]->state.whole = false;
    for (const std::string& name : (*earlier)->names) {
      if (!any_digit(name) && states[i]->names.count(name) == 0) states[i]->state.whole = false;
    }
  }
}

// A program that writes weights alone right after its whole state cannot go on from them. States
// of names without numbers that came seconds apart: the newest of those that are not much smaller
// than the largest comes first. `states`: the newest first.
void prefer_larger_of_a_burst(std::vector<Parts*>& states) {
  // Guess of how long one save of several files takes.
  constexpr double kBurstSeconds = 10;
  for (std::size_t begin = 0; begin < states.size(); ++begin) {
    if (states[begin]->state.number >= 0) continue;
    std::vector<std::size_t> burst;
    std::uint64_t largest = 0;
    for (std::size_t i = begin; i < states.size(); ++i) {
      const Checkpoint& one = states[i]->state;
      if (states[begin]->state.seconds - one.seconds > kBurstSeconds) break;
      if (one.number >= 0 || !one.whole) continue;
      burst.push_back(i);
      largest = std::max(largest, one.bytes);
    }
    if (burst.empty()) continue;
    std::size_t chosen = 0;
    // Below three quarters of the largest: weights without the optimizer's state.
    while (4 * states[burst[chosen]]->state.bytes < 3 * largest) ++chosen;
    for (; chosen > 0; --chosen) std::swap(states[burst[chosen]], states[burst[chosen - 1]]);
    begin = burst.back();
  }
}

// Of the folder and two levels below, those that might be a state for all that is known.
void add_other_files(const std::string& folder, const std::string& below, int depth,
                     std::map<std::string, std::pair<double, std::uint64_t>>& files) {
  constexpr const char* kPlainEnds[] = {".log", ".txt",  ".csv", ".json", ".jsonl",
                                        ".yml", ".yaml", ".out", ".html", ".py",
                                        ".err", ".png",  ".jpg", ".prom"};
  constexpr std::size_t kMaxFiles = 20'000;
  for (const std::string& name : list_directory(folder).value_or({})) {
    if (files.size() >= kMaxFiles) return;
    const std::string path = join_path(folder, name);
    if (is_directory(path)) {
      if (depth < 2) add_other_files(path, below + name + "/", depth + 1, files);
      continue;
    }
    if (has_end(name, kPlainEnds) || name.find("tfevents") != std::string::npos) continue;
    if (const auto facts = file_facts(path)) files[below + name] = {facts->seconds, facts->bytes};
  }
}

std::string read_at(int file, std::uint64_t offset, std::size_t bytes) {
  std::string block(bytes, '\0');
  const ssize_t got = ::pread(file, block.data(), bytes, static_cast<off_t>(offset));
  block.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return block;
}

// The directory of a zip archive is its last record, with a comment of up to 64 KiB behind it.
bool is_whole_zip(int file, std::uint64_t bytes) {
  const std::uint64_t tail = std::min<std::uint64_t>(bytes, (64 << 10) + 22);
  // The end record: 22 bytes and its comment.
  return read_at(file, bytes - tail, tail).rfind("PK\5\6") != std::string::npos;
}

// Ends in STOP; PyTorch's old format, which begins with its magic number (LONG1), has raw tensors
// behind its pickles.
bool is_whole_pickle(int file, std::uint64_t bytes, const std::string& head) {
  if (head.size() > 2 && static_cast<unsigned char>(head[2]) == 0x8a) return true;
  return read_at(file, bytes - 1, 1) == ".";
}

// 8 bytes of length, a JSON object with each tensor's "data_offsets", the tensors.
bool is_whole_safetensors(int file, std::uint64_t bytes, const std::string& head) {
  constexpr std::uint64_t kMaxHeader = 100 << 20;  // as the format bounds it
  std::uint64_t length = 0;
  if (head.size() < 8) return false;
  std::memcpy(&length, head.data(), 8);
  if (length > kMaxHeader || length + 8 > bytes) return false;
  const auto json = nlohmann::json::parse(read_at(file, 8, length), nullptr, false);
  if (!json.is_object()) return false;
  std::uint64_t end = 0;
  for (const auto& tensor : json) {
    const auto offsets = tensor.is_object() ? tensor.find("data_offsets") : tensor.end();
    if (offsets == tensor.end() || !offsets->is_array() || offsets->size() != 2) continue;
    if ((*offsets)[1].is_number_unsigned()) end = std::max(end, (*offsets)[1].get<std::uint64_t>());
  }
  return bytes >= 8 + length + end;
}

}  // namespace

bool is_whole_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // it may be a FIFO
  if (file < 0) return false;
  struct stat facts {};
  bool whole = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
               (facts.st_size >= kMinBytes || !holds_state(path));
  const auto bytes = static_cast<std::uint64_t>(std::max<off_t>(facts.st_size, 0));
  const std::string head = read_at(file, 0, 8);
  if (whole && starts_with(head, "PK\3\4")) {
    whole = is_whole_zip(file, bytes);
  } else if (whole && ends_with(path, ".safetensors")) {
    whole = is_whole_safetensors(file, bytes, head);
  } else if (whole && ends_with(path, ".json")) {
    const std::string tail = read_at(file, bytes - std::min<std::uint64_t>(bytes, 64), 64);
    whole = ends_with(trim(tail), "}") || ends_with(trim(tail), "]");
  } else if (whole && head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) {
    whole = is_whole_pickle(file, bytes, head);
  }
  ::close(file);
  return whole;
}

std::vector<Checkpoint> find_checkpoints(const std::string& name) {
  States states, loose;
  if (is_directory(name)) {
    look_in(name, 0, states, loose);
  } else if (!name.empty()) {
    for (const char* end : {"", ".pdparams", ".pdopt", ".states", ".pt", ".pth"}) {
      if (path_exists(name + end)) states[name].add(name + end, end);
    }
  }
  const auto is_empty = [](const auto& one) { return one.second.names.empty(); };
  std::erase_if(states, is_empty);
  if (states.empty()) states = std::move(loose);
  std::erase_if(states, is_empty);
  std::vector<Parts*> sorted;
  for (auto& [path, parts] : states) {
    parts.state.path = path;
    parts.state.number = number_of(base_name(path));
    sorted.push_back(&parts);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Parts* a, const Parts* b) {
    return std::tie(a->state.seconds, a->state.number) >
           std::tie(b->state.seconds, b->state.number);
  });
  compare_with_earlier(sorted);
  prefer_larger_of_a_burst(sorted);
  std::vector<Checkpoint> found;
  for (const Parts* parts : sorted) found.push_back(parts->state);
  return found;
}

void SavedStates::look_for_others(bool nothing_recognised) {
  unrecognised_.clear();
  std::map<std::string, Version> now;
  if (nothing_recognised && is_directory(name_)) add_other_files(name_, "", 0, now);
  for (const auto& [path, version] : now) {
    const auto before = others_.find(path);
    const bool same = before != others_.end() && before->second == version;
    if (looks_ > 1 && !same) unrecognised_.push_back(path);
  }
  others_ = std::move(now);
}

void SavedStates::look() {
  looks_ += 1;
  saved_ = false;
  states_.clear();
  passed_over_.clear();
  std::vector<Checkpoint> found = find_checkpoints(name_);
  look_for_others(found.empty());
  // A state that is rewritten in place and was cut has its last whole version beside it, as
  // PaddleOCR keeps iter_epoch_100 and best_accuracy beside latest.
  if (found.size() == 1 && !found[0].whole && !is_directory(name_)) {
    const std::string folder = parent_path(name_);
    for (const Checkpoint& state : find_checkpoints(folder.empty() ? "." : folder)) {
      if (state.whole) found.push_back(state);
    }
  }
  for (const Checkpoint& state : found) {
    if (!state.whole) {
      if (states_.empty()) passed_over_.push_back(state.path);
      continue;
    }
    const Version version{state.seconds, state.bytes};
    auto& [known, since] = seen_[state.path];
    if (known != version) {
      known = version;
      since = looks_;
      saved_ = saved_ || looks_ > 1;
    }
    const auto refused = refused_.find(state.path);
    if (refused == refused_.end() || refused->second != version) states_.push_back(state);
  }
  // What this look saw first is newest, even where a clock ran backwards.
  std::stable_sort(states_.begin(), states_.end(), [this](const auto& a, const auto& b) {
    return seen_[a.path].second > seen_[b.path].second;
  });
}

bool SavedStates::refuse() {
  // Without an earlier state the run would begin anew and lose this one.
  if (states_.size() < 2) return false;
  const Checkpoint& state = states_.front();
  refused_[state.path] = {state.seconds, state.bytes};
  states_.erase(states_.begin());
  return true;
}

}  // namespace ocrtune
