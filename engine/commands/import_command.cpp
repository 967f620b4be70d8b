// ocrtune import: checks an exported ONNX recogniser and writes it with its dictionary, or with
// what it was trained to.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/shell/progress.h"
#include "core/backends/backend_table.h"
#include "core/graph/inference_form.h"
#include "core/graph/network.h"
#include "core/infer/decode.h"
#include "core/infer/initial_model.h"
#include "core/infer/recognizer.h"
#include "core/onnx/onnx_export.h"
#include "core/onnx/onnx_file.h"
#include "core/onnx/onnx_recognizer.h"
#include "core/synth/fonts.h"
#include "core/synth/line_images.h"
#include "core/train/training_run.h"
#include "engine/commands/engine_commands.h"

namespace ocrtune {
namespace {

// Both values are guesses.
constexpr int kDrawnLines = 20;
constexpr int kDrawnWidth = 640;

struct ImportFlags {
  std::string model, output, checkpoint;
  OnnxFacts facts;
  std::string dictionary;  // file
};

struct SelfTest {
  double difference = 0;  // relative, from the reference backend
  int drawn = 0, exact = 0;
  std::string no_lines;  // why none were drawn
};

Result<std::vector<float>> logits_of(const Graph& graph, std::span<const float> parameters,
                                     std::span<const float> statistics, const Batch& batch) {
  const auto backend = OCRTUNE_TRY(make_backend({}));
  Network network(graph, *backend);
  const auto logits = OCRTUNE_TRY(network.infer(batch, parameters, statistics));
  return std::vector<float>(logits.begin(), logits.end());
}

// Replaces the weights by those that it was trained to. The file is written anew, in the form that
// inference runs: batch norms are part of the convolutions before them.
struct TrainedModel {
  OnnxRecognizer model;
  std::string bytes;
  double difference = 0;  // of the written model's logits from the trained one's, relative
};
Result<TrainedModel> with_checkpoint(OnnxRecognizer model, const std::string& path) {
  const auto alphabet = OCRTUNE_TRY(Alphabet::load(alphabet_path(path)));
  if (alphabet.characters() != model.alphabet.characters()) {
    return Error{ErrorKind::invalid,
                 path + " was trained with another alphabet than the model has"};
  }
  // A checkpoint is read whole: the optimiser's moments are read and dropped.
  std::vector<float> moments(2 * model.parameters.size());
  const std::span<float> both(moments);
  OCRTUNE_TRY(
      read_checkpoint(path, {kImportedModel, graph_hash(model.graph)},
                      {model.parameters, model.statistics, both.first(model.parameters.size()),
                       both.subspan(model.parameters.size())}));
  const InferenceForm form = make_inference_form(model.graph, true);
  std::vector<float> parameters(form.graph.parameter_floats);
  std::vector<float> statistics(form.graph.statistic_floats);
  fold_parameters(form, model.graph, model.parameters.data(), model.statistics.data(),
                  parameters.data(), statistics.data());
  TrainedModel trained;
  trained.bytes = OCRTUNE_TRY(
      write_onnx_recognizer(form.graph, parameters, statistics, model.alphabet, model.height));
  // What was written is read back, so that the comparison covers writer and reader.
  trained.model = OCRTUNE_TRY(read_onnx_recognizer(trained.bytes, {}));
  Random random(1);
  const Batch batch = noise_batch({1, model.height, kDrawnWidth / 2}, random);
  const auto expected =
      OCRTUNE_TRY(logits_of(model.graph, model.parameters, model.statistics, batch));
  const auto written = OCRTUNE_TRY(
      logits_of(trained.model.graph, trained.model.parameters, trained.model.statistics, batch));
  trained.difference = relative_difference(written, expected);
  if (trained.difference <= max_reading_error("fp32")) return trained;
  return Error{ErrorKind::failed,
               fmt::format("the written model's logits differ from the trained one's by {:.2g}",
                           trained.difference)};
}

std::string default_output(const std::string& model) {
  const std::string name = base_name(model);
  return name.substr(0, name.size() - std::string(".onnx").size()) + ".ocrtune.onnx";
}

// Letters and digits that the model can spell, drawn and read.
Status read_drawn_lines(const OnnxRecognizer& model, Recognizer& recognizer, SelfTest& test) {
  const auto plain = OCRTUNE_TRY(Alphabet::from_name("alnum"));
  std::string known;
  for (const std::string& character : plain.characters()) {
    if (model.alphabet.encode(character)) known += character;
  }
  const auto fonts = find_fonts(font_folders());
  if (known.empty() || !fonts || fonts->empty()) {
    test.no_lines = known.empty() ? "the dictionary has neither Latin letters nor digits"
                                  : "no font is installed";
    return Status();
  }
  DrawOptions draw;
  draw.fonts = *fonts;
  draw.height = model.height;
  draw.min_length = 4;
  auto painter = LinePainter::create(OCRTUNE_TRY(Alphabet::from_text(known)), draw);
  if (!painter) {
    test.no_lines = painter.error().what;
    return Status();
  }
  for (; test.drawn < kDrawnLines; ++test.drawn) {
    const DrawnLine line = OCRTUNE_TRY(painter->draw(test.drawn));
    const auto read = OCRTUNE_TRY(recognizer.read(std::vector<Image>{line.image}));
    test.exact += read[0].text == line.text ? 1 : 0;
  }
  return Status();
}

Result<SelfTest> test_model(const OnnxRecognizer& model, const std::string& path) {
  RecognizerOptions options;
  options.model = path;
  options.height = model.height;
  options.width = kDrawnWidth;
  options.batch = 2;
  options.threads = 1;  // two seeded lines and twenty drawn ones: a team would only wait
  const auto recognizer = OCRTUNE_TRY(Recognizer::create(options, model.alphabet));
  SelfTest test;
  test.difference = OCRTUNE_TRY(recognizer->check_against_reference());
  if (!(test.difference <= max_reading_error("fp32"))) {
    return Error{
        ErrorKind::failed,
        fmt::format("the onednn backend differs from the reference by {:.2g} (limit {:.2g})",
                    test.difference, max_reading_error("fp32"))};
  }
  OCRTUNE_TRY(read_drawn_lines(model, *recognizer, test));
  return test;
}

// On a copy in a temporary folder, so that a model that fails leaves nothing behind.
Result<SelfTest> test_copy(const OnnxRecognizer& model, const std::string& bytes) {
  const auto folder = OCRTUNE_TRY(make_temporary_directory("import"));
  const std::string copy = join_path(folder, "model.onnx");
  const Status written = write_file(copy, bytes);
  auto test = written ? test_model(model, copy) : Result<SelfTest>(written.error());
  (void)remove_tree(folder);
  return test;
}

void print_report(const OnnxRecognizer& model, const SelfTest& test) {
  int nodes = 0;
  for (const auto& [name, count] : model.operators) nodes += count;
  std::printf("graph       opset %d, %d nodes of %zu operators: %zu layers of the engine\n",
              model.opset, nodes, model.operators.size(), model.graph.layers.size());
  std::printf("parameters  %zu\n", model.graph.parameter_count());
  const bool assumed = model.height_from == OnnxRecognizer::HeightFrom::usual;
  std::printf("lines       %d pixels high%s, any width, three channels from -1 to 1\n",
              model.height, assumed ? " (the model leaves it open; --height says otherwise)" : "");
  const std::size_t characters = model.alphabet.characters().size() - (model.space_added ? 1 : 0);
  std::printf("dictionary  %zu characters%s and the blank: %d classes, as the output has\n",
              characters, model.space_added ? ", the space" : "", model.alphabet.classes());
  std::printf("reference   logits differ from the plain loops' by %.1e (limit %.0e)\n",
              test.difference, max_reading_error("fp32"));
  if (test.no_lines.empty()) {
    std::printf("reading     %d of %d rendered lines without an error\n", test.exact, test.drawn);
  } else {
    std::printf("reading     not tried: %s\n", test.no_lines.c_str());
  }
}

Result<int> import_model(ImportFlags flags) {
  if (!names_onnx_file(flags.model)) {
    const bool paddle = ends_with(flags.model, ".pdmodel") ||
                        ends_with(flags.model, ".pdiparams") || ends_with(flags.model, ".json");
    return Error{ErrorKind::usage,
                 flags.model + ": name a file that ends in .onnx" +
                     (paddle ? "; Paddle's own are exported with paddle2onnx --model_dir DIR "
                               "--model_filename inference.pdmodel --params_filename "
                               "inference.pdiparams --save_file rec.onnx"
                             : "")};
  }
  if (flags.output.empty()) flags.output = default_output(flags.model);
  if (!names_onnx_file(flags.output)) {
    return Error{ErrorKind::usage, "--output " + flags.output + ": let it end in .onnx"};
  }
  std::string bytes = OCRTUNE_TRY(read_file(flags.model, std::uint64_t{2} << 30));
  if (!flags.dictionary.empty()) {
    flags.facts.dictionary = OCRTUNE_TRY(read_file(flags.dictionary, 16 << 20));
    if (flags.facts.dictionary.empty()) {
      return Error{ErrorKind::invalid, "--alphabet " + flags.dictionary + ": no characters"};
    }
  }
  auto model = read_onnx_recognizer(bytes, flags.facts);
  if (!model) return Error{model.error().kind, flags.model + ": " + valid_utf8(model.error().what)};
  if (!flags.dictionary.empty())
    bytes += onnx_metadata_bytes(kDictionaryKey, flags.facts.dictionary);
  if (model->height_from == OnnxRecognizer::HeightFrom::caller) {
    bytes += onnx_metadata_bytes(kHeightKey, std::to_string(model->height));
  }
  double difference = 0;
  if (!flags.checkpoint.empty()) {
    auto trained = OCRTUNE_TRY(with_checkpoint(std::move(*model), flags.checkpoint));
    model = std::move(trained.model);
    bytes = std::move(trained.bytes);
    difference = trained.difference;
  }
  const auto test = OCRTUNE_TRY([&] {
    const WorkLine line("reading rendered lines with it");
    return test_copy(*model, bytes);
  }());
  OCRTUNE_TRY(write_file(flags.output, bytes));
  print_report(*model, test);
  if (!flags.checkpoint.empty()) {
    std::printf("checkpoint  weights of %s: logits differ from its own by %.1e (limit %.0e)\n",
                flags.checkpoint.c_str(), difference, max_reading_error("fp32"));
  }
  std::printf("written     %s, %s\n\n", flags.output.c_str(), format_bytes(bytes.size()).c_str());
  std::printf("ocrtune infer LINES --model %s\n", shell_quote(flags.output).c_str());
  std::printf("ocrtune tune --mode infer --data LINES --model %s\n",
              shell_quote(flags.output).c_str());
  if (test.drawn > 0 && test.exact == 0) {
    std::fprintf(
        stderr,
        "ocrtune import: no drawn line was read: is the dictionary the model's own, in its "
        "order?\n");
  }
  return kExitOk;
}

}  // namespace

CommandRun declare_import(Flags& cli) {
  auto flags = std::make_shared<ImportFlags>();
  cli.argument("model", flags->model, "Recogniser that was exported to ONNX, with CTC classes")
      .require("name an ONNX file, for example: ocrtune import ch_PP-OCRv4_rec_infer.onnx")
      .file();
  cli.option("--alphabet", flags->dictionary, "FILE",
             "Put this dictionary into the model, one character a line")
      .default_text("the model's own")
      .file();
  cli.option("--weights", flags->checkpoint, "FILE",
             "Write the model with these weights, of ocrtune train --model MODEL")
      .formerly("--checkpoint")
      .default_text("its own weights")
      .file();
  cli.option("--height", flags->facts.height, "PIXELS", "Scale lines to this height")
      .default_text("the model's, else 48")
      .range(8, 1024);
  cli.out(flags->output, "FILE", "Write the model to this file")
      .formerly("--output")
      .default_text("NAME.ocrtune.onnx in this folder")
      .file();
  return [flags] { return import_model(*flags); };
}

}  // namespace ocrtune
