// A row for each variable: its kind decides the sentence and whether it can limit. To add a
// variable is to add a row.
#include "probes/host/thread_env.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"

namespace ocrtune {
namespace {

enum class Kind {
  team,       // a number of threads for one library
  cap,        // a ceiling above which no team grows
  placement,  // where threads may run
  waiting,    // how threads wait
  isa,        // caps the instruction set
  grant,      // what a batch system gave
  other,
};

struct Row {
  const char* name;
  Kind kind;
  const char* subject;   // whose threads, or what it does in words
  const char* stronger;  // a variable that wins over this one, or ""
};

// The order is the order in which they are shown.
constexpr Row kRows[] = {
    {"OMP_NUM_THREADS", Kind::team, "OpenMP (oneDNN, Paddle, PyTorch)", ""},
    {"OMP_THREAD_LIMIT", Kind::cap, "OpenMP", ""},
    {"KMP_DEVICE_THREAD_LIMIT", Kind::cap, "Intel/LLVM OpenMP", ""},
    {"MKL_NUM_THREADS", Kind::team, "MKL", ""},
    {"MKL_DOMAIN_NUM_THREADS", Kind::other, "sets threads per MKL domain", ""},
    {"OPENBLAS_NUM_THREADS", Kind::team, "OpenBLAS", ""},
    {"GOTO_NUM_THREADS", Kind::team, "OpenBLAS", "OPENBLAS_NUM_THREADS"},
    {"BLIS_NUM_THREADS", Kind::team, "BLIS", ""},
    {"NUMEXPR_NUM_THREADS", Kind::team, "numexpr", ""},
    {"NUMEXPR_MAX_THREADS", Kind::cap, "numexpr", ""},
    {"VECLIB_MAXIMUM_THREADS", Kind::cap, "Accelerate", ""},
    {"RAYON_NUM_THREADS", Kind::team, "Rayon (Burn, ndarray)", ""},
    {"OPENCV_FOR_THREADS_NUM", Kind::team, "OpenCV", ""},
    {"CPU_NUM", Kind::team, "Paddle's CPU places", ""},
    {"OMP_DYNAMIC", Kind::other, "lets OpenMP shrink teams by itself when true", ""},
    {"MKL_DYNAMIC", Kind::other, "lets MKL shrink teams by itself when true", ""},
    {"OMP_MAX_ACTIVE_LEVELS", Kind::other, "limits nested teams", ""},
    {"OMP_PROC_BIND", Kind::placement, "binds OpenMP threads to places", ""},
    {"OMP_PLACES", Kind::placement, "names the places of OpenMP threads", "GOMP_CPU_AFFINITY"},
    {"GOMP_CPU_AFFINITY", Kind::placement, "pins libgomp threads to CPUs", ""},
    {"KMP_AFFINITY", Kind::placement,
     "pins Intel/LLVM OpenMP threads, and forked workers with them", ""},
    {"KMP_HW_SUBSET", Kind::placement, "restricts Intel/LLVM OpenMP to part of the machine", ""},
    {"OMP_WAIT_POLICY", Kind::waiting, "how idle OpenMP threads wait", ""},
    {"GOMP_SPINCOUNT", Kind::waiting, "how long idle libgomp threads spin", ""},
    {"KMP_BLOCKTIME", Kind::waiting, "how long idle Intel/LLVM OpenMP threads spin", ""},
    {"ONEDNN_MAX_CPU_ISA", Kind::isa, "oneDNN", ""},
    {"DNNL_MAX_CPU_ISA", Kind::isa, "oneDNN", "ONEDNN_MAX_CPU_ISA"},
    {"MKL_ENABLE_INSTRUCTIONS", Kind::isa, "MKL", ""},
    {"MKL_CBWR", Kind::isa, "MKL", ""},
    {"OPENBLAS_CORETYPE", Kind::isa, "OpenBLAS", ""},
    {"ATEN_CPU_CAPABILITY", Kind::isa, "PyTorch", ""},
    {"GLIBC_TUNABLES", Kind::other, "tunes the C library (CPU features, malloc)", ""},
    {"SLURM_CPUS_PER_TASK", Kind::grant, "a Slurm task", ""},
    {"SLURM_CPUS_ON_NODE", Kind::grant, "the Slurm job on this node", ""},
    {"SLURM_JOB_CPUS_PER_NODE", Kind::grant, "the Slurm job on each node", ""},
    {"SLURM_CPU_BIND", Kind::placement, "how Slurm binds tasks", ""},
    {"PBS_NCPUS", Kind::grant, "the PBS job", ""},
    {"NCPUS", Kind::grant, "the PBS job", ""},
    {"LSB_DJOB_NUMPROC", Kind::grant, "the LSF job", ""},
};

// "4,2" is the form for nested teams: the outer one counts.
std::optional<double> leading_count(const std::string& value) {
  const auto number = parse_integer(trim(value.substr(0, value.find_first_of(",("))));
  if (!number || *number < 1) return std::nullopt;
  return static_cast<double>(*number);
}

std::string threads_text(double count) {
  return fmt::format("{:.0f} {}", count, noun_after(count, "thread"));
}

// What the two OpenMP variables give together, where both are set.
std::string capped_by(const Environment& environment, double count) {
  const auto cap = leading_count(environment_value(environment, "OMP_THREAD_LIMIT"));
  if (!cap || *cap >= count) return "";
  return fmt::format("; OMP_THREAD_LIMIT wins: really {}", threads_text(*cap));
}

std::string effect_of(const Row& row, const std::string& value, const Environment& environment) {
  const auto count = leading_count(value);
  switch (row.kind) {
    case Kind::team:
      if (!count) return fmt::format("not a thread count: {} ignores it", row.subject);
      return fmt::format(
          "{} starts {} in each process{}", row.subject, threads_text(*count),
          std::string_view(row.name) == "OMP_NUM_THREADS" ? capped_by(environment, *count) : "");
    case Kind::cap:
      if (!count) return fmt::format("not a thread count: {} ignores it", row.subject);
      return fmt::format("{} never has more than {} in a process", row.subject,
                         threads_text(*count));
    case Kind::isa:
      return fmt::format("limits the instructions that {} uses", row.subject);
    case Kind::grant:
      return fmt::format("CPUs granted to {}", row.subject);
    case Kind::placement:
    case Kind::waiting:
    case Kind::other:
      break;
  }
  return row.subject;
}

// OMP_PROC_BIND=true binds every rank's first thread to the same first CPU unless ranks have masks
// of their own.
bool binds_ranks_together(const Row& row, const std::string& value) {
  const std::string_view name = row.name;
  if (name == "GOMP_CPU_AFFINITY" || name == "KMP_AFFINITY") return true;
  const std::string policy = lower(value);
  return name == "OMP_PROC_BIND" && !policy.empty() && policy != "false";
}

}  // namespace

std::vector<ThreadEnvFact> read_thread_env(const Environment& environment, double usable_cpus,
                                           Notes& notes) {
  std::vector<ThreadEnvFact> facts;
  for (const Row& row : kRows) {
    const auto set = environment.find(row.name);
    if (set == environment.end()) continue;
    ThreadEnvFact fact{row.name, set->second, effect_of(row, set->second, environment), false};
    const bool beaten = *row.stronger != '\0' && environment.count(row.stronger) != 0;
    const auto count = leading_count(set->second);
    const bool counts = row.kind == Kind::team || row.kind == Kind::cap;
    // + 0.999: three threads on 3.5 usable CPUs do not limit, for there is no fourth CPU.
    fact.limits = !beaten && counts && count && usable_cpus > 0 && *count + 0.999 < usable_cpus;
    if (row.kind == Kind::team && count && usable_cpus > 0 && *count > std::ceil(usable_cpus)) {
      notes.warnings.push_back(fmt::format(
          "{}={} starts more threads than the {:.4g} usable {} in every process: threads that "
          "wait for one another run many times slower",
          row.name, set->second, usable_cpus, noun_after(usable_cpus, "CPU")));
    }
    if (beaten) fact.effect += fmt::format("; {} wins over it", row.stronger);
    if (binds_ranks_together(row, set->second)) {
      fact.limits = !beaten;
      fact.effect += "; processes without masks of their own all land on the same CPUs";
    }
    facts.push_back(std::move(fact));
  }
  for (const auto& [name, value] : environment) {
    if (!starts_with(name, "FLAGS_")) continue;
    facts.push_back({name, value, "a Paddle flag", false});
  }
  return facts;
}

}  // namespace ocrtune
