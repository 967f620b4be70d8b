// show, report and list as a user types them, on a store with sample runs.
#include <sqlite3.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "tests/support/ran.h"
#include "tests/support/sample_runs.h"
#include "tests/support/schema_text.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

void keep(Store& store, RunRecord run) {
  ASSERT_TRUE(store.begin_run(run).ok());
  for (Trial& trial : run.trials) ASSERT_TRUE(store.add_trial(run.id, trial).ok());
  ASSERT_TRUE(store.finish_run(run.id, run.state, "budget").ok());
}

// One store for all tests: earlier (slower by a fifth), later, failed and empty.
class StoredRuns : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = *make_temporary_directory("report_command");
    const auto store = Store::open(database(), Store::Mode::write);
    ASSERT_TRUE(store.ok()) << store.error().what;
    RunRecord earlier = sample_run(60);
    earlier.id = "2026-11-20-11111";
    earlier.started = "2026-11-20T08:00:00Z";
    earlier.versions["oneDNN"] = "2.6.0";
    for (Trial& trial : earlier.trials) {
      trial.samples_per_second *= 0.8;
      for (Sample& sample : trial.samples) sample.samples *= 0.8;
    }
    keep(**store, earlier);
    RunRecord failed = run_without_success();
    failed.id = "2026-11-20-22222";
    failed.started = "2026-11-20T09:00:00Z";
    keep(**store, failed);
    RunRecord empty = empty_run();
    empty.id = "2026-11-20-33333";
    empty.started = "2026-11-20T10:00:00Z";
    empty.machine = sample_machine();
    keep(**store, empty);
    keep(**store, sample_run(60));
  }
  static void TearDownTestSuite() { (void)remove_tree(folder_); }

  static std::string database() { return folder_ + "/runs.sqlite"; }
  static Ran with_store(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--db", database()});
    return run_ocrtune(arguments);
  }

  static std::string folder_;
};
std::string StoredRuns::folder_;

// A list says of each run what the run's own answer says.
void expect_the_verdicts_of_show(const std::string& database) {
  const auto runs = nlohmann::json::parse(
      run_ocrtune({"list", "runs", "--db", database, "--json"}).out, nullptr, false);
  ASSERT_TRUE(runs.is_array());
  ASSERT_GE(runs.size(), 4U);
  for (const auto& run : runs) {
    const std::string id = run["run"];
    const auto shown = nlohmann::json::parse(
        run_ocrtune({"show", id, "--db", database, "--json"}).out, nullptr, false);
    EXPECT_EQ(run["verdict"], shown["verdict"]) << id;
  }
}

TEST_F(StoredRuns, ShowGivesTheLastRunsAnswer) {
  const Ran said = with_store({"show"});
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(with_store({"show", "--all"}).out,
              HasSubstr("run      2026-11-21-0a3f9 on ocr-node-07"));
  EXPECT_THAT(said.out, Not(HasSubstr("run      2026"))) << "eight lines";
  EXPECT_THAT(said.out, HasSubstr("launch   nproc="));
  EXPECT_THAT(said.out, Not(HasSubstr("\x1b"))) << "no colour in a pipe";
}

