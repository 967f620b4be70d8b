// Writes the table of words by which diagnose hedges: see diagnosis/text_classifier.h.
//
//   build/learn_words . >diagnosis/text_classifier_table.cpp
//
// To be run after logs or signatures were added to tests/fixtures.
#include <cstdio>

#include "bench/synthetic/learned_words.h"

int main(int argc, char** argv) {
  const auto logs = ocrtune::labelled_words(argc > 1 ? argv[1] : ".");
  if (!logs) {
    std::fprintf(stderr, "learn_words: %s\n", logs.error().what.c_str());
    return 3;
  }
  std::fputs(ocrtune::word_table_source(ocrtune::learn_words(*logs)).c_str(), stdout);
  return 0;
}
