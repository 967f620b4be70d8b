// Where samples come from: a label file with its pictures (core/data/label_file.h) or an LMDB
// (core/data/lmdb_source.h); core/data/samples.h opens either.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// What a source could not use when it was opened.
struct UnusableLines {
  std::int64_t count = 0;
  std::vector<std::string> examples;  // at most 5: "labels.txt:17: no tab"

  void add(std::string what);
};

// Lines are numbered from 0; only lines that are usable by their label count. Safe to use from
// several processes after a fork.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::int64_t size() const = 0;
  virtual Result<std::string> image_bytes(std::int64_t line) const = 0;  // PNG or JPEG
  // At least the first `max_bytes` of it, if it has so many.
  virtual Result<std::string> image_head(std::int64_t line, std::uint64_t max_bytes) const;
  virtual std::span<const int> label(std::int64_t line) const = 0;  // classes from 1
  virtual std::string name(std::int64_t line) const = 0;            // "labels.txt:17"
  virtual const std::vector<std::string>& alphabet() const = 0;
  virtual const UnusableLines& unusable() const = 0;
};

}  // namespace ocrtune
