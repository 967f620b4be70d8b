#include "extras/consistency/consistency.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

std::string fixture(const std::string& name) {
  return std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/configs/" + name;
}

FlatConfig config(const std::string& name, const std::string& yaml) {
  auto values = flatten_yaml(yaml, name);
  EXPECT_TRUE(values) << (values ? "" : values.error().what);
  return {name, "/nowhere", *values};
}

Consistency compare(const std::vector<FlatConfig>& configs, ConsistencyOptions options = {}) {
  auto result = compare_configs(configs, options);
  EXPECT_TRUE(result);
  return *result;
}

std::set<std::string> keys(const std::vector<ConfigDifference>& differences) {
  std::set<std::string> names;
  for (const ConfigDifference& difference : differences) names.insert(difference.key);
  return names;
}

// What is known of the whole job's ranks decides whether the products come out.
TEST(BatchSums, DeepSpeedsThreeNumbersMultiply) {
  const FlatConfig deepspeed =
      config("ds.json", R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 4,
                     "gradient_accumulation_steps": 8})");
  ConsistencyOptions options;
  options.nproc = {8};
  EXPECT_TRUE(compare({deepspeed}, options).consistent());
  options.nproc = {4};
  const Consistency wrong = compare({deepspeed}, options);
  ASSERT_EQ(wrong.differences.size(), 1u);
  EXPECT_EQ(wrong.differences[0].key, "train_batch_size");
  EXPECT_EQ(wrong.differences[0].values.at("ds.json"), "256 != 4 x 8 x 4 ranks = 128");
  const FlatConfig by_itself = config("ds.json", R"({"train_batch_size": "auto",
      "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8})");
  EXPECT_TRUE(compare({by_itself}, options).consistent());
}

TEST(BatchSums, RanksFillWholeModelsAndMachines) {
  ConsistencyOptions eight;
  eight.nproc = {8};
  const auto wrong = [&](const std::string& yaml) {
    return keys(compare({config("f", yaml)}, eight).differences);
  };
  const std::string megatron = "micro-batch-size: 2\ntensor-model-parallel-size: ";
  EXPECT_THAT(wrong(megatron + "2\nglobal-batch-size: 64\n"), testing::IsEmpty());
  EXPECT_THAT(wrong(megatron + "2\nglobal-batch-size: 60\n"),
              testing::ElementsAre("global_batch_size"));
  EXPECT_THAT(wrong(megatron + "3\nglobal-batch-size: 64\n"),
              testing::ElementsAre("tensor_model_parallel_size"));
  EXPECT_THAT(wrong("num_machines: 2\nnum_processes: 8\n"), testing::IsEmpty());
  EXPECT_THAT(wrong("num_machines: 3\nnum_processes: 8\n"), testing::ElementsAre("num_processes"));
  EXPECT_THAT(wrong("num_machines: 2\nnum_processes: 4\n"), testing::ElementsAre("num_processes"));
}

TEST(BatchSums, ARatioForEachLabelFile) {
  ConsistencyOptions two;
  two.nproc = {2};
  const std::string labels = "Train: {dataset: {label_file_list: [a.txt, b.txt], ratio_list: ";
  EXPECT_TRUE(compare({config("f", labels + "[0.5, 0.5]}}")}, two).consistent());
  EXPECT_THAT(keys(compare({config("f", labels + "[0.5]}}")}, two).differences),
              testing::ElementsAre("Train.dataset.ratio_list"));
}

TEST(FlatConfig, APythonProgramIsSaidToBeOne) {
  const std::string directory = *make_temporary_directory("config");
  const std::string path = join_path(directory, "cfg.py");
  ASSERT_TRUE(write_file(path, "data = dict(samples_per_gpu=8)\n"));
  const auto read = read_flat_config(path);
  ASSERT_TRUE(remove_tree(directory));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr("is a Python program"));
}

