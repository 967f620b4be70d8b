// A plan's document: what stands on it, in both languages and every format.
#include "extras/capacity/reports/plan_document.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "extras/capacity/day_profile.h"
#include "extras/capacity/reports/plan_builder.h"
#include "extras/capacity/reports/plan_json.h"
#include "extras/capacity/reports/plan_words.h"
#include "extras/capacity/reports/plan_writers.h"
#include "reports/html/page_documents.h"
#include "trial/table_runner.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

FleetPlan fleet_of(const CapacityDemand& demand, RunWork work, const std::string& kept = "",
                   const std::optional<YearDemand>& year = std::nullopt) {
  const std::string csv =
      "# cores=16\nnproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n"
      "1,1,1,100,1000000,ok,0.02\n2,1,1,192,2000000,ok,0.02\n4,1,1,360,4000000,ok,0.02\n"
      "8,1,1,640,8000000,ok,0.02\n";
  NodeMeasurement node = measure_node(parse_table(csv, "t").value(), "t").value();
  node.work = work;
  node.slo = kept;
  node.request_seconds_known = work == RunWork::serves;
  node.machine = "16 CPUs | a <b>";
  node.started = "2026-11-20T07:40:08Z";
  FleetPlan fleet = plan_fleet({{"t", {node}, 2.0}}, demand, year).value();
  fleet.command_line = "ocrtune plan --rate 1500";
  fleet.date = "2026-11-22";
  return fleet;
}

CapacityDemand service() {
  CapacityDemand demand;
  demand.requests_per_second = 1500;
  demand.slo = LatencySlo{0.99, 0.08};
  return demand;
}

CapacityDemand training() {
  CapacityDemand demand;
  demand.samples = 5e6;
  demand.deadline_seconds = 4 * 3600;
  demand.interruptions.watched_seconds = 720000;
  demand.interruptions.seen = 3;
  demand.interruptions.counted = true;
  demand.interruptions.checkpoint_every_seconds = 600;
  demand.interruptions.restart_seconds = 300;
  return demand;
}

PlanDocument document_of(const CapacityDemand& demand, RunWork work,
                         const std::optional<YearDemand>& year = std::nullopt) {
  return plan_document(fleet_of(demand, work, "", year));
}

std::string query_of(const PlanDocument& document, const std::string& assumption) {
  for (const PlanWatch& watch : document.watches) {
    if (watch.assumption.english.find(assumption) != std::string::npos) return watch.query();
  }
  return "";
}

const PlanNumber* number_of(const PlanDocument& document, const std::string& item) {
  for (const PlanNumber& number : document.numbers) {
    if (number.item.english == item) return &number;
  }
  return nullptr;
}

TEST(PlanDocument, ARateThatWasMeasuredWithinTheTargetIsNotSimulated) {
  for (const std::string kept : {"", "p99=80ms"}) {
    const auto document = plan_document(fleet_of(service(), RunWork::recognises, kept));
    const PlanNumber* rate = number_of(document, "Rate within the latency target, 90 %");
    ASSERT_NE(rate, nullptr);
    EXPECT_EQ(rate->basis, kept.empty() ? "simulated" : "measured");
  }
}

TEST(PlanDocument, EveryNumberHasABasisASourceAndADate) {
  for (const PlanDocument& document :
       {document_of(service(), RunWork::recognises), document_of(training(), RunWork::trains)}) {
    EXPECT_GE(document.numbers.size(), 8U);
    for (const PlanNumber& number : document.numbers) {
      EXPECT_FALSE(number.value.english.empty()) << number.item.english;
      EXPECT_FALSE(number.source.english.empty()) << number.item.english;
      if (number.basis == "measured") {
        EXPECT_EQ(number.date, "2026-11-20") << number.item.english;
        EXPECT_EQ(number.source.english, "table t");
      }
      if (number.basis == "given" || number.basis == "simulated") {
        EXPECT_EQ(number.date, "2026-11-22");
      }
    }
    EXPECT_FALSE(document.assumptions.empty());
    EXPECT_FALSE(document.gaps.empty());
  }
}

