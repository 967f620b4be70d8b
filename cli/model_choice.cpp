// The route: an ONNX file answers everything itself; else the checkpoint gives what the flags leave
// open; else the defaults, crnn and alnum.
#include "cli/model_choice.h"

#include "base/files.h"
#include "core/data/alphabet.h"
#include "core/graph/checkpoint.h"
#include "core/infer/initial_model.h"
#include "core/models/model.h"
#include "core/onnx/onnx_recognizer.h"

namespace ocrtune {

namespace {

Result<ModelChoice> choose_onnx(const std::string& checkpoint, const std::string& path,
                                const std::string& alphabet, int height, bool elsewhere) {
  if (!alphabet.empty()) {
    return Error{ErrorKind::usage,
                 "--alphabet: the dictionary lies in the model; ocrtune import puts another there"};
  }
  const auto model = load_onnx_recognizer(path, {height, ""});
  // Only the head is read: dictionary and height are enough where a framework computes.
  if (!model && elsewhere && checkpoint.empty() && model.error().kind == ErrorKind::unsupported) {
    const auto head = OCRTUNE_TRY(load_onnx_head(path, {height, ""}));
    return ModelChoice{path, head.alphabet.text(), head.alphabet.classes(), head.height,
                       model.error().what};
  }
  if (!model) return model.error();
  if (!checkpoint.empty()) {
    const auto trained = OCRTUNE_TRY(Alphabet::load(alphabet_path(checkpoint)));
    // The checkpoint's classes stand for its own characters, in their order.
    if (trained.characters() != model->alphabet.characters()) {
      return Error{ErrorKind::invalid,
                   checkpoint + " was trained with another alphabet than " + path + " has"};
    }
  }
  return ModelChoice{path, model->alphabet.text(), model->alphabet.classes(), model->height, {}};
}

}  // namespace

Result<ModelChoice> choose_model(const std::string& checkpoint, const std::string& model,
                                 const std::string& alphabet, int height, bool elsewhere) {
  if (names_onnx_file(model)) return choose_onnx(checkpoint, model, alphabet, height, elsewhere);
  ModelChoice choice;
  choice.model = model;
  std::string alphabet_file;
  if (!checkpoint.empty()) {
    const auto head = OCRTUNE_TRY(read_checkpoint_head(checkpoint));
    // Its checkpoint holds weights alone; the graph lies in the ONNX file.
    if (choice.model.empty() && head.owner.model == kImportedModel) {
      return Error{ErrorKind::usage,
                   checkpoint + " was trained from an imported model: name it, --model FILE.onnx"};
    }
    if (choice.model.empty()) choice.model = head.owner.model;
    alphabet_file = alphabet_path(checkpoint);
  }
  if (choice.model.empty()) choice.model = "crnn";
  if (find_model(choice.model) == nullptr) {
    return Error{ErrorKind::usage, "no model " + choice.model + " (see ocrtune list models)"};
  }
  // A file of that name wins over the name of an alphabet.
  if (!alphabet.empty()) alphabet_file = path_exists(alphabet) ? alphabet : "";
  const auto read =
      OCRTUNE_TRY(alphabet_file.empty() ? Alphabet::from_name(alphabet.empty() ? "alnum" : alphabet)
                                        : Alphabet::load(alphabet_file));
  choice.alphabet = read.text();
  choice.classes = read.classes();
  return choice;
}

}  // namespace ocrtune
