// A bidirectional LSTM on matrix products: one for all inputs, then small ones from step to step.
//
// The two directions and groups of samples do not touch each other, so each thread takes whole
// sequences and no step waits for another thread. Reference:
// core/backends/reference/reference_lstm.h.
#pragma once

#include <memory>

#include "core/graph/backend.h"

namespace ocrtune {

std::unique_ptr<Operator> make_fast_lstm(const BiLstm& lstm, const Shape& in);

}  // namespace ocrtune
