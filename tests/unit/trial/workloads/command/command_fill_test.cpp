#include "trial/workloads/command/command_fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/workloads/command/command_template.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

Variables environment_of(const CommandWorkload& workload, int threads) {
  Knobs knobs;
  knobs.threads = threads;
  const auto filled = fill_for(workload, Machine(), knobs, {"/trial", 1});
  return filled ? filled->launch.environment : Variables();
}

CommandWorkload turning_threads() {
  CommandWorkload workload;
  workload.command = {"ocr"};
  workload.knobs = {"threads"};
  return workload;
}

TEST(Template, BracesThatCloseTwoObjectsStayAsTheyAre) {
  for (const char* text : {R"({"pass_config":{"enable_fusion":true}})", "cp x ${OUT:-${HOME}}",
                           "{if($1){print}}", "a}b", "a}}b", "{}}", "}{"}) {
    EXPECT_EQ(*fill_placeholders(template_of(text), {}), text);
  }
  EXPECT_EQ(*fill_placeholders(R"({"a":{"b":{nproc}}})", {{"nproc", "2"}}), R"({"a":{"b":2}})");
  EXPECT_EQ(*fill_placeholders("{{nproc}} {{a}}", {}), "{nproc} {a}");
}

TEST(Template, ALineGoesOnBehindABackslash) {
  for (const char* line : {"python3 t.py \\\n  --lr 3", "python3 \\\r\n t.py --l\\\nr 3",
                           "\"pyth\\\non3\" t.py --lr \\\n\\\n3\\\n"}) {
    EXPECT_THAT(*split_command(line), ElementsAre("python3", "t.py", "--lr", "3")) << line;
  }
  EXPECT_THAT(*split_command("a '\\\n' \\\\ \\"), ElementsAre("a", "\\\n", "\\", "\\"));
}

TEST(Template, SignsOfAShellAreThoseOutsideOfQuotes) {
  for (const char* line : {"rm -f out/*.txt", "cat a?", "a && b", "a | b", "a; b", "a > b", "a < b",
                           "echo $HOME", "ls ~/x", "echo `date`", "echo ${HOME}"}) {
    EXPECT_NE(shell_sign(line), '\0') << line;
  }
  for (const char* line : {"", "rm -f out/a.txt", "sh -c 'rm -f out/*.txt'", "sh -c \"rm $X\"",
                           "find -name \\*.txt", "mkdir {trial_dir}/x", "bind {numa?--numa=} x",
                           "cp a~ b", "curl 'http://h/?a&b'", "curl -s http://h/x?y=1&z=2"}) {
    EXPECT_EQ(shell_sign(line), '\0') << line;
  }
}

// Where it was typed it is refused; a stored run goes on with it.
TEST(CommandFill, ASetupLineIsFilledAsItIs) {
  CommandWorkload workload;
  workload.command = {"ocr"};
  workload.setup = {"curl -s http://h/x?y={batch}"};
  const auto filled = fill_for(workload, Machine(), Knobs(), {"/trial", 1});
  ASSERT_TRUE(filled) << filled.error().what;
  EXPECT_THAT(filled->setup[0], ElementsAre("curl", "-s", "http://h/x?y=16"));
}

TEST(CommandFill, ThreadsReachEveryRuntime) {
  const Variables environment = environment_of(turning_threads(), 3);
  for (const char* name :
       {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
        "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS", "OPENCV_FOR_THREADS_NUM"}) {
    EXPECT_THAT(environment, Contains(Pair(name, "3")));
  }
  EXPECT_THAT(environment, Not(Contains(Key("OMP_THREAD_LIMIT"))))
      << "OpenBLAS built on OpenMP hangs below omp_set_num_threads()";
}

