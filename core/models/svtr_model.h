// SVTRv2: local (grouped convolution) and global (attention) mixing over a shrinking grid of
// tokens, and PaddleOCR's neck before the CTC classes.
//
// Source: Du et al. 2024 and PaddleOCR's rec_svtrv2 backbone, post-norm form; the guide of the neck
// is off, so that the CTC loss reaches the backbone. Without stochastic depth and dropout.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace ocrtune {

struct SvtrStage {
  int dim = 0, heads = 0;  // heads are also the groups of the local mixing
  int local_blocks = 0, global_blocks = 0;
};

struct SvtrSizes {
  std::vector<SvtrStage> stages;  // the grid loses half its height between stages
  int neck_hidden = 0;            // width of the neck's attention blocks
  int neck_out = 0;
  int neck_heads = 8;
};

SvtrSizes svtrv2_sizes();        // PaddleOCR's Chinese model
SvtrSizes svtrv2_small_sizes();  // the class defaults

Graph build_svtr(const char* name, int classes, const SvtrSizes& sizes);

// The neck alone, which PP-OCR's mobile model shares: x [N, C, 1, T] -> [N, out, 1, T].
int add_svtr_neck(GraphBuilder& net, int x, int hidden, int out, int heads);

}  // namespace ocrtune
