// What an OCR program read, by its lines of texts with scores: words, or letters and signs at
// random as a dictionary of another model gives them, each with a high score.
#pragma once

#include <string_view>

namespace ocrtune {

class ReadTexts {
 public:
  // True: the line holds a text whose signs stand within words.
  bool take_line(std::string_view line);
  // Of many texts a third and more. A guess: program text and addresses have fewer.
  bool are_rubbish() const { return texts_ >= 10 && 3 * odd_ >= texts_; }

 private:
  int texts_ = 0, odd_ = 0;  // with a high score
};

}  // namespace ocrtune
