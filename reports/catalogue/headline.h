// What a run measured, and its answer in one sentence: what console, page and JSON begin with.
#pragma once

#include <string>
#include <vector>

#include "reports/catalogue/phrases.h"
#include "reports/catalogue/verdict.h"

namespace ocrtune {

// "Use nproc=2 batch=8: 1.90 times the rate of your setting (1.81..2.00)."
Bilingual headline(const RunRecord& run);
Tone answer_tone(Answer answer);

// "Built-in training of crnn, 32x320 pixels, 400 lines of lines/labels.txt". Plain text.
Bilingual subject(const RunRecord& run);

// The knobs of the recommended setting, less those that were found to change nothing.
std::string launch_knobs(const TuneResult& result);
// What goes on with a run, after --resume: its id, and as much again where it used its budget.
std::string resumed(const RunRecord& run);
// What the recommendation changes in a training recipe: its global batch, and what a rank does by
// itself; empty: nothing.
Bilingual recipe_note(const RunRecord& run);

// Of the built-in engine's training, whose setting is told as a command for PaddleOCR: that this
// was not measured; empty: it was.
Bilingual engine_note(const RunRecord& run);

// What other allocators gave, all else alike: rate and memory beside the recommendation's.
std::vector<Bilingual> malloc_notes(const RunRecord& run);

// The recommendation's reasons, less those that its figures say: rate, gain, memory, ties.
std::vector<Reason> further_reasons(const Recommendation& recommended);
bool tells_of_gpus(const Reason& reason);                  // of GPUs without work
const char* baseline_phrase(const SearchRequest& search);  // "your setting", "a plain start", ...
// Of the search: "race" -> "leaders, again", "baseline" -> "your setting".
Bilingual phase_text(const std::string& phase, const SearchRequest& search);
const char* rate_unit(const RunRecord& run);  // samples/s | requests/s | steps/s | runs/s

}  // namespace ocrtune
