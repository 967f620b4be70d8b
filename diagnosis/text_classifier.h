// What the words of a log speak for where no signature does: a complement naive Bayes classifier
// over words and word pairs, learned from logs whose first cause is known.
//
// It never names a cause alone. Where the signatures found nothing, only a generic failure or ranks
// that waited, it adds up to three suspects with the line that speaks most for each; and where the
// words are those of healthy logs, it doubts a weak answer. The table of words is written by
// bench/diagnosis/learn_words_main.cpp. Source: Rennie et al., Tackling the poor assumptions of
// naive Bayes text classifiers, 2003.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/cause.h"
#include "diagnosis/failure_evidence.h"
#include "diagnosis/log_scan.h"

namespace ocrtune {

inline constexpr const char* kHealthyText = "none";  // the class of logs that show no failure
inline constexpr const char* kTextSignature = "learned_words";  // of suspects that hedge() adds

// A row for each class: its bias in thousandths, then "word weight" pairs, weights in sixteenths.
struct WordRow {
  const char* cause;  // in cause_table(), or kHealthyText
  int bias;
  const char* words;
};
const std::vector<WordRow>& word_table();

// Distinct words of a line and pairs of neighbours, in lower case without endings, numbers and hex:
// "No such file: '/a/b.txt'" -> no such file txt no_such such_file file_txt. Pairs of Han
// characters are words.
std::vector<std::string> words_of_line(std::string_view line);

// The lines that are classified: of each log the last ones and the first that each signature found.
std::vector<EvidenceLine> classified_lines(const std::vector<LogScan>& logs);

struct TextVote {
  std::string_view cause;
  double score = 0;  // in standard deviations of all classes' scores
};

// Best first; empty where fewer than three words are known.
std::vector<TextVote> classify(const std::vector<EvidenceLine>& lines);

// Hedges the causes that the signatures gave, best first. No confidence is raised, none added above
// 0.33.
void hedge(const std::vector<LogScan>& logs, const FailureEvidence& evidence,
           std::vector<Cause>& causes);

}  // namespace ocrtune
