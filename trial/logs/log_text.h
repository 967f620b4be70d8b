// What all log dialects need to read text that programs print for people: numbers as people write
// them, colours, the rank that a launcher puts in front of a line, the words of an evaluation.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ocrtune {

// Without colours, cursor movements, hyperlinks and other control bytes; tabs become blanks, or
// what `tab` says.
std::string plain_line(std::string_view line, char tab = ' ');

struct FoundNumber {
  double value = 0;
  std::size_t begin = 0, end = 0;  // in the text searched
};

// The number at `at`, blanks skipped: "1,234.5", "12.5k", "1.2e+03", "-3". "412,7", "1.234,5" and
// "0,412" have a decimal comma; a comma alone before exactly three digits parts thousands
// ("5,412"). A comma that separates two numbers ("2.3, 4") ends the first.
std::optional<FoundNumber> number_at(std::string_view text, std::size_t at);
// The number that ends just before `end`, blanks skipped: of "12.5k img/s".
std::optional<FoundNumber> number_ending_at(std::string_view text, std::size_t end);

bool in_a_word(char c);  // letters, digits, underscore
// True where one of the words says that no training goes on: "Validation", "[eval]", "test:"; not
// "latest" or "val_loss".
bool names_evaluation(std::string_view text);
// The same, but for words that a program that only reads has too: "Predicting", "inference".
bool names_validation(std::string_view text);
// Bars that get the data ready count samples too: "Loading", "tokenizing".
bool names_preparation(std::string_view text);
// The rank that a line says it comes from, among `ranks` of them: "[default1]:", "[rank1]: ",
// "1: ...", "[1,1]<stdout>:", "local_rank=1". Empty: none.
std::optional<int> rank_named(std::string_view line, int ranks);
// The same, or the number of a process that a program started by itself, however many there are:
// "[worker 3]", "Process-2", "gpu 1:".
std::optional<int> process_named(std::string_view line, int ranks);

bool is_step_noun(std::string_view word);    // "it", "batches", "updates", ...
bool is_sample_noun(std::string_view word);  // "img", "pages", ...

// Lines that come within it were written, or let go by a buffer, at once.
inline constexpr double kAtOnceSeconds = 0.01;

}  // namespace ocrtune
