#include <string>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "tests/support/answered.h"
#include "tests/support/ran.h"
#include "tests/support/sample_runs.h"
#include "tests/support/schema_text.h"
#include "tuner/session/session.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

// Broken lines as one.
std::string in_one_line(const std::string& text) { return join(words(text), " "); }

class PlanCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temporary_directory("plan").value();
    table_ = join_path(folder_, "t.csv");
    ASSERT_TRUE(write_file(table_,
                           "# cores=16 memory_bytes=68719476736\n"
                           "nproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n"
                           "1,1,1,100,1,ok,0.02\n2,1,1,192,1,ok,0.02\n4,1,1,360,1,ok,0.02\n"
                           "8,1,1,640,1,ok,0.02\n16,1,1,1010,1,ok,0.02\n32,1,1,0,1,crashed,0\n")
                    .ok());
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }

  std::pair<int, std::string> run(const std::string& arguments) {
    Ran ran = run_line(OCRTUNE_BINARY + " plan " + arguments + " 2>&1");
    return {ran.code, std::move(ran.out)};
  }

  std::string folder_, table_;
};

TEST_F(PlanCommand, ARunIsNoFileOfItsName) {
  const auto [code, output] =
      run("--rate 10 --run " + table_ + " --db " + folder_ + "/none.sqlite");
  EXPECT_EQ(code, 3);
  EXPECT_THAT(output, HasSubstr("no run is stored in"));
}

TEST_F(PlanCommand, AReadingRunIsPlannedFrom) {
  const std::string db = " --db " + join_path(folder_, "runs.sqlite");
  const Ran tuned = run_line(OCRTUNE_BINARY +
                             " tune --mode infer --width 64 --nproc 1,2 --threads 1 --batch 4 "
                             "--precision fp32 --binding none --trial-time 200ms --budget 5s" +
                             db + " 2>&1");
  ASSERT_TRUE(answered(tuned.code, tuned.out)) << tuned.out;
  const auto [code, plan] = run("--rate 100/h --json" + db);
  EXPECT_EQ(code, 0) << plan;
  EXPECT_EQ(nlohmann::json::parse(plan, nullptr, false)["machines"]["median"], 1);
  const auto [job_code, job] = run("--samples 1000 --deadline 1h" + db);
  EXPECT_EQ(job_code, 0);
  EXPECT_THAT(job, HasSubstr("1 machine of this kind to read 1,000 line images within 1 h"));
}

TEST_F(PlanCommand, AnswersARecordedLoad) {
  // 20 quiet minutes at 500/s and a minute at 1,500/s.
  const std::string trace = join_path(folder_, "trace.txt");
  std::string lines;
  for (int i = 0; i < 600 * 20; ++i) lines += std::to_string(0.1 * i) + "\n";
  for (int i = 0; i < 1500 * 60; ++i) lines += std::to_string(1200 + i / 1500.0) + "\n";
  ASSERT_TRUE(write_file(trace, lines).ok());
  const std::string out_folder = join_path(folder_, "out");
  const auto [code, out] =
      run("--table " + table_ + " --trace " + trace + " --slo p99=80ms --out " + out_folder);
  EXPECT_EQ(code, 0) << out;
  EXPECT_THAT(in_one_line(out), HasSubstr("2 machines of this kind"));
  EXPECT_THAT(in_one_line(out),
              HasSubstr("1,500 line images/s (the busiest minute of the trace, 20 min"));
  EXPECT_THAT(in_one_line(out), HasSubstr("1 machine is not enough"));
  const auto json = read_file(join_path(out_folder, "capacity.json"));
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(nlohmann::json::parse(*json)["machines"]["median"], 2);
  EXPECT_TRUE(path_exists(join_path(out_folder, "capacity.csv")));
  ASSERT_TRUE(write_file(trace, "1\n1\n").ok());
  EXPECT_EQ(run("--table " + table_ + " --trace " + trace).first, 3);
  EXPECT_EQ(run("--table " + table_ + " --rate 3 --trace " + trace).first, 2);
}

