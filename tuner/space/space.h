// The declared space: every setting that a search may try, and the axes along which they differ.
//
// A space is a list of points; axes are found from the points, so a recorded table, a grid made for
// a machine and a user's own list are one kind of thing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "trial/knobs.h"

namespace ocrtune {

class Space {
 public:
  Space() = default;
  explicit Space(std::vector<Knobs> points);  // duplicates are dropped, order is kept

  const std::vector<Knobs>& points() const { return points_; }
  // The knobs and dimensions with more than one value.
  const std::vector<Axis>& axes() const { return axes_; }
  int size() const { return static_cast<int>(points_.size()); }
  const Knobs& knobs(int point) const { return points_[static_cast<std::size_t>(point)]; }

  int find(const Knobs& knobs) const;  // -1: not in the space
  // Index into Axis::values, one per axis.
  const std::vector<int>& place(int point) const {
    return places_[static_cast<std::size_t>(point)];
  }
  int at(const std::vector<int>& place) const;  // -1: no such point
  // Points one step away: the neighbouring value of a count, any other value of a category.
  std::vector<int> neighbours(int point) const;
  int axis(std::string_view name) const;  // -1: all points agree on it
  // The axis value as a number; the place in the list for categories.
  double number(int axis, int value) const;

 private:
  std::vector<Knobs> points_;
  std::vector<Axis> axes_;
  std::vector<std::vector<int>> places_;
  std::map<Knobs, int> by_knobs_;
  std::map<std::vector<int>, int> by_place_;
  std::vector<std::vector<double>> numbers_;
};

// The largest n x t that is not oversubscribed in a space that says nothing else about its machine.
double cores_of_space(const Space& space);

// `own` are the user's dimensions; a {placeholder} of `command` is one too. Errors: usage for any
// other name that is no knob, with the nearest one.
Status check_knob_names(const Knobs& knobs, const std::vector<std::string>& own,
                        const std::vector<std::string>& command);

}  // namespace ocrtune
