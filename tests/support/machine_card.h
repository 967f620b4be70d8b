// A machine on one page: a card of tests/fixtures/cards becomes a tree of /proc, /sys and control
// groups, and says what a probe of that tree must find.
//
// Lines of a card ("#": a remark; LIST: "0-3,8"; sizes in KiB):
//   kernel, host, os TEXT               allowed, mems, online, offline LIST   environ A=1 B=2
//   model x86 LIST VENDOR | MODEL | FLAGS
//   model arm LIST IMPLEMENTER PART VARIANT | FEATURES
//   cpus LIST [siblings LIST]... package N [l3 GROUP SIZE]     a core for each CPU of the list
//   node N cpus LIST|- memory KIB free KIB [huge KIB] [distance D...]
//   memory total KIB available KIB [hugetlb KIB] [swap KIB]
//   capacity LIST N                     cgroup2 /PATH         no /PATH
//   file /PATH, then lines "| text"
//   repeat N LINE                       {i} counts from 0; {4i+2}, {i/4}
//   expect KEY =|~|<=|has|lacks|count VALUE     KEY in `probe --json`, by dots; 12K: 12 x 1024;
//       setting.NAME: the values of system.settings of that name
#pragma once

#include <string>
#include <vector>

namespace ocrtune {

struct CardExpectation {
  std::string key, relation, value;
};

struct MachineCard {
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;  // absolute path, text
  std::vector<CardExpectation> expectations;
};

// The text of a card; a line that is none of the above fails the test that reads it.
MachineCard read_card(const std::string& name, const std::string& text);
void write_tree(const MachineCard& card, const std::string& folder);

// What the document lacks of the expectations, one line each; empty: it holds them all.
std::vector<std::string> unmet(const MachineCard& card, const std::string& probe_json);

}  // namespace ocrtune
