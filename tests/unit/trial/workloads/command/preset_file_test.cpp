#include "trial/workloads/command/preset_file.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/flag_words.h"
#include "trial/workloads/command/preset_apply.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// A program that the code has never heard of.
constexpr const char* kPageWright = R"(help = "PageWright reads pages"
words = ["pagewright"]
notes = ["needs its dictionary beside it"]

[[tried]]
version = "0.9"
date = 2026-11-22

[read]
log_reader = "torch"

[knobs.threads]
flags = { "--jobs" = "{threads}" }
environment = { PAGEWRIGHT_POOL = "{threads}" }
usual = 4

[knobs.batch]
flags = { "-b" = "{batch}" }

[trial]
flags = { "--out" = "{trial_dir}/out" }
)";

PresetFile pagewright() { return parse_preset(kPageWright, "/presets/pagewright.toml").value(); }

TEST(PresetFile, HoldsWhatTheTextSays) {
  const PresetFile preset = pagewright();
  EXPECT_EQ(preset.name, "pagewright");
  EXPECT_THAT(preset.words, ElementsAre("pagewright"));
  EXPECT_THAT(preset.tried, ElementsAre(Pair("0.9", "2026-11-22")));
  EXPECT_EQ(preset.log_reader, "torch");
  EXPECT_THAT(preset.knobs.at("threads").flags, ElementsAre(Pair("--jobs", "{threads}")));
  EXPECT_EQ(preset.knobs.at("threads").usual, 4);
  EXPECT_THAT(preset.trial_flags, ElementsAre(Pair("--out", "{trial_dir}/out")));
}

struct Wrong {
  const char* text;
  const char* said;
};

TEST(PresetFile, AWrongOneGetsFileLineKeyAndTheWayOut) {
  const Wrong wrong[] = {
      {"help = \"x\"\nwords = [\n", "p.toml:2: not TOML: "},
      {"help = \"x\"\nword = [\"y\"]\n", "p.toml:2: word: no such key; did you mean words?"},
      {"help = 3\n", "p.toml:1: help: needs a text in quotes"},
      {"words = [\"y\"]\n", "help: is missing: write help = \"one line on the program\""},
      {"help = \"x\"\nwords = \"y\"\n", "p.toml:2: words: needs a list, such as"},
      {"help = \"x\"\n[knobs.batch]\nflag = { \"-b\" = \"{batch}\" }\n",
       "p.toml:3: knobs.batch.flag: no such key; did you mean flags?"},
      {"help = \"x\"\n[knobs.batch]\nflags = { \"-b\" = 3 }\n",
       "p.toml:3: knobs.batch.flags.-b: needs a text in quotes"},
      {"help = \"x\"\n[knobs.batch]\nflags = { \"-b\" = \"{threads}\" }\n",
       "p.toml:2: knobs.batch: no flag or variable of it holds {batch}"},
      {"help = \"x\"\n\n[[tried]]\nversion = \"1\"\n",
       "p.toml:3: tried: needs version = \"1.2\" and date = 2026-01-31"},
      {"help = \"x\"\nknobs = 3\n", "p.toml:2: knobs: needs a section, [knobs]"},
      {"help = \"x\"\n[knobs.batch]\nusual = 0\nflags = { \"-b\" = \"{batch}\" }\n",
       "p.toml:3: knobs.batch.usual: needs a whole number from 1"},
      {"help = \"x\"\ntrains = 3\n", "p.toml:2: trains: needs true or false"},
      {"help = \"x\"\nbehind = 3\n", "p.toml:2: behind: needs a list"},
      {"help = \"x\"\n[read]\nmetric_of = \"all\"\n", "read.metric_of: needs \"rank\" or \"job\""},
      {"help = \"x\"\n[read]\nlog_reader = \"torhc\"\n",
       "p.toml:3: read.log_reader: log reader 'torhc': did you mean 'torch'?"},
      {"help = \"x\"\n[read]\nmetric = \"rate:lightyears\"\n",
       "p.toml:3: read.metric: metric rate: 'lightyears' is not a unit of speed"},
      {"help = \"x\"\n[read]\nlog_reader = \"torch\"\nmetric = \"a\"\n",
       "p.toml:4: read.metric: log reader 'torch' knows its number by itself"},
      {"help = \"x\"\n[trial]\nflags = { \"--out\" = \"{trialdir}/out\" }\n",
       "p.toml:3: trial.flags.--out: there is no {trialdir}; did you mean {trial_dir}?"},
      {"help = \"x\"\n[knobs.thread]\nflags = { \"--jobs\" = \"{thread}\" }\n",
       "p.toml:2: knobs.thread: no knob of ocrtune's; did you mean threads?"},
      {"help = \"x\"\n[knobs.quality]\nflags = { \"-q\" = \"{quality}\" }\nvalues = [\"a\"]\n",
       "p.toml:4: knobs.quality.values: needs two values at least"},
      {"help = \"x\"\n[knobs.quality]\nflags = { \"-q\" = \"{quality}\" }\n"
       "values = [\"a\", \"b\"]\nneeds = [\"gpu\"]\n",
       "p.toml:5: knobs.quality.needs: 'gpu' is no program here; did you mean gpus?"},
      {"help = \"x\"\n[service]\nmetrics = \"/metrics\"\n",
       "p.toml:2: service.url: is missing: write url = "},
  };
  for (const Wrong& one : wrong) {
    const auto preset = parse_preset(one.text, "p.toml");
    ASSERT_FALSE(preset.ok()) << one.text;
    EXPECT_EQ(preset.error().kind, ErrorKind::invalid);
    EXPECT_THAT(preset.error().what, HasSubstr(one.said)) << one.text;
  }
}

