// First come the axes of the workload with the user's lists in their place, and the conditions on
// single knobs. Then follow the product or a sample of it, the other conditions, what can be bound,
// and thinning. The baseline and the rules' settings are added last, so that no sample loses them.
#include "tuner/space/default_space.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "probes/placement/partition.h"
#include "trial/workloads/usual_axes.h"
#include "tuner/space/constraint.h"

namespace ocrtune {
namespace {

Result<std::vector<Axis>> merged_axes(const SpaceRequest& request) {
  std::vector<Axis> axes = request.workload.axes;
  for (const Axis& list : request.lists) {
    if (list.values.empty()) {
      return Error{ErrorKind::usage, fmt::format("{}: the list of values is empty", list.name)};
    }
    set_axis(axes, list);
  }
  return axes;
}

// A product of more settings than this is sampled: each one built takes a kilobyte and the time to
// read its values.
constexpr double kMostBuilt = 1e5;
constexpr std::size_t kSampled = 50000;

double product_of(const std::vector<Axis>& axes) {
  double product = 1;
  for (const Axis& axis : axes) product *= static_cast<double>(axis.values.size());
  return product;
}

Result<std::vector<Knobs>> every_point(const std::vector<Axis>& axes, const Knobs& base) {
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
  }
  return points;
}

// Each value of each list once, so that none is left out, and random points.
Result<std::vector<Knobs>> sampled_points(const std::vector<Axis>& axes, const Knobs& base) {
  Knobs middle = base;
  for (const Axis& axis : axes) {
    const auto& values = axis.values;
    if (std::find(values.begin(), values.end(), knob_text(base, axis.name)) != values.end())
      continue;
    OCRTUNE_TRY(set_knob(middle, axis.name, values.front()));
  }
  std::vector<Knobs> points;
  for (const Axis& axis : axes) {
    for (const std::string& value : axis.values) {
      points.push_back(middle);
      OCRTUNE_TRY(set_knob(points.back(), axis.name, value));
    }
  }
  // A fixed seed: a run that is judged again needs the same space.
  Random random(1);
  while (points.size() < kSampled) {
    points.push_back(base);
    for (const Axis& axis : axes) {
      const int last = static_cast<int>(axis.values.size()) - 1;
      const auto value = static_cast<std::size_t>(random.integer(0, last));
      OCRTUNE_TRY(set_knob(points.back(), axis.name, axis.values[value]));
    }
  }
  return points;
}

// Takes out of each list what a condition on this knob alone excludes: a sample of what is left
// meets the others more often.
Status drop_excluded(std::vector<Axis>& axes, const Knobs& base,
                     const std::vector<Constraint>& constraints) {
  for (Axis& axis : axes) {
    for (const Constraint& constraint : constraints) {
      if (constraint.terms != std::vector<std::string>{axis.name}) continue;
      std::vector<std::string> kept;
      for (const std::string& value : axis.values) {
        Knobs knobs = base;
        OCRTUNE_TRY(set_knob(knobs, axis.name, value));
        if (satisfies(knobs, constraint)) kept.push_back(value);
      }
      if (!kept.empty()) axis.values = std::move(kept);  // else the caller names the constraint
    }
  }
  return Status();
}

Result<std::vector<Knobs>> cross(std::vector<Axis> axes, const SpaceRequest& request,
                                 const std::vector<Constraint>& constraints,
                                 const std::set<std::string>& listed) {
  OCRTUNE_TRY(drop_excluded(axes, request.base, constraints));
  const bool all = product_of(axes) <= kMostBuilt;
  auto points =
      OCRTUNE_TRY(all ? every_point(axes, request.base) : sampled_points(axes, request.base));
  const auto& sensible = request.workload.sensible;
  std::erase_if(points, [&](const Knobs& knobs) { return sensible && !sensible(knobs, listed); });
  return points;
}

Result<std::vector<Constraint>> constraints_of(const SpaceRequest& request,
                                               const std::set<std::string>& listed) {
  std::vector<std::string> conditions = request.constraints;
  conditions.insert(conditions.end(), request.workload.constraints.begin(),
                    request.workload.constraints.end());
  std::vector<Constraint> constraints;
  for (const std::string& text : conditions) {
    constraints.push_back(OCRTUNE_TRY(parse_constraint(text)));
    for (const std::string& name : constraints.back().terms) {
      if (find_knob(name) != nullptr || listed.contains(name)) continue;
      return Error{ErrorKind::usage,
                   fmt::format("constraint '{}': no knob or dimension '{}'", text, name)};
    }
  }
  return constraints;
}

// Which settings the machine can bind: partition_cpus says so for each size of team once.
class Bindable {
 public:
  explicit Bindable(const CpuFacts& cpu) : cpu_(&cpu) {}

