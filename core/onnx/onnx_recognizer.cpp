// Reads in this order: the file, its opset and input, the height, the graph by the translator and
// its weights. The alphabet comes last, as it must fit the classes of the graph.
#include "core/onnx/onnx_recognizer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "core/onnx/onnx_file.h"
#include "core/onnx/onnx_translator.h"

namespace ocrtune {
namespace {

constexpr int kMinOpset = 11, kMaxOpset = 20;
// PP-OCRv3 and later take lines of this height.
constexpr int kUsualHeight = 48;
constexpr std::uint64_t kMaxBytes = std::uint64_t{2} << 30;  // protobuf's own limit
// Of the sample batch, where the model leaves them open: no weight has these extents.
constexpr int kSampleLines = 3, kSampleWidth = 776;

Error unsupported(std::string what) { return Error{ErrorKind::unsupported, std::move(what)}; }

Status check_opset(const OnnxFile& file) {
  if (file.opset >= kMinOpset && file.opset <= kMaxOpset) return Status();
  return unsupported(
      fmt::format("opset {}; ocrtune reads {} to {}: export the model with one of these",
                  file.opset, kMinOpset, kMaxOpset));
}

// [lines, 3, height, width] -> [lines, steps, classes]
Result<OnnxValue> image_input(const OnnxFile& file) {
  std::vector<OnnxValue> inputs;
  for (const OnnxValue& value : file.inputs) {
    if (file.constants.count(value.name) == 0) inputs.push_back(value);
  }
  if (inputs.size() != 1 || inputs[0].dims.size() != 4 ||
      (inputs[0].dims[1] != 3 && inputs[0].dims[1] != 0)) {
    return unsupported(
        "no text recogniser: its input is not one image batch [lines, 3, height, width]");
  }
  if (file.outputs.size() != 1 || file.outputs[0].dims.size() != 3) {
    const std::size_t rank = file.outputs.empty() ? 0 : file.outputs[0].dims.size();
    return unsupported(fmt::format(
        "no text recogniser: {} with {} dimensions, where one has [lines, steps, classes]",
        file.outputs.size() == 1 ? "an output"
                                 : fmt::format("{} outputs, the first", file.outputs.size()),
        rank));
  }
  for (const std::int64_t side : inputs[0].dims) {
    if (side < 0 || side > 65'536) return unsupported("an input of impossible size");
  }
  return inputs[0];
}

Status choose_height(const OnnxFile& file, const OnnxValue& image, const OnnxFacts& facts,
                     OnnxRecognizer& model) {
  using From = OnnxRecognizer::HeightFrom;
  const auto fixed = static_cast<int>(image.dims[2]);
  if (fixed > 0 && facts.height > 0 && facts.height != fixed) {
    return Error{ErrorKind::usage,
                 fmt::format("it takes lines {} pixels high, not {}", fixed, facts.height)};
  }
  const auto noted = file.metadata.find(kHeightKey);
  if (fixed > 0) {
    model.height = fixed;
    model.height_from = From::model;
  } else if (facts.height > 0) {
    model.height = facts.height;
    model.height_from = From::caller;
  } else if (noted != file.metadata.end()) {
    const std::string& text = noted->second;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), model.height);
    if (read.ec != std::errc() || model.height < 1 || model.height > 1024) {
      return Error{ErrorKind::invalid, fmt::format("{} in its metadata is no height", kHeightKey)};
    }
    model.height_from = From::metadata;
  } else {
    model.height = kUsualHeight;
  }
  return Status();
}

Result<std::vector<std::string>> dictionary_lines(std::string_view text) {
  std::vector<std::string> lines;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);  // as Alphabet::load()
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const auto characters = split_characters(line);
    if (!characters || characters->size() != 1) {
      return Error{ErrorKind::invalid,
                   fmt::format("dictionary line {}: not one UTF-8 character", lines.size() + 1)};
    }
    lines.emplace_back(line);
  }
  return lines;
}

