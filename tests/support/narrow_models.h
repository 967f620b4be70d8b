// The layers of the models, made narrow: fibers and plain loops are slow.
#pragma once

#include "core/models/lcnet_model.h"
#include "core/models/mobile_model.h"
#include "core/models/model.h"
#include "core/models/svtr_model.h"

namespace ocrtune {

inline constexpr int kClasses = 9;

inline Graph small_crnn() { return build_crnn(kClasses, CrnnSizes{{3, 4, 5, 6}, 7}); }

inline Graph small_mv3() {
  Mv3Sizes sizes;
  sizes.stem = 4;
  sizes.units = {{3, 8, 4, true, Activation::relu, {1, 1}},
                 {5, 9, 5, false, Activation::hard_swish, {2, 1}}};
  sizes.last = 11;
  sizes.hidden = 6;
  return build_crnn_mv3("small", kClasses, sizes);
}

inline Graph small_lcnet() {
  LcnetSizes sizes;
  sizes.stem = 4;
  sizes.blocks = {{3, 6, {2, 1}, false}, {3, 6, {1, 1}, false}, {5, 8, {1, 2}, true}};
  sizes.neck = 12;
  sizes.heads = 2;
  return build_lcnet("small", kClasses, sizes);
}

inline Graph small_svtr() {
  SvtrSizes sizes;
  sizes.stages = {{8, 2, 1, 0}, {12, 3, 1, 1}};
  sizes.neck_hidden = 8;
  sizes.neck_out = 10;
  sizes.neck_heads = 2;
  return build_svtr("small", kClasses, sizes);
}

struct Small {
  const char* name;
  int height, width;
  Graph (*build)();
};

inline const Small kSmall[] = {{"crnn", 32, 16, small_crnn},
                               {"mv3", 8, 12, small_mv3},
                               {"lcnet", 12, 24, small_lcnet},
                               {"svtr", 16, 24, small_svtr}};

}  // namespace ocrtune