// Every kind of plan, so that every sentence is met; a sentence that is in one language alone has
// no row in the table.
TEST(PlanDocument, ItsOwnWordsAreInBothLanguages) {
  CapacityDemand users = service(), pages = service(), day = service(), reading = training();
  users.users = 300;
  users.think_seconds = 0.2;
  pages.lines_per_page = {32};
  pages.slo->seconds = 2;
  day.daily_requests = 4e7;
  day.profile = profile_of_peak(*parse_peak("3x 9-11"), 4e7).value();
  day.requests_per_second = busiest_part(day.profile).requests_per_second;
  day.peak_time = "09:00";
  day.cost_per_hour = 2;
  users.pages_each = 30;
  reading.pages = true;
  CapacityDemand impossible = service(), large = service();
  impossible.slo->seconds = 1e-4;
  large.requests_per_second = 1e8;
  YearDemand year, zones;
  year.growth = 0.05;
  zones.zones = 2;
  std::vector<PlanDocument> documents = {
      document_of(service(), RunWork::recognises, year), document_of(training(), RunWork::trains),
      document_of(users, RunWork::serves, zones),        document_of(pages, RunWork::recognises),
      document_of(day, RunWork::recognises, year),       document_of(reading, RunWork::reads),
      document_of(impossible, RunWork::recognises),      document_of(large, RunWork::recognises)};
  for (const PlanDocument& document : documents) {
    for (const PlanNumber& number : document.numbers) {
      EXPECT_NE(number.item.english, number.item.chinese);
    }
    for (const PlanWatch& watch : document.watches) {
      EXPECT_NE(watch.assumption.english, watch.assumption.chinese);
    }
    for (const auto* list :
         {&document.answer, &document.gaps, &document.next, &document.assumptions}) {
      for (const Bilingual& text : *list) EXPECT_NE(text.english, text.chinese) << text.english;
    }
    for (const PlanTable& table : document.tables) {
      for (const std::string& heading : table.headings) {
        const std::string words = heading.substr(heading.starts_with('#') ? 1 : 0);
        const Bilingual both = phrase(words);
        if (!words.empty() && words != "N + k") {
          EXPECT_NE(both.english, both.chinese);
        }
      }
    }
    const std::string chinese = plan_markdown(document, Language::chinese);
    for (const char* word : {"Owner", "measured", "Signature", "You need", "Buy", "machines",
                             "enough", " with ", "spare", "request", "latency"}) {
      std::string own = chinese.substr(0, chinese.find("## 生产环境"));
      EXPECT_THAT(own, Not(HasSubstr(word)));
    }
  }
}

TEST(PlanDocument, TheFirstSentenceAnswersAllThatWasAsked) {
  CapacityDemand demand = service();
  demand.daily_requests = 4.32e7;
  demand.peak_factor = 3;
  YearDemand year;
  year.growth = 0.05;
  FleetPlan fleet = fleet_of(demand, RunWork::recognises, "", year);
  const FleetSize &now = fleet.year->rows.front().fleet, &last = fleet.year->rows.back().fleet;
  const auto text = [](int count) { return std::to_string(count); };
  EXPECT_THAT(plan_answer(fleet).front().english,
              testing::StartsWith("Buy " + text(now.bought) + " machines of this kind now; " +
                                  text(last.bought) + " last 12 months (" + text(last.machines) +
                                  " + " + text(last.spares) + " spare"));
  EXPECT_THAT(plan_answer(fleet).front().english, HasSubstr("43,200,000 a day at 3 times"));
  EXPECT_THAT(plan_answer(fleet).front().english, HasSubstr("(95 % sure)"))
      << "what fewer than the needed machines do says nothing of those bought";
  EXPECT_EQ(plan_answer(fleet).back().english, "Cost: " + text(2 * now.bought) +
                                                   ".00 an hour now, " + text(2 * last.bought) +
                                                   ".00 in 12 months.");
  fleet.kinds.front().plan.node.inconclusive = true;
  EXPECT_THAT(plan_answer(fleet).front().english, HasSubstr(", from an inconclusive run"));
  fleet.kinds.front().plan.node.proof = SloProof::unproved;
  EXPECT_THAT(plan_answer(fleet).front().english, Not(HasSubstr("95 %")));
  year.zones = 2;
  EXPECT_THAT(plan_answer(fleet_of(demand, RunWork::recognises, "", year)).front().english,
              HasSubstr("in each of 2 zones"));
  demand.lines_per_page = {40};
  demand.slo->seconds = 2;
  EXPECT_THAT(plan_answer(fleet_of(demand, RunWork::recognises)).front().english,
              HasSubstr(", for recognition alone"));
}

