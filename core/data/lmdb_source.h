// Samples from an LMDB folder as PaddleOCR writes them: keys "num-samples", "label-%09d" and
// "image-%09d", counted from 1, images encoded as PNG or JPEG. Read without locks, so that a
// read-only folder serves and nothing is written.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/data/alphabet.h"
#include "core/data/sample_source.h"

namespace ocrtune {

// The folders with a data.mdb: `path` itself, or all below it in the order of their names, as
// PaddleOCR's LMDBDataSet walks them.
std::vector<std::string> lmdb_folders(const std::string& path);
bool is_lmdb_folder(const std::string& path);  // whether there is one

class LmdbSource final : public SampleSource {
 public:
  // `path` is a folder with data.mdb in it or below. `alphabet_text` as LabelFile::read. missing:
  // no such folder; invalid: not a database, or without the keys above.
  static Result<std::unique_ptr<LmdbSource>> open(const std::string& path,
                                                  const std::string& alphabet_text);
  ~LmdbSource() override;

  std::int64_t size() const override { return static_cast<std::int64_t>(lines_.size()); }
  Result<std::string> image_bytes(std::int64_t line) const override;
  std::span<const int> label(std::int64_t line) const override;
  std::string name(std::int64_t line) const override;
  const std::vector<std::string>& alphabet() const override { return alphabet_.characters(); }
  const UnusableLines& unusable() const override { return unusable_; }

 private:
  struct Line {
    std::size_t folder = 0;
    int number = 0;  // from 1
    std::vector<int> classes;
  };
  struct Environment;

  LmdbSource();
  struct Text {
    std::size_t folder = 0;
    int number = 0;
    std::string text;
  };
  Status read_texts(std::size_t folder, std::vector<Text>& texts);
  Status encode_labels(const std::vector<Text>& texts, const std::string& alphabet_text);
  std::string name_of(std::size_t folder, int number) const;

  std::vector<std::string> folders_;
  // Of each folder. A forked process must not use its parent's: each opens its own.
  mutable std::vector<std::unique_ptr<Environment>> environments_;
  Alphabet alphabet_;
  std::vector<Line> lines_;
  UnusableLines unusable_;
};

// Reads mapped memory that may fail: a file that is cut or damaged, or a disk that gives an error,
// shows itself as SIGBUS or SIGSEGV at the reading thread, or as SIGFPE where a size that was read
// is zero.
// False where `read` stopped at such a fault. What it leaves is left by a jump: it must own
// nothing, so it may call C functions and fill memory of the caller's, but make no object. Not
// nested.
bool read_mapped(const std::function<void()>& read);
// The same, and false after two seconds of computing too: pages may point in circles. That end may
// come at any instruction, where a fault comes at a read, so `read` must call nothing that holds a
// lock, such as malloc's.
bool read_mapped_briefly(const std::function<void()>& read);

// Within `read` of either: stops there, as a fault would.
[[noreturn]] void leave_mapped_read();

}  // namespace ocrtune