TEST(FlatConfig, ScalarsHaveOneSpelling) {
  EXPECT_EQ(normal_scalar("1e-3", false), normal_scalar("0.001", false));
  EXPECT_EQ(normal_scalar("192.0", false), normal_scalar("192", false));
  EXPECT_EQ(normal_scalar("1_000", false), normal_scalar("1000", false));
  EXPECT_EQ(normal_scalar("-1_00", false), normal_scalar("-100", false));
  EXPECT_EQ(normal_scalar("010", false), normal_scalar("8", false));  // octal to PyYAML
  EXPECT_NE(normal_scalar("010", false), normal_scalar("10", false));
  EXPECT_NE(normal_scalar("_100", false), normal_scalar("100", false));
  EXPECT_EQ(normal_scalar("-0.0", false), normal_scalar("0", false));
  EXPECT_EQ(normal_scalar("True", false), normal_scalar("yes", false));
  EXPECT_EQ(normal_scalar("", false), normal_scalar("~", false));
  EXPECT_EQ(normal_scalar("BGR", true), normal_scalar("BGR", false));
  EXPECT_NE(normal_scalar("1", true), normal_scalar("1", false));
  EXPECT_NE(normal_scalar("0.001", false), normal_scalar("0.002", false));
}

TEST(FlatConfig, AnchorsAndMergesAreFollowed) {
  const auto values = *flatten_yaml("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\nc: *x\n", "f");
  EXPECT_EQ(values.at("b.p"), "1");
  EXPECT_EQ(values.at("b.q"), "3");
  EXPECT_EQ(values.at("c.q"), "2");
  EXPECT_EQ(values.count("b.<<"), 0u);
}

TEST(FlatConfig, BadFilesGiveOneLineWithThePlace) {
  const auto twice = flatten_yaml("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n", "f.yml");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().what, "f.yml:5: key 'b.c' is given twice (first in line 3)");
  const auto syntax = flatten_yaml("a: [1, 2\nb: 3\n", "f.yml");
  ASSERT_FALSE(syntax);
  EXPECT_THAT(syntax.error().what, testing::StartsWith("f.yml:"));
  EXPECT_EQ(syntax.error().what.find('\n'), std::string::npos);
  EXPECT_FALSE(flatten_yaml("", "f.yml"));
  EXPECT_FALSE(flatten_yaml("just words", "f.yml"));
  for (const char* several : {"a: 1\n---\nb: 2\n", "---\na: 1\n---\n", "a: 1\n...\nb: 2\n"}) {
    EXPECT_FALSE(flatten_yaml(several, "f.yml")) << several;
  }
  for (const char* one :
       {"%YAML 1.2\n---\na: 1\n...\n# end\n", "# x\n\n---\na: 1\n", "a: '---'\n"}) {
    EXPECT_TRUE(flatten_yaml(one, "f.yml")) << one;
  }
  // yaml-cpp makes documents of these for ever.
  for (const char* endless : {",", ",a: 1\n", "]\n", "}\na: 1\n", ":\n,"}) {
    EXPECT_FALSE(flatten_yaml(endless, "f.yml")) << endless;
  }
  EXPECT_FALSE(flatten_yaml("a: *nothing\n", "f.yml"));
  EXPECT_FALSE(read_flat_config("/nowhere/x.yml"));
}

TEST(FlatConfig, AliasesThatExplodeAreRefused) {
  std::string bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string below = "*a" + std::to_string(i - 1) + " ";
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += below + (k < 9 ? "," : "");
    bomb += "]\n";
  }
  const auto result = flatten_yaml(bomb, "bomb.yml");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("bomb.yml"));
}

TEST(FlatConfig, EnvAndVersionFilesAreRead) {
  const std::string folder = *make_temporary_directory("flat");
  ASSERT_TRUE(write_file(join_path(folder, "env.txt"), "export NCCL_P2P_DISABLE=1\nRANK=0\n"));
  ASSERT_TRUE(write_file(join_path(folder, "versions.txt"), "# pip\nPaddlePaddle==3.0.0\n"));
  EXPECT_EQ(read_flat_config(join_path(folder, "env.txt"))->values.at("env.NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(read_flat_config(join_path(folder, "versions.txt"))->values.at("version.paddlepaddle"),
            "3.0.0");
  ASSERT_TRUE(remove_tree(folder));
}

TEST(FlatConfig, EnvironmentsAreReadAsShellsWriteThem) {
  const std::string folder = *make_temporary_directory("flat");
  const std::string env = join_path(folder, "env.sh");
  ASSERT_TRUE(write_file(env,
                         "declare -x NCCL_P2P_DISABLE=\"1\"\ndeclare -x OLDPWD\n"
                         "BASH_FUNC_module%%=() {  eval `modulecmd`\n}\nRANK=0\n"));
  const auto config = read_flat_config(env);
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->values,
              testing::UnorderedElementsAre(testing::Pair("env.NCCL_P2P_DISABLE", "1"),
                                            testing::Pair("env.RANK", "0")));
  ASSERT_TRUE(remove_tree(folder));
}

