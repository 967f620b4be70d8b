// First each norm, sum of norms or affine is asked whether it folds into convolutions before it;
// then the graph is rebuilt without what was folded away. fold_parameters() does the numbers.
#include "core/graph/inference_form.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"

namespace ocrtune {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

bool fits_a_conv(Activation activation) { return activation != Activation::hard_sigmoid; }

// What one norm or affine layer becomes.
struct Folding {
  Conv conv;
  int source = 0;  // value of the trained graph that the convolution reads
  std::vector<FoldedBranch> branches;
  std::vector<int> affine;
};

class Folder {
 public:
  Folder(const Graph& trained, bool join_affines)
      : trained_(trained),
        join_affines_(join_affines),
        net_(trained.name, 3),
        producer_(at(trained.value_count), nullptr),
        uses_(at(trained.value_count), 0),
        value_(at(trained.value_count), 0) {
    for (const Layer& layer : trained.layers) {
      producer_[at(layer.output)] = &layer;
      for (const int input : layer.inputs) ++uses_[at(input)];
    }
    // The output counts as one more reader: a layer that makes it is not folded away.
    ++uses_[at(trained.output)];
  }

  InferenceForm make() {
    std::vector<bool> folded_away(at(trained_.value_count), false);
    std::vector<std::optional<Folding>> foldings;
    for (const Layer& layer : trained_.layers) {
      foldings.push_back(fold(layer));
      if (!foldings.back()) continue;
      for (const int input : layer.inputs) {
        if (input != foldings.back()->source) folded_away[at(input)] = true;
      }
    }
    for (std::size_t i = 0; i < trained_.layers.size(); ++i) {
      const Layer& layer = trained_.layers[i];
      if (folded_away[at(layer.output)]) continue;
      foldings[i] ? add_folded(layer, std::move(*foldings[i])) : add_same(layer);
    }
    form_.graph = net_.finish(value_[at(trained_.output)]);
    for (const auto& [from, to] : copies_) copy_tensors(*from, form_.graph.layers[to]);
    for (std::size_t i = 0; i < form_.convs.size(); ++i) {
      form_.convs[i].parameters = form_.graph.layers[folded_layers_[i]].parameters;
    }
    return std::move(form_);
  }

 private:
  // The convolution that alone makes `value`, which nobody else reads; null: none.
  const Layer* sole_conv(int value) const {
    const Layer* layer = producer_[at(value)];
    if (layer == nullptr || uses_[at(value)] != 1) return nullptr;
    const auto* conv = std::get_if<Conv>(&layer->operation);
    return conv != nullptr && conv->activation == Activation::none ? layer : nullptr;
  }

  std::optional<Folding> fold(const Layer& layer) const {
    if (const auto* norm = std::get_if<BatchNorm>(&layer.operation)) return fold_norm(layer, *norm);
    if (const auto* norm = std::get_if<NormSum>(&layer.operation)) return fold_sum(layer, *norm);
    if (const auto* affine = std::get_if<Affine>(&layer.operation)) {
      return fold_affine(layer, *affine);
    }
    return std::nullopt;
  }

  // Behind a convolution, or behind the norms of some.
  std::optional<Folding> fold_affine(const Layer& layer, const Affine& affine) const {
    const Layer* before = producer_[at(layer.inputs[0])];
    if (!join_affines_ || before == nullptr || uses_[at(layer.inputs[0])] != 1 ||
        !fits_a_conv(affine.activation)) {
      return std::nullopt;
    }
    std::optional<Folding> folding = fold(*before);
    if (const auto* conv = std::get_if<Conv>(&before->operation)) {
      folding = Folding{*conv, before->inputs[0], {bare_branch_of(*before)}, {}};
      if (conv->branches != 1) return std::nullopt;
    }
    const auto* norm = std::get_if<BatchNorm>(&before->operation);
    // With a pool between them, convolution and affine do not follow one another.
    const bool pools = norm != nullptr && norm->pool != Extent{1, 1};
    if (!folding || pools || folding->conv.activation != Activation::none || folding->conv.affine) {
      return std::nullopt;
    }
    folding->conv.activation = affine.activation;
    folding->conv.bias = folding->conv.affine = true;
    folding->affine = layer.parameters;
    return folding;
  }

  std::optional<Folding> fold_norm(const Layer& layer, const BatchNorm& norm) const {
    const Layer* before = sole_conv(layer.inputs[0]);
    if (before == nullptr || !fits_a_conv(norm.activation)) return std::nullopt;
    Folding folding{std::get<Conv>(before->operation), before->inputs[0], {}, {}};
    if (folding.conv.branches != 1) return std::nullopt;
    folding.branches = {branch_of(*before, layer, 0, 0, norm.epsilon)};
    folding.conv.activation = norm.activation;
    folding.conv.bias = true;
    return folding;
  }

