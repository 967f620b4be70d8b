// The table of models and the CRNN; the other networks have files of their own.
#include "core/models/model.h"

#include <fmt/core.h>

#include "core/models/lcnet_model.h"
#include "core/models/mobile_model.h"
#include "core/models/svtr_model.h"

namespace ocrtune {
namespace {

Graph default_crnn(int classes) { return build_crnn(classes, CrnnSizes{}); }
Graph crnn_mv3(int classes) { return build_crnn_mv3("crnn-mv3", classes, crnn_mv3_sizes()); }
Graph ppocr_mobile(int classes) {
  return build_lcnet("ppocr-mobile", classes, ppocr_mobile_sizes());
}
Graph svtrv2(int classes) { return build_svtr("svtrv2", classes, svtrv2_sizes()); }
Graph svtrv2_small(int classes) {
  return build_svtr("svtrv2-small", classes, svtrv2_small_sizes());
}

}  // namespace

const std::vector<ModelRow>& model_table() {
  static const std::vector<ModelRow> table = {
      {"crnn", "4 conv blocks, BiLSTM 96, CTC (after Shi et al. 2016)", 32, 320, 4, 48,
       default_crnn},
      {"crnn-mv3", "MobileNetV3 x 0.5, 2 BiLSTM 96, 1.5 M parameters (PaddleOCR rec_mv3)", 32, 100,
       4, 48, crnn_mv3},
      {"ppocr-mobile", "PP-OCRv4/v5 mobile: PPLCNetV3 with its training branches, SVTR neck", 48,
       320, 8, 48, ppocr_mobile},
      {"svtrv2-small", "SVTRv2 with the class defaults, 4.7 M parameters (PaddleOCR)", 48, 320, 8,
       48, svtrv2_small},
      {"svtrv2", "SVTRv2 as PaddleOCR's Chinese recogniser, 21 M parameters", 48, 320, 8, 24,
       svtrv2},
  };
  return table;
}

const ModelRow* find_model(std::string_view name) {
  for (const ModelRow& row : model_table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Graph build_crnn(int classes, const CrnnSizes& sizes) {
  // The width is halved twice, so a step of CTC is 4 pixels wide. The last pool takes the rest of
  // the height.
  constexpr Extent kPools[] = {{2, 2}, {2, 2}, {2, 1}, {0, 1}};
  GraphBuilder net("crnn", 3);
  int x = net.image();
  for (std::size_t i = 0; i < sizes.channels.size(); ++i) {
    Conv conv;
    conv.out_channels = sizes.channels[i];
    x = net.conv(fmt::format("conv{}", i + 1), x, conv);
    BatchNorm norm;
    norm.activation = Activation::relu;
    norm.pool = kPools[i];
    x = net.batch_norm(fmt::format("norm{}", i + 1), x, norm);
  }
  x = net.bi_lstm("lstm", x, BiLstm{sizes.hidden});
  x = net.linear("classes", x, Linear{classes, true});
  return net.finish(x);
}

}  // namespace ocrtune