// The largest part first, and so many that the last line ends at half of the first or below.
TEST(PlanDocument, TheNextMeasurementsHalveTheInterval) {
  const PlanDocument document = document_of(service(), RunWork::recognises);
  ASSERT_EQ(document.next.size(), 2U);
  EXPECT_THAT(document.next[0].english, HasSubstr("machines and days: "));
  EXPECT_THAT(document.next[1].english, HasSubstr("the measured rate: tune with"));
  const auto number_behind = [](const std::string& text, const std::string& word) {
    return std::stod(text.substr(text.find(word) + word.size()));
  };
  const double from = number_behind(document.next[0].english, "each: ±");
  EXPECT_LE(number_behind(document.next[1].english, "becomes ±"), 0.51 * from);
}

TEST(PlanDocument, ANumberKnowsWhetherItWasGiven) {
  YearDemand year;
  year.growth = 0.03;
  const PlanDocument document = document_of(service(), RunWork::recognises, year);
  EXPECT_EQ(number_of(document, "Growth a month")->basis, "given");
  EXPECT_EQ(number_of(document, "Warm-up of a machine")->basis, "assumed");
  EXPECT_EQ(number_of(document, "Warm-up of a machine")->source.english,
            "the default of --warm-up");
  EXPECT_EQ(number_of(document, "Load balancer")->basis, "assumed");
  CapacityDemand turns = service();
  turns.balancer = Balancer::turns;
  EXPECT_EQ(number_of(document_of(turns, RunWork::recognises), "Load balancer")->basis, "given");
  CapacityDemand even = service();
  even.daily_requests = 1500.0 * 86400;
  const PlanDocument day = document_of(even, RunWork::recognises);
  EXPECT_EQ(number_of(day, "Load of a day")->value.english, "129,600,000");
  EXPECT_EQ(number_of(day, "Peak over the day's mean")->basis, "assumed");
  EXPECT_THAT(day.answer.front().english, HasSubstr("(129,600,000 a day, taken as even)"));
  even.peak_factor = 3.0;
  EXPECT_EQ(number_of(document_of(even, RunWork::recognises), "Peak over the day's mean")->basis,
            "given");
}

TEST(PlanDocument, AlertsHoldThePlansOwnNumbers) {
  const PlanDocument load = document_of(service(), RunWork::recognises);
  EXPECT_EQ(query_of(load, "at most the peak"), "sum(rate(http_requests_total[1m])) > 1500");
  EXPECT_EQ(query_of(load, "the latency target is met"),
            "histogram_quantile(0.99, sum by (le) "
            "(rate(http_request_duration_seconds_bucket[5m]))) > 0.08");
  const PlanDocument job = document_of(training(), RunWork::trains);
  EXPECT_THAT(query_of(job, "the job goes on"),
              "time() - ocrtune_run_last_progress_timestamp_seconds > 900");
  EXPECT_THAT(query_of(job, "interruptions are no more frequent"),
              HasSubstr("increase(ocrtune_run_restarts_total[1d]) > "));
  EXPECT_EQ(query_of(job, "memory stays as measured"), "ocrtune_run_memory_bytes > 8800000");
}

TEST(PlanDocument, IsEscapedInEachFormat) {
  const PlanDocument document = document_of(service(), RunWork::recognises);
  EXPECT_THAT(plan_page(document), HasSubstr("16 CPUs | a &lt;b&gt;"));
  EXPECT_THAT(plan_page(document), HasSubstr("<section id=\"signatures\""));
  EXPECT_THAT(plan_markdown(document, Language::english), HasSubstr("16 CPUs \\| a <b>"));
  EXPECT_THAT(csv_text(plan_sheet_table(document)),
              HasSubstr("\nnumber,Machine,16 CPUs | a <b>,measured,table t,2026-11-20,\n"));
}

// One machine fewer keeps the target at the measured rate, and by that alone.
TEST(PlanDocument, SaysHowSurelyOneFewerIsEnough) {
  FleetPlan fleet = fleet_of(service(), RunWork::recognises);
  CapacityPlan& plan = fleet.kinds.front().plan;
  ASSERT_GE(plan.machines.median, 2);
  for (CapacityRow& row : plan.rows) {
    if (row.machines != plan.machines.median - 1) continue;
    row.latency_seconds = 0.07;  // 0.08 s are allowed
    row.probability = 0.4;
  }
  const std::string text = plan_answer(fleet)[1].english;
  EXPECT_THAT(text, HasSubstr("enough with 40 % probability only"));
  EXPECT_THAT(text, Not(HasSubstr("not enough")));
}

