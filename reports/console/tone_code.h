// The colours of tones on a terminal, by ANSI sequences.
#pragma once

#include "reports/catalogue/verdict.h"

namespace ocrtune {

constexpr const char* tone_code(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "\x1b[32m";
    case Tone::warning:
      return "\x1b[33m";
    case Tone::bad:
      return "\x1b[31m";
    case Tone::neutral:
      break;
  }
  return "\x1b[36m";
}

}  // namespace ocrtune
