// What the built-in engine computes for those that describe and watch it.
//
// The engine is a program of its own, ocrtune-engine, which holds these parts; `ocrtune` links none
// of the libraries that they need, and hands what asks for them over to that program
// (cli/engine_commands.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/data/loader.h"
#include "core/infer/recognizer.h"
#include "core/train/trainer.h"

namespace ocrtune {

// Labelled lines, before a training of them.
struct TrainingLines {
  std::int64_t lines = 0;  // usable ones
  int classes = 0;         // of their alphabet, the blank included
  int widest_bucket = 0;   // pixels; 0: no width buckets
  std::string buckets;     // in words; empty: none
};

// Of EngineParts::step_rates.
inline constexpr int kStepWindows = 5;
inline constexpr double kStepWindowSeconds = 0.5;

struct EngineParts {
  Result<std::uint64_t> (*training_bytes)(const TrainerOptions& options);  // of a process, by plan
  Result<std::uint64_t> (*reading_bytes)(const RecognizerOptions& options, int classes);
  Result<TrainingLines> (*training_lines)(const LoaderOptions& options);
  // The padded width of a picture's line; that of the widest (core/infer/recognizer.h); the bytes
  // of a picture of noise, as PNG.
  Result<int> (*line_width)(const std::string& path, int height, int max_width);
  int (*widest_line)(const std::vector<std::string>& paths, int height);
  Result<std::string> (*noise_picture)(int width, int height, std::uint64_t seed);
  // Of an ONNX file, for the frameworks (engine/work/framework_recognizer.h).
  Status (*quantize)(const RecognizerOptions& options, const std::vector<std::string>& pictures,
                     const std::string& file);
  // Lines a second in each of kStepWindows windows: the built-in crnn on one seeded batch, with
  // `threads` threads, after a warm-up.
  Result<std::vector<double>> (*step_rates)(int threads);
  std::vector<std::pair<std::string, std::string>> (*versions)();  // of its libraries
};

const EngineParts* engine_parts();  // null: this program is not the engine's
void set_engine_parts(const EngineParts* parts);

// The parts that are asked most; engine_elsewhere() where they are not in this program.
Result<std::uint64_t> training_bytes(const TrainerOptions& options);
Result<std::uint64_t> reading_bytes(const RecognizerOptions& options, int classes);

inline constexpr const char* kEngineProgram = "ocrtune-engine";

// Beside this program, in ../libexec/ocrtune, or in PATH. missing: one line with the way out.
Result<std::string> engine_program();

// The error of a program without the parts where they are needed. main() then starts the engine's
// program: a command that is handed over has said and changed nothing.
Error engine_elsewhere();
bool engine_was_asked();  // engine_elsewhere() was called in this process

}  // namespace ocrtune
