#include "tuner/space/default_space.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "base/text.h"
#include "probes/placement/partition.h"
#include "tuner/space/constraint.h"

namespace ocrtune {
namespace {

// 1 2 3 4 6 8 12 16 24 ... up to `most`, and `most` itself.
std::vector<int> half_doublings(int most) {
  std::vector<int> values;
  for (int power = 1; power <= most; power *= 2) {
    values.push_back(power);
    if (power >= 2 && power + power / 2 <= most) values.push_back(power + power / 2);
  }
  if (values.back() != most) values.push_back(most);
  return values;
}

std::vector<std::string> texts(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  for (int number : numbers) words.push_back(fmt::format("{}", number));
  return words;
}

std::vector<int> batches(const SpaceRequest& request) {
  const int most = std::max(1, request.max_batch);
  std::vector<int> values;
  for (int batch = std::max(1, std::min(request.min_batch, most)); batch <= most; batch *= 2) {
    values.push_back(batch);
  }
  return values;
}

std::vector<std::string> bindings(const Machine& machine) {
  std::vector<std::string> values = {"none"};
  if (usable_cpu_count(machine) > 1) values.emplace_back("compact");
  if (machine.cpu.packages > 1 || machine.cpu.l3_groups > 1) values.emplace_back("spread");
  if (machine.cpu.numa_nodes > 1) values.emplace_back("numa");
  return values;
}

std::vector<Axis> default_axes(const Machine& machine, const SpaceRequest& request) {
  const int cpus = usable_cpu_count(machine);
  std::vector<int> processes = half_doublings(cpus);
  processes.push_back(cpus * 2);  // oversubscribed, to measure what that costs
  std::vector<int> workers = {0, 1, 2, 4};
  std::erase_if(workers, [&](int count) { return count > std::max(1, cpus); });
  std::vector<Axis> axes = {{"nproc", {}, texts(processes)},
                            {"threads", {}, texts(half_doublings(cpus))},
                            {"batch", {}, texts(batches(request))},
                            {"workers", {}, texts(workers)},
                            {"binding", {}, bindings(machine)}};
  if (request.precision && machine.cpu.native_bf16.value_or(false)) {
    axes.push_back({"precision", {}, {"fp32", "bf16"}});
  }
  if (request.gpu && machine.gpus.size() > 1) {
    axes.push_back({"p2p", {}, {"auto", "off"}});
    axes.push_back({"algo", {}, {"auto", "Ring", "Tree"}});
    axes.push_back({"ctas", {}, {"auto", "4", "16"}});
  }
  return axes;
}

// On GPUs a process is a GPU, the CPUs only load and hand out work, and batches are larger.
std::vector<Axis> gpu_axes(const Machine& machine, const SpaceRequest& request) {
  const int cpus = usable_cpu_count(machine);
  std::vector<int> workers = {0, 1, 2, 4, 8};
  std::erase_if(workers, [&](int count) { return count > std::max(1, cpus); });
  SpaceRequest large = request;
  large.min_batch = 8;
  std::vector<Axis> axes = {{"nproc", {}, texts(half_doublings(request.train_gpus))},
                            {"threads", {}, {"1"}},
                            {"batch", {}, texts(batches(large))},
                            {"workers", {}, texts(workers)},
                            {"backend", {}, {"cuda"}}};
  if (request.tensor_cores) axes.push_back({"precision", {}, {"fp32", "tf32", "bf16"}});
  if (request.train_gpus > 1) {
    axes.push_back({"p2p", {}, {"auto", "off"}});
    axes.push_back({"ctas", {}, {"auto", "4", "16"}});
  }
  return axes;
}

// A command's batch is tried to a quarter and to four times what it is: its GPUs' memory ends that.
std::vector<int> batches_around(int now) {
  std::vector<int> values;
  for (int batch = std::max(1, now / 4); batch <= 4 * now; batch *= 2) values.push_back(batch);
  return values;
}

std::vector<Axis> command_gpu_axes(const Machine& machine, const SpaceRequest& request) {
  SpaceRequest own = request;
  own.train_gpus = request.command_gpus;
  std::vector<Axis> axes = gpu_axes(machine, own);
  std::erase_if(axes, [](const Axis& axis) {
    return axis.name == "backend" || axis.name == "precision" || axis.name == "ctas";
  });
  for (Axis& axis : axes) {
    if (axis.name == "batch") axis.values = texts(batches_around(request.base.batch));
  }
  axes.push_back({"binding", {}, bindings(machine)});
  return axes;
}

// More than a few processes on one GPU only take turns: what one of them leaves idle, while it
// decodes and writes, two or three fill.
constexpr int kMaxOnOneGpu = 4;

// Reading on GPUs: threads decode and scale for the GPU.
std::vector<Axis> gpu_infer_axes(const Machine& machine, const SpaceRequest& request) {
  const int gpus = request.infer_gpus;
  std::vector<int> processes = half_doublings(gpus);
  for (int each = 2; each <= kMaxOnOneGpu; ++each) processes.push_back(each * gpus);
  std::vector<int> threads;
  const int most = std::min(16, usable_cpu_count(machine));
  for (int count = 1; count <= most; count *= 2) threads.push_back(count);
  return {{"nproc", {}, texts(processes)},
          {"threads", {}, texts(threads)},
          {"batch", {}, texts(batches(request))},
          {"backend", {}, {"cuda"}}};
}

bool user_gave(const SpaceRequest& request, std::string_view name) {
  return std::any_of(request.lists.begin(), request.lists.end(),
                     [&](const Axis& axis) { return axis.name == name; });
}

// What our own lists leave out when crossed: far oversubscribed compute, more loaders than CPUs can
// feed. A user's list of both knobs is taken as it is.
bool sensible(const Knobs& knobs, int cpus, const SpaceRequest& request) {
  const int train_gpus = std::max(request.train_gpus, request.command_gpus);
  if (train_gpus > 0) {
    if (knobs.nproc > train_gpus && !user_gave(request, "nproc")) return false;
    const auto set = [&](const std::string& value, const char* name) {
      return value != "auto" && !user_gave(request, name);
    };
    // One GPU exchanges nothing.
    if (knobs.nproc == 1 && (set(knobs.p2p, "p2p") || set(knobs.ctas, "ctas"))) return false;
    return user_gave(request, "workers") || knobs.nproc * knobs.workers <= 2 * cpus;
  }
  const int team = knobs.nproc * knobs.threads;
  if (request.infer_gpus > 0) {
    if (knobs.nproc == 1 && knobs.queue != "shared" && !user_gave(request, "queue")) return false;
    return user_gave(request, "threads") || knobs.threads == 1 || team <= cpus;
  }
  if (!(user_gave(request, "nproc") && user_gave(request, "threads"))) {
    const bool at_double =
        team == 2 * cpus && (knobs.threads == 1 || knobs.nproc == cpus || knobs.threads == cpus);
    if (team > cpus && !at_double) return false;
  }
  // One process has no one to share a queue with.
  if (knobs.nproc == 1 && knobs.queue != "shared" && !user_gave(request, "queue")) return false;
  const bool loaders_ours = !user_gave(request, "workers");
  return !(loaders_ours && knobs.workers > 1 && knobs.nproc * knobs.workers > 2 * cpus);
}

Result<std::vector<Axis>> merged_axes(const Machine& machine, const SpaceRequest& request) {
  std::vector<Axis> axes = request.train_gpus > 0     ? gpu_axes(machine, request)
                           : request.infer_gpus > 0   ? gpu_infer_axes(machine, request)
                           : request.command_gpus > 0 ? command_gpu_axes(machine, request)
                                                      : default_axes(machine, request);
  std::vector<Axis> lists = request.own_axes;
  lists.insert(lists.end(), request.lists.begin(), request.lists.end());
  for (const Axis& list : lists) {
    if (list.values.empty()) {
      return Error{ErrorKind::usage, fmt::format("{}: the list of values is empty", list.name)};
    }
    const auto same = [&](const Axis& axis) { return axis.name == list.name; };
    const auto found = std::find_if(axes.begin(), axes.end(), same);
    if (found == axes.end()) {
      axes.push_back(list);
    } else {
      found->values = list.values;
    }
  }
  return axes;
}

Result<std::vector<Knobs>> cross(const std::vector<Axis>& axes, const Knobs& base, int cpus,
                                 const SpaceRequest& request) {
  std::vector<Knobs> points = {base};
  for (const Axis& axis : axes) {
    std::vector<Knobs> grown;
    for (const Knobs& point : points) {
      for (const std::string& value : axis.values) {
        Knobs next = point;
        OCRTUNE_TRY(set_knob(next, axis.name, value));
        grown.push_back(std::move(next));
      }
    }
    points = std::move(grown);
    if (points.size() > 2000000) {
      return Error{ErrorKind::usage,
                   "the lists multiply to more than 2000000 settings; shorten one"};
    }
  }
  std::erase_if(points, [&](const Knobs& knobs) { return !sensible(knobs, cpus, request); });
  return points;
}

// Which settings the machine can bind: partition_cpus says so for each size of team once.
class Bindable {
 public:
  explicit Bindable(const CpuFacts& cpu) : cpu_(&cpu) {}

