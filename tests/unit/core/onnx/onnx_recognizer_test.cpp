#include "core/onnx/onnx_recognizer.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "core/backends/backend_table.h"
#include "core/graph/inference_form.h"
#include "core/graph/network.h"
#include "core/infer/recognizer.h"
#include "tests/support/onnx_writer.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

std::string refusal_of(const std::string& bytes, const OnnxFacts& facts = {}) {
  const auto model = read_onnx_recognizer(bytes, facts);
  return model ? "" : model.error().what;
}

std::string tiny() { return tiny_recognizer_with("0\n1\n2\n3", 5); }

Batch pattern(int count) {
  Batch batch;
  batch.count = count;
  batch.height = 16;
  batch.width = 32;
  for (int i = 0; i < count * 3 * 16 * 32; ++i) {
    batch.images.push_back(static_cast<float>((i * 37) % 101) / 50 - 1);
  }
  return batch;
}

std::vector<float> logits_of(const OnnxRecognizer& model, const Backend& backend, bool folded) {
  const InferenceForm form = make_inference_form(model.graph, true);
  const Graph& graph = folded ? form.graph : model.graph;
  std::vector<float> parameters = model.parameters, statistics = model.statistics;
  if (folded) {
    parameters.assign(graph.parameter_floats, 0);
    statistics.assign(graph.statistic_floats, 0);
    fold_parameters(form, model.graph, model.parameters.data(), model.statistics.data(),
                    parameters.data(), statistics.data());
  }
  Network network(graph, backend);
  const auto logits = network.infer(pattern(2), parameters, statistics).value();
  return {logits.begin(), logits.end()};
}

// ONNX Runtime 1.32.0 on the tiny recogniser and the pattern with its channels turned round.
constexpr float kGolden[] = {
    3.342786F,  -2.633033F, -1.333389F, -0.881567F, 1.42285F,   3.512617F,  -2.424907F, -1.371593F,
    -0.797993F, 1.583972F,  3.526127F,  -2.448289F, -1.373145F, -0.801005F, 1.593316F,  3.540884F,
    -2.486719F, -1.374616F, -0.804649F, 1.58914F,   3.524135F,  -2.443555F, -1.374883F, -0.799704F,
    1.590226F,  3.56828F,   -2.476278F, -1.372144F, -0.803479F, 1.607425F,  3.510906F,  -2.41447F,
    -1.360424F, -0.805056F, 1.580587F,  3.30419F,   -2.480289F, -1.302254F, -0.856282F, 1.468571F};

TEST(OnnxRecognizer, GivesTheLogitsOfOnnxRuntime) {
  const auto model = read_onnx_recognizer(tiny(), {}).value();
  for (const char* name : {"reference", "onednn"}) {
    const auto backend = make_backend({name, "fp32"}).value();
    for (const bool folded : {false, true}) {
      const auto logits = logits_of(model, *backend, folded);
      ASSERT_EQ(logits.size(), 2 * std::size(kGolden));
      for (std::size_t i = 0; i < std::size(kGolden); ++i) {
        EXPECT_NEAR(logits[i], kGolden[i], 2e-5) << name << " " << folded << " " << i;
      }
    }
  }
}

// ONNX Runtime 1.31.1 on the tail of a CRNN: the first, a middle and the last step of the first
// line.
constexpr float kGoldenCrnn[] = {-0.745927F, 0.736760F,  -0.905604F, -0.250392F, 0.375052F,
                                 -1.428340F, 0.147064F,  -1.544345F, -0.933844F, 0.357397F,
                                 -1.397751F, -0.101828F, -1.357442F, -0.979315F, 0.236436F};

