// What one more measurement is worth: how much better the choice after it is expected to be.
//
// Source: Frazier, Powell and Dayanik 2009, "The knowledge-gradient policy for correlated normal
// beliefs", section 4: the expectation of the maximum of straight lines in one normal variable.
#pragma once

#include <vector>

namespace ocrtune {

// E[max_i (means[i] + slopes[i] Z)] - max_i means[i] for Z standard normal; at least 0. `slopes[i]`
// is by how much a measurement one deviation above its expectation raises belief i.
double knowledge_gradient(const std::vector<double>& means, const std::vector<double>& slopes);

}  // namespace ocrtune