TEST_F(StoredRuns, ShowAsJsonIsOneDocument) {
  const Ran said = with_store({"show", "2026-11-20-1", "--json"});
  EXPECT_EQ(said.code, 0);
  const auto json = nlohmann::json::parse(said.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << said.out;
  EXPECT_EQ(json["run_id"], "2026-11-20-11111");
  EXPECT_EQ(json["trials"], 60);
}

TEST_F(StoredRuns, ARunWithoutAnAnswerSaysNo) {
  for (const char* id : {"2026-11-20-22222", "2026-11-20-33333"}) {
    const Ran said = with_store({"show", id});
    EXPECT_EQ(said.code, 1) << said.out;
    EXPECT_THAT(said.out, HasSubstr("NO ANSWER"));
    const std::string page = folder_ + "/none.html";
    EXPECT_EQ(with_store({"report", id, "--html", page}).code, 0);
    EXPECT_THAT(*read_file(page), HasSubstr("NO ANSWER"));
  }
}

TEST_F(StoredRuns, ReportWritesWhatItIsAskedFor) {
  const std::string page = folder_ + "/sub/page.html", tables = folder_ + "/tables";
  const Ran said = with_store({"report", "--html", page, "--csv", tables, "--language", "zh"});
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(*read_file(page), HasSubstr("lang=\"zh\" data-language=\"zh\""));
  EXPECT_EQ(list_directory(tables)->size(), 4U);
  EXPECT_FALSE(path_exists(tables + "/report.html"));
}

// Threads write them beside each other.
TEST_F(StoredRuns, AllHasThePageThatEachRunHasByItself) {
  const std::string all = folder_ + "/all", alone = folder_ + "/alone.html";
  ASSERT_EQ(with_store({"report", "--all", "--html", all + "/index.html"}).code, 0);
  const std::string index = *read_file(all + "/index.html");
  for (const char* id :
       {"2026-11-21-0a3f9", "2026-11-20-33333", "2026-11-20-22222", "2026-11-20-11111"}) {
    ASSERT_EQ(with_store({"report", id, "--html", alone}).code, 0);
    const std::string page = read_file(all + "/" + id + ".html").value_or("");
    EXPECT_TRUE(page.ends_with(*read_file(alone))) << id;
    EXPECT_THAT(index, HasSubstr("href=\"" + std::string(id) + ".html\""));
  }
}

TEST_F(StoredRuns, MistypedFolderIsNotMade) {
  const Ran said = with_store({"report", "--html", folder_ + "/no/such/page.html"});
  EXPECT_EQ(said.code, 3);
  EXPECT_THAT(said.out, HasSubstr("there is no folder " + folder_ + "/no"));
  EXPECT_FALSE(path_exists(folder_ + "/no"));
  const Ran made = with_store({"report", "--html", folder_ + "/new/page.html"});
  EXPECT_EQ(made.code, 0);
  EXPECT_THAT(made.out, HasSubstr("made the folder " + folder_ + "/new"));
}

TEST_F(StoredRuns, PageGoesToStandardOutput) {
  const Ran said = with_store({"report", "--html", "-"});
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.out, ::testing::StartsWith("<!"));
  EXPECT_FALSE(path_exists("-"));
}

// A shell runs the command, as Process gives no place for standard output.
Ran in_shell(const std::string& line) {
  ProcessOptions options;
  options.arguments = {"/bin/bash", "-o", "pipefail", "-c", line};
  options.output_bytes = 1 << 20;
  auto process = Process::start(options);
  if (!process) return Ran{-1, process.error().what};
  const auto& exit = process->wait(60);
  return Ran{exit ? exit->code : -2, process->output().contents()};
}

TEST_F(StoredRuns, ShowWritesThePageAndGoesOn) {
  const std::string page = folder_ + "/shown.html";
  const Ran said = in_shell(OCRTUNE_BINARY + " show 2026-11-20-1 --json --html " + page + " --db " +
                            database() + " 2>/dev/null");
  const auto json = nlohmann::json::parse(said.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << said.out;
  EXPECT_EQ(json["run_id"], "2026-11-20-11111");
  EXPECT_TRUE(path_exists(page));
}

TEST_F(StoredRuns, FlagsThatDoNotGoTogetherAreRefused) {
  const std::string page = folder_ + "/never.html";
  for (const auto& [arguments, says] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"runs", "compare", "a", "b", "--json"}, "--json is of the list"},
           {{"runs", "rm", "2026-11-20-11111", "--json"}, "--json is of the list"},
           {{"runs", "--html", page}, "runs compare A B"},
           {{"runs", "rm", "2026-11-20-11111", "--html", page}, "runs compare A B"},
           {{"show", "--why", "nproc=8", "--html", page}, "leave out --html"},
           {{"show", "--html", "-", "--json"}, "give the page a file"}}) {
    const Ran said = with_store(arguments);
    EXPECT_EQ(said.code, 2) << said.out;
    EXPECT_THAT(said.out, HasSubstr(says));
  }
  EXPECT_FALSE(path_exists(page));
}

