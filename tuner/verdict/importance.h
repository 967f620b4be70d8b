// Which knobs make the difference: shares of the variance of the rates' logarithms over the
// settings that were measured, and over the others as the model predicts them. The share of a knob
// is that of its values' means, the share of a pair what the means of their combinations add
// (functional analysis of variance, Hutter et al., ICML 2014, on the points themselves).
#pragma once

#include <vector>

#include "trial/reason.h"
#include "tuner/recommendation.h"

namespace ocrtune {

// Empty: fewer than two knobs vary, fewer than six settings are known, or they hardly differ.
Reason importance_reason(const std::vector<SettingSummary>& measured,
                         const std::vector<PredictedSetting>& predicted);

}  // namespace ocrtune
