// Scripts are told by words that such programs hold: lists of libraries, calls and flags that are
// made by hand. A wrong guess costs a line in a settings file that the user reads before anything
// runs.
#include "tuner/project/scripts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "tuner/project/python_text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMostBytes = 400'000, kMostScripts = 200;

bool holds_any(const std::string& text, const auto& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// The first library that the script imports.
std::string library_of(const std::string& text) {
  // In this order: those that load another one of the list stand before it.
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

// The first file of the folder's own that the script imports and that trains; its text.
std::string imported_trainer(const std::string& folder, const std::string& file,
                             const std::string& text) {
  for (const std::string& module : imported_files(text)) {
    for (const std::string& base : {parent_path(join_path(folder, file)), folder}) {
      const std::string path = join_path(base, module);
      const auto imported =
          path_exists(path) ? read_file(path, kMostBytes) : Result<std::string>("");
      if (imported && trains(*imported, OwnScript())) return *imported;
    }
  }
  return "";
}

// By name; a module that others import may do something when it is loaded too, such as to look for
// a GPU, and a file with a main() may try itself.
int rank_of(const std::string& file, bool has_main, bool takes_arguments) {
  const std::string name = lower(base_name(file));
  const auto named = [&](const auto&... parts) {
    return ((name.find(parts) != std::string::npos) || ...);
  };
  const bool other = named("eval", "valid", "infer", "predict", "export", "convert", "demo");
  const bool meant = named("train", "finetune", "fine_tune", "fine-tune");
  // Weights of falling powers of two: an earlier reason is never outvoted by later ones.
  return (other && !meant ? 8 : 0) + (has_main || takes_arguments ? 0 : 4) + (meant ? 0 : 2) +
         (has_main ? 0 : 1);
}

std::optional<OwnScript> script_of(const std::string& folder, const std::string& file) {
  static const std::vector<std::string_view> kReading = {
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
  const bool has_main = text->find("__main__") != std::string::npos;
  const bool takes_arguments =
      text->find("argparse") != std::string::npos || text->find("sys.argv") != std::string::npos;
  script.rank = rank_of(file, has_main, takes_arguments);
  if (serves(*text)) {
    script.does = OwnScript::Does::serves;
    script.port = literal_port(*text);
    return script;
  }
  // A module of functions is not started.
  static const std::vector<std::string_view> kWorking = [] {
    std::vector<std::string_view> all = kReading;
    all.insert(all.end(), {".fit(", ".train(", ".backward("});
    return all;
  }();
  if (!has_main && !takes_arguments && !runs_when_loaded(*text, kWorking)) return std::nullopt;
  const bool reads = holds_any(*text, kReading);
  if (trains(*text, script)) {
    script.does = OwnScript::Does::trains;
  } else if (!reads) {
    const std::string trainer = imported_trainer(folder, file, *text);
    if (trainer.empty()) return std::nullopt;
    script.does = OwnScript::Does::trains;
    if (script.library.empty()) script.library = library_of(trainer);
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
    return std::pair(a.does, a.rank) < std::pair(b.does, b.rank);
  });
  return scripts;
}

}  // namespace ocrtune