TEST(OnnxRecognizer, ReadsLstmsAsOnnxRuntimeDoes) {
  const std::string dictionary = onnx_metadata_bytes("character", "0\n1\n2\n3");
  const auto model = read_onnx_recognizer(tiny_crnn(5) + dictionary, {});
  ASSERT_TRUE(model.ok()) << model.error().what;
  for (const char* name : {"reference", "onednn"}) {
    const auto logits = logits_of(*model, *make_backend({name, "fp32"}).value(), false);
    ASSERT_EQ(logits.size(), 2U * 16 * 5);
    for (std::size_t i = 0; i < std::size(kGoldenCrnn); ++i) {
      const std::size_t step = std::vector<std::size_t>{0, 7, 15}[i / 5];
      EXPECT_NEAR(logits[5 * step + i % 5], kGoldenCrnn[i], 2e-5) << name << " " << i;
    }
  }
  EXPECT_THAT(refusal_of(tiny_crnn(5, "forward") + dictionary), HasSubstr("only bidirectional"));
  EXPECT_THAT(refusal_of(tiny_crnn(5, "bidirectional", 0.5F) + dictionary),
              HasSubstr("operator LSTM (lstm1): "));
}

TEST(OnnxRecognizer, PutsTogetherWhatExportersTakeApart) {
  const auto model = read_onnx_recognizer(tiny(), {}).value();
  EXPECT_EQ(model.height, 16);
  EXPECT_EQ(model.height_from, OnnxRecognizer::HeightFrom::model);
  EXPECT_EQ(model.alphabet.text(), "0123");
  EXPECT_EQ(model.operators.at("Conv"), 3);
  int attentions = 0, norms = 0, affines = 0, swishes = 0;
  for (const Layer& layer : model.graph.layers) {
    if (const auto* attention = std::get_if<Attention>(&layer.operation)) {
      EXPECT_EQ(attention->heads, 2);
      ++attentions;
    }
    norms += std::holds_alternative<LayerNorm>(layer.operation) ? 1 : 0;
    affines += std::holds_alternative<Affine>(layer.operation) ? 1 : 0;
    const auto* activate = std::get_if<Activate>(&layer.operation);
    swishes += activate != nullptr && activate->activation == Activation::hard_swish ? 1 : 0;
  }
  EXPECT_EQ(attentions, 1);
  EXPECT_EQ(norms, 1);
  EXPECT_EQ(affines, 2);  // the learnable numbers, and three times a swish
  EXPECT_EQ(swishes, 1);
  EXPECT_EQ(model.graph.layers.size(), 16U);
}

TEST(OnnxRecognizer, TakesTheSpaceThatPaddleAddsAndTheLastDictionary) {
  const auto spaced = read_onnx_recognizer(tiny_recognizer_with("a\nb\nc", 5), {}).value();
  EXPECT_TRUE(spaced.space_added);
  EXPECT_EQ(spaced.alphabet.text(), "abc ");
  const std::string twice =
      tiny() + onnx_metadata_bytes("character", "w\r\nx\r\ny\r\n\xE7\x96\x97\r\n");
  EXPECT_EQ(read_onnx_recognizer(twice, {}).value().alphabet.text(), "wxy\xE7\x96\x97");
  EXPECT_EQ(read_onnx_recognizer(tiny_recognizer(5), {0, "4\n3\n2\n1\n"}).value().alphabet.text(),
            "4321");
}

TEST(OnnxRecognizer, RefusesADictionaryThatDoesNotFit) {
  EXPECT_THAT(refusal_of(tiny_recognizer(5)), HasSubstr("no dictionary"));
  EXPECT_THAT(
      refusal_of(tiny_recognizer_with("0\n1", 5)),
      HasSubstr("2 characters in the dictionary and 5 classes: 4 characters fit, or 3 and"));
  EXPECT_THAT(refusal_of(tiny_recognizer_with("0\n1\n2\n2", 5)), HasSubstr("comes twice"));
  EXPECT_THAT(refusal_of(tiny_recognizer_with("0\n1\nab\n2", 5)), HasSubstr("line 3"));
}

TEST(OnnxRecognizer, RefusesAnotherHeightAndAnotherOpset) {
  EXPECT_THAT(refusal_of(tiny(), {32, ""}), HasSubstr("16 pixels high, not 32"));
  const std::string dictionary = onnx_metadata_bytes("character", "0\n1\n2\n3");
  for (const int opset : {9, 25}) {
    EXPECT_THAT(refusal_of(tiny_recognizer(5, opset) + dictionary),
                HasSubstr("ocrtune reads 11 to"));
  }
}