TEST(PlanDocument, WithoutADeadlineNothingHolds) {
  CapacityDemand demand;
  demand.pages = true;
  demand.samples = 2.304e6;  // an hour of 640/s
  const PlanDocument document = document_of(demand, RunWork::reads);
  EXPECT_THAT(document.answer.front().english, HasSubstr(" needs about 1 h 0"));
  EXPECT_THAT(document.answer.front().english, HasSubstr(") to read 2,304,000 pages"));
  EXPECT_EQ(number_of(document, "Deadline"), nullptr);
  EXPECT_EQ(number_of(document, "Machines, 95 % sure"), nullptr);
  EXPECT_EQ(document.tables.front().headings.size(), 4u);  // with the cost
}

TEST(PlanDocument, AJobWithoutEndIsSaidInYears) {
  CapacityDemand demand;
  demand.samples = 1e15;
  const PlanDocument document = document_of(demand, RunWork::reads);
  EXPECT_THAT(document.answer.front().english, HasSubstr(" needs more than 1000 years to "));
  EXPECT_THAT(document.answer.front().chinese, HasSubstr("一千年以上"));
}

// What a run's page shows of a plan is what the plan's own page shows, in both languages.
TEST(PlanDocument, IsReadBackFromItsJson) {
  YearDemand year;
  year.growth = 0.05;
  const FleetPlan fleet = fleet_of(service(), RunWork::recognises, "", year);
  PageDocuments pages;
  ASSERT_TRUE(add_document(plan_json(fleet), pages).ok());
  EXPECT_EQ(pages.extras, plan_section(plan_document(fleet)));
  const auto json = nlohmann::json::parse(plan_json(fleet))["document"];
  const PlanDocument document = plan_document(fleet);
  ASSERT_EQ(json["numbers"].size(), document.numbers.size());
  EXPECT_EQ(json["numbers"][0]["basis"], document.numbers[0].basis);
  EXPECT_EQ(json["watches"].back()["query"], document.watches.back().query());
  // Strange documents are shown as far as they go.
  for (const char* odd :
       {R"({"rows": [], "valid_range": {}})", R"({"rows": [], "valid_range": {}, "document": 3})",
        R"({"rows": [], "valid_range": {}, "document": {"answer": [["a"], 4],
                              "tables": [7, {"title": 3, "headings": ["a", "b"], "rows": [[], 1,
                              [["x", "y"], ["<b>", "c"], ["d", "e"]]]}], "badges": [1]}})"}) {
    PageDocuments found;
    ASSERT_TRUE(add_document(odd, found).ok());
    EXPECT_THAT(found.extras, Not(HasSubstr("<b>")));
  }
}

constexpr const char* kPlan = R"({"rows": [], "valid_range": {}, "document": {
 "answer": [["Buy 5.", "购买 5 台。"], ["4 are not enough.", "4 台不够。"]], "badges": ["EXTRAPOLATED"],
 "tables": [{"title": "Kinds of machine", "headings": ["Kind", "#Machines"],
             "rows": [[["gpu <i>", "gpu <i>"], ["2", "2"]]]}],
 "assumptions": [["<b>n</b>", "<b>n</b>"]]}})";

TEST(PlanDocument, IsASectionInBothLanguages) {
  PageDocuments found;
  ASSERT_TRUE(add_document(kPlan, found).ok());
  for (const char* part : {"EXTRAPOLATED", "Buy 5.", "购买 5 台。", "4 台不够。", "机型",
                           "gpu &lt;i&gt;", "&lt;b&gt;n", "假设"}) {
    EXPECT_THAT(found.extras, HasSubstr(part));
  }
}