TEST(Consistency, OrderCommentsAnchorsAndSpellingDoNotMatter) {
  const Consistency result = compare(
      {*read_flat_config(fixture("node0.yml")), *read_flat_config(fixture("node0_again.yml"))});
  EXPECT_THAT(keys(result.differences), testing::IsEmpty());
  EXPECT_THAT(keys(result.local),
              testing::UnorderedElementsAre("Train.loader.num_workers", "Global.save_model_dir"));
}

TEST(Consistency, EveryWrongKeyIsNamedWithBothValues) {
  const Consistency result = compare(
      {*read_flat_config(fixture("node0.yml")), *read_flat_config(fixture("node1_wrong.yml"))});
  EXPECT_THAT(
      keys(result.differences),
      testing::UnorderedElementsAre(
          "Optimizer.lr.learning_rate", "Train.dataset.transforms[DecodeImage].img_mode",
          "Architecture.Backbone.dims[0]", "Architecture.Backbone.dims[1]",
          "Architecture.Backbone.dims[2]", "Global.character_dict_path", "Train.sampler.first_bs"));
  for (const ConfigDifference& difference : result.differences) {
    EXPECT_FALSE(difference.effect.empty());
    EXPECT_EQ(difference.values.size(), 2u);
    if (difference.key == "Optimizer.lr.learning_rate") {
      EXPECT_EQ(difference.values.at(fixture("node0.yml")), "0.001");
      EXPECT_EQ(difference.values.at(fixture("node1_wrong.yml")), "0.002");
    }
  }
}

TEST(Consistency, DictionariesAreComparedByContent) {
  const std::string a = "Global: {character_dict_path: " + fixture("dict.txt") + "}\n";
  const std::string b = "Global: {character_dict_path: " + fixture("dict_b.txt") + "}\n";
  EXPECT_TRUE(compare({config("a", a), config("b", a)}).consistent());
  EXPECT_FALSE(compare({config("a", a), config("b", b)}).consistent());
  const std::string far = "Global: {character_dict_path: /elsewhere/dict.txt}\n";
  const Consistency unread = compare({config("a", a), config("b", far)});
  EXPECT_TRUE(unread.consistent());
  EXPECT_THAT(unread.notes, testing::Contains(HasSubstr("cannot be read here")));
  const std::string other = "Global: {character_dict_path: /elsewhere/en.txt}\n";
  EXPECT_FALSE(compare({config("a", a), config("b", other)}).consistent());
}

TEST(Consistency, TheEndOfTheLastLineIsNoContent) {
  const std::string folder = *make_temporary_directory("dict");
  std::vector<FlatConfig> configs;
  for (const char* text : {"a\nb\n", "a\nb", "a\r\nb\r\n"}) {
    const std::string path = join_path(folder, std::to_string(configs.size()) + ".txt");
    ASSERT_TRUE(write_file(path, text));
    configs.push_back(config(path, "Global: {character_dict_path: " + path + "}\n"));
  }
  EXPECT_TRUE(compare(configs).consistent());
  ASSERT_TRUE(write_file(join_path(folder, "2.txt"), "a\n\nb\n"));
  EXPECT_FALSE(compare(configs).consistent());
  ASSERT_TRUE(remove_tree(folder));
}

