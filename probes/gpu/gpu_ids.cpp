// One list is applied to the devices that were visible before it, entry by entry, as the driver
// does; AMD has two lists in a row. What the driver drops in silence is kept as a problem in words.
#include "probes/gpu/gpu_ids.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

// CUDA reads a number as strtoul does: "1x" is 1; anything else is -1, which ends a list.
int leading_index(std::string_view text) {
  text = trim(text);
  std::size_t digits = !text.empty() && text[0] == '+' ? 1 : 0;
  const std::size_t start = digits;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) {
    ++digits;
  }
  // Six digits at most, so that the number fits an int.
  if (digits == start || digits - start > 6) return -1;
  const auto number = parse_integer(text.substr(start, digits - start));
  return number ? static_cast<int>(*number) : -1;
}

// A device that a list may name: a whole GPU or a slice of one.
struct Candidate {
  VisibleGpu gpu;
  bool slice = false;
};

std::vector<Candidate> whole_gpus(const std::vector<PhysicalGpu>& gpus) {
  std::vector<Candidate> all;
  all.reserve(gpus.size());
  for (const PhysicalGpu& gpu : gpus) {
    all.push_back({VisibleGpu{0, gpu.index, gpu.uuid, gpu.name}, false});
    if (gpu.mig && !gpu.slices.empty()) {  // named by index, a divided GPU gives its first slice
      all.back().gpu.uuid = gpu.slices.front();
      all.back().slice = true;
    }
  }
  return all;
}

std::vector<Candidate> slices(const std::vector<PhysicalGpu>& gpus) {
  std::vector<Candidate> all;
  for (const PhysicalGpu& gpu : gpus) {
    for (const std::string& slice : gpu.slices) {
      all.push_back({VisibleGpu{0, gpu.index, slice, gpu.name}, true});
    }
  }
  return all;
}