TEST_F(PlanCommand, SaysAtWhichTimeOfDayTheSloIsViolated) {
  const std::string day = join_path(folder_, "day.txt");
  ASSERT_TRUE(write_file(day, "00:00 20\n08:00 1300\n14:00 2500\n16:00 1300\n20:00 20\n").ok());
  auto [code, out] = run("--table " + table_ + " --slo p99=80ms --profile " + day);
  EXPECT_EQ(code, 0) << out;
  EXPECT_THAT(in_one_line(out), HasSubstr("3 machines of this kind"));
  EXPECT_THAT(in_one_line(out),
              HasSubstr("2 machines are not enough at the 14:00 peak (14:00 to 16:00)"));
  std::tie(code, out) = run("--table " + table_ + " --profile " + day + " --daily 5e6 --json");
  EXPECT_EQ(code, 0) << out;
  const auto json = nlohmann::json::parse(out);
  EXPECT_EQ(json["demand"]["peak_time"], "14:00");
  EXPECT_NEAR(json["demand"]["daily_requests"].get<double>(), 5e6, 1);
  EXPECT_THAT(run("--table " + table_ + " --rate 5 --profile " + day).second, HasSubstr("one of"));
  // A recorded load whose times are Unix times: one minute at 1,500/s from 14:00 on.
  const std::string trace = join_path(folder_, "unix.txt");
  std::string lines;
  for (int i = 0; i < 600; ++i) lines += std::to_string(1763733000 + i) + "\n";
  for (int i = 0; i < 1500 * 60; ++i) lines += std::to_string(1763733600 + i / 1500.0) + "\n";
  ASSERT_TRUE(write_file(trace, lines).ok());
  std::tie(code, out) = run("--table " + table_ + " --trace " + trace + " --slo p99=80ms");
  EXPECT_THAT(in_one_line(out), HasSubstr("1 machine is not enough at the "));
  EXPECT_THAT(in_one_line(out), HasSubstr(":00 peak"));  // in whole hours of any time zone
}

TEST_F(PlanCommand, AnswersInWordsAndWritesCsv) {
  const auto [code, out] = run("--table " + table_ + " --rate 150000/min --slo p99=80ms --csv " +
                               join_path(folder_, "out") + " --cost-per-hour 1.5");
  EXPECT_EQ(code, 0) << out;
  const std::string line = in_one_line(out);
  EXPECT_THAT(line,
              HasSubstr("3 machines of this kind for 2,500 line images/s with p99 under 80 ms"));
  EXPECT_THAT(line, HasSubstr("2 machines are not enough"));
  EXPECT_THAT(line, HasSubstr("Cost: 4.50 an hour, 6.00 with the spare one"));
  const auto csv = read_file(join_path(folder_, "out/capacity.csv"));
  ASSERT_TRUE(csv.ok());
  EXPECT_THAT(*csv, testing::StartsWith("machines,samples_per_second,"));
  EXPECT_THAT(*csv, HasSubstr("\n3,"));
}

