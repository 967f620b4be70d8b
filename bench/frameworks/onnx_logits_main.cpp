// The logits of an exported ONNX recogniser, by the built-in engine, for onnx_compare.py.
//
//   onnx_logits MODEL.onnx PRECISION logits <LIST
//       one path a line. For each line image, on standard output: int32 width, steps, classes; the
//       image [3, H, width] and the logits [steps, classes] as floats
//   onnx_logits MODEL.onnx PRECISION time N WIDTH
//       for each line of standard input the seconds of one batch of N noise lines; OMP_NUM_THREADS
//       is the team
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "core/backends/backend_table.h"
#include "core/data/image_file.h"
#include "core/data/resize.h"
#include "core/graph/inference_form.h"
#include "core/graph/network.h"
#include "core/infer/recognizer.h"
#include "core/onnx/onnx_recognizer.h"

namespace ocrtune {
namespace {

constexpr int kMaxWidth = 4096;

class Engine {
 public:
  Engine(const OnnxRecognizer& model, const std::string& precision)
      : form_(make_inference_form(model.graph, true)),
        parameters_(form_.graph.parameter_floats),
        statistics_(form_.graph.statistic_floats),
        backend_(std::move(make_backend({"onednn", precision})).value()),
        network_(form_.graph, *backend_) {
    fold_parameters(form_, model.graph, model.parameters.data(), model.statistics.data(),
                    parameters_.data(), statistics_.data());
    network_.fix_parameters();
  }
  std::span<const float> infer(const Batch& batch) {
    return network_.infer(batch, parameters_, statistics_).value();
  }

 private:
  InferenceForm form_;
  std::vector<float> parameters_, statistics_;
  std::unique_ptr<Backend> backend_;
  Network network_;
};

void put(std::span<const float> floats) {
  std::fwrite(floats.data(), sizeof(float), floats.size(), stdout);
}

int write_logits(const OnnxRecognizer& model, Engine& engine) {
  for (std::string path; std::getline(std::cin, path);) {
    const Image image = read_image(path).value();
    Batch batch;
    batch.count = 1;
    batch.height = model.height;
    batch.width = width_bucket({image.width, image.height}, model.height, kMaxWidth);
    batch.images.resize(image_floats({1, batch.height, batch.width}));
    write_line(image, batch.height, batch.width, batch.images);
    const auto logits = engine.infer(batch);
    const int classes = model.alphabet.classes();
    const int head[] = {batch.width, static_cast<int>(logits.size()) / classes, classes};
    std::fwrite(head, sizeof(int), 3, stdout);
    put(batch.images);
    put(logits);
  }
  return 0;
}

int print_times(const OnnxRecognizer& model, Engine& engine, int count, int width) {
  Random random(1);
  const Batch batch = noise_batch({count, model.height, width}, random);
  for (std::string line; std::getline(std::cin, line);) {
    const double start = steady_clock().now_seconds();
    (void)engine.infer(batch);
    std::printf("%.6f\n", steady_clock().now_seconds() - start);
    std::fflush(stdout);
  }
  return 0;
}

int run(const std::vector<std::string>& words) {
  const auto model = load_onnx_recognizer(words.at(0), {});
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().what.c_str());
    return 3;
  }
  Engine engine(*model, words.at(1));
  if (words.at(2) == "logits") return write_logits(*model, engine);
  return print_times(*model, engine, std::stoi(words.at(3)), std::stoi(words.at(4)));
}

}  // namespace
}  // namespace ocrtune

int main(int count, char** words) {
  if (count < 4) {
    std::fprintf(stderr, "onnx_logits MODEL.onnx PRECISION logits|time [LINES WIDTH]\n");
    return 2;
  }
  return ocrtune::run({words + 1, words + count});
}