// Where a server listens holds in trials and for good.
TEST(PresetFile, AServerIsToldItsPort) {
  const auto preset = parse_preset(
      "help = \"x\"\n[service]\nurl = \"http://127.0.0.1:{port}/ocr\"\nmetrics = \"/m#a\"\n"
      "flags = { \"--port\" = \"{port}\" }\n",
      "p.toml");
  ASSERT_TRUE(preset) << preset.error().what;
  EXPECT_EQ(preset->service.url, "http://127.0.0.1:{port}/ocr");
  EXPECT_EQ(preset->service.metrics, "/m#a");
  PreparedCommand command;
  command.workload.command = {"serve", "--port", "80"};
  ASSERT_TRUE(apply_preset_file(command, *preset).ok());
  EXPECT_THAT(command.launch, ElementsAre("serve", "--port", "{port}"));
  EXPECT_THAT(command.workload.command, ElementsAre("serve", "--port", "{port}"));
}

// The TOML library's own assertion ended the process.
TEST(PresetFile, AHeaderThatTheLineEndsInIsRefused) {
  for (const char* text : {"[\n", "[\nc\n*\nba", "[[\n", "[#\n", "a.\n", "\"\n", "a = [\n",
                           "\xC4\xBF = 1\n", "help = \xC4\xBF\n", "[knobs\xC4\xBF]\n"}) {
    const auto preset = parse_preset(text, "p.toml");
    ASSERT_FALSE(preset) << text;
    EXPECT_EQ(preset.error().kind, ErrorKind::invalid) << text;
    EXPECT_THAT(preset.error().what, HasSubstr("p.toml:")) << text;
  }
}

