// Axes are read off the points: the values that occur, counts in ascending order, words in the
// order of their first point. Points and places are looked up in maps, as searches ask for both all
// the time.
#include "tuner/space/space.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.h"

namespace ocrtune {
namespace {

std::vector<std::string> names_of(const std::vector<Knobs>& points) {
  std::vector<std::string> names;
  for (const KnobRow& row : knob_table()) names.emplace_back(row.name);
  std::set<std::string> dims;
  for (const Knobs& point : points) {
    for (const auto& [name, value] : point.dims) dims.insert(name);
  }
  names.insert(names.end(), dims.begin(), dims.end());
  return names;
}

bool all_numbers(const std::vector<std::string>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const std::string& value) { return parse_number(value).ok(); });
}

Axis axis_of(const std::string& name, const std::vector<Knobs>& points) {
  Axis axis{name, KnobScale::count, {}};
  std::set<std::string> seen;
  for (const Knobs& point : points) {
    // Texts are compared, so that words and numbers go one way.
    std::string text = knob_text(point, name);
    if (seen.insert(text).second) axis.values.push_back(std::move(text));
  }
  const KnobRow* row = find_knob(name);
  if (row != nullptr ? row->scale == KnobScale::category : !all_numbers(axis.values)) {
    axis.scale = KnobScale::category;
    return axis;
  }
  std::sort(axis.values.begin(), axis.values.end(), [](const auto& a, const auto& b) {
    return parse_number(a).value_or(0) < parse_number(b).value_or(0);
  });
  return axis;
}

}  // namespace

Space::Space(std::vector<Knobs> points) {
  for (Knobs& point : points) {
    // Rules and hints may name a setting that is there already.
    const auto [at, is_new] = by_knobs_.try_emplace(point, static_cast<int>(points_.size()));
    if (is_new) points_.push_back(std::move(point));
  }
  for (const std::string& name : names_of(points_)) {
    Axis axis = axis_of(name, points_);
    // One value is no axis: models divide by the number of steps between values.
    if (axis.values.size() > 1) axes_.push_back(std::move(axis));
  }
  std::vector<std::map<std::string, int>> index(axes_.size());
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    std::vector<double> numbers;
    for (const std::string& value : axes_[a].values) {
      const double place = static_cast<double>(numbers.size());
      index[a][value] = static_cast<int>(numbers.size());
      const bool is_count = axes_[a].scale == KnobScale::count;
      numbers.push_back(is_count ? parse_number(value).value_or(place) : place);
    }
    numbers_.push_back(std::move(numbers));
  }
  for (const Knobs& point : points_) {
    std::vector<int> place;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      place.push_back(index[a].at(knob_text(point, axes_[a].name)));
    }
    by_place_.emplace(place, static_cast<int>(places_.size()));
    places_.push_back(std::move(place));
  }
}

int Space::find(const Knobs& knobs) const {
  const auto found = by_knobs_.find(knobs);
  return found == by_knobs_.end() ? -1 : found->second;
}

int Space::at(const std::vector<int>& place) const {
  const auto found = by_place_.find(place);
  return found == by_place_.end() ? -1 : found->second;
}

std::vector<int> Space::neighbours(int point) const {
  std::vector<int> found;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    std::vector<int> place = this->place(point);
    const int here = place[a];
    const int count = static_cast<int>(axes_[a].values.size());
    for (int value = 0; value < count; ++value) {
      // Words have no order: each other one is a step away.
      const bool step = axes_[a].scale == KnobScale::category || std::abs(value - here) == 1;
      if (value == here || !step) continue;
      place[a] = value;
      if (const int other = at(place); other >= 0) found.push_back(other);
    }
  }
  return found;
}

int Space::axis(std::string_view name) const {
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].name == name) return static_cast<int>(a);
  }
  return -1;
}

double Space::number(int axis, int value) const {
  return numbers_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(value)];
}

double cores_of_space(const Space& space) {
  double most = 1;
  double widest_team = 1;
  for (const Knobs& knobs : space.points()) {
    most = std::max(most, static_cast<double>(knobs.threads));
    widest_team = std::max(widest_team, static_cast<double>(knobs.nproc));
  }
  return std::max(most, widest_team);
}

Status check_knob_names(const Knobs& knobs, const std::vector<std::string>& own,
                        const std::vector<std::string>& command) {
  const std::string line = join(command, " ");
  std::vector<std::string> names = own;
  for (const KnobRow& row : knob_table()) names.emplace_back(row.name);
  for (const auto& [name, value] : knobs.dims) {
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    if (line.find("{" + name + "}") != std::string::npos) continue;
    const std::string near = nearest_name(name, names);
    return Error{ErrorKind::usage, "no knob " + name + "; " +
                                       (near.empty() ? "`ocrtune list knobs` shows them"
                                                     : "did you mean " + near + "?")};
  }
  return Status();
}

}  // namespace ocrtune