TEST(Consistency, AnAbsentKeyIsItsDefault) {
  const FlatConfig absent = config("a", "Global: {epoch_num: 1}");
  const FlatConfig stated = config(
      "b", "Global: {epoch_num: 1, use_amp: False, cal_metric_during_train: false, seed: 1024}");
  EXPECT_TRUE(compare({absent, stated}).consistent());
  const FlatConfig other = config("c", "Global: {epoch_num: 1, use_amp: True, seed: 7}");
  EXPECT_THAT(keys(compare({absent, other}).differences),
              testing::UnorderedElementsAre("Global.use_amp", "Global.seed"));
}

TEST(Consistency, PlacesForAnchorsMayDiffer) {
  EXPECT_TRUE(
      compare({config("a", "x-rate: &r 0.1\nlr: *r\n"), config("b", "lr: 1e-1\n")}).consistent());
}

TEST(Consistency, NamedEntriesWithoutParametersCount) {
  const auto transforms = [](const std::string& name) {
    return config(name, "Train:\n dataset:\n  transforms:\n  - DecodeImage: {img_mode: BGR}\n  - " +
                            name + ": null\n  - KeepKeys: {keep_keys: [image]}\n");
  };
  const Consistency other = compare({transforms("RecAug"), transforms("ABINetRecAug")});
  EXPECT_THAT(keys(other.differences),
              testing::UnorderedElementsAre("Train.dataset.transforms[RecAug]",
                                            "Train.dataset.transforms[ABINetRecAug]"));
  EXPECT_EQ(other.differences[0].values.at("RecAug"), "(absent)");
  EXPECT_EQ(other.differences[0].values.at("ABINetRecAug"), "entry 2 of 3");
  const auto loss = [](const std::string& name) {
    return config(name,
                  "Loss: {name: MultiLoss, loss_config_list: [CTCLoss: null, " + name + ": ]}");
  };
  EXPECT_THAT(keys(compare({loss("NRTRLoss"), loss("SARLoss")}).differences),
              testing::UnorderedElementsAre("Loss.loss_config_list[NRTRLoss]",
                                            "Loss.loss_config_list[SARLoss]"));
  EXPECT_TRUE(
      compare({config("a", "Loss: {l: [CTCLoss: null]}"), config("b", "Loss: {l: [CTCLoss: {}]}")})
          .consistent());
}

TEST(Consistency, OneInsertedTransformIsOneDifference) {
  const std::string head = "Train:\n dataset:\n  transforms:\n  - DecodeImage: {img_mode: BGR}\n";
  const std::string tail =
      "  - CTCLabelEncode:\n  - RecResizeImg: {image_shape: [3, 48, 320]}\n"
      "  - KeepKeys: {keep_keys: [image, label]}\n";
  const FlatConfig short_list = config("a", head + tail);
  const FlatConfig long_list = config("b", head + "  - RecAug: {tia_prob: 0.4}\n" + tail);
  const Consistency result = compare({short_list, long_list});
  ASSERT_THAT(keys(result.differences), testing::ElementsAre("Train.dataset.transforms[RecAug]"));
  EXPECT_EQ(result.differences[0].values.at("a"), "(absent)");
  EXPECT_EQ(result.differences[0].values.at("b"), "entry 2 of 5");
  const Consistency no_list =
      compare({long_list, config("c", "Train: {dataset: {transforms: []}}")});
  EXPECT_THAT(keys(no_list.differences), testing::ElementsAre("Train.dataset.transforms"));
}

TEST(Consistency, EntriesAreComparedByNameAndOrder) {
  const FlatConfig a = config("a", "t: [A: {p: 1}, B: {q: 2}, A: {p: 3}]");
  EXPECT_TRUE(compare({a, config("b", "t: [{A: {p: 1}}, {B: {q: 2}}, {A: {p: 3}}]")}).consistent());
  EXPECT_THAT(keys(compare({a, config("b", "t: [A: {p: 1}, B: {q: 2}, A: {p: 4}]")}).differences),
              testing::ElementsAre("t[A#2].p"));
  EXPECT_THAT(keys(compare({a, config("b", "t: [B: {q: 2}, A: {p: 1}, A: {p: 3}]")}).differences),
              testing::ElementsAre("t (order)"));
  const FlatConfig named = config("c", "t: [{name: Aug, p: 1}, {name: Pad, w: 2}]");
  EXPECT_THAT(
      keys(compare({named, config("d", "t: [{name: Aug, p: 5}, {name: Pad, w: 2}]")}).differences),
      testing::ElementsAre("t[Aug].p"));
}