TEST(PresetFile, ANewProgramNeedsNoCode) {
  PreparedCommand command;
  command.workload.command = {"pagewright", "--jobs", "2", "pages"};
  command.workload.knobs = {"threads", "batch"};
  ASSERT_TRUE(apply_preset_file(command, pagewright()).ok());
  EXPECT_THAT(command.launch,
              ElementsAre("pagewright", "--jobs", "{threads}", "pages", "-b", "{batch}"));
  EXPECT_THAT(command.workload.command, Contains("--out={trial_dir}/out"));
  EXPECT_THAT(command.workload.environment, ElementsAre(Pair("PAGEWRIGHT_POOL", "{threads}")));
  EXPECT_THAT(command.turnable, ElementsAre("batch", "threads"));
  ASSERT_TRUE(command.current.has_value());
  EXPECT_EQ(command.current->threads, 2) << "the command's own value, not the usual one";
  EXPECT_EQ(command.workload.log_reader, "torch");
  EXPECT_THAT(command.warnings, ElementsAre("needs its dictionary beside it"));
}

// The presets that are shipped.
TEST(PresetFile, AProgramThatReadsGetsNoNoteOnTheLearningRate) {
  const std::string folder = *make_temporary_directory("presets");
  ASSERT_TRUE(make_directories(folder + "/ocrtune"));
  ASSERT_EQ(
      ::symlink((OCRTUNE_SOURCE_DIR + "/presets").c_str(), (folder + "/ocrtune/presets").c_str()),
      0);
  const char* const old = std::getenv("XDG_CONFIG_HOME");
  const std::string kept = old == nullptr ? "" : old;
  ASSERT_EQ(::setenv("XDG_CONFIG_HOME", folder.c_str(), 1), 0);
  for (const auto& [preset, noted] :
       {std::pair<std::string, bool>{"rapidocr", false}, {"torchrun", true}}) {
    CommandWorkload workload;
    workload.command = {"sh", "train.sh", "{batch}"};
    workload.knobs = {"batch"};
    workload.preset = preset;
    workload.log_reader = "torch";
    const auto prepared = prepare_command(workload, Machine());
    ASSERT_TRUE(prepared) << prepared.error().what;
    EXPECT_EQ(prepared->workload.command, workload.command) << "the batch has its place there";
    EXPECT_EQ(turns_global_batch(*prepared, workload), noted) << preset;
  }
  CommandWorkload unnamed;
  unnamed.command = {"sh", "-c", "rapidocr_onnxruntime -img a.png"};
  unnamed.knobs = {"batch"};
  const auto refused = prepare_command(unnamed, Machine());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what,
              HasSubstr("the command ignores batch: --preset rapidocr knows its flag; or put "));
  old == nullptr ? ::unsetenv("XDG_CONFIG_HOME") : ::setenv("XDG_CONFIG_HOME", kept.c_str(), 1);
  EXPECT_TRUE(remove_tree(folder));
}

TEST(PresetFile, AProgramThatRefusesItsFlagsIsToldWhoseTheyAre) {
  PreparedCommand command;
  command.workload.preset = "pagewright";
  command.workload.command = {"pagewright", "--fast"};
  command.workload.knobs = {"threads"};
  ASSERT_TRUE(apply_preset_file(command, pagewright()).ok());
  EXPECT_EQ(preset_words(command, "pagewright: error: unrecognized arguments: --jobs=2"),
            "preset pagewright has added --jobs --out; it was tried with 0.9");
  EXPECT_EQ(preset_words(command, "error: --jobs2 --fast: no such page"), "");
}

TEST(PresetFile, WhatTheUserSaysWins) {
  PreparedCommand command;
  command.workload.command = {"pagewright"};
  command.workload.knobs = {"threads"};
  command.workload.environment = {{"PAGEWRIGHT_POOL", "7"}};
  command.workload.metric = "rate";
  ASSERT_TRUE(apply_preset_file(command, pagewright()).ok());
  EXPECT_THAT(command.workload.environment, ElementsAre(Pair("PAGEWRIGHT_POOL", "7")));
  EXPECT_EQ(command.workload.log_reader, "");
}

