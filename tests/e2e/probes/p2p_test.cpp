// Verdicts by table: machines that people have reported, and every way a rung can end.
#include "probes/p2p/p2p.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/p2p/p2p_causes.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr P2pStep kPassed{StepResult::passed, 1, 1, ""};
constexpr P2pStep kNotRun{};

P2pStep fails(StepResult how, const std::string& detail = "") { return {how, 0, 1, detail}; }

P2pPairFacts pair_of(int from, int to, const std::string& level, Tri allowed, P2pStep step) {
  P2pPairFacts pair;
  pair.from = from;
  pair.to = to;
  pair.level = level;
  pair.nvlink = level == "NVL";
  pair.driver_read = pair.driver_write = pair.can_access_peer = allowed;
  pair.copy = pair.handshake = pair.nccl = allowed == Tri::yes ? step : kNotRun;
  return pair;
}

// All ordered pairs of `gpus` alike.
P2pFacts box(int gpus, const std::string& level, Tri allowed, P2pStep step = kPassed) {
  P2pFacts facts;
  facts.gpus = gpus;
  facts.control = kPassed;
  facts.driver_version = "570.86";
  facts.nccl_version = "2.28.9";
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from != to) facts.pairs.push_back(pair_of(from, to, level, allowed, step));
    }
  }
  return facts;
}

