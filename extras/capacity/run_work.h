// What a stored run measured, asked in this one place: by it `plan` knows whether machines wait for
// each other, what a rate counts, and whether one request's time is known.
#pragma once

#include <optional>
#include <string_view>

#include "tuner/store/run_record.h"

namespace ocrtune {

enum class RunWork {
  trains,      // the ranks of all machines wait for each other in each step
  recognises,  // the built-in engine: line images, without finding them on a page
  reads,       // a command of the user's that goes through files and ends
  serves,      // a service of the user's that answers requests
};

// From the run alone: mode, command, URL, log reader, and what its preset says of the program.
// None: a command that may train as well as read.
std::optional<RunWork> what_it_does(const RunRecord& run);

// Of its rates: "images", "line images", "requests"; "steps" and "runs" of unknown size.
std::string_view counted_unit(const RunRecord& run);

}  // namespace ocrtune
