// Which engines may read the lines of `tune --mode infer`: the values of the knob "backend".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/tune/tune_flags.h"

namespace ocrtune {

// Of --engine as typed: the backends of each name, such as "paddle" and "paddle-onednn" of paddle.
// usage: no such engine.
Result<std::vector<std::string>> backends_of_engines(const std::string& engines);

// Sets the values of "backend" to what --engine or --backend names, or without them, for an ONNX
// file and the user's own lines, to every engine that is here and reads the file. What is left out,
// and why, goes to flags.notes. Errors: usage; unsupported: no engine is left.
Status choose_engines(TuneFlags& flags);

// The file in int8 of the chosen frameworks, where that is asked for and not there: made from the
// user's lines, or with --dry-run only told of. Errors: reading the lines.
Status make_int8_file(TuneFlags& flags);

}  // namespace ocrtune