TEST_F(StoredRuns, FullDiskIsAnErrorOfEveryCommand) {
  const std::string store = " --db " + database();
  for (const std::string& arguments :
       {"show" + store, "show --json" + store, "list runs" + store, std::string("man"),
        std::string("list knobs"), std::string("--help"), std::string("completion bash")}) {
    const Ran said = in_shell(OCRTUNE_BINARY + " " + arguments + " > /dev/full");
    EXPECT_EQ(said.code, 3) << arguments;
    EXPECT_THAT(said.out, HasSubstr("ocrtune: write standard output: "));
  }
  const Ran said =
      in_shell(OCRTUNE_BINARY + " export last --format env -o -" + store + " > /dev/full");
  EXPECT_EQ(said.code, 3);
  EXPECT_EQ(said.out, "ocrtune export: write standard output: No space left on device\n");
}

TEST_F(StoredRuns, ReaderThatHasSeenEnoughIsNoError) {
  const Ran said =
      in_shell(OCRTUNE_BINARY + " report --html - --db " + database() + " | head -c 2");
  EXPECT_TRUE(said.code == 0 || said.code == 141) << said.code;
  EXPECT_EQ(said.out, "<!");
}

TEST_F(StoredRuns, ReadingLeavesNothingBesideTheStore) {
  with_store({"show"});
  with_store({"list", "runs"});
  EXPECT_FALSE(path_exists(database() + "-wal"));
  EXPECT_FALSE(path_exists(database() + "-shm"));
  const std::string none = folder_ + "/none.sqlite";
  EXPECT_EQ(run_ocrtune({"verify", "--db", none}).code, 3);
  EXPECT_FALSE(path_exists(none));
}

TEST_F(StoredRuns, TwoRunsAreCompared) {
  const std::string page = folder_ + "/compared.html";
  const Ran said = with_store({"report", "2026-11-20-11111", "2026-11-21-0a3f9", "--html", page});
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(said.out, HasSubstr("The recommended setting is faster by 2"));
  EXPECT_THAT(said.out, HasSubstr("oneDNN"));
  EXPECT_THAT(said.out, ContainsRegex("setting +earlier +this run +ratio +p +change"));
  EXPECT_THAT(said.out, Not(HasSubstr("...")));
  EXPECT_THAT(*read_file(page), HasSubstr("id=\"comparison\""));
}

TEST_F(StoredRuns, ListRuns) {
  const Ran said = with_store({"list", "runs"});
  EXPECT_EQ(said.code, 0);
  const auto lines = split(said.out, '\n');
  ASSERT_GE(lines.size(), 5u);
  EXPECT_THAT(lines[1], HasSubstr("2026-11-21-0a3f9")) << "newest first";
  expect_the_verdicts_of_show(database());
}

