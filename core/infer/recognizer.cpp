// One class for all places of computation: logits come from a LogitMaker, which is a backend of the
// CPUs or is given from outside. Lines are sorted into buckets of one width, read in batches and
// put back in their order.
#include "core/infer/recognizer.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "base/random.h"
#include "core/backends/backend_table.h"
#include "core/data/resize.h"
#include "core/graph/checkpoint.h"
#include "core/graph/inference_form.h"
#include "core/graph/network.h"
#include "core/graph/tensor.h"
#include "core/infer/initial_model.h"

namespace ocrtune {
namespace {

constexpr std::size_t kLibraryBytes = std::size_t{11} << 20;  // as Trainer::footprint_bytes

// The folded graph on a backend of the CPUs.
class BackendLogits final : public LogitMaker {
 public:
  BackendLogits(std::unique_ptr<Backend> backend, const Shape& largest)
      : backend_(std::move(backend)), largest_(largest) {}
  Status take(const Graph& graph, std::span<const float> parameters,
              std::span<const float> statistics) override {
    network_ = std::make_unique<Network>(graph, *backend_);
    network_->fix_parameters();
    parameters_ = parameters;
    statistics_ = statistics;
    return network_->prepare(largest_, false);
  }
  Result<std::span<const float>> infer(const Batch& batch) override {
    return network_->infer(batch, parameters_, statistics_);
  }

 private:
  std::unique_ptr<Backend> backend_;
  Shape largest_;
  std::unique_ptr<Network> network_;
  std::span<const float> parameters_, statistics_;
};

class NetworkRecognizer final : public Recognizer {
 public:
  NetworkRecognizer(const RecognizerOptions& options, const Alphabet& alphabet, Graph trained,
                    std::unique_ptr<LogitMaker> own, LogitMaker& maker)
      : options_(options),
        alphabet_(alphabet),
        trained_(std::move(trained)),
        form_(make_inference_form(trained_, own != nullptr)),
        own_(std::move(own)),
        maker_(maker) {}

  Status prepare();
  Result<std::vector<ReadText>> read(std::span<const Image> images) override;
  Result<double> check_against_reference() override;

 private:
  Result<Memory> trained_weights() const;
  Result<std::vector<DecodedLine>> decode(const Batch& batch, std::size_t lines);

