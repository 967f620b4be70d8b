// A PaddleOCR label file: lines of "relative/path.png<TAB>text", UTF-8, either line ending, with or
// without a byte order mark. Empty lines are skipped; lines without a tab, path or text, with text
// that is not UTF-8 or that has characters outside of the alphabet are counted and named.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "core/data/alphabet.h"
#include "core/data/sample_source.h"

namespace ocrtune {

// Which images of a label file are there, and whether some of them are images.
struct ImageSearch {
  std::int64_t lines = 0, missing = 0;
  std::string first_missing;       // "data/labels.txt:17: data/a.png"
  int opened = 0, unreadable = 0;  // of a few lines, spread evenly
  std::string first_unreadable;    // the same, and why
};

inline constexpr const char* kLabelFileName = "labels.txt";  // in a folder of samples

class LabelFile final : public SampleSource {
 public:
  // `alphabet_text` empty: all characters of the file, in code point order. Images are looked for
  // beside the file. missing: no file; usage: bad alphabet text.
  static Result<std::unique_ptr<LabelFile>> read(const std::string& path,
                                                 const std::string& alphabet_text);

  // Every image is looked for, a few are decoded. Errors: missing if there is no such file.
  static Result<ImageSearch> look_for_images(const std::string& path);

  std::int64_t size() const override { return static_cast<std::int64_t>(lines_.size()); }
  Result<std::string> image_bytes(std::int64_t line) const override;
  Result<std::string> image_head(std::int64_t line, std::uint64_t max_bytes) const override;
  std::span<const int> label(std::int64_t line) const override;
  std::string name(std::int64_t line) const override;
  const std::vector<std::string>& alphabet() const override { return alphabet_.characters(); }
  const UnusableLines& unusable() const override { return unusable_; }

 private:
  struct Line {
    std::string_view path, text;  // into text_
    std::size_t first = 0;        // of its classes in classes_
    int length = 0;
    int number = 0;  // from 1
  };

  LabelFile() = default;
  static Result<std::unique_ptr<LabelFile>> open(const std::string& path);
  void split_lines();
  Status make_alphabet(const std::string& alphabet_text);
  void encode_labels();
  std::string place(int number) const;
  std::string image_path(std::int64_t line) const;

  std::string folder_, file_name_, text_;
  Alphabet alphabet_;
  std::vector<Line> lines_;
  std::vector<int> classes_;
  UnusableLines unusable_;
};

}  // namespace ocrtune