Status choose_alphabet(const OnnxFile& file, const OnnxFacts& facts, int classes,
                       OnnxRecognizer& model) {
  const auto own = file.metadata.find(kDictionaryKey);
  if (facts.dictionary.empty() && own == file.metadata.end()) {
    return Error{ErrorKind::missing,
                 "it has no dictionary in its metadata; ocrtune import --alphabet FILE adds one"};
  }
  const auto lines =
      OCRTUNE_TRY(dictionary_lines(facts.dictionary.empty() ? own->second : facts.dictionary));
  const auto count = static_cast<int>(lines.size());
  // One class is the blank. Where one more is missing it is the space, which PaddleOCR adds behind
  // the dictionary.
  model.space_added = count + 2 == classes;
  if (count + 1 != classes && !model.space_added) {
    return Error{
        ErrorKind::invalid,
        fmt::format("{} characters in the dictionary and {} classes: {} characters fit, or "
                    "{} and the space",
                    count, classes, classes - 1, classes - 2)};
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  if (model.space_added) text += ' ';
  model.alphabet = OCRTUNE_TRY(Alphabet::from_text(text));
  if (model.alphabet.classes() == classes) return Status();
  return Error{ErrorKind::invalid, "a character comes twice in the dictionary"};
}

// The weights of all layers into the graph's two buffers.
Status place_weights(const onnx::Translator& translator, OnnxRecognizer& model) {
  const auto place = [](const Layer& layer, const std::vector<std::vector<float>>& from,
                        const std::vector<int>& which, const std::vector<Parameter>& extents,
                        std::vector<float>& to) -> Status {
    for (std::size_t i = 0; i < which.size(); ++i) {
      const Parameter& extent = extents[static_cast<std::size_t>(which[i])];
      if (i >= from.size() || from[i].size() != extent.count) {
        return Error{ErrorKind::invalid, fmt::format("{} has not the {} numbers of its layer",
                                                     layer.name, extent.count)};
      }
      std::copy(from[i].begin(), from[i].end(),
                to.begin() + static_cast<std::ptrdiff_t>(extent.offset));
    }
    return Status();
  };
  const Graph& graph = model.graph;
  model.parameters.assign(graph.parameter_floats, 0.0F);
  model.statistics.assign(graph.statistic_floats, 0.0F);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    const auto& weights = translator.weights()[i];
    OCRTUNE_TRY(
        place(layer, weights.parameters, layer.parameters, graph.parameters, model.parameters));
    OCRTUNE_TRY(
        place(layer, weights.statistics, layer.statistics, graph.statistics, model.statistics));
  }
  return Status();
}

}  // namespace

Result<OnnxRecognizer> read_onnx_recognizer(std::string_view bytes, const OnnxFacts& facts) {
  const OnnxFile file = OCRTUNE_TRY(parse_onnx(bytes));
  OCRTUNE_TRY(check_opset(file));
  const OnnxValue image = OCRTUNE_TRY(image_input(file));
  OnnxRecognizer model;
  model.opset = static_cast<int>(file.opset);
  OCRTUNE_TRY(choose_height(file, image, facts, model));
  for (const OnnxNode& node : file.nodes) ++model.operators[node.operation];
  const auto or_sample = [](std::int64_t side, int sample) {
    return side > 0 ? static_cast<int>(side) : sample;
  };
  const Shape sample{or_sample(image.dims[0], kSampleLines), 3, model.height,
                     or_sample(image.dims[3], kSampleWidth)};
  onnx::Translator translator(file, sample);
  OCRTUNE_TRY(translator.run());
  const int output = OCRTUNE_TRY(translator.output());
  model.graph = translator.take_graph(output);
  OCRTUNE_TRY(place_weights(translator, model));
  const auto shapes = OCRTUNE_TRY(infer_shapes(model.graph, sample));
  OCRTUNE_TRY(choose_alphabet(file, facts, shapes[static_cast<std::size_t>(output)].c, model));
  return model;
}

Result<OnnxRecognizer> load_onnx_recognizer(const std::string& path, const OnnxFacts& facts) {
  const auto bytes = OCRTUNE_TRY(read_file(path, kMaxBytes));
  auto model = read_onnx_recognizer(bytes, facts);
  if (!model) return Error{model.error().kind, path + ": " + valid_utf8(model.error().what)};
  return model;
}

Result<OnnxHead> load_onnx_head(const std::string& path, const OnnxFacts& facts) {
  const auto bytes = OCRTUNE_TRY(read_file(path, kMaxBytes));
  const auto head = [&]() -> Result<OnnxHead> {
    const OnnxFile file = OCRTUNE_TRY(parse_onnx(bytes));
    const OnnxValue image = OCRTUNE_TRY(image_input(file));
    OnnxRecognizer model;
    OCRTUNE_TRY(choose_height(file, image, facts, model));
    const auto classes = static_cast<int>(file.outputs[0].dims[2]);
    if (classes <= 0) return unsupported("it does not say how many classes its output has");
    OCRTUNE_TRY(choose_alphabet(file, facts, classes, model));
    return OnnxHead{std::move(model.alphabet), model.height};
  }();
  if (!head) return Error{head.error().kind, path + ": " + valid_utf8(head.error().what)};
  return head;
}

bool names_onnx_file(std::string_view model) {
  constexpr std::string_view kSuffix = ".onnx";
  return model.size() > kSuffix.size() && model.substr(model.size() - kSuffix.size()) == kSuffix;
}

}  // namespace ocrtune
