// A folder of rendered lines in PaddleOCR's form: images/, labels.txt with "path<TAB>text" lines,
// alphabet.txt with one character a line, and manifest.txt with everything that the bytes depend
// on. The same options with the same fonts give the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "core/data/alphabet.h"
#include "core/data/label_file.h"
#include "core/synth/line_images.h"

namespace ocrtune {

inline constexpr const char* kAlphabetFileName = "alphabet.txt";
inline constexpr const char* kManifestFileName = "manifest.txt";

struct DatasetOptions {
  std::string folder;
  Alphabet alphabet;
  DrawOptions draw;
  std::int64_t count = 1000;
  double jpeg_share = 0;  // of the lines; the others are PNG
  int threads = 1;        // does not change the bytes
  bool replace = false;   // draw into a folder that is not empty
};

struct DatasetReport {
  std::int64_t lines = 0;  // fewer than asked for after an interrupt; labels.txt has these
  std::uint64_t bytes = 0;
  std::size_t fonts = 0;
};

// usage: the folder is not empty; exhausted: the disk is full; and what LinePainter::create says.
// `progress` (may be null) is called from this thread a few times a second. Stops at an interrupt
// with labels for what is drawn.
Result<DatasetReport> draw_dataset(const DatasetOptions& options,
                                   const std::function<void(std::int64_t lines)>& progress);

}  // namespace ocrtune
