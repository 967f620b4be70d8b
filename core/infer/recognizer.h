// Reads line images with a trained model: scale, forward pass, greedy CTC decode.
//
// What a line reads as does not depend on the lines it is read with: its padded width follows from
// its own size alone (a multiple of 64), and only lines of one such bucket share a batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/data/alphabet.h"
#include "core/data/image_file.h"
#include "core/infer/decode.h"
#include "core/infer/logit_maker.h"

namespace ocrtune {

struct RecognizerOptions {
  std::string model = "crnn";  // of the table, or an ONNX file (core/onnx), which has its weights
  std::string backend = "onednn";
  std::string precision = "fp32";
  int threads = 1;  // OpenMP team
  int batch = 16;   // most lines of one forward pass
  int height = 32;
  int width = 320;         // widest bucket; wider lines are squeezed
  std::uint64_t seed = 1;  // of the weights where there is no checkpoint
  std::string checkpoint;  // of Trainer::save; empty: the initial weights, whose text means nothing
                           // where they are seeded
};

inline constexpr int kLineWidthStep = 64;  // pixels: lines are padded to multiples of it

// The padded width that a line of this size is read at: every bucket is a shape of its own.
int width_bucket(const PictureSize& size, int height, int max_width);

// PaddleOCR 3.x squeezes lines beyond it.
inline constexpr int kWidestLine = 3200;  // pixels

// At this `width` no line of these pictures is squeezed, unless it is wider than kWidestLine. Reads
// their heads; those that have none do not count. 0: none has.
int widest_bucket(const std::vector<std::string>& pictures, int height);

struct ReadText {
  std::string text;
  double confidence = 0;  // mean probability of the characters
};

// The best path of each of a batch's first `lines` lines; the others are empty.
using BatchReader =
    std::function<Result<std::vector<DecodedLine>>(const Batch& batch, std::size_t lines)>;

// Scales the images, fills batches of one bucket each and spells what `reader` finds in them.
// `batch` is scratch.
Result<std::vector<ReadText>> read_in_batches(const RecognizerOptions& options,
                                              const Alphabet& alphabet,
                                              std::span<const Image> images, Batch& batch,
                                              const BatchReader& reader);

class Recognizer {
 public:
  virtual ~Recognizer() = default;

  // usage: unknown model; missing, invalid: the checkpoint or the ONNX file; unsupported: an ONNX
  // file that is no recogniser; exhausted: no memory.
  static Result<std::unique_ptr<Recognizer>> create(const RecognizerOptions& options,
                                                    const Alphabet& alphabet);
  // The same with logits from elsewhere; options.backend is not looked at. `maker` must outlive it.
  static Result<std::unique_ptr<Recognizer>> create_on(const RecognizerOptions& options,
                                                       const Alphabet& alphabet, LogitMaker& maker);

  virtual Result<std::vector<ReadText>> read(std::span<const Image> images) = 0;

  // Logits of two seeded lines against the reference backend: the relative error (Euclidean norm).
  // Below 1e-3 in fp32 and 0.2 in bf16 if all is right.
  virtual Result<double> check_against_reference() = 0;

  // Bytes of one process by plan: weights, activations of the largest batch, scratch.
  static Result<std::uint64_t> footprint_bytes(const RecognizerOptions& options, int classes);
};

// |ours - theirs| / |theirs|, Euclidean norms; as many of each.
double relative_difference(std::span<const float> ours, std::span<const float> theirs);

// Of check_against_reference: above it the logits are wrong.
double max_reading_error(const std::string& precision);

}  // namespace ocrtune