  // The convolutions must differ in their kernels alone, and read what the identity reads.
  std::optional<Folding> fold_sum(const Layer& layer, const NormSum& norm) const {
    // The widest kernel is the one into which the others are added.
    const Layer* widest = nullptr;
    for (const int input : layer.inputs) {
      const Layer* conv = sole_conv(input);
      if (conv == nullptr) continue;
      const auto height = [](const Layer& of) { return std::get<Conv>(of.operation).kernel.h; };
      if (widest == nullptr || height(*conv) > height(*widest)) widest = conv;
    }
    if (widest == nullptr) return std::nullopt;
    Folding folding{std::get<Conv>(widest->operation), widest->inputs[0], {}, {}};
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const int input = layer.inputs[i];
      const Layer* before = sole_conv(input);
      const bool fits = before != nullptr
                            ? joins(folding, std::get<Conv>(before->operation), before->inputs[0])
                            : input == folding.source && keeps_shape(folding, norm);
      if (!fits) return std::nullopt;
      const int channels =
          before == nullptr ? norm.channels : std::get<Conv>(before->operation).out_channels;
      for (int first = 0; first < channels; first += norm.channels) {
        folding.branches.push_back(before == nullptr
                                       ? identity_of(layer, i, norm.epsilon)
                                       : branch_of(*before, layer, i, first, norm.epsilon));
      }
    }
    folding.conv.out_channels = norm.channels;
    folding.conv.branches = 1;
    folding.conv.bias = true;
    return folding;
  }

  static bool joins(const Folding& folding, const Conv& conv, int source) {
    const auto centred = [](const Conv& of) {
      return of.pad == Extent{of.kernel.h / 2, of.kernel.w / 2} && of.kernel.h % 2 == 1 &&
             of.kernel.w % 2 == 1;
    };
    return source == folding.source && conv.stride == folding.conv.stride &&
           conv.groups == folding.conv.groups && centred(conv) && centred(folding.conv);
  }
  bool keeps_shape(const Folding& folding, const NormSum& norm) const {
    return folding.conv.stride == Extent{1, 1} && channels_of(folding.source) == norm.channels;
  }
  // Of the input of a convolution, by the weights of that convolution.
  int channels_of(int value) const {
    for (const Layer& layer : trained_.layers) {
      const auto* conv = std::get_if<Conv>(&layer.operation);
      if (conv == nullptr || layer.inputs[0] != value) continue;
      return trained_.parameters[at(layer.parameters[0])].extent[1] * conv->groups;
    }
    return 0;
  }

  static FoldedBranch norm_of(const Layer& norm, std::size_t input, int first, double epsilon) {
    FoldedBranch branch;
    branch.scale = norm.parameters[2 * input];
    branch.shift = norm.parameters[2 * input + 1];
    branch.mean = norm.statistics[2 * input];
    branch.variance = norm.statistics[2 * input + 1];
    branch.first = first;
    branch.epsilon = epsilon;
    return branch;
  }
  static FoldedBranch identity_of(const Layer& norm, std::size_t input, double epsilon) {
    return norm_of(norm, input, 0, epsilon);
  }
  static FoldedBranch branch_of(const Layer& conv, const Layer& norm, std::size_t input, int first,
                                double epsilon) {
    return with_conv(norm_of(norm, input, first, epsilon), conv);
  }
  static FoldedBranch bare_branch_of(const Layer& conv) { return with_conv({}, conv); }
  static FoldedBranch with_conv(FoldedBranch branch, const Layer& conv) {
    branch.weight = conv.parameters[0];
    if (conv.parameters.size() > 1) branch.bias = conv.parameters[1];
    branch.kernel = std::get<Conv>(conv.operation).kernel;
    return branch;
  }

  void add_folded(const Layer& layer, Folding folding) {
    const int input = value_[at(folding.source)];
    FoldedConv folded;
    folded.in_per_group = net_.channels(input) / folding.conv.groups;
    folded.branches = std::move(folding.branches);
    folded.affine = std::move(folding.affine);
    int x = net_.conv(layer.name, input, folding.conv);
    folded_layers_.push_back(layers_++);
    form_.convs.push_back(std::move(folded));
    const auto* norm = std::get_if<BatchNorm>(&layer.operation);
    if (norm != nullptr && norm->pool != Extent{1, 1}) {
      x = net_.max_pool(layer.name + ".pool", x, MaxPool{norm->pool});
      ++layers_;
    }
    value_[at(layer.output)] = x;
  }

  void add_same(const Layer& layer) {
    std::vector<int> inputs;
    for (const int input : layer.inputs) inputs.push_back(value_[at(input)]);
    value_[at(layer.output)] = net_.add(layer, inputs);
    copies_.emplace_back(&layer, layers_++);
  }

