// The activation functions and their derivatives, one number at a time: the definition that the
// vectorised loops are checked against.
#pragma once

#include <cmath>
#include <numbers>

#include "core/graph/graph.h"

namespace ocrtune {

template <typename Real>
Real activate(Activation activation, Real x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0 ? x : Real(0);
    case Activation::hard_swish:  // x relu6(x + 3) / 6
      return x <= -3 ? Real(0) : x >= 3 ? x : x * (x + 3) / 6;
    case Activation::hard_sigmoid:  // relu6(x + 3) / 6
      return x <= -3 ? Real(0) : x >= 3 ? Real(1) : (x + 3) / 6;
    case Activation::gelu:  // x Phi(x), exact
      return x * (1 + std::erf(x / std::numbers::sqrt2_v<Real>)) / 2;
    case Activation::swish:  // x sigmoid(x)
      return x / (1 + std::exp(-x));
  }
  return x;
}

template <typename Real>
Real activation_slope(Activation activation, Real x) {
  switch (activation) {
    case Activation::none:
      return 1;
    case Activation::relu:
      return x > 0 ? Real(1) : Real(0);
    case Activation::hard_swish:
      return x <= -3 ? Real(0) : x >= 3 ? Real(1) : (2 * x + 3) / 6;
    case Activation::hard_sigmoid:
      return x <= -3 || x >= 3 ? Real(0) : Real(1) / 6;
    case Activation::gelu: {
      const Real cumulative = (1 + std::erf(x / std::numbers::sqrt2_v<Real>)) / 2;
      const Real density =
          std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<Real> / std::numbers::sqrt2_v<Real>;
      return cumulative + x * density;
    }
    case Activation::swish: {
      const Real sigmoid = 1 / (1 + std::exp(-x));
      return sigmoid * (1 + x * (1 - sigmoid));
    }
  }
  return 1;
}

}  // namespace ocrtune
