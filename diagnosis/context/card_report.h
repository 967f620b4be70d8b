// What tables of samples say by their columns, as one line that a signature knows: nvidia-smi's
// --query-gpu (a PCIe link narrower than the card's, the reasons for a lower clock) and memory as
// CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

class CardReport {
 public:
  // What the heading of such a table has in it.
  static constexpr std::string_view kFirstWords[] = {"pcie.link.width.current", "_reasons.",
                                                     "mem_used"};

  bool open() const { return !columns_.empty(); }
  // The line that stands for this one; empty: this one says nothing of the kind.
  std::string take_line(std::string_view line);

 private:
  std::vector<std::string> columns_;  // of the table that is being read
};

}  // namespace ocrtune