  // Why not; empty: it can, or nothing is known of its CPUs.
  const std::string& refusal(const Knobs& knobs) {
    static const std::string kNone;
    if (knobs.binding == "none" || cpu_->allowed.count() == 0) return kNone;
    const auto [known, fresh] =
        refusals_.try_emplace({knobs.nproc, knobs.threads, knobs.binding}, std::string());
    if (fresh) {
      const auto masks = partition_cpus(*cpu_, knobs.nproc, knobs.threads, knobs.binding);
      if (!masks) known->second = masks.error().what;
    }
    return known->second;
  }

 private:
  const CpuFacts* cpu_;
  std::map<std::tuple<int, int, std::string>, std::string> refusals_;
};

// A product that is too large loses the values between the doublings first, then a fixed sample.
void thin(std::vector<Knobs>& points, int cpus, std::size_t most) {
  if (points.size() <= most) return;
  const auto between = [cpus](int value) { return (value & (value - 1)) != 0 && value != cpus; };
  std::vector<Knobs> doublings = points;
  std::erase_if(doublings, [&](const Knobs& k) { return between(k.nproc) || between(k.threads); });
  if (!doublings.empty()) points = std::move(doublings);
  if (points.size() <= most) return;
  Random random(1);
  random.shuffle(points);
  points.resize(most);
  std::sort(points.begin(), points.end());
}

}  // namespace

int usable_cpu_count(const Machine& machine) {
  double cpus = machine.cpu.usable_cpus.value_or(0);
  if (cpus <= 0) cpus = machine.cpu.allowed.count();
  if (cpus <= 0) cpus = machine.cpu.logical_cpus;
  return std::max(1, static_cast<int>(std::floor(cpus + 1e-9)));
}

std::vector<RuleSetting> rule_settings(const Machine& machine, const Knobs& base) {
  const RulesOfThumb& rules = machine.rules_of_thumb;
  std::vector<RuleSetting> settings;
  const auto add = [&](const char* name, int nproc, std::string text) {
    if (nproc < 1) return;
    Knobs knobs = base;
    knobs.nproc = nproc;
    knobs.threads = std::max(1, usable_cpu_count(machine) / nproc);
    settings.push_back({name, std::move(text), knobs});
  };
  add("memory_half", rules.memory_half,
      fmt::format("as many processes as half of the memory in GB: {}", rules.memory_half));
  add("cores_60_percent", rules.cores_60_percent,
      fmt::format("processes on 60 % of the physical cores: {}", rules.cores_60_percent));
  add("seven", rules.seven, fmt::format("about {} processes at most", rules.seven));
  return settings;
}

Result<Space> make_space(const Machine& machine, const SpaceRequest& request) {
  const int cpus = usable_cpu_count(machine);
  const auto axes = OCRTUNE_TRY(merged_axes(machine, request));
  auto points = OCRTUNE_TRY(cross(axes, request.base, cpus, request));
  std::vector<Constraint> constraints;
  for (const std::string& text : request.constraints) {
    const auto constraint = OCRTUNE_TRY(parse_constraint(text));
    constraints.push_back(constraint);
    for (const std::string& name : constraint.terms) {
      const bool known = find_knob(name) != nullptr || user_gave(request, name);
      if (!known) {
        return Error{ErrorKind::usage,
                     fmt::format("constraint '{}': no knob or dimension '{}'", text, name)};
      }
    }
    std::erase_if(points, [&](const Knobs& knobs) { return !satisfies(knobs, constraint); });
    if (points.empty()) {
      return Error{
          ErrorKind::usage,
          fmt::format("constraint '{}' leaves no setting to try; loosen it or the lists", text)};
    }
  }
  if (points.empty()) {
    return Error{ErrorKind::usage, "the lists leave no setting to try on this machine"};
  }
  Bindable bindable(machine.cpu);
  std::string refused;
  const auto unbindable = [&](const Knobs& knobs) {
    const std::string& why = bindable.refusal(knobs);
    if (!why.empty()) refused = fmt::format("binding={}: {}", knobs.binding, why);
    return !why.empty();
  };
  std::erase_if(points, unbindable);
  if (points.empty()) {
    return Error{ErrorKind::usage, "the lists leave no setting that can run here: " + refused};
  }
  thin(points, cpus, request.max_points);
  for (const Knobs& knobs : request.always) {
    const bool meets = std::all_of(constraints.begin(), constraints.end(),
                                   [&](const auto& one) { return satisfies(knobs, one); });
    if (knobs == request.base || (meets && !unbindable(knobs))) points.push_back(knobs);
  }
  return Space(std::move(points));
}

}  // namespace ocrtune