  void copy_tensors(const Layer& from, const Layer& to) {
    for (std::size_t i = 0; i < from.parameters.size(); ++i) {
      form_.parameters.push_back({from.parameters[i], to.parameters[i]});
    }
    for (std::size_t i = 0; i < from.statistics.size(); ++i) {
      form_.statistics.push_back({from.statistics[i], to.statistics[i]});
    }
  }

  const Graph& trained_;
  bool join_affines_;
  GraphBuilder net_;
  InferenceForm form_;
  std::vector<const Layer*> producer_;
  std::vector<int> uses_, value_;
  std::size_t layers_ = 0;
  std::vector<std::size_t> folded_layers_;
  std::vector<std::pair<const Layer*, std::size_t>> copies_;
};

// One output channel of one branch, added to the folded weights [in / groups, kh, kw].
void add_branch(const FoldedConv& conv, const FoldedBranch& branch, const Extent& kernel,
                const float* weights, int channel, double scale, std::vector<double>& sums) {
  // A smaller kernel stands in the middle of the largest.
  const int top = (kernel.h - branch.kernel.h) / 2, left = (kernel.w - branch.kernel.w) / 2;
  for (int i = 0; i < conv.in_per_group; ++i) {
    for (int h = 0; h < branch.kernel.h; ++h) {
      for (int w = 0; w < branch.kernel.w; ++w) {
        const std::size_t from =
            at((((branch.first + channel) * conv.in_per_group + i) * branch.kernel.h + h) *
                   branch.kernel.w +
               w);
        sums[at((i * kernel.h + top + h) * kernel.w + left + w)] += scale * weights[from];
      }
    }
  }
}

}  // namespace

InferenceForm make_inference_form(const Graph& trained, bool join_affines) {
  return Folder(trained, join_affines).make();
}

void fold_parameters(const InferenceForm& form, const Graph& trained, const float* parameters,
                     const float* statistics, float* folded_parameters, float* folded_statistics) {
  const auto copy = [](const Parameter& from, const float* source, const Parameter& to,
                       float* target) {
    OCRTUNE_CHECK(from.count == to.count);
    std::copy_n(source + from.offset, from.count, target + to.offset);
  };
  for (const auto& [from, to] : form.parameters) {
    copy(trained.parameters[at(from)], parameters, form.graph.parameters[at(to)],
         folded_parameters);
  }
  for (const auto& [from, to] : form.statistics) {
    copy(trained.statistics[at(from)], statistics, form.graph.statistics[at(to)],
         folded_statistics);
  }
  const auto trained_at = [&](int index) {
    return parameters + trained.parameters[at(index)].offset;
  };
  const auto statistic_at = [&](int index) {
    return statistics + trained.statistics[at(index)].offset;
  };
  for (const FoldedConv& conv : form.convs) {
    const auto folded_at = [&](std::size_t i) -> const Parameter& {
      return form.graph.parameters[at(conv.parameters[i])];
    };
    const Parameter &weight = folded_at(0), &bias = folded_at(1);
    double outer_scale = 1, outer_shift = 0;
    if (!conv.affine.empty()) {
      outer_scale = *trained_at(conv.affine[0]);
      outer_shift = *trained_at(conv.affine[1]);
      folded_parameters[folded_at(2).offset] = *trained_at(conv.affine[2]);
      folded_parameters[folded_at(3).offset] = *trained_at(conv.affine[3]);
    }
    const Extent kernel{weight.extent[2], weight.extent[3]};
    for (int channel = 0; channel < weight.extent[0]; ++channel) {
      std::vector<double> sums(weight.count / at(weight.extent[0]), 0.0);
      double shift = outer_shift;
      for (const FoldedBranch& branch : conv.branches) {
        const std::size_t c = at(branch.first + channel);
        // y = s0 (gamma / deviation (W x + b - mean) + beta) + t0: `scale` is all that W is
        // multiplied by.
        double scale = outer_scale;
        double before = branch.bias < 0 ? 0.0 : trained_at(branch.bias)[c];
        if (branch.scale >= 0) {
          scale *= trained_at(branch.scale)[c] /
                   std::sqrt(statistic_at(branch.variance)[c] + branch.epsilon);
          before -= statistic_at(branch.mean)[c];
          shift += outer_scale * trained_at(branch.shift)[c];
        }
        shift += scale * before;
        if (branch.weight < 0) {
          const int own = channel % conv.in_per_group;
          sums[at((own * kernel.h + kernel.h / 2) * kernel.w + kernel.w / 2)] += scale;
        } else {
          add_branch(conv, branch, kernel, trained_at(branch.weight), channel, scale, sums);
        }
      }
      std::transform(sums.begin(), sums.end(),
                     folded_parameters + weight.offset + at(channel) * sums.size(),
                     [](double sum) { return static_cast<float>(sum); });
      folded_parameters[bias.offset + at(channel)] = static_cast<float>(shift);
    }
  }
}

}  // namespace ocrtune