  RecognizerOptions options_;
  Alphabet alphabet_;
  Graph trained_;
  InferenceForm form_;
  std::unique_ptr<LogitMaker> own_;
  LogitMaker& maker_;
  Memory weights_;
  std::span<float> parameters_, statistics_;
  Batch batch_;
};

// Parameters, statistics, and behind them the optimiser's moments of a checkpoint.
Result<Memory> NetworkRecognizer::trained_weights() const {
  const std::size_t floats = trained_.parameter_floats, moved = trained_.statistic_floats;
  auto weights = OCRTUNE_TRY(Memory::allocate((3 * floats + moved) * sizeof(float)));
  const std::span<float> all{weights.floats(), 3 * floats + moved};
  const auto parameters = all.first(floats), statistics = all.subspan(floats, moved);
  if (options_.checkpoint.empty()) {
    OCRTUNE_TRY(fill_initial_weights(options_.model, options_.height, trained_, options_.seed,
                                     parameters.data(), statistics.data()));
    return weights;
  }
  OCRTUNE_TRY(read_checkpoint(options_.checkpoint, checkpoint_owner(options_.model, trained_),
                              {parameters, statistics, all.subspan(floats + moved, floats),
                               all.subspan(2 * floats + moved, floats)}));
  return weights;
}

Status NetworkRecognizer::prepare() {
  omp_set_num_threads(options_.threads);
  const std::size_t floats = form_.graph.parameter_floats;
  weights_ = OCRTUNE_TRY(Memory::allocate((floats + form_.graph.statistic_floats) * sizeof(float)));
  parameters_ = {weights_.floats(), floats};
  statistics_ = {weights_.floats() + floats, form_.graph.statistic_floats};
  {
    // The trained form is given back before the network takes its memory.
    const auto trained = OCRTUNE_TRY(trained_weights());
    fold_parameters(form_, trained_, trained.floats(), trained.floats() + trained_.parameter_floats,
                    parameters_.data(), statistics_.data());
  }
  return maker_.take(form_.graph, parameters_, statistics_);
}

Result<std::vector<DecodedLine>> NetworkRecognizer::decode(const Batch& batch, std::size_t lines) {
  const auto rows = OCRTUNE_TRY(maker_.infer(batch));  // [N, T, classes]
  const std::size_t line = rows.size() / static_cast<std::size_t>(batch.count);
  const int classes = alphabet_.classes();
  std::vector<DecodedLine> decoded;
  for (std::size_t i = 0; i < lines; ++i) {
    decoded.push_back(greedy_decode(rows.subspan(i * line, line), static_cast<int>(line) / classes,
                                    1, classes)[0]);
  }
  return decoded;
}

Result<std::vector<ReadText>> NetworkRecognizer::read(std::span<const Image> images) {
  omp_set_num_threads(options_.threads);
  return read_in_batches(
      options_, alphabet_, images, batch_,
      [this](const Batch& batch, std::size_t lines) { return decode(batch, lines); });
}

Result<double> NetworkRecognizer::check_against_reference() {
  omp_set_num_threads(options_.threads);
  Random random(options_.seed);
  const Batch batch = noise_batch(
      {std::min(2, options_.batch), options_.height, std::min(kLineWidthStep, options_.width)},
      random);
  const auto reference = OCRTUNE_TRY(make_backend({"reference", "fp32"}));
  const auto trained = trained_weights();  // the plain form, as it was trained
  if (!trained) return trained.error();
  const std::span<float> all{trained->floats(),
                             trained_.parameter_floats + trained_.statistic_floats};
  Network reference_network(trained_, *reference);
  const auto rows = OCRTUNE_TRY(maker_.infer(batch));
  const std::vector<float> ours(rows.begin(), rows.end());
  const auto theirs = OCRTUNE_TRY(reference_network.infer(
      batch, all.first(trained_.parameter_floats), all.subspan(trained_.parameter_floats)));
  return relative_difference(ours, theirs);
}

// Batches are filled up to a power of two with empty lines, so that few shapes need a plan.
void fill_batch(const RecognizerOptions& options, std::span<const Image> images,
                std::span<const std::size_t> which, int width, Batch& batch) {
  const int padded = static_cast<int>(std::bit_ceil(which.size()));
  batch.count = std::min(padded, options.batch);
  batch.height = options.height;
  batch.width = width;
  const std::size_t floats =
      3 * static_cast<std::size_t>(options.height) * static_cast<std::size_t>(width);
  batch.images.assign(floats * static_cast<std::size_t>(batch.count), 0.0F);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < which.size(); ++i) {
    write_line(images[which[i]], options.height, width,
               std::span<float>(batch.images).subspan(i * floats, floats));
  }
}

Status check_options(const RecognizerOptions& options) {
  if (options.threads < 1 || options.batch < 1 || options.height < 1 || options.width < 1) {
    return Error{ErrorKind::usage, "threads, batch, height and width are at least 1"};
  }
  return Status();
}

int bucket_of(const Image& image, const RecognizerOptions& options) {
  return width_bucket({image.width, image.height}, options.height, options.width);
}

}  // namespace

int width_bucket(const PictureSize& size, int height, int max_width) {
  const int width = scaled_width(size, height, max_width);
  const int bucket = (width + kLineWidthStep - 1) / kLineWidthStep * kLineWidthStep;
  return std::min(bucket, max_width);
}

int widest_bucket(const std::vector<std::string>& pictures, int height) {
  int widest = 0;
  for (const std::string& picture : pictures) {
    const auto size = read_picture_size(picture);
    if (size) widest = std::max(widest, width_bucket(*size, height, kWidestLine));
  }
  return widest;
}