TEST_F(StoredRuns, JsonOfAStoredRunIsDocumented) {
  const auto json_of = [&](const std::vector<std::string>& arguments) {
    const Ran said = with_store(arguments);
    auto json = nlohmann::json::parse(said.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << said.out;
    return json;
  };
  EXPECT_EQ(schema_fault("list", json_of({"list", "runs", "--json"})), "");
  EXPECT_EQ(schema_fault("why-not", json_of({"why-not", "nproc=1", "--json"})), "");
}

TEST_F(StoredRuns, BadInputIsOneLineWithTheWayOut) {
  ASSERT_TRUE(write_file(folder_ + "/text.sqlite", "this is no database, only text\n").ok());
  ASSERT_TRUE(write_file(folder_ + "/other.json", "{\"run_id\": 1}\n").ok());
  const std::string newer = folder_ + "/newer.sqlite";
  { ASSERT_TRUE(Store::open(newer, Store::Mode::write).ok()); }
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(newer.c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "PRAGMA user_version = 99", nullptr, nullptr, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_close(handle), SQLITE_OK);
  const std::string page = folder_ + "/x.html";
  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* says;
  } kCases[] = {
      {{"show", "no-such-run", "--db", database()}, 3, "no-such-run"},
      {{"show", "2026-11-20", "--db", database()}, 2, "2026-11-20"},
      {{"show", "--db", folder_ + "/none.sqlite"}, 3, "ocrtune tune"},
      {{"show", "--db", folder_ + "/text.sqlite"}, 3, "text.sqlite"},
      {{"show", "--db", newer}, 3, "newer"},
      {{"report", "--db", newer, "--html", page}, 3, "newer"},
      {{"report", "--db", database(), "--with", "x.json"}, 2, "--html"},
      {{"report", "--db", database(), "--html", page, "--with", folder_ + "/none.json"},
       3,
       "none.json"},
      {{"report", "--db", database(), "--html", page, "--with", folder_ + "/other.json"},
       3,
       "other.json: not the --json output of ocrtune"},
      {{"report", "--db", database(), "--html", "/proc/none/x.html"}, 3, "/proc/none"},
      {{"report", "--db", database(), "--csv", database()}, 3, "runs.sqlite"},
      {{"report", "--db", database(), "--language", "fr", "--html", page}, 2, "fr"},
      {{"report", "a", "b", "c", "--db", database()}, 2, "ocrtune report --help"},
      {{"list", "nobs"}, 2, "did you mean 'knobs'"},
      {{"list", "everything"}, 2, "backends, causes, commands"},
  };
  for (const auto& [arguments, code, says] : kCases) {
    const Ran said = run_ocrtune(arguments);
    EXPECT_EQ(said.code, code) << join(arguments, " ") << ": " << said.out;
    EXPECT_THAT(said.out, HasSubstr(says));
    EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 1) << said.out;
  }
}

TEST(ListCommand, EveryTopicIsATableAndJson) {
  const Ran topics = run_ocrtune({"list", "--json"});
  const auto names = nlohmann::json::parse(topics.out, nullptr, false);
  ASSERT_FALSE(names.is_discarded());
  EXPECT_GE(names.size(), 8u);
  for (const auto& row : names) {
    const std::string topic = row["topic"];
    if (topic == "runs") continue;
    const Ran plain = run_ocrtune({"list", topic});
    EXPECT_EQ(plain.code, 0) << topic;
    const Ran said = run_ocrtune({"list", topic, "--json"});
    const auto json = nlohmann::json::parse(said.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << topic;
    EXPECT_GE(json.size(), 1u) << topic;
    EXPECT_EQ(std::count(plain.out.begin(), plain.out.end(), '\n'),
              static_cast<std::ptrdiff_t>(json.size()) + 1);
  }
}

// A store of another schema is refused in one line, by every command, and left as it is.
TEST(ReportCommand, AnOlderStoreIsRefusedInOneLine) {
  const std::string folder = *make_temporary_directory("older_store");
  const std::string database = folder + "/runs.sqlite";
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(database.c_str(), &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw,
                         "CREATE TABLE run (id TEXT); PRAGMA application_id=1868788340; "
                         "PRAGMA user_version=1;",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(raw);
  const std::string before = *read_file(database);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"show"}, {"list", "runs"}, {"report", "--all"}, {"tune", "--budget", "5s"}}) {
    std::vector<std::string> line = words;
    line.insert(line.end(), {"--db", database});
    const Ran ran = run_ocrtune(line);
    EXPECT_NE(ran.code, 0) << words[0];
    EXPECT_THAT(ran.out, HasSubstr("is of version 1, this ocrtune reads version 11")) << words[0];
  }
  EXPECT_EQ(*read_file(database), before);
  (void)remove_tree(folder);
}

// Not a check but a way to measure: OCRTUNE_STORE=file keeps a run of OCRTUNE_TRIALS trials there.
TEST(KeptStore, IsWrittenWhenAsked) {
  const char* path = std::getenv("OCRTUNE_STORE");
  if (path == nullptr) GTEST_SKIP() << "OCRTUNE_STORE is not set";
  const char* trials = std::getenv("OCRTUNE_TRIALS");
  const auto store = Store::open(path, Store::Mode::write);
  ASSERT_TRUE(store.ok());
  keep(**store, sample_run(trials == nullptr ? 1000 : std::atoi(trials)));
}

}  // namespace
}  // namespace ocrtune