TEST(CommandFill, TheUsersOwnVariablesStay) {
  CommandWorkload workload = turning_threads();
  workload.environment = {{"MKL_NUM_THREADS", "1"}};
  workload.inherited = {"GOMAXPROCS"};
  workload.unread = {"RAYON_NUM_THREADS"};
  const Variables environment = environment_of(workload, 3);
  EXPECT_THAT(environment, Contains(Pair("MKL_NUM_THREADS", "1")));
  EXPECT_THAT(environment, Not(Contains(Key("GOMAXPROCS"))));
  EXPECT_THAT(environment, Not(Contains(Key("RAYON_NUM_THREADS"))));
  EXPECT_THAT(environment, Contains(Pair("OPENBLAS_NUM_THREADS", "3")));
}

TEST(CommandFill, ThreadsThatAreNotTurnedAreLeftAlone) {
  CommandWorkload workload = turning_threads();
  workload.knobs.clear();
  EXPECT_THAT(environment_of(workload, 3), IsEmpty());
}

TEST(CommandFill, TheUsersStartRunsAsItWasTyped) {
  CommandWorkload workload = turning_threads();
  workload.environment = {{"MODE", "fast"}};
  workload.present = Knobs();
  workload.present->threads = 1;
  workload.as_typed = true;
  EXPECT_THAT(environment_of(workload, 1), ElementsAre(Pair("MODE", "fast")));
  EXPECT_THAT(environment_of(workload, 2), Contains(Pair("OMP_NUM_THREADS", "2")));
}

TEST(CommandFill, ALauncherOfAllHostsNamesThemAndNothingOfOneHost) {
  CommandWorkload workload;
  workload.command = {"mpirun", "--host", "{hostlist}", "train"};
  EXPECT_TRUE(starts_other_hosts(workload));
  workload.command.emplace_back("{node_rank}");
  EXPECT_FALSE(starts_other_hosts(workload));
  workload.command = {"torchrun", "--nnodes={nodes}"};
  EXPECT_FALSE(starts_other_hosts(workload));
}

// Tokens and inline data are kilobytes long: a scan that starts anew at each letter would take
// hours.
TEST(CommandFill, ALongValueIsScannedOnce) {
  const std::string value(4'000'000, 'a');
  EXPECT_EQ(placeholder_names(value + "{nproc}" + value), (std::vector<std::string>{"nproc"}));
  const auto filled = fill_placeholders(value + "{nproc}" + value, {{"nproc", "2"}});
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->size(), 2 * value.size() + 1);
}

TEST(CommandFill, HostsOfAJobAndTheirNumbers) {
  CommandWorkload workload;
  workload.command = {"{nodes}", "{node_rank}", "{master_addr}:{master_port}", "{hostlist}",
                      "{global_batch}"};
  const auto filled = [&](const char* knobs, int rank) {
    const Knobs values = *parse_knobs({knobs, "nproc=3", "batch=4"});
    TrialPlace place = host_place({"me@a", "b", "c"}, rank, nodes_of(values));
    place.port = 9;
    return fill_for(workload, Machine(), values, place)->launch.arguments;
  };
  EXPECT_THAT(filled("nodes=2", 1), testing::ElementsAre("2", "1", "a:9", "a,b", "24"));
  EXPECT_THAT(filled("nodes=1", 0),
              testing::ElementsAre("1", "0", "127.0.0.1:9", "localhost", "12"));
  EXPECT_EQ(filled("accumulate=5", 0)[4], "60");
  EXPECT_TRUE(names_used(workload).contains("nodes"));
  EXPECT_TRUE(names_used(workload).contains("accumulate")) << "by the global batch";
  const Knobs several = *parse_knobs({"nodes=2"});
  EXPECT_FALSE(fill_for(workload, Machine(), several, {"/trial", 1})) << "it knows of no host";
  TrialPlace place = any_host();
  EXPECT_EQ(fill_for(workload, Machine(), several, place)->launch.arguments[1], "<NODE_RANK>");
}

Machine with_gpus(int count) {
  Machine machine;
  machine.gpus.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) machine.gpus[static_cast<std::size_t>(i)].index = i;
  return machine;
}

