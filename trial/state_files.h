// Files in which training programs keep their states, before and after something ran beside them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ocrtune {

// What training programs keep weights and states in. Paddle's belong together by their prefix;
// folders are what save_pretrained() makes, with the optimizer's .pt beside the weights.
inline constexpr const char* kPaddleEnds[] = {".pdparams", ".pdopt", ".states"};
inline constexpr const char* kFolderEnds[] = {".safetensors", ".bin"};
inline constexpr const char* kFileEnds[] = {".pt",      ".pth",    ".ckpt",     ".h5",   ".npz",
                                            ".pth.tar", ".pt.tar", ".ckpt.tar", ".keras"};
// What vocabularies, metrics and shards of data end in as well.
inline constexpr const char* kLooseEnds[] = {".pkl", ".pickle", ".tar"};
bool has_end(const std::string& name, std::span<const char* const> ends);

// By a file's name.
bool holds_state(const std::string& name);

class StateFiles {
 public:
  // Those in a folder and two levels below, among the first 20,000 names. Nothing else is opened.
  explicit StateFiles(std::string folder) : folder_(std::move(folder)), files_(look()) {}

  // Since the last look: paths that were there and are others now, or are gone; counts each once.
  std::vector<std::string> replaced();

 private:
  using Version = std::pair<std::int64_t, std::uint64_t>;  // nanoseconds since 1970, bytes
  std::map<std::string, Version> look() const;

  std::string folder_;
  std::map<std::string, Version> files_;
};

}  // namespace ocrtune
