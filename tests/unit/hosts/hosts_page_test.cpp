// The page's section on a survey of hosts.
#include "extras/hosts/reports/hosts_page.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/html/page_documents.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HostsPage, ASurveyIsASectionBesideARun) {
  PageDocuments found;
  const Status added = add_document(R"({"speeds": [{"host": "a", "lines_per_second": 11.3},
      {"host": "<b>", "lines_per_second": 29.4}],
    "links": [{"from": "a", "to": "<b>", "network": "10.0.0.0/24", "latency_seconds": 2e-5,
               "bytes_per_second": 12.5e6, "error": ""},
              {"from": "<b>", "to": "a", "network": "10.0.0.0/24", "error": "refused"}],
    "findings": [{"host": "<b>", "kind": "slow_link", "text": "sends at most 96 Mbit/s"}],
    "lost": [{"host": "c", "reason": "no route"}],
    "recommended_network": {"env": {"a": {"NCCL_SOCKET_IFNAME": "eth0", "bad name;": "x"}}}})",
                                    found);
  ASSERT_TRUE(added.ok());
  for (const char* part :
       {"主机间链路", "100 Mbit/s", "20 µs, 10.0.0.0/24", "refused", "&lt;b&gt;",
        "sends at most 96 Mbit/s", "no route", "export NCCL_SOCKET_IFNAME=eth0"}) {
    EXPECT_THAT(found.extras, HasSubstr(part));
  }
  EXPECT_THAT(found.extras, Not(HasSubstr("bad name")));
}

}  // namespace
}  // namespace ocrtune
