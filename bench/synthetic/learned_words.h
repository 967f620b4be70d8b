// Learns the table of diagnosis/text_classifier.h from logs whose first cause is known.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// The words of one log, once for each line that has them, and its first cause.
struct LabelledWords {
  std::vector<std::string> words;
  std::string cause;
};

struct LearnedRow {
  std::string cause;
  int bias = 0;
  std::string words;
};

// All tests/fixtures/{logs,diagnosis}/*_cases.txt below `source`, and the example line of each
// signature that names a failure. Errors: of kind missing if a file cannot be read.
Result<std::vector<LabelledWords>> labelled_words(const std::string& source);

// Complement naive Bayes: the weight of a word for a cause is log((T + a) / (T + a - F)), where T
// is how often the word is seen in all logs and F in those of the cause, a log having length 1.
std::vector<LearnedRow> learn_words(const std::vector<LabelledWords>& logs);

// The text of diagnosis/text_classifier_table.cpp.
std::string word_table_source(const std::vector<LearnedRow>& rows);

}  // namespace ocrtune
