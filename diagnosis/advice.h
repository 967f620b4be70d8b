// What to do about a cause: first the cure that the message itself names, then what is true of the
// line and of the program that wrote it, then what is true of everybody; and two columns beside
// it, what to do first so that nothing is lost and what is not worth trying.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/cause.h"
#include "diagnosis/log_scan.h"

namespace ocrtune {

struct Fix {
  const char* of;          // causes and signatures between blanks; "": of any
  const char* quotes;      // what its evidence holds, without case and blanks, "|" between; "": any
  std::uint32_t programs;  // bits of Program: one of them wrote the log; 0: any
  std::uint32_t without;   // and none of these
  const char* words;
  bool alone = false;  // what is true of everybody does not help here
};

struct Care {
  const char* causes;     // between blanks
  const char* first;      // ""
  const char* not_worth;  // ""
};

const std::vector<Fix>& fix_table();  // of lines, then of programs: diagnosis/advice_table.cpp
const std::vector<Care>& care_table();

// Whose words stand in the logs.
std::uint32_t programs_of(const std::vector<LogScan>& logs);

// Fills `fixes`, `confirm`, `first` and `not_worth`. "Train.loader.num_workers=2" becomes half of
// what the run had; what it already has is left out. `slowed`: what slowed the run is told as well.
void advise(Cause& cause, const std::vector<LogScan>& logs, bool slowed = false);

// The sentence of a message that says what to do about it, with the flags that it names; "": none.
std::string cure_in_message(const std::string& text);

// What to type where it depends on who runs the container or the job: one command of the engine
// that is seen, in place of a sentence for all of them.
struct EngineWords {
  const char* general;  // of a row of the other tables
  const char* engine;   // "docker", "podman", "kubernetes", "slurm" or "lxc"
  const char* own;      // "": nothing is to be done there
};

const std::vector<EngineWords>& engine_words();
// Who runs the program that wrote these logs (bits of Program); "": nobody, or several.
std::string_view engine_of(std::uint32_t programs);
// The engine's own words, else the general ones.
const char* words_for(const char* general, std::string_view engine);

const std::vector<NextStep>& next_step_table();
// For two suspects that remain, the one command that tells them apart. At most three, for the first
// against those behind it and against those that its lines cannot rule out. None where the first is
// nearly certain, and none that reads what `logs` hold already.
std::vector<NextStep> next_steps(const std::vector<Cause>& causes,
                                 const std::vector<LogScan>& logs = {});

}  // namespace ocrtune
