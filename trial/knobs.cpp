// The table stands here, and everything else goes through it; knob_environment() alone names the
// knobs that have variables. Checks are of single values: combinations that a workload refuses are
// its own matter.
#include "trial/knobs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/malloc_environment.h"

namespace ocrtune {
namespace {

KnobRow count(const char* name, int Knobs::*number, int least, const char* help) {
  return {name, KnobScale::count, help, "", least, false, false, number, nullptr};
}

KnobRow category(const char* name, std::string Knobs::*word, const char* choices,
                 const char* help) {
  return {name, KnobScale::category, help, choices, 0, false, false, nullptr, word};
}

KnobRow gpu(const char* name, std::string Knobs::*word, const char* choices, const char* help) {
  KnobRow row = category(name, word, choices, help);
  row.gpu = true;
  return row;
}

// The core itself refuses what it does not have.
KnobRow open_category(const char* name, std::string Knobs::*word, const char* choices,
                      const char* help) {
  KnobRow row = category(name, word, choices, help);
  row.open = true;
  return row;
}

// More processes, threads or loader workers than any node has are a slip of the finger.
// Both bounds are guesses.
int max_of(const KnobRow& row) { return row.number == &Knobs::batch ? 1'000'000 : 4096; }

bool allowed(const KnobRow& row, std::string_view value) {
  // A command of the user's may have backends of other names.
  if (row.open || *row.choices == '\0') return !value.empty();
  const auto choices = split(row.choices, '|');
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

std::string text_in(const KnobRow& row, const Knobs& knobs) {
  return row.number != nullptr ? fmt::format_int(knobs.*row.number).str() : knobs.*row.word;
}

bool at_default(const KnobRow& row, const Knobs& knobs) {
  static const Knobs kDefaults;
  return row.number != nullptr ? knobs.*row.number == kDefaults.*row.number
                               : knobs.*row.word == kDefaults.*row.word;
}

}  // namespace

const std::vector<KnobRow>& knob_table() {
  static const std::vector<KnobRow> kTable = {
      count("nproc", &Knobs::nproc, 1, "processes on this node (nproc_per_node)"),
      count("threads", &Knobs::threads, 1, "compute threads of each process (OMP_NUM_THREADS)"),
      count("batch", &Knobs::batch, 1, "samples of each process in one step"),
      count("workers", &Knobs::workers, 0, "loader workers of each process; 0 loads in the rank"),
      count("accumulate", &Knobs::accumulate, 1,
            "steps of each process whose gradients are summed before they are exchanged; the "
            "effective batch is so many times larger"),
      category("precision", &Knobs::precision, "fp32|tf32|bf16|int8",
               "arithmetic of the compute; tf32 on GPUs alone, int8 for inference on CPUs alone"),
      open_category("backend", &Knobs::backend, "onednn|reference|cuda",
                    "who computes the operators"),
      category("binding", &Knobs::binding, "none|compact|spread|numa",
               "CPU masks: none, neighbours together, far apart, or one NUMA node each"),
      category("malloc", &Knobs::malloc, "default|arena1|keep|tcmalloc|jemalloc|mimalloc",
               "who hands out memory: glibc as it is, with one arena, keeping what is freed, or an "
               "installed allocator by LD_PRELOAD"),
      category("queue", &Knobs::queue, "shared|static",
               "inference: who takes the next lines: any process, or each has its own share"),
      gpu("p2p", &Knobs::p2p, "auto|off|LOC|NVL|PIX|PXB|PHB|SYS",
          "GPU peer access: off sets NCCL_P2P_DISABLE=1, a level NCCL_P2P_LEVEL"),
      gpu("ctas", &Knobs::ctas, "auto|1|2|4|8|16|32|64", "NCCL_MIN_CTAS and NCCL_MAX_CTAS"),
      gpu("algo", &Knobs::algo, "auto|Ring|Tree", "NCCL_ALGO"),
      gpu("buffsize", &Knobs::buffsize, "", "NCCL_BUFFSIZE in bytes, a power of two, or auto"),
      gpu("cumem_host", &Knobs::cumem_host, "auto|0|1", "NCCL_CUMEM_HOST_ENABLE"),
      gpu("nvls", &Knobs::nvls, "auto|0|1", "NCCL_NVLS_ENABLE"),
  };
  return kTable;
}

const KnobRow* find_knob(std::string_view name) {
  for (const KnobRow& row : knob_table()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::string knob_text(const Knobs& knobs, std::string_view name) {
  const KnobRow* row = find_knob(name);
  if (row == nullptr) {
    const auto found = knobs.dims.find(std::string(name));
    return found == knobs.dims.end() ? "" : found->second;
  }
  return text_in(*row, knobs);
}

Status set_knob(Knobs& knobs, std::string_view name, std::string_view value) {
  const KnobRow* row = find_knob(name);
  if (row == nullptr) {
    // Any other name is a dimension of the user's, so a misspelt knob is none of this function's
    // errors.
    knobs.dims[std::string(name)] = std::string(value);
    return Status();
  }
  if (row->scale == KnobScale::category) {
    if (!allowed(*row, value)) {
      return Error{ErrorKind::usage,
                   fmt::format("{}={}: not one of {}", name, value, row->choices)};
    }
    knobs.*row->word = std::string(value);
    return Status();
  }
  const auto number = parse_integer(value);
  if (!number || *number < row->least || *number > max_of(*row)) {
    return Error{ErrorKind::usage, fmt::format("{}={}: needs a whole number from {} to {}", name,
                                               value, row->least, max_of(*row))};
  }
  knobs.*row->number = static_cast<int>(*number);
  return Status();
}

std::vector<std::pair<std::string, std::string>> knob_texts(const Knobs& knobs) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const KnobRow& row : knob_table()) {
    const std::string_view name = row.name;
    // These three stand in every setting's text, so that settings can be compared by eye.
    const bool always = name == "nproc" || name == "threads" || name == "batch";
    if ((!always && at_default(row, knobs)) || knobs.absent.contains(name)) continue;
    texts.emplace_back(name, text_in(row, knobs));
  }
  texts.insert(texts.end(), knobs.dims.begin(), knobs.dims.end());
  return texts;
}

std::string knobs_text(const Knobs& knobs, const std::set<std::string>& without) {
  std::vector<std::string> parts;
  for (const auto& [name, text] : knob_texts(knobs)) {
    if (!without.contains(name)) parts.push_back(name + "=" + text);
  }
  return parts.empty() ? "as typed" : join(parts, " ");
}

Result<Knobs> parse_knobs(const std::vector<std::string>& assignments) {
  Knobs knobs;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorKind::usage,
                   fmt::format("'{}' is not NAME=VALUE, such as nproc=2", assignment)};
    }
    OCRTUNE_TRY(set_knob(knobs, std::string_view(assignment).substr(0, equals),
                         std::string_view(assignment).substr(equals + 1)));
  }
  return knobs;
}

