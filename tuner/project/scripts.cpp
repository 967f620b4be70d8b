#include "tuner/project/scripts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMostBytes = 400'000, kMostScripts = 200;

bool holds_any(const std::string& text, const auto& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// The first library that the script imports.
std::string library_of(const std::string& text) {
  static constexpr std::array<const char*, 12> kLibraries = {
      "rapidocr",  "paddleocr",    "easyocr",    "pytesseract", "doctr",       "surya",
      "lightning", "transformers", "tensorflow", "paddle",      "onnxruntime", "torch"};
  for (const char* name : kLibraries) {
    const std::string library = name;
    if (text.find("import " + library) != std::string::npos ||
        text.find("from " + library) != std::string::npos) {
      return library;
    }
  }
  return "";
}

// The first of `names` that the script's command line takes.
std::string flag_of(const std::string& text, const std::vector<const char*>& names) {
  for (const char* name : names) {
    for (const char* quote : {"'", "\""}) {
      if (text.find(quote + std::string(name) + quote) != std::string::npos) return name;
    }
  }
  return "";
}

// Steps of an optimizer, a library's own loop, or one that takes a batch and counts what trainings
// count.
bool trains(const std::string& text, const OwnScript& script) {
  static constexpr std::array<std::string_view, 7> kTraining = {
      "optimizer.step(", ".fit(",       "Trainer(", ".backward(",
      "opt.step(",       "optim.step(", "minimize("};
  static constexpr std::array<std::string_view, 5> kCounted = {"epoch", "loss", "--steps",
                                                               "--iterations", "learning_rate"};
  return holds_any(text, kTraining) || (!script.batch_flag.empty() && holds_any(text, kCounted));
}

// Starts an HTTP server itself.
bool serves(const std::string& text) {
  static constexpr std::array<std::string_view, 8> kLibraries = {
      "http.server", "uvicorn", "fastapi", "flask", "aiohttp", "tornado", "wsgiref", "waitress"};
  static constexpr std::array<std::string_view, 7> kStarts = {
      "serve_forever(", "uvicorn.run(", "run_app(",    "app.run(",
      ".listen(",       "serve(app",    "make_server("};
  return holds_any(text, kLibraries) && holds_any(text, kStarts);
}

std::optional<OwnScript> script_of(const std::string& folder, const std::string& file) {
  static constexpr std::array<std::string_view, 6> kReading = {
      "RapidOCR(",      "PaddleOCR(",           "easyocr.Reader(", "pytesseract.image_to",
      "ocr_predictor(", "RecognitionPredictor("};
  const auto text = read_file(join_path(folder, file), kMostBytes);
  if (!text) return std::nullopt;
  OwnScript script;
  script.file = file;
  script.library = library_of(*text);
  script.batch_flag = flag_of(*text, {"--batch-size", "--batch_size", "--batchSize", "--batchsize",
                                      "--per_device_train_batch_size", "--batch", "--bs"});
  script.workers_flag =
      flag_of(*text, {"--workers", "--num-workers", "--num_workers", "--n_workers",
                      "--dataloader_num_workers", "--loader-workers"});
  script.port_flag = flag_of(*text, {"--port", "--http-port", "--http_port"});
  // A module of functions is not started.
  const bool starts = text->find("__main__") != std::string::npos ||
                      text->find("argparse") != std::string::npos ||
                      text->find("sys.argv") != std::string::npos || !script.library.empty();
  if (serves(*text)) {
    script.does = OwnScript::Does::serves;
  } else if (starts && trains(*text, script)) {
    script.does = OwnScript::Does::trains;
  } else if (!starts || !holds_any(*text, kReading)) {
    return std::nullopt;
  }
  return script;
}

}  // namespace

std::vector<OwnScript> own_scripts(const std::string& folder) {
  std::vector<OwnScript> scripts;
  for (const char* under : {"", "scripts", "src", "tools"}) {
    const auto names = list_directory(*under == '\0' ? folder : join_path(folder, under));
    if (!names) continue;
    for (const std::string& name : *names) {
      if (!ends_with(name, ".py") || name[0] == '.' || starts_with(name, "test_")) continue;
      if (valid_utf8(name) != name || scripts.size() >= kMostScripts) continue;
      const auto script = script_of(folder, *under == '\0' ? name : join_path(under, name));
      if (script) scripts.push_back(*script);
    }
  }
  std::stable_sort(scripts.begin(), scripts.end(), [](const OwnScript& a, const OwnScript& b) {
    const auto rank = [](const OwnScript& one) {
      return std::pair(one.does, one.file.find("train") == std::string::npos);
    };
    return rank(a) < rank(b);
  });
  return scripts;
}

}  // namespace ocrtune