Result<std::vector<ReadText>> read_in_batches(const RecognizerOptions& options,
                                              const Alphabet& alphabet,
                                              std::span<const Image> images, Batch& batch,
                                              const BatchReader& reader) {
  // Only lines of one padded width share a batch.
  std::map<int, std::vector<std::size_t>> buckets;
  for (std::size_t i = 0; i < images.size(); ++i)
    buckets[bucket_of(images[i], options)].push_back(i);
  std::vector<ReadText> texts(images.size());
  const auto most = static_cast<std::size_t>(options.batch);
  for (const auto& [width, lines] : buckets) {
    for (std::size_t first = 0; first < lines.size(); first += most) {
      const auto which = std::span(lines).subspan(first, std::min(most, lines.size() - first));
      fill_batch(options, images, which, width, batch);
      const auto decoded = OCRTUNE_TRY(reader(batch, which.size()));
      for (std::size_t i = 0; i < which.size(); ++i) {
        texts[which[i]] = {alphabet.decode(decoded[i].classes), decoded[i].confidence};
      }
    }
  }
  return texts;
}

Result<std::uint64_t> Recognizer::footprint_bytes(const RecognizerOptions& options, int classes) {
  OCRTUNE_TRY(check_options(options));
  const auto backend = OCRTUNE_TRY(make_backend({options.backend, options.precision}));
  const Graph graph =
      make_inference_form(OCRTUNE_TRY(recognition_graph(options.model, options.height, classes)),
                          true)
          .graph;
  const int team = omp_get_max_threads();
  omp_set_num_threads(options.threads);  // plans may depend on it
  const Shape largest{options.batch, 3, options.height, options.width};
  const auto arena = network_arena_bytes(graph, *backend, largest, false);
  omp_set_num_threads(team);
  if (!arena) return arena.error();
  const std::size_t weights = (graph.parameter_floats + graph.statistic_floats) * sizeof(float);
  const std::size_t lines = static_cast<std::size_t>(options.batch) * 3 *
                            static_cast<std::size_t>(options.height) *
                            static_cast<std::size_t>(options.width) * sizeof(float);
  return 2 * weights + *arena + lines + kLibraryBytes;  // the kernels' copies of the weights too
}

Result<std::unique_ptr<Recognizer>> Recognizer::create(const RecognizerOptions& options,
                                                       const Alphabet& alphabet) {
  OCRTUNE_TRY(check_options(options));
  auto trained = OCRTUNE_TRY(recognition_graph(options.model, options.height, alphabet.classes()));
  auto backend = OCRTUNE_TRY(make_backend({options.backend, options.precision}));
  auto own = std::make_unique<BackendLogits>(
      std::move(backend), Shape{options.batch, 3, options.height, options.width});
  LogitMaker& maker = *own;
  auto recognizer = std::make_unique<NetworkRecognizer>(options, alphabet, std::move(trained),
                                                        std::move(own), maker);
  OCRTUNE_TRY(recognizer->prepare());
  return std::unique_ptr<Recognizer>(std::move(recognizer));
}

Result<std::unique_ptr<Recognizer>> Recognizer::create_on(const RecognizerOptions& options,
                                                          const Alphabet& alphabet,
                                                          LogitMaker& maker) {
  OCRTUNE_TRY(check_options(options));
  auto trained = OCRTUNE_TRY(recognition_graph(options.model, options.height, alphabet.classes()));
  auto recognizer =
      std::make_unique<NetworkRecognizer>(options, alphabet, std::move(trained), nullptr, maker);
  OCRTUNE_TRY(recognizer->prepare());
  return std::unique_ptr<Recognizer>(std::move(recognizer));
}

double relative_difference(std::span<const float> ours, std::span<const float> theirs) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto expected = static_cast<double>(theirs[i]);
    difference += std::pow(static_cast<double>(ours[i]) - expected, 2);
    size += expected * expected;
  }
  return std::sqrt(difference / size);
}

double max_reading_error(const std::string& precision) {
  // Some way above what right results reach (recognizer.h), so that no right one is refused.
  return precision == "bf16" || precision == "int8" ? 0.25 : precision == "tf32" ? 0.05 : 0.002;
}

}  // namespace ocrtune