TEST_F(PlanCommand, JsonHoldsTheStableNames) {
  const auto [code, out] = run("--json --table " + table_ + " --daily 60000000 --peak-factor 3");
  EXPECT_EQ(code, 0);
  const auto json = nlohmann::json::parse(out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << out;
  EXPECT_EQ(schema_fault("plan", json), "");
  EXPECT_EQ(json.at("machines").at("median"), 3);
  EXPECT_LE(json.at("machines").at("low"), json.at("machines").at("high"));
  EXPECT_FALSE(json.at("back_test").empty());
  EXPECT_EQ(json.at("valid_range").at("high"), 100);
  EXPECT_EQ(json.at("knobs").at("nproc"), 16);
}

TEST_F(PlanCommand, RefusalIsTheAnswerNo) {
  const auto [code, out] =
      run("--json --table " + table_ + " --samples 1e6 --epochs 100 --deadline 1m");
  EXPECT_EQ(code, 1);
  const auto json = nlohmann::json::parse(out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << out;
  EXPECT_TRUE(json.at("refused"));
  EXPECT_TRUE(json.at("machines").is_null());
}

// The stored run is judged first: its recommendation and no other setting is planned with, and what
// disturbed the measurement is told.
TEST_F(PlanCommand, PlansWithWhatTheRunRecommends) {
  RunRecord kept = sample_run(200);
  for (Trial& trial : kept.trials) {
    if (trial.samples.empty()) continue;
    for (std::size_t i = 0; i + 1 < trial.samples.size(); ++i) {
      trial.samples[i].interference.spoilt_by = "external load: 1.4 CPUs";
    }
  }
  const std::string db = join_path(folder_, "runs.sqlite");
  auto store = Store::open(db, Store::Mode::write);
  ASSERT_TRUE(store.ok()) << store.error().what;
  ASSERT_TRUE((*store)->begin_run(kept).ok());
  for (Trial& trial : kept.trials) ASSERT_TRUE((*store)->add_trial(kept.id, trial).ok());
  ASSERT_TRUE((*store)->finish_run(kept.id, "done", "budget").ok());
  const auto told = judged_run(**store, "last");
  ASSERT_TRUE(told.ok() && told->result.found);
  const auto [code, out] = run("--json --samples 1e6 --deadline 900h --db " + db);
  const auto json = nlohmann::json::parse(out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << out;
  const Recommendation& recommended = told->result.recommendation;
  EXPECT_EQ(json["knobs"]["nproc"], recommended.knobs.nproc);
  EXPECT_EQ(json["knobs"]["threads"], recommended.knobs.threads);
  EXPECT_EQ(json["knobs"]["batch"], recommended.knobs.batch);
  EXPECT_NEAR(json["machine_samples_per_second"]["median"].get<double>(),
              recommended.samples_per_second.median, 1e-6);
  EXPECT_THAT(json["notes"].dump(), HasSubstr("NOISY HOST"));
  EXPECT_EQ(code, 0) << out;
}

TEST_F(PlanCommand, StoredRunsAreComparedWithEachOther) {
  const std::string db = join_path(folder_, "runs.sqlite");
  auto store = Store::open(db, Store::Mode::write);
  ASSERT_TRUE(store.ok()) << store.error().what;
  EXPECT_THAT(run("--back-test --db " + db).second, HasSubstr("No two stored runs"));
  EXPECT_EQ(run("--back-test --db " + db).first, 1);
  for (const char* id : {"2026-01-01-aaaaa", "2026-01-02-bbbbb"}) {
    RunRecord kept = sample_run(60);
    kept.id = id;
    kept.started = std::string(id).substr(0, 10) + "T00:00:00Z";
    ASSERT_TRUE((*store)->begin_run(kept).ok());
    for (Trial& trial : kept.trials) ASSERT_TRUE((*store)->add_trial(kept.id, trial).ok());
    ASSERT_TRUE((*store)->finish_run(kept.id, "done", "budget").ok());
  }
  auto [code, out] = run("--back-test --json --db " + db);
  EXPECT_EQ(code, 0) << out;
  const auto json = nlohmann::json::parse(out, nullptr, false).at("store_back_test");
  EXPECT_EQ(run("--back-test --db " + db + " --csv " + folder_ + "/out").first, 0);
  EXPECT_GT(json.at("tests"), 3);
  EXPECT_EQ(json.at("held"), json.at("tests")) << "the two runs are alike";
  EXPECT_EQ(json.at("rows").at(0).at("against"), "2026-01-02-bbbbb");
  EXPECT_THAT(*read_file(folder_ + "/out/back_test.csv"), testing::StartsWith("figure,from,"));
  // Beside a plan, in its outputs.
  std::tie(code, out) =
      run("--back-test --samples 1e6 --deadline 900h --db " + db + " --out " + folder_ + "/out");
  EXPECT_EQ(code, 0) << out;
  EXPECT_THAT(in_one_line(out), HasSubstr("predictions from stored runs held"));
  EXPECT_THAT(*read_file(folder_ + "/out/capacity.json"), HasSubstr("store_back_test"));
}

TEST_F(PlanCommand, TheYearAheadHasSparesAndScaling) {
  const std::string week = join_path(folder_, "week.txt");
  ASSERT_TRUE(write_file(week, "Mon-Fri 08:00 5000\nMon-Fri 18:00 500\n").ok());
  const std::string base =
      "--table " + table_ + " --profile " + week + " --growth 3% --warm-up 10m";
  auto [code, out] = run(base + " --cost-per-hour 2 --out " + folder_ + "/out");
  EXPECT_EQ(code, 0) << out;
  EXPECT_THAT(in_one_line(out), HasSubstr("at the Mon 08:00 peak"));
  EXPECT_THAT(in_one_line(out), HasSubstr("last 12 months"));
  EXPECT_THAT(in_one_line(out), HasSubstr("Autoscaling, by requests in flight"));
  EXPECT_THAT(*read_file(folder_ + "/out/year.csv"), HasSubstr("\n12,"));
  std::tie(code, out) = run(base + " --json");
  const auto year = nlohmann::json::parse(out).at("year");
  EXPECT_EQ(year["months"].size(), 13U);
  EXPECT_EQ(year["hours"].size(), 168U);
  EXPECT_LT(year["scaled_machine_hours"], year["fixed_machine_hours"]);
}

// 24,800 items of a corpus from a table of workers on one instance.
TEST_F(PlanCommand, ACorpusIsReadInShards) {
  const std::string corpus = join_path(folder_, "corpus.csv");
  ASSERT_TRUE(write_file(corpus,
                         "# cores=8 memory_bytes=17179869184\n"
                         "nproc,threads,samples_per_second,peak_bytes,outcome,noise_sigma\n"
                         "1,8,0.0041667,1,ok,0.03\n8,1,0.0091667,1,ok,0.03\n")
                  .ok());
  for (const char* job : {"--pages 24,800 --within 14d", "--samples 24.8k --deadline 14d"}) {
    const auto [code, out] = run("--table " + corpus + " " + job + " --cost-per-hour 0.34 --json");
    EXPECT_EQ(code, 0) << out;
    const auto json = nlohmann::json::parse(out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << out;
    EXPECT_EQ(schema_fault("plan", json), "");
    EXPECT_EQ(json["machines"]["high"], 3);
    EXPECT_EQ(json["demand"]["mode"], "infer");
    EXPECT_NEAR(json["cost_per_million"].get<double>(), 256e6 / 24800, 4e5);
  }
}

// How long, and for how much, where nobody says by when.
TEST_F(PlanCommand, WithoutADeadlineItSaysHowLong) {
  const std::string asked =
      "--table " + table_ + " --pages 10M --lines-per-page 20 --cost-per-hour 2";
  auto [code, out] = run(asked);
  EXPECT_EQ(code, 0) << out;
  EXPECT_THAT(in_one_line(out), HasSubstr("One machine of this kind"));
  EXPECT_THAT(in_one_line(out), HasSubstr("to read 10,000,000 pages (20 line images each)"));
  EXPECT_THAT(in_one_line(out), HasSubstr("Cost: 2.00 an hour, "));
  EXPECT_THAT(in_one_line(out), testing::Not(HasSubstr("holds")));
  std::tie(code, out) = run(asked + " --json");
  const auto json = nlohmann::json::parse(out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << out;
  EXPECT_EQ(undocumented_key("plan --json", json), "");
  ASSERT_EQ(json["rows"].size(), 4u);
  EXPECT_TRUE(json["rows"][0]["probability"].is_null());
  const double rate = json["machine_samples_per_second"]["median"];
  EXPECT_NEAR(json["rows"][0]["seconds"]["median"].get<double>(), 200e6 / rate,
              0.02 * 200e6 / rate);
}

// A day's pages with a peak, a latency target, growth and two zones, in one command.
TEST_F(PlanCommand, ADaysPagesInTwoZones) {
  const std::string out_folder = join_path(folder_, "out");
  const std::string asked =
      "--table " + table_ + " --daily 40,000k --peak '3x 9-11' --slo p95=5s --zones 2 --growth 5";
  const auto [code, out] = run(asked + " --json");
  EXPECT_EQ(code, 0) << out;
  const auto json = nlohmann::json::parse(out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << out;
  EXPECT_EQ(schema_fault("plan", json), "");
  const auto& months = json["year"]["months"];
  const int needed = months[0]["machines"].get<int>(), bought = months[0]["bought_machines"];
  EXPECT_EQ(bought, 2 * needed);
  EXPECT_NEAR(json["demand"]["requests_per_second"].get<double>(), 40e6 * 3 / 86400, 1e-6);
  EXPECT_EQ(json["demand"]["peak_time"], "09:00");
  EXPECT_THAT(in_one_line(run(asked + " --out " + out_folder).second), HasSubstr("Buy "));
  for (const char* name : {"hpa.yaml", "keda.yaml", "rules.yaml", "prometheusrule.yaml",
                           "dashboard.json", "sheet.html", "year.csv"}) {
    EXPECT_TRUE(path_exists(join_path(out_folder, name))) << name;
  }
}

TEST_F(PlanCommand, UsersWaitAndThink) {
  const auto [code, out] =
      run("--json --table " + table_ + " --users 20,000 --think 10s --pages-each 30");
  EXPECT_EQ(code, 0) << out;
  const auto json = nlohmann::json::parse(out, nullptr, false);
  EXPECT_LT(json["demand"]["requests_per_second"], 2000);
  EXPECT_GT(json["demand"]["requests_per_second"], 1990);
  EXPECT_EQ(json["demand"]["daily_requests"], 600000);
}

// A job that reads, and one that trains, by a time of the calendar and with interruptions.
TEST_F(PlanCommand, AJobIsDoneByItsDeadline) {
  const std::string spot = "--interruptions 3/20h --checkpoint-every 10m:20s --restart 5m";
  auto [code, out] = run("--table " + table_ +
                         " --samples 1e6 --epochs 10 --deadline 'Fri 18:00' --cost-per-hour 2 " +
                         spot + " --json");
  EXPECT_LE(code, 1) << out;  // on a Friday afternoon no machine is fast enough
  auto json = nlohmann::json::parse(out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << out;
  EXPECT_THAT(json["demand"]["deadline_time"].get<std::string>(), HasSubstr("18:00"));
  EXPECT_EQ(json["demand"]["interruptions"]["seen"], 3);
  std::tie(code, out) =
      run("--table " + table_ + " --samples 1e6 --epochs 10 --deadline 4h " + spot);
  EXPECT_EQ(code, 0) << out;
  EXPECT_THAT(in_one_line(out), HasSubstr("interruptions are expected"));
  EXPECT_THAT(in_one_line(out), HasSubstr("interruptions: 3 seen in 20 h 00 min of machines"));
}

// A table of this machine and one of a faster one, each with its price, and a sheet to sign.
TEST_F(PlanCommand, SeveralKindsOfMachineAreSetSideBySide) {
  const std::string fast = join_path(folder_, "fast.csv");
  ASSERT_TRUE(write_file(fast,
                         "nproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n"
                         "1,1,1,6000,1,ok,0.02\n")
                  .ok());
  const std::string out_folder = join_path(folder_, "out");
  const std::string both = table_ + "=1.5 " + fast + "=6";
  auto [code, out] = run(both + " --rate 7200 --out " + out_folder);
  EXPECT_EQ(code, 0) << out;
  EXPECT_THAT(in_one_line(out), HasSubstr("Cheapest of 2 kinds: "));
  EXPECT_THAT(in_one_line(out), HasSubstr("Cheaper still, as a mix: "));
  EXPECT_THAT(*read_file(join_path(out_folder, "kinds.csv")), HasSubstr(fast));
  for (const char* name : {"sheet.html", "sheet.md", "sheet.zh.md", "sheet.csv"}) {
    const auto sheet = read_file(join_path(out_folder, name));
    ASSERT_TRUE(sheet.ok()) << name;
    EXPECT_THAT(*sheet, HasSubstr("http_requests_total")) << name;
  }
  EXPECT_THAT(*read_file(join_path(out_folder, "sheet.md")), HasSubstr("plan " + table_));
  std::tie(code, out) = run(both + " --rate 7200 --json");
  const auto json = nlohmann::json::parse(out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << out;
  EXPECT_EQ(json["kinds"].size(), 2U);
  EXPECT_GT(json["cost_per_million"], 0);
  EXPECT_LT(json["mix"]["cost_per_hour"], json["kinds"][0]["cost_per_hour"]);
  for (const auto& [arguments, words] :
       {std::pair<std::string, std::string>{table_ + "=1 " + fast, "=PRICE"},
        {table_ + "=cheap", "no number above zero"},
        {table_ + "=1 " + table_ + "=2", "named twice"},
        {folder_ + "/none.csv", "no such file"},
        {"none.sqlite=0.8", "no such file"},
        {table_ + " --run last", "name all machines as arguments"}}) {
    std::tie(code, out) = run(arguments + " --rate 5");
    EXPECT_GE(code, 2) << arguments;
    EXPECT_THAT(in_one_line(out), HasSubstr(words)) << arguments;
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  }
}

TEST_F(PlanCommand, BadInputIsOneClearLine) {
  const std::string table = " --table " + table_;
  const std::string text = table_;
  for (const auto& [arguments, code, words] :
       {std::tuple<std::string, int, std::string>{"", 2, "give one of --rate"},
        {"--rate 0" + table, 2, "must be above zero"},
        {"--rate nan" + table, 2, "not a number"},
        {"--daily 40,00" + table, 2, "commas part thousands"},
        {"--daily 40k --peak '3x 9'" + table, 2, "'3x 9-11'"},
        {"--daily 40k --peak '5x 9-15'" + table, 2, "at most 4 times fit"},
        {"--users 200" + table, 2, "--users needs --think"},
        {"--rate 5 --think 20s" + table, 2, "go with --users"},
        {"--rate 5 --zones 0" + table, 2, "a whole number from 1 to 20"},
        {"--pages 5 --samples 5 --deadline 1h" + table, 2, "one of --pages N"},
        {"--rate 5/fortnight" + table, 2, "12000/min"},
        {"--rate 5 --samples 3 --deadline 1h" + table, 2, "give one of"},
        {"--deadline 3h" + table, 2, "a job is one of --pages N"},
        {"--samples 3 --deadline 0" + table, 2, "above zero"},
        {"--samples 3 --deadline 2020-01-01T00:00" + table, 2, "is past"},
        {"--samples 3 --deadline 1h --interruptions often" + table, 2, "--interruptions 'often'"},
        {"--samples 3 --deadline 1h --checkpoint-every 0" + table, 2, "15m:20s"},
        {"--samples 3 --deadline 1h --restart never" + table, 2, "--restart 'never'"},

        {"--rate 3 --interruptions 8h" + table, 2, "goes with --pages or --samples"},
        {"--samples 3 --deadline -1h" + table, 2, "above zero"},
        {"--samples 3 --deadline 1h --slo p99=1s" + table, 2, "--slo"},
        {"--rate 5 --slo fast" + table, 2, "p99=50ms"},
        {"--daily 5 --peak-factor 0.5" + table, 2, "1 or more"},
        {"--rate 5 --growth much" + table, 2, "a percentage from -50 to 100"},
        {"--rate 5 --availability 100" + table, 2, "--availability '100'"},
        {"--rate 5 --warm-up 0" + table, 2, "--warm-up"},
        {"--samples 5 --deadline 1h --growth 3" + table, 2, "are of a load, not of a job"},
        {"--back-test" + table, 2, "--back-test is of stored runs"},
        {"--rate 5 --balancer robin" + table, 2, "random or turns"},
        {"--rate 5 --lines-per-page many" + table, 2, "neither a number from 1 to"},
        {"--rate 5 --lines-per-page " + text + table, 3, "t.csv:1: neither a number of lines"},
        {"--rate 5 --table /no/such.csv", 3, "/no/such.csv"},
        {"--rate 5 --db " + folder_ + "/none.sqlite", 3, "ocrtune tune"},
        {"--rate 5 --machine " + text + table, 3, "no probe file"}}) {
    const auto [got, out] = run(arguments);
    EXPECT_EQ(got, code) << arguments << "\n" << out;
    EXPECT_THAT(in_one_line(out), HasSubstr(words)) << arguments;
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  }
}

}  // namespace
}  // namespace ocrtune