std::string environment_text(const P2pVerdict& verdict) {
  std::string text;
  for (const auto& [name, value] : verdict.env)
    text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

struct Case {
  const char* name;
  P2pFacts facts;
  P2pClass verdict;
  const char* env;
  const char* confidence;
};

P2pFacts with(P2pFacts facts, const std::function<void(P2pFacts&)>& change) {
  change(facts);
  return facts;
}

std::vector<Case> cases() {
  const P2pStep hung = fails(StepResult::hung, "no answer within 2 s");
  const P2pStep wrong = fails(StepResult::wrong_data, "zeros");
  const P2pStep flaky{StepResult::wrong_data, 7, 10, ""};
  return {
      {"no GPU", box(0, "", Tri::unknown), P2pClass::not_applicable, "", "high"},
      {"one GPU", box(1, "", Tri::unknown), P2pClass::not_applicable, "", "high"},
      {"8 x H100, NVSwitch", box(8, "NVL", Tri::yes), P2pClass::ok, "", "high"},
      {"2 x 4090, honest driver", box(2, "PHB", Tri::no), P2pClass::unsupported, "", "high"},
      {"2 x 4090, old driver: handshake hangs",
       with(box(2, "PHB", Tri::yes),
            [&](P2pFacts& f) {
              for (auto& p : f.pairs) {
                p.handshake = hung;
                p.nccl = kNotRun;
              }
            }),
       P2pClass::broken, "NCCL_P2P_DISABLE=1", "medium"},
      {"copies pass, collectives hang",
       with(box(2, "PHB", Tri::yes),
            [&](P2pFacts& f) {
              for (auto& p : f.pairs) p.nccl = hung;
            }),
       P2pClass::broken, "NCCL_P2P_DISABLE=1", "high"},
      {"patched driver: wrong data", box(2, "PHB", Tri::yes, wrong), P2pClass::broken,
       "NCCL_P2P_DISABLE=1", "high"},
      {"7 of 10 pass", box(2, "PIX", Tri::yes, flaky), P2pClass::flaky, "NCCL_P2P_DISABLE=1",
       "low"},
      {"4 x A40: fails across sockets",
       with(box(4, "PIX", Tri::yes),
            [&](P2pFacts& f) {
              for (auto& p : f.pairs) {
                if (p.from / 2 == p.to / 2) continue;
                p.level = "SYS";
                p.copy = wrong;
              }
            }),
       P2pClass::partial, "NCCL_P2P_LEVEL=PIX", "high"},
      {"fails near, works far: no level helps",
       with(box(4, "SYS", Tri::yes),
            [&](P2pFacts& f) {
              f.pairs[0].level = "PIX";
              f.pairs[0].copy = wrong;
            }),
       P2pClass::broken, "NCCL_P2P_DISABLE=1", "high"},
      {"4 x 3090 with one bridge",
       with(box(4, "PHB", Tri::no),
            [&](P2pFacts& f) {
              for (auto& p : f.pairs) {
                if (p.from / 2 == 0 && p.to / 2 == 0)
                  p = pair_of(p.from, p.to, "NVL", Tri::yes, kPassed);
              }
            }),
       P2pClass::ok, "", "high"},
      {"P2P slower than shared memory",
       with(box(2, "PHB", Tri::yes),
            [](P2pFacts& f) {
              for (auto& p : f.pairs) {
                p.p2p_bytes_per_second = 9.9e9;
                p.shm_bytes_per_second = 22e9;
              }
            }),
       P2pClass::slow, "NCCL_P2P_DISABLE=1", "high"},
      {"P2P a little slower",
       with(box(2, "PHB", Tri::yes),
            [](P2pFacts& f) {
              for (auto& p : f.pairs) {
                p.p2p_bytes_per_second = 9.6e9;
                p.shm_bytes_per_second = 10e9;
              }
            }),
       P2pClass::ok, "", "high"},
      {"NVLink that the driver refuses", box(2, "NVL", Tri::no), P2pClass::nvlink_fault, "",
       "high"},
      {"shared memory full",
       with(box(2, "PHB", Tri::yes, kNotRun),
            [&](P2pFacts& f) {
              f.control = fails(StepResult::crashed, "failed to extend /dev/shm");
              f.control_without_shm = kPassed;
              f.shm_bytes = 64 << 20;
            }),
       P2pClass::shm_broken, "NCCL_SHM_DISABLE=1 NCCL_P2P_DISABLE=1", "medium"},
      {"cuMem host buffers fail",
       with(box(2, "PHB", Tri::no),
            [&](P2pFacts& f) {
              f.control = hung;
              f.control_without_shm = kPassed;
              f.control_without_cumem_host = kPassed;
            }),
       P2pClass::shm_broken, "NCCL_CUMEM_HOST_ENABLE=0", "high"},
      {"everything fails",
       with(box(2, "PHB", Tri::yes, hung),
            [&](P2pFacts& f) {
              f.control = f.control_without_shm = f.control_without_cumem_host = hung;
            }),
       P2pClass::inconclusive, "", "low"},
      {"nothing run, driver says yes",
       with(box(2, "PHB", Tri::yes, kNotRun), [](P2pFacts& f) { f.control = kNotRun; }),
       P2pClass::inconclusive, "", "low"},
      {"nothing run, driver says no",
       with(box(2, "PHB", Tri::no), [](P2pFacts& f) { f.control = kNotRun; }),
       P2pClass::unsupported, "", "low"},
      {"copies alone pass",
       with(box(2, "PHB", Tri::yes),
            [](P2pFacts& f) {
              for (auto& p : f.pairs) p.handshake = p.nccl = kNotRun;
            }),
       P2pClass::inconclusive, "", "low"},
      {"driver unknown", with(box(2, "PHB", Tri::unknown), [](P2pFacts&) {}),
       P2pClass::inconclusive, "", "low"},
      {"soak fails", with(box(2, "PHB", Tri::yes), [&](P2pFacts& f) { f.soak = hung; }),
       P2pClass::flaky, "NCCL_P2P_DISABLE=1", "low"},
      {"wedged", with(box(2, "PHB", Tri::yes, hung), [](P2pFacts& f) { f.wedged = true; }),
       P2pClass::gpu_wedged, "", "high"},
      {"killed for want of memory, links fine",
       with(box(2, "PHB", Tri::no), [](P2pFacts& f) { f.oom_kill = Tri::yes; }),
       P2pClass::oom_suspected, "", "high"},
      {"killed for want of memory, links broken too",
       with(box(2, "PHB", Tri::yes, wrong), [](P2pFacts& f) { f.oom_kill = Tri::yes; }),
       P2pClass::broken, "NCCL_P2P_DISABLE=1", "high"},
  };
}

TEST(P2p, Verdicts) {
  for (const Case& given : cases()) {
    const P2pVerdict verdict = judge_p2p(given.facts);
    EXPECT_EQ(p2p_class_name(verdict.verdict), p2p_class_name(given.verdict)) << given.name;
    EXPECT_EQ(environment_text(verdict), given.env) << given.name;
    EXPECT_EQ(verdict.confidence, given.confidence) << given.name;
    EXPECT_FALSE(verdict.sentence.empty()) << given.name;
    EXPECT_EQ(verdict.pairs.size(), given.facts.pairs.size()) << given.name;
  }
}

TEST(P2p, NeverOkUnlessEveryRungRanOnEveryUsablePair) {
  P2pStep P2pPairFacts::*const rungs[] = {&P2pPairFacts::copy, &P2pPairFacts::handshake,
                                          &P2pPairFacts::nccl};
  for (auto rung : rungs) {
    for (const P2pStep& step : {kNotRun, fails(StepResult::hung), fails(StepResult::wrong_data),
                                fails(StepResult::crashed)}) {
      for (std::size_t pair = 0; pair < 6; ++pair) {
        P2pFacts facts = box(3, "PHB", Tri::yes);
        facts.pairs[pair].*rung = step;
        EXPECT_NE(judge_p2p(facts).verdict, P2pClass::ok);
      }
    }
  }
}

TEST(P2p, APassNeverOverridesTheDriversNo) {
  P2pFacts facts = box(2, "PHB", Tri::yes);
  for (auto& pair : facts.pairs)
    pair.driver_write = Tri::no;  // copies "passed", staged by the host
  EXPECT_EQ(judge_p2p(facts).verdict, P2pClass::unsupported);
}

TEST(P2p, EvidenceSaysWhatHappenedAndWhatDidNot) {
  P2pFacts facts = box(2, "PHB", Tri::yes);
  facts.pairs[0].handshake = fails(StepResult::hung, "no answer within 2 s");
  facts.pairs[0].nccl = kNotRun;
  const P2pVerdict verdict = judge_p2p(facts);
  EXPECT_THAT(verdict.pairs[0].evidence, Contains(HasSubstr("hung: no answer within 2 s")));
  EXPECT_THAT(verdict.pairs[0].not_checked, Contains("NCCL with P2P on"));
  EXPECT_EQ(verdict.pairs[1].verdict, P2pClass::ok);
  EXPECT_THAT(verdict.not_checked, Contains("NCCL with P2P on"));
  EXPECT_THAT(verdict.not_checked, Contains(HasSubstr("soak")));
  EXPECT_THAT(verdict.not_checked, Contains(HasSubstr("ACS")));
  EXPECT_THAT(verdict.evidence, Contains("NCCL with P2P off passed"));
}

TEST(P2p, CausesFollowTheFacts) {
  P2pFacts facts = box(2, "PHB", Tri::yes, fails(StepResult::wrong_data));
  EXPECT_THAT(judge_p2p(facts).hints, Not(Contains(HasSubstr("IOMMU"))));
  facts.iommu_translates = facts.acs_redirects = facts.virtual_machine = Tri::yes;
  facts.driver_version = "565.57.01-p2p";
  const auto hints = judge_p2p(facts).hints;
  for (const char* word : {"iommu=pt", "ACS", "patched", "virtual machine"}) {
    EXPECT_THAT(hints, Contains(HasSubstr(word)));
  }
  facts.gpu_names = {"NVIDIA GeForce RTX 4090"};
  facts.driver_version = "525.60.13";
  EXPECT_THAT(judge_p2p(facts).hints, Contains(HasSubstr("525.105.17 or newer")));
  facts.driver_version = "550.54.14";
  EXPECT_THAT(judge_p2p(facts).hints, Not(Contains(HasSubstr("525.105.17"))));
}

TEST(P2p, StaleSettingsAndOldNcclAreNamed) {
  P2pFacts good = box(2, "NVL", Tri::yes);
  good.nccl_settings = {{"NCCL_P2P_DISABLE", "1"}};
  good.nccl_files = {{"NCCL_P2P_DISABLE", "/etc/nccl.conf"}};
  EXPECT_THAT(judge_p2p(good).hints, Contains(HasSubstr("NCCL_P2P_DISABLE is set already")));
  EXPECT_THAT(judge_p2p(good).evidence,
              Contains("NCCL is set up already: NCCL_P2P_DISABLE=1 (/etc/nccl.conf)"));
  P2pFacts none = box(2, "PHB", Tri::no);
  none.nccl_version = "2.26.2";
  none.cuda_driver_version = 12080;
  EXPECT_THAT(judge_p2p(none).hints, Contains(HasSubstr("NCCL_CUMEM_HOST_ENABLE=0")));
  none.cuda_driver_version = 13000;
  EXPECT_THAT(judge_p2p(none).hints, IsEmpty());
}

TEST(P2p, ARecommendationNeedsProofFromTheLog) {
  const std::string shm = "n:1:2 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n";
  const std::string p2p = "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
  const std::string net = "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via NET/Socket/0\n";
  const std::string off = "n:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n";
  const std::string no_shm = "n:1:2 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1.\n";
  const std::vector<std::pair<std::string, std::string>> disable = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_TRUE(proves_environment(disable, parse_nccl_log(off + shm)));
  EXPECT_FALSE(proves_environment(disable, parse_nccl_log(off + shm + p2p)));
  EXPECT_FALSE(proves_environment(disable, parse_nccl_log(shm)));  // never taken over
  EXPECT_FALSE(proves_environment(disable, parse_nccl_log(off)));  // no transport named
  EXPECT_TRUE(proves_environment({{"NCCL_SHM_DISABLE", "1"}}, parse_nccl_log(no_shm + net)));
  EXPECT_FALSE(proves_environment({{"NCCL_SHM_DISABLE", "1"}}, parse_nccl_log(no_shm + shm)));
  const std::string level = "n:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to PXB\n";
  EXPECT_TRUE(proves_environment({{"NCCL_P2P_LEVEL", "PXB"}}, parse_nccl_log(level + p2p)));
  EXPECT_FALSE(
      proves_environment({{"NCCL_P2P_LEVEL", "PXB"}}, parse_nccl_log(level + p2p), {{0, 1}}));
}

TEST(P2p, VersionsCompareByPart) {
  EXPECT_TRUE(older_version("525.60.13", "525.105.17"));
  EXPECT_FALSE(older_version("525.105.17", "525.105.17"));
  EXPECT_TRUE(older_version("2.9.9", "2.24"));
  EXPECT_FALSE(older_version("565.57.01-p2p", "565.57"));
}

}  // namespace
}  // namespace ocrtune
