// The settings that ocrtune turns, and the one table from which flag, JSON key, CSV column,
// command placeholder and environment variable of each come.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// One point of the space. `nproc`, `threads`, `batch` and `workers` are per node, per process,
// per process and per process.
struct Knobs {
  int nproc = 1;
  int threads = 1;
  int batch = 16;
  int workers = 0;                          // loader workers; 0: the rank loads its own batches
  int accumulate = 1;                       // steps of a process between exchanges of gradients
  std::string precision = "fp32";           // fp32 | bf16
  std::string backend = "onednn";           // onednn | reference | cuda
  std::string binding = "none";             // none | compact | spread | numa
  std::string malloc = "default";           // default | arena1 (MALLOC_ARENA_MAX=1)
  std::string queue = "shared";             // inference: shared | static shards
  std::string p2p = "auto";                 // auto | off | LOC..SYS (NCCL_P2P_LEVEL)
  std::string ctas = "auto";                // auto | 1..64 (NCCL_MIN_CTAS = NCCL_MAX_CTAS)
  std::string algo = "auto";                // auto | Ring | Tree
  std::string buffsize = "auto";            // auto | bytes, a power of two
  std::string cumem_host = "auto";          // auto | 0 | 1
  std::string nvls = "auto";                // auto | 0 | 1
  std::map<std::string, std::string> dims;  // the user's own --dim NAME=a,b,c
  // Of nproc, threads and batch, those that do not reach a command of the user's own: their numbers
  // say nothing then. The same for all settings of a run.
  std::set<std::string, std::less<>> absent;

  friend bool operator==(const Knobs&, const Knobs&) = default;
  friend auto operator<=>(const Knobs&, const Knobs&) = default;
};

enum class KnobScale { count, category };  // count: whole numbers, in order, often doubled

struct KnobRow {
  const char* name;  // JSON key, CSV column, {placeholder}, --flag
  KnobScale scale;
  const char* help;
  const char* choices;  // "a|b|c", or "" for any whole number from `least`
  int least;
  bool gpu;                  // means something only where there is a GPU
  bool open;                 // other words than `choices` too: a user command has its own
  int Knobs::*number;        // set for counts
  std::string Knobs::*word;  // set for categories
};

const std::vector<KnobRow>& knob_table();
const KnobRow* find_knob(std::string_view name);  // null for the user's own dimensions

// The value as text; a name that is neither a knob nor in `dims` gives "".
std::string knob_text(const Knobs& knobs, std::string_view name);
// Refuses values that the table does not allow; unknown names go to `dims`.
Status set_knob(Knobs& knobs, std::string_view name, std::string_view value);
// {name, text} of every knob that is not at its default, and of all dims; nproc, threads and batch
// always. Absent ones never.
std::vector<std::pair<std::string, std::string>> knob_texts(const Knobs& knobs);
// "nproc=2 threads=4 batch=32 binding=compact", less the names of `without`; "as typed" of a
// command that no knob reaches.
std::string knobs_text(const Knobs& knobs, const std::set<std::string>& without = {});
Result<Knobs> parse_knobs(const std::vector<std::string>& assignments);  // {"nproc=2", "batch=64"}

// The environment that a rank needs for these knobs: OMP_NUM_THREADS, MALLOC_ARENA_MAX, NCCL_*.
std::vector<std::pair<std::string, std::string>> knob_environment(const Knobs& knobs);

// A knob or a dimension of the user's, and the values of it that a search may try. A dimension
// whose values are all numbers is a count, in ascending order; other words keep the order in which
// they came.
struct Axis {
  std::string name;
  KnobScale scale = KnobScale::count;
  std::vector<std::string> values;
};

}  // namespace ocrtune
