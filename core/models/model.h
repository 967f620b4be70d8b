// The models: each a list of layers that can be laid beside the paper it comes from.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/graph/graph.h"

namespace ocrtune {

struct ModelRow {
  const char* name;
  const char* help;    // one line, with the source
  int height, width;   // of its usual input
  int width_per_step;  // T = width / width_per_step
  int check_width;     // of the small batch that is compared with the reference
  Graph (*build)(int classes);
};

const std::vector<ModelRow>& model_table();
const ModelRow* find_model(std::string_view name);  // null: no such model

// Sizes of the CRNN; the defaults are the model "crnn".
struct CrnnSizes {
  std::vector<int> channels{32, 64, 128, 256};
  int hidden = 96;
};

// Conv 3x3, batch norm, ReLU, max-pool (four times; pools 2x2, 2x2, 2x1, whole height), a
// bidirectional LSTM, a linear layer to the classes. Source: Shi, Bai, Yao 2016, made narrower.
Graph build_crnn(int classes, const CrnnSizes& sizes);

}  // namespace ocrtune