TEST(CommandFill, CopiesTakeTheGpusInTurn) {
  CommandWorkload workload;
  workload.starter = "/bin/ocrtune";
  workload.command = {"read", "--device", "{gpu}", "--port=808{copy}"};
  workload.environment = {{"CUDA_VISIBLE_DEVICES", "{gpu}"}, {"CACHE", "/tmp/{copy}"}};
  workload.gpus = {"0", "3"};
  const auto launch = [&](const char* nproc) {
    return fill_for(workload, with_gpus(4), *parse_knobs({nproc}), {"/trial", 1})->launch;
  };
  EXPECT_TRUE(starts_copies(workload));
  EXPECT_EQ(names_used(workload).count("nproc"), 1U);
  EXPECT_THAT(launch("nproc=3").arguments,
              testing::ElementsAre("/bin/ocrtune", "rank-exec", "--copies-on", "0,3,0", "--",
                                   "read", "--device", "{gpu}", "--port=808{copy}"));
  EXPECT_EQ(launch("nproc=1").arguments[3], "0");
  const Variables environment = launch("nproc=3").environment;
  EXPECT_THAT(environment, Contains(Pair("CACHE", "/tmp/{copy}")));
  EXPECT_THAT(environment, Not(Contains(Key("CUDA_VISIBLE_DEVICES")))) << "each has its own";
}

TEST(CommandFill, CopiesWithoutAGpuAreOnTheCpus) {
  CommandWorkload workload;
  workload.starter = "/bin/ocrtune";
  workload.command = {"serve", "--port=808{copy}"};
  workload.environment = {{"CACHE", "/tmp/{copy}"}};
  const auto launch =
      fill_for(workload, Machine(), *parse_knobs({"nproc=2"}), {"/trial", 1})->launch;
  EXPECT_TRUE(starts_copies(workload));
  EXPECT_FALSE(copies_take_gpus(workload));
  EXPECT_EQ(names_used(workload).count("nproc"), 1U);
  EXPECT_THAT(launch.arguments, testing::ElementsAre("/bin/ocrtune", "rank-exec", "--copies", "2",
                                                     "--", "serve", "--port=808{copy}"));
  EXPECT_THAT(launch.environment, Contains(Pair("CACHE", "/tmp/{copy}")));
  workload.knobs = {"copy"};  // --dim copy=
  EXPECT_FALSE(starts_copies(workload));
  EXPECT_EQ(names_used(workload).count("nproc"), 0U);
}

TEST(CommandFill, ADimensionOfThatNameIsTheUsersOwn) {
  CommandWorkload workload;
  workload.command = {"read", "{gpu}"};
  workload.knobs = {"gpu"};
  EXPECT_FALSE(starts_copies(workload));
  const auto filled = fill_for(workload, with_gpus(2), *parse_knobs({"gpu=1"}), {"/trial", 1});
  EXPECT_THAT(filled->launch.arguments, testing::ElementsAre("read", "1"));
}

TEST(CommandFill, AFlagIsLeftOutWhereItsValueIsNone) {
  CommandWorkload workload;
  workload.command = {"torchrun", "{numa_binding?--numa-binding=}", "{?--x=}", "train.py"};
  workload.knobs = {"numa_binding"};
  const auto filled = [&](const char* value) {
    return fill_for(workload, Machine(), *parse_knobs({value}), {"/trial", 1})->launch.arguments;
  };
  EXPECT_THAT(filled("numa_binding=node"),
              testing::ElementsAre("torchrun", "--numa-binding=node", "{?--x=}", "train.py"));
  EXPECT_THAT(filled("numa_binding=none"), testing::ElementsAre("torchrun", "{?--x=}", "train.py"));
  EXPECT_EQ(names_used(workload).count("numa_binding"), 1U);
}

}  // namespace
}  // namespace ocrtune