TEST(PresetFile, NamesAFileThatIsNotThere) {
  PresetFile preset = pagewright();
  preset.files = {"--image_dir"};
  PreparedCommand command;
  command.workload.command = {"pagewright"};
  EXPECT_EQ(apply_preset_file(command, preset).error().what, "the command has no --image_dir");
  command.workload.command = {"pagewright", "--image_dir=/nowhere/at/all"};
  const Status missing = apply_preset_file(command, preset);
  EXPECT_EQ(missing.error().kind, ErrorKind::missing);
  EXPECT_EQ(missing.error().what, "--image_dir /nowhere/at/all is not there");
}

TEST(PresetFile, IsRecognisedByWordsAndScripts) {
  const auto folder = make_temporary_directory("presets").value();
  const std::string script = join_path(folder, "pages.sh");
  ASSERT_TRUE(write_file(script, "for p in *.png; do pagewright $p; done\n").ok());
  const std::vector<PresetFile> presets = {pagewright()};
  const auto recognised = [&](std::vector<std::string> words) {
    CommandWorkload workload;
    workload.command = std::move(words);
    return recognised_preset(workload, presets).has_value();
  };
  EXPECT_TRUE(recognised({"/usr/bin/pagewright", "x"}));
  EXPECT_TRUE(recognised({"sh", "-c", "ls | xargs pagewright"}));
  EXPECT_TRUE(recognised({"sh", script}));
  EXPECT_FALSE(recognised({"pagewright2", "nopagewright", "page-pagewright-old"}));
  EXPECT_FALSE(recognised({"sh", "-c", ""}));
  ASSERT_TRUE(remove_tree(folder).ok());
}

TEST(PresetFile, ARecognisedProgramGetsVariablesAndNoFlags) {
  PreparedCommand command;
  command.workload.command = {"pagewright"};
  command.workload.knobs = {"threads"};
  add_recognised_variables(command, pagewright());
  EXPECT_THAT(command.workload.command, ElementsAre("pagewright"));
  EXPECT_THAT(command.workload.environment, ElementsAre(Pair("PAGEWRIGHT_POOL", "{threads}")));
  EXPECT_THAT(command.warnings,
              ElementsAre("pagewright is recognised: PAGEWRIGHT_POOL follows the knobs too "
                          "(/presets/pagewright.toml)"));
}

TEST(FlagWords, KeepTheFormThatTheCommandHas) {
  std::vector<std::string> command = {"ocr", "--a", "1", "--b=2", "-c", "3"};
  EXPECT_EQ(flag_value(command, "--b"), "2");
  EXPECT_EQ(flag_value(command, "--d"), std::nullopt);
  set_flag(command, "--a", "x");
  set_flag(command, "--b", "y");
  set_flag(command, "-c", "z");
  set_flag(command, "--d", "4");
  set_flag(command, "-e", "5");
  EXPECT_THAT(command, ElementsAre("ocr", "--a", "x", "--b=y", "-c", "z", "--d=4", "-e", "5"));
}

TEST(FlagWords, AKeyIsOneWordBehindItsFlag) {
  const std::vector<std::string> behind = {"-o", "--opt"};
  std::vector<std::string> command = {"train.py", "-c", "x.yml"};
  set_flag(command, "Train.batch", "8", behind);
  set_flag(command, "Train.workers", "2", behind);
  set_flag(command, "Train.batch", "16", behind);
  EXPECT_THAT(command,
              ElementsAre("train.py", "-c", "x.yml", "-o", "Train.workers=2", "Train.batch=16"));
  EXPECT_EQ(flag_value(command, "Train.batch"), "16");
  command = {"train.py", "--opt", "Global.x=1", "--local_rank=0"};
  set_flag(command, "Train.batch", "8", behind);
  EXPECT_THAT(command,
              ElementsAre("train.py", "--opt", "Train.batch=8", "Global.x=1", "--local_rank=0"));
  command = {"train.py"};
  set_flag(command, "trainer.batch", "8");
  EXPECT_THAT(command, ElementsAre("train.py", "trainer.batch=8"));
}

