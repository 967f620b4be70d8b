// What a file is, and which programs wrote it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ocrtune {

enum class SourceKind {
  program,   // of a run, as far as can be seen
  kernel,    // dmesg, journalctl -k
  document,  // headings, lists and sentences: what may fail, not what did
  binary,    // no text
};

// Programs are bits, in the order of the table of their words: a log of a server holds its
// framework too. These are those whose own words stand in the text.
std::uint32_t programs_in(std::string_view text);
std::string program_names(std::uint32_t programs);     // "vLLM, PyTorch"
std::uint32_t programs_named(std::string_view names);  // of "PaddleOCR_training,vLLM"

// Whom a row of `kubectl get pods` or sacct is about; empty: it is no such row.
std::string listed_object(std::string_view line);

// Without the sequences by which terminals colour.
std::string without_colours(std::string_view text);

// Counts the first lines of a file.
class SourceLines {
 public:
  void take_line(std::string_view line);
  bool is_kernel() const { return kernel_ > 0 && 2 * kernel_ >= lines_; }
  bool is_document() const { return headings_ > 1 && 5 * prose_ >= 3 * lines_; }

 private:
  int lines_ = 0, kernel_ = 0, headings_ = 0, prose_ = 0;
};

}  // namespace ocrtune
