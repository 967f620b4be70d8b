// Phrases of hosts_page.cpp; those that other pages have too stand in reports/catalogue.
#include "extras/hosts/reports/hosts_table.h"

namespace ocrtune {

const std::vector<Phrase>& hosts_table() {
  static const std::vector<Phrase> kTable = {
      {"Links between hosts", "主机间链路"},
      {"lines/s of the same step", "同一计算步的速度（行/秒）"},
      {"What was found", "发现的问题"},
  };
  return kTable;
}

}  // namespace ocrtune