std::vector<std::pair<std::string, std::string>> knob_environment(const Knobs& knobs) {
  std::vector<std::pair<std::string, std::string>> env = malloc_environment(knobs.malloc);
  env.emplace(env.begin(), "OMP_NUM_THREADS", fmt::format("{}", knobs.threads));
  if (knobs.p2p == "off") env.emplace_back("NCCL_P2P_DISABLE", "1");
  if (knobs.p2p != "off" && knobs.p2p != "auto") env.emplace_back("NCCL_P2P_LEVEL", knobs.p2p);
  // Both bounds alike leave NCCL no choice.
  if (knobs.ctas != "auto") {
    env.emplace_back("NCCL_MIN_CTAS", knobs.ctas);
    env.emplace_back("NCCL_MAX_CTAS", knobs.ctas);
  }
  if (knobs.algo != "auto") env.emplace_back("NCCL_ALGO", knobs.algo);
  if (knobs.buffsize != "auto") env.emplace_back("NCCL_BUFFSIZE", knobs.buffsize);
  if (knobs.cumem_host != "auto") env.emplace_back("NCCL_CUMEM_HOST_ENABLE", knobs.cumem_host);
  if (knobs.nvls != "auto") env.emplace_back("NCCL_NVLS_ENABLE", knobs.nvls);
  return env;
}

}  // namespace ocrtune
