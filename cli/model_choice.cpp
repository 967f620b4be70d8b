#include "cli/model_choice.h"

#include "base/files.h"
#include "core/data/alphabet.h"
#include "core/graph/checkpoint.h"
#include "core/models/model.h"
#include "core/train/training_run.h"

namespace ocrtune {

Result<ModelChoice> choose_model(const std::string& checkpoint, const std::string& model,
                                 const std::string& alphabet) {
  ModelChoice choice;
  choice.model = model;
  std::string alphabet_file;
  if (!checkpoint.empty()) {
    const auto head = OCRTUNE_TRY(read_checkpoint_head(checkpoint));
    if (choice.model.empty()) choice.model = head.owner.model;
    alphabet_file = alphabet_path(checkpoint);
  }
  if (choice.model.empty()) choice.model = "crnn";
  if (find_model(choice.model) == nullptr) {
    return Error{ErrorKind::usage, "no model " + choice.model + " (see ocrtune list models)"};
  }
  if (!alphabet.empty()) alphabet_file = path_exists(alphabet) ? alphabet : "";
  const auto read =
      OCRTUNE_TRY(alphabet_file.empty() ? Alphabet::from_name(alphabet.empty() ? "alnum" : alphabet)
                                        : Alphabet::load(alphabet_file));
  choice.alphabet = read.text();
  choice.classes = read.classes();
  return choice;
}

}  // namespace ocrtune