TEST(PlanDocument, ConsoleFitsItsWidth) {
  const std::string text =
      plan_console(document_of(service(), RunWork::recognises), 72, Language::english);
  EXPECT_THAT(text,
              testing::StartsWith("You need 3 machines of this kind for 1,500 line images/s"));
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 74U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(PlanDocument, ConsoleIsInChineseToo) {
  const std::string text =
      plan_console(document_of(service(), RunWork::serves), 72, Language::chinese);
  for (const char* english : {"You need", "Machines", "enough", "Assumed", "From", "Rate of"}) {
    EXPECT_THAT(text, Not(HasSubstr(english)));
  }
  EXPECT_THAT(text, HasSubstr("假定："));
}

TEST(PlanObjects, HoldTheRulesNumbers) {
  CapacityDemand day = service();
  day.daily_requests = 2e6;
  day.profile = profile_of_peak(*parse_peak("3x 9-11"), 2e6).value();
  day.requests_per_second = busiest_part(day.profile).requests_per_second;
  FleetPlan fleet = fleet_of(day, RunWork::recognises);
  ASSERT_TRUE(fleet.autoscale.has_value());
  EXPECT_THAT(hpa_yaml(fleet), HasSubstr("    name: <name>\n")) << "a table has no Deployment";
  fleet.kinds.front().plan.node.run = "2026-11-26-7FD54";
  for (const std::string& object : {hpa_yaml(fleet), keda_yaml(fleet)}) {
    EXPECT_THAT(object, HasSubstr("metadata:\n  name: \"ocrtune-2026-11-26-7fd54\"\n"));
    EXPECT_THAT(object, HasSubstr("    name: \"ocrtune-2026-11-26-7fd54\"\n"));
  }
  const std::string least = std::to_string(fleet.autoscale->min_replicas);
  const std::string most = std::to_string(fleet.autoscale->max_replicas);
  EXPECT_THAT(hpa_yaml(fleet), HasSubstr("minReplicas: " + least + "\n  maxReplicas: " + most));
  EXPECT_THAT(keda_yaml(fleet),
              HasSubstr("minReplicaCount: " + least + "\n  maxReplicaCount: " + most));
  EXPECT_THAT(keda_yaml(fleet), HasSubstr("{job=\"ocr\"}"));
  // All that are missing may come at once, as was simulated.
  EXPECT_THAT(hpa_yaml(fleet), HasSubstr("      policies:\n        - {type: Pods, value: " + most));
  EXPECT_THAT(keda_yaml(fleet),
              HasSubstr("- {type: Pods, value: " + most + ", periodSeconds: 15}"));
  EXPECT_THAT(query_of(plan_document(fleet), "enough machines are up"),
              testing::EndsWith(" < " + least))
      << "by night the rule has its floor";
}

TEST(PlanTables, EveryColumnAndKeyIsDocumented) {
  const auto schema = read_file(std::string(OCRTUNE_SOURCE_DIR) + "/docs/schema.md");
  ASSERT_TRUE(schema.ok());
  YearDemand year;
  FleetPlan fleet = fleet_of(service(), RunWork::recognises, "", year);
  fleet.kinds.push_back(fleet.kinds.front());
  const auto check = [&](const char* heading, const Table& table) {
    const std::string section = schema->substr(schema->find(heading));
    for (const std::string& column : table.columns()) {
      EXPECT_THAT(section, HasSubstr("| `" + column + "` |")) << heading;
    }
  };
  check("## sheet.csv", plan_sheet_table(plan_document(fleet)));
  check("## capacity.csv", capacity_table(fleet.plan()));
  check("## year.csv", year_table(*fleet.year));
  check("## kinds.csv", kinds_table(fleet));
  const std::string keys = schema->substr(schema->find("## plan --json"));
  const auto json = nlohmann::json::parse(plan_json(fleet));
  for (const auto& [key, value] : json.items()) EXPECT_THAT(keys, HasSubstr("| `" + key + "` |"));
}

// Without an end in sight a number is empty in CSV and null in JSON.
TEST(PlanTables, InfiniteNumbersAreUnknown) {
  FleetPlan fleet = fleet_of(service(), RunWork::recognises);
  CapacityPlan& plan = fleet.kinds.front().plan;
  plan.rows.front().latency_seconds = HUGE_VAL;
  EXPECT_EQ(cell_text(capacity_table(plan).at(0, "latency_seconds")), "");
  const auto json = nlohmann::json::parse(plan_json(fleet));
  EXPECT_TRUE(json["rows"][0]["latency_seconds"].is_null());
}

}  // namespace
}  // namespace ocrtune