// The one device whose UUID begins so; nothing when none or several do.
std::optional<Candidate> by_uuid(const std::vector<Candidate>& all, std::string_view prefix) {
  std::optional<Candidate> found;
  for (const Candidate& candidate : all) {
    if (!starts_with(candidate.gpu.uuid, prefix)) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

enum class Entries { indexes, gpu_uuids, slice_uuids };

Entries kind_of(std::string_view list) {
  if (starts_with(list, "MIG-")) return Entries::slice_uuids;
  return starts_with(list, "GPU-") ? Entries::gpu_uuids : Entries::indexes;
}

std::optional<Candidate> find_entry(const std::string& entry, Entries kind,
                                    const std::vector<Candidate>& all) {
  if (kind == Entries::indexes) {
    const int index = leading_index(entry);
    if (index < 0 || index >= static_cast<int>(all.size())) return std::nullopt;
    return all[static_cast<std::size_t>(index)];
  }
  const char* prefix = kind == Entries::gpu_uuids ? "GPU-" : "MIG-";
  if (!starts_with(entry, prefix)) return std::nullopt;
  return by_uuid(all, entry);
}

// Applies one variable's list to the devices that were visible before it.
std::vector<Candidate> apply_list(const char* variable, const std::string& list,
                                  const std::vector<Candidate>& all,
                                  std::vector<std::string>& problems) {
  std::vector<Candidate> chosen;
  if (trim(list).empty()) {
    problems.push_back(
        fmt::format("{} is empty: it hides every GPU; unset it to see all", variable));
    return chosen;
  }
  // The first entry decides for the whole list: one of another kind ends it.
  const Entries kind = kind_of(list);
  std::set<std::string> seen;
  for (const std::string& entry : split(list, ',')) {
    const auto found = find_entry(entry, kind, all);
    if (!found) {
      problems.push_back(fmt::format(
          "{}={}: '{}' names no GPU here, and ends the list: {} visible", variable, list, entry,
          chosen.empty() ? "none is" : fmt::format("only the {} before it", chosen.size())));
      return chosen;
    }
    if (!seen.insert(fmt::format("{}/{}", found->gpu.physical, found->gpu.uuid)).second) {
      problems.push_back(
          fmt::format("{}={} names a GPU twice, which hides all of them", variable, list));
      return {};
    }
    chosen.push_back(*found);
  }
  return chosen;
}

// CUDA counts the fastest GPU first unless told otherwise; between unlike GPUs an index then means
// another device than nvidia-smi's.
void check_order(const std::vector<PhysicalGpu>& gpus, const Environment& environment,
                 bool by_index, std::vector<Candidate>& chosen,
                 std::vector<std::string>& problems) {
  const bool alike = std::all_of(gpus.begin(), gpus.end(), [&](const PhysicalGpu& gpu) {
    return gpu.name == gpus.front().name;
  });
  if (alike || !by_index || environment_value(environment, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID") {
    return;
  }
  problems.emplace_back(
      "unlike GPUs: CUDA numbers the fastest first, nvidia-smi by PCI address; set "
      "CUDA_DEVICE_ORDER=PCI_BUS_ID or name GPUs by UUID");
  for (Candidate& candidate : chosen) {
    candidate.gpu.physical = -1;
    candidate.gpu.uuid.clear();
    candidate.gpu.name.clear();
  }
}

// CUDA shows a process one slice at most, and no whole GPU beside it.
void keep_one_slice(std::vector<Candidate>& chosen, std::vector<std::string>& problems) {
  const auto slice = std::find_if(chosen.begin(), chosen.end(),
                                  [](const Candidate& candidate) { return candidate.slice; });
  if (slice == chosen.end() || chosen.size() == 1) return;
  const Candidate kept = *slice;
  chosen = {kept};
  problems.push_back("MIG: a process sees one slice only, here " + kept.gpu.uuid +
                     "; start one process for each slice");
}

GpuView finish(const std::vector<Candidate>& chosen, std::string because,
               std::vector<std::string> problems) {
  GpuView view;
  for (const Candidate& candidate : chosen) {
    view.gpus.push_back(candidate.gpu);
    view.gpus.back().logical = static_cast<int>(view.gpus.size()) - 1;
  }
  view.because = std::move(because);
  view.problems = std::move(problems);
  return view;
}

GpuView visible_nvidia(const std::vector<PhysicalGpu>& gpus, const Environment& environment) {
  constexpr const char* kVariable = "CUDA_VISIBLE_DEVICES";
  std::vector<std::string> problems;
  const auto set = environment.find(kVariable);
  const bool all = set == environment.end();
  const Entries kind = all ? Entries::indexes : kind_of(set->second);
  const std::vector<Candidate> there =
      kind == Entries::slice_uuids ? slices(gpus) : whole_gpus(gpus);
  std::vector<Candidate> chosen = all ? there : apply_list(kVariable, set->second, there, problems);
  if (!gpus.empty()) {
    check_order(gpus, environment, kind == Entries::indexes, chosen, problems);
    keep_one_slice(chosen, problems);
  }
  return finish(chosen,
                all ? "no variable hides any" : fmt::format("{}={}", kVariable, set->second),
                std::move(problems));
}

// ROCR_VISIBLE_DEVICES hides first; HIP_VISIBLE_DEVICES, else CUDA_VISIBLE_DEVICES, then counts
// among what is left.
GpuView visible_amd(const std::vector<PhysicalGpu>& gpus, const Environment& environment) {
  std::vector<std::string> problems;
  std::vector<std::string> because;
  std::vector<Candidate> chosen = whole_gpus(gpus);
  const bool hip = environment.count("HIP_VISIBLE_DEVICES") != 0;
  for (const char* variable :
       {"ROCR_VISIBLE_DEVICES", hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES"}) {
    const auto set = environment.find(variable);
    if (set == environment.end()) continue;
    chosen = apply_list(variable, set->second, chosen, problems);
    because.push_back(fmt::format("{}={}", variable, set->second));
  }
  return finish(chosen, because.empty() ? "no variable hides any" : join(because, ", "),
                std::move(problems));
}

std::string visible_text(const GpuView& view) {
  return fmt::format(
      "{} visible ({})",
      view.gpus.size() == 1 ? "1 GPU is" : fmt::format("{} GPUs are", view.gpus.size()),
      view.because);
}

// A physical number handed over for a logical one is the usual mistake; say what was meant.
std::string meant(const GpuView& view, int index) {
  for (const VisibleGpu& gpu : view.gpus) {
    if (gpu.physical == index) {
      return fmt::format("; ids count within the visible ones: GPU {} of the driver is {} here",
                         index, gpu.logical);
    }
  }
  return "";
}

Result<VisibleGpu> pick(const GpuView& view, std::string_view entry, const std::string& who) {
  entry = trim(entry);
  if (starts_with(entry, "GPU-") || starts_with(entry, "MIG-")) {
    const VisibleGpu* found = nullptr;
    for (const VisibleGpu& gpu : view.gpus) {
      if (!starts_with(gpu.uuid, entry)) continue;
      if (found != nullptr) {
        return Error{ErrorKind::usage, fmt::format("{}: '{}' fits several GPUs", who, entry)};
      }
      found = &gpu;
    }
    if (found != nullptr) return *found;
    return Error{ErrorKind::missing, fmt::format("{}: no visible GPU has the UUID {}; {}", who,
                                                 entry, visible_text(view))};
  }
  const auto number = parse_integer(entry);
  if (!number) return Error{ErrorKind::usage, fmt::format("{}: '{}' is no GPU id", who, entry)};
  if (*number < 0 || *number >= static_cast<std::int64_t>(view.gpus.size())) {
    return Error{ErrorKind::missing,
                 fmt::format("{}: there is no GPU {}; {}{}", who, *number, visible_text(view),
                             meant(view, static_cast<int>(*number)))};
  }
  return view.gpus[static_cast<std::size_t>(*number)];
}

Result<GpuChoice> pick_list(const GpuView& view, std::string_view list, const std::string& who) {
  GpuChoice choice;
  choice.because = fmt::format("{} names {}", who, list);
  std::set<int> seen;
  for (const std::string& entry : split(list, ',')) {
    const auto gpu = OCRTUNE_TRY(pick(view, entry, who));
    if (!seen.insert(gpu.logical).second) {
      return Error{ErrorKind::usage, fmt::format("{}: {} names a GPU twice", who, list)};
    }
    choice.gpus.push_back(gpu);
  }
  return choice;
}

// The launchers' names for the rank within a node.
// The first that is set counts: a framework's launcher may itself run under MPI or Slurm.
std::optional<std::pair<std::string, std::int64_t>> local_rank(const Environment& environment) {
  for (const char* name : {"PADDLE_LOCAL_RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                           "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    const auto rank = parse_integer(environment_value(environment, name));
    if (rank && *rank >= 0) return std::make_pair(std::string(name), *rank);
  }
  return std::nullopt;
}

std::string_view without_platform(std::string_view wanted) {
  for (std::string_view prefix : {"gpu:", "cuda:", "hip:"}) {
    if (starts_with(wanted, prefix)) return wanted.substr(prefix.size());
  }
  return wanted;
}

}  // namespace

GpuView visible_gpus(const std::vector<PhysicalGpu>& gpus, const Environment& environment,
                     GpuVendor vendor) {
  return vendor == GpuVendor::amd ? visible_amd(gpus, environment)
                                  : visible_nvidia(gpus, environment);
}

Result<GpuChoice> choose_gpus(const GpuView& view, std::string_view wanted,
                              const Environment& environment) {
  if (view.gpus.empty()) {
    return Error{
        ErrorKind::missing,
        "no GPU is visible: " + (view.problems.empty() ? view.because : view.problems.front())};
  }
  const std::string_view named = without_platform(trim(wanted));
  if (named == "all") return GpuChoice{view.gpus, "all visible GPUs", false};
  if (!named.empty()) return pick_list(view, named, "device");
  // The variable counts within the visible list, as the frameworks read it.
  const std::string flag = environment_value(environment, "FLAGS_selected_gpus");
  if (!trim(flag).empty()) return pick_list(view, flag, "FLAGS_selected_gpus");
  const VisibleGpu& first = view.gpus.front();
  // Before the local rank: a launcher that shows each rank one GPU still counts ranks from 0 up.
  if (view.gpus.size() == 1) return GpuChoice{{first}, "the only visible GPU", false};
  if (const auto rank = local_rank(environment)) {
    return pick_list(view, std::to_string(rank->second), rank->first);
  }
  return GpuChoice{
      {first},
      fmt::format("no device was named, {}: the first one is used", visible_text(view)),
      true};
}

Result<VisibleGpu> gpu_of_rank(const GpuView& view, std::string_view wanted,
                               const Environment& environment) {
  if (trim(wanted) == "auto" || trim(wanted).empty()) {
    const auto choice = OCRTUNE_TRY(choose_gpus(view, "", environment));
    if (choice.by_default || choice.gpus.size() != 1) {
      return Error{ErrorKind::usage, choice.by_default
                                         ? visible_text(view) +
                                               " and no rank is in the environment (LOCAL_RANK, "
                                               "PADDLE_LOCAL_RANK, ...): name a device"
                                         : choice.because + ": one device a rank is wanted"};
    }
    const auto rank = local_rank(environment);
    // The only visible GPU is fine for rank 0 alone; choose_gpus() would share it among the ranks.
    if (rank && rank->second >= static_cast<std::int64_t>(view.gpus.size()) &&
        environment_value(environment, "FLAGS_selected_gpus").empty()) {
      return Error{ErrorKind::missing,
                   fmt::format("{}={}, but {}", rank->first, rank->second, visible_text(view))};
    }
    return choice.gpus.front();
  }
  const auto choice = OCRTUNE_TRY(choose_gpus(view, wanted, environment));
  if (choice.gpus.size() == 1) return choice.gpus.front();
  const auto rank = local_rank(environment);
  if (!rank) {
    return Error{ErrorKind::usage, fmt::format("{} names several GPUs, and no rank is in the "
                                               "environment (LOCAL_RANK, PADDLE_LOCAL_RANK, ...)",
                                               wanted)};
  }
  if (rank->second >= static_cast<std::int64_t>(choice.gpus.size())) {
    return Error{ErrorKind::missing, fmt::format("{}={}, but {} names {} GPUs", rank->first,
                                                 rank->second, wanted, choice.gpus.size())};
  }
  return choice.gpus[static_cast<std::size_t>(rank->second)];
}

std::string gpu_uuid_text(const char* bytes, bool slice) {
  std::string text = slice ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return text;
}

bool same_gpu_uuid(std::string_view a, std::string_view b) {
  const std::size_t common = std::min(a.size(), b.size());
  constexpr std::size_t kLeast = 5;  // the kind and something of the number
  if (common < kLeast) return false;
  return std::equal(
      a.begin(), a.begin() + static_cast<std::ptrdiff_t>(common), b.begin(),
      [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::vector<std::pair<std::string, std::optional<std::string>>> gpu_environment(
    const VisibleGpu& gpu, GpuVendor vendor) {
  const std::string name = gpu.uuid.empty() ? std::to_string(gpu.physical) : gpu.uuid;
  if (vendor == GpuVendor::amd) {
    // HIP takes indexes only; ROCr takes UUIDs and comes first.
    return {{"ROCR_VISIBLE_DEVICES", name},
            {"HIP_VISIBLE_DEVICES", std::nullopt},
            {"CUDA_VISIBLE_DEVICES", std::nullopt},
            {"FLAGS_selected_gpus", "0"}};
  }
  return {{"CUDA_VISIBLE_DEVICES", name},
          {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
          {"FLAGS_selected_gpus", "0"}};
}

}  // namespace ocrtune
