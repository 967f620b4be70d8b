// What nvidia-smi's reports say over several lines, as one line that a signature knows: a PCIe link
// narrower than the card's ("Max : 16x", "Current : 4x" of -q; columns of --query-gpu), and the
// reasons for a lower clock by column. Likewise tables of memory: vmstat's, samples as CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

class CardReport {
 public:
  // What the first line of a table or of a link has in it.
  static constexpr std::string_view kFirstWords[] = {"Link Width", "pcie.link.width.current",
                                                     "_reasons.", " swpd ", "mem_used"};

  bool open() const { return in_link_ || !columns_.empty(); }
  // The line that stands for this one; empty: this one says nothing of the kind.
  std::string take_line(std::string_view line);

 private:
  std::string take_link(std::string_view line);
  std::string take_row(std::string_view line) const;

  bool in_link_ = false;
  int max_lanes_ = 0;                 // of the link that is being read
  std::vector<std::string> columns_;  // of the table that is being read
};

}  // namespace ocrtune