// The user's -j 2 stood behind a --jobs={threads} that it made void.
TEST(FlagWords, TwoSpellingsAreOneFlag) {
  std::vector<std::string> command = {"ocr", "-j", "2", "page"};
  EXPECT_EQ(flag_value(command, "--jobs|-j"), "2");
  set_flag(command, "--jobs|-j", "4", {"ocr"});
  EXPECT_THAT(command, ElementsAre("ocr", "-j", "4", "page"));
  command = {"ocr", "page"};
  set_flag(command, "--jobs|-j", "4", {"ocr"});
  EXPECT_THAT(command, ElementsAre("ocr", "--jobs=4", "page"));
}

constexpr const char* kSubcommands = R"(help = "x"
behind = ["ocrtool"]
[knobs.threads]
flags = { "--threads" = "{threads}" }
[knobs.batch]
flags = { "-B" = "{batch}" }
behind = ["read"]
[trial]
flags = { "Global.out" = "{trial_dir}/out" }
behind = ["-o"]
environment = { FORCE_COLOR = "1", TERM = "xterm" }
)";

TEST(PresetFile, EachKnobsFlagStandsBehindTheWordThatItBelongsTo) {
  const PresetFile preset = parse_preset(kSubcommands, "p.toml").value();
  PreparedCommand command;
  command.workload.knobs = {"threads", "batch"};
  command.workload.command = {"ocrtool", "segment", "read", "page"};
  ASSERT_TRUE(apply_preset_file(command, preset).ok());
  EXPECT_THAT(command.launch, ElementsAre("ocrtool", "--threads={threads}", "segment", "read", "-B",
                                          "{batch}", "page"));
  EXPECT_EQ(command.workload.command.back(), "Global.out={trial_dir}/out");
}

// The flag stood at the script's end.
TEST(PresetFile, AFlagWithoutItsWordIsLeftOut) {
  PresetFile preset = parse_preset(kSubcommands, "p.toml").value();
  preset.trial_behind.clear();
  PreparedCommand command;
  command.workload.knobs = {"threads", "batch"};
  command.workload.command = {"sh", "pages.sh"};
  ASSERT_TRUE(apply_preset_file(command, preset).ok());
  EXPECT_THAT(command.workload.command, ElementsAre("sh", "pages.sh"));
  EXPECT_THAT(command.turnable, IsEmpty());
  command.workload.command = {"sh", "pages.sh", "--threads", "2"};
  ASSERT_TRUE(apply_preset_file(command, preset).ok());
  EXPECT_THAT(command.launch, ElementsAre("sh", "pages.sh", "--threads", "{threads}"));
}

TEST(PresetFile, WhatOnlyATrialNeedsIsNotInTheLineThatIsRecommended) {
  const PresetFile preset = parse_preset(kSubcommands, "p.toml").value();
  PreparedCommand command;
  command.workload.command = {"ocrtool", "read"};
  command.workload.environment = {{"TERM", "dumb"}};
  ASSERT_TRUE(apply_preset_file(command, preset).ok());
  EXPECT_THAT(command.workload.environment,
              ElementsAre(Pair("TERM", "dumb"), Pair("FORCE_COLOR", "1")));
  EXPECT_THAT(launch_workload(command).environment, ElementsAre(Pair("TERM", "dumb")));
  EXPECT_THAT(launch_workload(command).command, ElementsAre("ocrtool", "read"));
}

TEST(PresetFile, AKnobWhoseNeedsAreNotMetIsLeftAlone) {
  const PresetFile preset = parse_preset(R"(help = "x"
[knobs.nproc]
flags = { "--nproc" = "{nproc}" }
needs = ["gpus"]
)",
                                         "/presets/p.toml")
                                .value();
  const auto applied = [&](const Machine& machine, std::vector<std::string> knobs,
                           std::vector<std::string> fixed) {
    PreparedCommand command;
    command.workload.command = {"p"};
    command.workload.knobs = std::move(knobs);
    command.workload.fixed = std::move(fixed);
    const Status status = apply_preset_file(command, preset, machine);
    if (!status) {
      EXPECT_EQ(status.error().kind, ErrorKind::usage);
      EXPECT_THAT(status.error().what, HasSubstr("--nproc"));
      return std::string("refused");
    }
    return join(command.launch, " ") + (command.turnable.empty() ? "" : " turnable");
  };
  EXPECT_EQ(applied(Machine(), {}, {}), "p");
  EXPECT_EQ(applied(Machine(), {"nproc"}, {"nproc"}), "p");
  EXPECT_EQ(applied(Machine(), {"nproc"}, {}), "refused");
  Machine machine;
  machine.gpus.resize(1);
  EXPECT_EQ(applied(machine, {"nproc"}, {}), "p --nproc={nproc} turnable");
}