  // Why not; empty: it can, or nothing is known of its CPUs.
  const std::string& refusal(const Knobs& knobs) {
    static const std::string kNone;
    if (knobs.binding == "none" || cpu_->allowed.count() == 0) return kNone;
    // Thousands of points share a few sizes of team.
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
  // No power of two, and not the number of CPUs.
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

bool meets(const Knobs& knobs, const std::vector<Constraint>& constraints) {
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const Constraint& one) { return satisfies(knobs, one); });
}

}  // namespace

Result<std::function<bool(const Knobs&)>> setting_filter(const Machine& machine,
                                                         const SpaceRequest& request) {
  std::set<std::string> listed;
  for (const Axis& list : request.lists) listed.insert(list.name);
  const auto constraints = OCRTUNE_TRY(constraints_of(request, listed));
  const auto cpu = std::make_shared<const CpuFacts>(machine.cpu);
  const auto bindable = std::make_shared<Bindable>(*cpu);
  return std::function<bool(const Knobs&)>([cpu, bindable, constraints](const Knobs& knobs) {
    return meets(knobs, constraints) && bindable->refusal(knobs).empty();
  });
}

std::vector<RuleSetting> rule_settings(const Machine& machine, const Knobs& base) {
  const RulesOfThumb& rules = machine.rules_of_thumb;
  std::vector<RuleSetting> settings;
  const auto add = [&](const char* name, int nproc, ReasonCode rule) {
    if (nproc < 1) return;
    Knobs knobs = base;
    knobs.nproc = nproc;
    knobs.threads = std::max(1, usable_cpu_count(machine.cpu) / nproc);
    settings.push_back({name, {rule, {counted(nproc)}}, knobs});
  };
  add("memory_half", rules.memory_half, ReasonCode::rule_half_of_memory);
  add("cores_60_percent", rules.cores_60_percent, ReasonCode::rule_60_percent_of_cores);
  add("seven", rules.seven, ReasonCode::rule_seven);
  return settings;
}

Result<Space> make_space(const Machine& machine, const SpaceRequest& request) {
  std::set<std::string> listed;
  for (const Axis& list : request.lists) listed.insert(list.name);
  const auto axes = OCRTUNE_TRY(merged_axes(request));
  const auto constraints = OCRTUNE_TRY(constraints_of(request, listed));
  auto points = OCRTUNE_TRY(cross(axes, request, constraints, listed));
  for (const Constraint& constraint : constraints) {
    std::erase_if(points, [&](const Knobs& knobs) { return !satisfies(knobs, constraint); });
    if (points.empty()) {
      return Error{ErrorKind::usage,
                   fmt::format("constraint '{}' leaves no setting to try; loosen it or the lists",
                               constraint.text)};
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
  thin(points, usable_cpu_count(machine.cpu), request.max_points);
  for (const Knobs& knobs : request.always) {
    // What the user runs today is measured even where a condition or the binding speaks against it.
    const bool asked = knobs == request.base;
    if (asked || (meets(knobs, constraints) && !unbindable(knobs))) points.push_back(knobs);
  }
  return Space(std::move(points));
}

}  // namespace ocrtune
