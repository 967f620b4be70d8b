#include "bench/kernels/flops.h"

#include <gtest/gtest.h>

#include "core/graph/inference_form.h"
#include "core/models/model.h"

namespace ocrtune {
namespace {

double mmac(const char* model, const Shape& image, bool folded = false) {
  Graph graph = find_model(model)->build(6625);
  if (folded) graph = make_inference_form(graph).graph;
  return *forward_flops(graph, image) / 2e6;
}

TEST(Flops, CountsOneConvolutionByHand) {
  GraphBuilder net("test", 3);
  Conv conv;
  conv.out_channels = 8;
  const Graph graph = net.finish(net.conv("conv", net.image(), conv));
  EXPECT_EQ(*forward_flops(graph, {2, 3, 4, 5}), 2.0 * 2 * 8 * 4 * 5 * 3 * 9);
}

// Published: 7.39 GMAC of SVTRv2 with 6625 classes, 70 MMAC of the MobileNetV3 CRNN with 37.
TEST(Flops, AgreeWithWhatIsKnownOfPaddleOcrsModels) {
  EXPECT_NEAR(mmac("svtrv2", {1, 3, 48, 320}), 7390, 150);
  const Graph mv3 = find_model("crnn-mv3")->build(37);
  EXPECT_NEAR(*forward_flops(mv3, {1, 3, 32, 100}) / 2e6, 70, 7);
  // 650 of the folded backbone; neck and classes are about 55 more.
  EXPECT_NEAR(mmac("ppocr-mobile", {1, 3, 48, 320}, true), 705, 40);
  // 2.98 GMAC in training, of which the NRTR branch that is not built here has about 0.35.
  EXPECT_NEAR(mmac("ppocr-mobile", {1, 3, 48, 320}), 2980 - 350, 100);
}

TEST(Flops, RefusesImagesThatVanish) {
  EXPECT_FALSE(forward_flops(find_model("crnn")->build(7), {1, 3, 2, 2}).ok());
}

}  // namespace
}  // namespace ocrtune