TEST(OnnxRecognizer, NamesTheFirstOperatorThatDoesNotFit) {
  using Dims = OnnxWriter::Dims;
  const auto one = [](const std::string& operation, const std::string& attributes) {
    OnnxWriter net;
    net.weights("w", {8, 3, 3, 3});
    net.node("Conv", {"image", "w"}, "c", OnnxWriter::conv(3, 1));
    net.node(operation, {"c"}, "strange", attributes);
    return net.model({0, 3, 16, 0}, "strange", 3);
  };
  EXPECT_THAT(refusal_of(one("Resize", "")),
              HasSubstr("operator Resize (strange): the engine has no such operator"));
  EXPECT_THAT(refusal_of(one("AveragePool", OnnxWriter::attribute("kernel_shape", Dims{3, 3}))),
              HasSubstr("operator AveragePool (strange): windows that overlap"));
  EXPECT_THAT(refusal_of(one("Softmax", OnnxWriter::attribute("axis", std::int64_t{3}))),
              HasSubstr("operator Softmax (strange)"));
  OnnxWriter half;
  half.tensor("w", {1, 3, 1, 1}, 10, "abcdef", 6);
  half.node("Conv", {"image", "w"}, "c", OnnxWriter::conv(1, 1));
  EXPECT_THAT(refusal_of(half.model({0, 3, 16, 0}, "c", 3)), HasSubstr("weights of float16"));
}

TEST(OnnxRecognizer, RefusesWhatIsNoRecogniser) {
  OnnxWriter net;
  net.weights("w", {8, 3, 3, 3});
  net.node("Conv", {"image", "w"}, "c", OnnxWriter::conv(3, 1));
  EXPECT_THAT(refusal_of(net.model({0, 3, 0, 0}, "c", 4)),
              HasSubstr("no text recogniser: an output with 4 dimensions"));
  EXPECT_THAT(refusal_of(net.model({0, 1, 0, 0}, "c", 3)), HasSubstr("its input is not one image"));
  EXPECT_THAT(refusal_of("hello"), HasSubstr("not an ONNX model"));
  EXPECT_THAT(refusal_of(""), HasSubstr("not an ONNX model"));
}

TEST(OnnxRecognizer, AnyPieceOfAFileIsRefusedOrRead) {
  const std::string whole = tiny_recognizer(5);
  for (std::size_t length = 0; length < whole.size(); length += 2) {
    EXPECT_NE(refusal_of(whole.substr(0, length)), "") << length;
  }
  const std::string changed = tiny();
  for (std::size_t at = 0; at < changed.size(); at += 3) {
    for (const char byte : {'\0', '\x7F', '\xFF'}) {
      std::string damaged = changed;
      damaged[at] = byte;
      (void)read_onnx_recognizer(damaged, {});  // whatever comes, no crash
    }
  }
}

TEST(OnnxRecognizer, ARecognizerReadsWithTheFile) {
  const std::string folder = make_temporary_directory("onnx_test").value();
  RecognizerOptions options;
  options.model = folder + "/tiny.onnx";
  options.height = 16;
  options.width = 64;
  options.batch = 2;
  const auto missing = Recognizer::create(options, Alphabet::from_text("0123").value());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::missing);
  ASSERT_TRUE(write_file(options.model, tiny()).ok());
  const auto recognizer = Recognizer::create(options, Alphabet::from_text("0123").value());
  ASSERT_TRUE(recognizer.ok()) << recognizer.error().what;
  EXPECT_LT((*recognizer)->check_against_reference().value(), 1e-3);
  EXPECT_GT(Recognizer::footprint_bytes(options, 5).value(), 0U);
  EXPECT_TRUE(
      (*recognizer)->read(std::vector<Image>{{32, 16, std::vector<std::uint8_t>(1536)}}).ok());
  (void)remove_tree(folder);
}

}  // namespace
}  // namespace ocrtune