TEST(PresetFile, ALaunchersFlagStandsBehindTheLauncher) {
  const PresetFile preset = parse_preset(R"(help = "x"
behind = ["torchrun", "torch.distributed.run"]
[knobs.nproc]
flags = { "--nproc_per_node" = "{nproc}" }
)",
                                         "p.toml")
                                .value();
  PreparedCommand command;
  command.workload.knobs = {"nproc"};
  command.workload.command = {"/usr/bin/torchrun", "train.py", "--lr=1"};
  ASSERT_TRUE(apply_preset_file(command, preset).ok());
  EXPECT_THAT(command.launch,
              ElementsAre("/usr/bin/torchrun", "--nproc_per_node={nproc}", "train.py", "--lr=1"));
  command.workload.command = {"python3", "-m", "torch.distributed.run", "train.py"};
  ASSERT_TRUE(apply_preset_file(command, preset).ok());
  EXPECT_THAT(command.launch, ElementsAre("python3", "-m", "torch.distributed.run",
                                          "--nproc_per_node={nproc}", "train.py"));
}

PresetFile with_own_knob(const std::string& needs) {
  return parse_preset(R"(help = "x"
behind = ["torchrun"]
[knobs.numa_binding]
flags = { "--numa-binding" = "{numa_binding}" }
values = ["none", "node"]
needs = [)" + needs + "]\n",
                      "p.toml")
      .value();
}

TEST(PresetFile, AnOwnKnobIsOfferedWhereItCanDoSomething) {
  Machine machine;
  machine.gpus.resize(1);
  machine.cpu.numa_nodes = 2;
  const auto offered = [&](const std::string& needs, std::vector<std::string> words) {
    PreparedCommand command;
    command.workload.command = std::move(words);
    EXPECT_TRUE(apply_preset_file(command, with_own_knob(needs), machine).ok());
    EXPECT_THAT(command.launch, Not(Contains(HasSubstr("numa_binding")))) << "not asked for yet";
    return !command.offered.empty() && command.offered[0].name == "numa_binding";
  };
  EXPECT_TRUE(offered(R"("gpus", "numa_nodes")", {"torchrun", "t.py"}));
  EXPECT_FALSE(offered(R"("gpus", "no_such_program_here")", {"torchrun", "t.py"}));
  EXPECT_FALSE(offered("", {"torchrun", "--numa-binding=socket", "t.py"})) << "the user has set it";
  machine.cpu.numa_nodes = 1;
  EXPECT_FALSE(offered(R"("gpus", "numa_nodes")", {"torchrun", "t.py"}));
  machine.gpus.clear();
  EXPECT_FALSE(offered(R"("gpus")", {"torchrun", "t.py"}));
}

TEST(PresetFile, AnOwnKnobThatIsTurnedStandsBehindTheLauncher) {
  PreparedCommand command;
  command.workload.command = {"torchrun", "t.py"};
  command.workload.knobs = {"numa_binding"};
  ASSERT_TRUE(apply_preset_file(command, with_own_knob("")).ok());
  EXPECT_THAT(command.launch, ElementsAre("torchrun", "{numa_binding?--numa-binding=}", "t.py"));
  EXPECT_TRUE(command.offered.empty());
}

}  // namespace
}  // namespace ocrtune