TEST(Consistency, EvaluationOfRankZeroIsLocal) {
  const auto with = [](const std::string& name, const std::string& batch) {
    return config(
        name, "Global: {cal_metric_during_train: " + std::string(batch == "1" ? "true" : "false") +
                  "}\nEval: {loader: {batch_size_per_card: " + batch + "}}");
  };
  const Consistency result = compare({with("a", "1"), with("b", "64")});
  EXPECT_TRUE(result.consistent());
  EXPECT_THAT(keys(result.local), testing::UnorderedElementsAre("Eval.loader.batch_size_per_card",
                                                                "Global.cal_metric_during_train"));
}

TEST(Consistency, NoCheckpointIsWrittenAsNullOrNotAtAll) {
  EXPECT_TRUE(compare({config("a", "x: 1\nGlobal: {checkpoints: null}"), config("b", "x: 1")})
                  .consistent());
}

TEST(Consistency, RanksMustDiffer) {
  EXPECT_FALSE(compare({config("a", "rank: 0"), config("b", "rank: 0")}).consistent());
  EXPECT_TRUE(compare({config("a", "rank: 0"), config("b", "rank: 1")}).consistent());
}

TEST(Consistency, AnAbsentKeyIsNullButNotAValue) {
  EXPECT_TRUE(
      compare({config("a", "x: 1\nGlobal: {seed: null}"), config("b", "x: 1")}).consistent());
  EXPECT_FALSE(compare({config("a", "x: 1\nGlobal: {seed: 3}"), config("b", "x: 1")}).consistent());
}

TEST(Consistency, GlobalBatchAndLearningRateAgainstNproc) {
  const FlatConfig one = *read_flat_config(fixture("node0.yml"));
  ConsistencyOptions options;
  options.nproc = {2};
  EXPECT_THAT(compare({one}, options).notes, testing::Contains(HasSubstr("global batch 384")));
  options.lr_nproc = 8;
  const Consistency scaled = compare({one}, options);
  ASSERT_EQ(scaled.differences.size(), 1u);
  EXPECT_THAT(scaled.differences[0].effect, HasSubstr("0.00025"));
  options.lr_nproc = 2;
  EXPECT_TRUE(compare({one}, options).consistent());
}

TEST(Consistency, TooManyProcessesForTheSamples) {
  const FlatConfig one = *read_flat_config(fixture("node0.yml"));  // 400 samples, batch 192
  ConsistencyOptions options;
  options.nproc = {3};
  EXPECT_THAT(keys(compare({one}, options).differences),
              testing::ElementsAre("samples against processes"));
}

TEST(Consistency, NprocMustFit) {
  const FlatConfig one = config("a", "x: 1");
  ConsistencyOptions options;
  options.nproc = {1, 2};
  EXPECT_EQ(compare_configs({one}, options).error().kind, ErrorKind::usage);
  EXPECT_EQ(compare_configs({}, {}).error().kind, ErrorKind::usage);
}

TEST(ConsistencyRules, TheFirstFittingRuleHolds) {
  EXPECT_EQ(rule_for("env.NCCL_SOCKET_IFNAME").demand, Demand::local);
  EXPECT_EQ(rule_for("env.NCCL_P2P_DISABLE").demand, Demand::equal);
  EXPECT_EQ(rule_for("env.HOSTNAME").demand, Demand::local);
  EXPECT_EQ(rule_for("version.paddlepaddle-gpu").demand, Demand::equal);
  EXPECT_EQ(rule_for("version.tqdm").demand, Demand::local);
  EXPECT_EQ(rule_for("Train.loader.num_workers").demand, Demand::local);
  EXPECT_EQ(rule_for("PostProcess.character_dict_path").demand, Demand::same_files);
  EXPECT_EQ(rule_for("anything.else").demand, Demand::equal);
}

}  // namespace
}  // namespace ocrtune
