// PP-OCR's mobile recogniser: PPLCNetV3 in its training form, with all branches that inference
// merges into one convolution (core/graph/inference_form.h), and the SVTR neck before the CTC
// classes.
//
// Source: PaddleOCR rec_lcnetv3 and PP-OCRv4/v5_mobile_rec; the guide of the neck is off, so that
// the CTC loss reaches the backbone. The trained scalars learn at the common rate, not at a tenth.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace ocrtune {

// Depthwise k x k, [squeeze and excite], 1 x 1 to `out`; each with branches, scalars and
// activation.
struct LcnetBlock {
  int kernel = 3, out = 0;
  Extent stride{1, 1};
  bool squeeze = false;
};

struct LcnetSizes {
  int stem = 16;
  std::vector<LcnetBlock> blocks;
  int neck = 120, heads = 8;
  int branches = 4;  // k x k convolutions that are trained in parallel
  Activation activation = Activation::hard_swish;
};

LcnetSizes ppocr_mobile_sizes();  // scale 0.95
Graph build_lcnet(const char* name, int classes, const LcnetSizes& sizes);

}  // namespace ocrtune
