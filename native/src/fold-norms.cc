// nudge::fold_norms: nudge::fold_norm (fused.cc) for all layers of a network at once, with the same numbers. A fold moves
// few bytes, so that its time is that of starting a kernel: a hundred of them in a step of ResNet-50.
//
// The tensors are n weights, then n of each of γ, β, mean and variance. The results are n folded weights and n shifts.
#include "cuda-kernels.h"
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <vector>

namespace nudge {

using at::Tensor;

#ifdef NUDGE_KERNELS

// It uses the functions of FUSED_SOURCE. The arguments of a kernel have at most 4 KB.
const char* const kernels::FOLD_NORMS_SOURCE = R"cuda(
struct FoldedLayer {
  const float *weight, *gamma, *beta, *mean, *variance;
  void* folded;  // in the backward pass, the gradients of the folded weight and of the shift
  float *shift, *of_weight, *of_gamma;
  float eps;
  unsigned first, inner;  // the layer's first block, and the weights of an output channel
};
struct FoldedLayers { FoldedLayer layers[40]; unsigned count; int half; };

__device__ unsigned layer_of_block(const FoldedLayers& all) {
  unsigned low = 0, high = all.count;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    if (all.layers[middle].first <= blockIdx.x) low = middle;
    else high = middle;
  }
  return low;
}

extern "C" __global__ void fold_layers(const FoldedLayers all) {
  const FoldedLayer& a = all.layers[layer_of_block(all)];
  fold_channel(blockIdx.x - a.first, a.weight, a.gamma, a.beta, a.mean, a.variance, a.eps, a.folded, a.shift, a.inner, all.half);
}

extern "C" __global__ void fold_layers_backward(const FoldedLayers all) {
  const FoldedLayer& a = all.layers[layer_of_block(all)];
  fold_channel_backward(blockIdx.x - a.first, a.folded, a.shift, a.weight, a.gamma, a.mean, a.variance, a.eps, a.of_weight, a.of_gamma,
                        a.inner, all.half);
}
)cuda";

#endif

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

Tensor perChannel(const Tensor& values, const Tensor& weight) {
  std::vector<int64_t> shape(weight.dim(), 1);
  shape[0] = weight.size(0);
  return values.view(shape);
}

#ifdef NUDGE_KERNELS

constexpr size_t MOST_LAYERS = 40;

// The argument of the kernels, with the same field order as above.
struct FoldedLayer {
  const float *weight, *gamma, *beta, *mean, *variance;
  void* folded;
  float *shift, *ofWeight, *ofGamma;
  float eps;
  unsigned first, inner;
};
struct FoldedLayers {
  FoldedLayer layers[MOST_LAYERS];
  unsigned count;
  int half;
};

bool canFoldAll(const Tensor* tensors, size_t layers) {
  for (size_t i = 0; i < 5 * layers; i++) {
    const Tensor& each = tensors[i];
    if (i < layers ? !kernels::canFold(each) : !each.is_cuda() || each.scalar_type() != at::kFloat || !each.is_contiguous()) return false;
  }
  return true;
}

// Launches a kernel for at most 40 layers at a time, with one block for each output channel.
void launchLayers(const char* name, const Tensor& where, const std::vector<FoldedLayer>& layers, const std::vector<int64_t>& channels,
                  bool half) {
  for (size_t begin = 0; begin < layers.size(); begin += MOST_LAYERS) {
    FoldedLayers all = {};
    all.count = static_cast<unsigned>(std::min(MOST_LAYERS, layers.size() - begin));
    all.half = half;
    unsigned blocks = 0;
    for (unsigned i = 0; i < all.count; i++) {
      all.layers[i] = layers[begin + i];
      all.layers[i].first = blocks;
      blocks += static_cast<unsigned>(channels[begin + i]);
    }
    kernels::launch(name, where, {blocks}, all);
  }
}

// `each` are weight, γ, β, mean and variance of a layer.
FoldedLayer layerOf(const std::array<Tensor, 5>& each, double eps) {
  FoldedLayer layer = {};
  layer.weight = each[0].data_ptr<float>();
  layer.gamma = each[1].data_ptr<float>();
  layer.beta = each[2].data_ptr<float>();
  layer.mean = each[3].data_ptr<float>();
  layer.variance = each[4].data_ptr<float>();
  layer.eps = static_cast<float>(eps);
  layer.inner = static_cast<unsigned>(each[0].stride(0));
  return layer;
}

#endif

struct FoldNorms : torch::autograd::Function<FoldNorms> {
  static variable_list forward(AutogradContext* context, at::TensorList tensors, std::vector<double> eps, bool half) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->set_materialize_grads(false);
    context->save_for_backward(tensors.vec());
    context->saved_data["eps"] = eps;
    size_t layers = eps.size();
    variable_list folded, shifts;
    bool fast = false;
#ifdef NUDGE_KERNELS
    fast = canFoldAll(tensors.data(), layers);
    if (fast) {
      std::vector<FoldedLayer> all;
      std::vector<int64_t> channels;
      for (size_t i = 0; i < layers; i++) {
        const Tensor &weight = tensors[i], &gamma = tensors[layers + i];
        folded.push_back(at::empty_like(weight, weight.options().dtype(half ? at::kBFloat16 : at::kFloat)));
        shifts.push_back(at::empty_like(gamma));
        all.push_back(layerOf({weight, gamma, tensors[2 * layers + i], tensors[3 * layers + i], tensors[4 * layers + i]}, eps[i]));
        all.back().folded = folded.back().data_ptr();
        all.back().shift = shifts.back().data_ptr<float>();
        channels.push_back(weight.size(0));
      }
      launchLayers("fold_layers", tensors[0], all, channels, half);
    }
#endif
    context->saved_data["fast"] = fast;
    for (size_t i = 0; !fast && i < layers; i++) {
      const Tensor &weight = tensors[i], &gamma = tensors[layers + i], &beta = tensors[2 * layers + i];
      Tensor scale = gamma * (tensors[4 * layers + i] + eps[i]).rsqrt();
      Tensor product = weight * perChannel(scale, weight);
      folded.push_back(half ? product.to(at::kBFloat16) : product);
      shifts.push_back(beta - tensors[3 * layers + i] * scale);
    }
    folded.insert(folded.end(), shifts.begin(), shifts.end());
    return folded;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    std::vector<double> eps = context->saved_data["eps"].toDoubleVector();
    size_t layers = eps.size();
    variable_list result(5 * layers + 2);
    std::vector<size_t> used;
    for (size_t i = 0; i < layers; i++) {
      const Variable &weight = saved[i], &gamma = saved[layers + i];
      if (!gradients[i].defined() && !gradients[layers + i].defined()) continue;
      used.push_back(i);
      if (!gradients[i].defined()) gradients[i] = at::zeros_like(weight);
      if (!gradients[layers + i].defined()) gradients[layers + i] = at::zeros_like(gamma);
      result[2 * layers + i] = gradients[layers + i];  // β
    }
#ifdef NUDGE_KERNELS
    if (!at::GradMode::is_enabled() && context->saved_data["fast"].toBool()) {
      launchBackward(saved, gradients, eps, used, result);
      return result;
    }
#endif
    for (size_t i : used) {
      const Variable &weight = saved[i], &gamma = saved[layers + i], &mean = saved[3 * layers + i], &variance = saved[4 * layers + i];
      Tensor one = (variance + eps[i]).rsqrt(), given = gradients[i].to(weight.scalar_type());
      std::vector<int64_t> inner;
      for (int64_t dim = 1; dim < weight.dim(); dim++) inner.push_back(dim);
      Tensor ofScale = (given * weight).sum(inner) - gradients[layers + i] * mean;
      result[i] = given * perChannel(gamma * one, weight);
      result[layers + i] = ofScale * one;
    }
    return result;
  }

 private:
#ifdef NUDGE_KERNELS
  static void launchBackward(const variable_list& saved, const variable_list& gradients, const std::vector<double>& eps,
                             const std::vector<size_t>& used, variable_list& result) {
    size_t layers = eps.size();
    if (used.empty()) return;
    bool half = true;
    for (size_t i : used) half = half && gradients[i].scalar_type() == at::kBFloat16;
    std::vector<FoldedLayer> all;
    std::vector<int64_t> channels;
    variable_list kept;  // until the launch
    for (size_t i : used) {
      const Tensor &weight = saved[i], &gamma = saved[layers + i];
      // Use the layout of the weight, whatever the layout of the convolution's gradient.
      Tensor given = gradients[i], ofShift = gradients[layers + i].to(at::kFloat).contiguous();
      if (given.strides() != weight.strides() || given.scalar_type() != (half ? at::kBFloat16 : at::kFloat))
        given = at::empty_like(weight, weight.options().dtype(half ? at::kBFloat16 : at::kFloat)).copy_(given);
      result[i] = at::empty_like(weight);
      result[layers + i] = at::empty_like(gamma);
      all.push_back(layerOf({weight, gamma, saved[2 * layers + i], saved[3 * layers + i], saved[4 * layers + i]}, eps[i]));
      all.back().folded = given.data_ptr();
      all.back().shift = ofShift.data_ptr<float>();
      all.back().ofWeight = result[i].data_ptr<float>();
      all.back().ofGamma = result[layers + i].data_ptr<float>();
      channels.push_back(weight.size(0));
      kept.push_back(given);
      kept.push_back(ofShift);
    }
    launchLayers("fold_layers_backward", saved[0], all, channels, half);
  }
#endif
};

std::vector<Tensor> foldNorms(at::TensorList tensors, at::ArrayRef<double> eps, bool half) {
  TORCH_CHECK(!eps.empty() && tensors.size() == 5 * eps.size(), "fold_norms: expected 5 tensors for each of ", eps.size(), " layers, got ",
              tensors.size());
  for (size_t i = 0; i < tensors.size(); i++) {
    const Tensor &each = tensors[i], &weight = tensors[i % eps.size()];
    TORCH_CHECK(i < eps.size() ? each.dim() > 1 : each.dim() == 1 && each.size(0) == weight.size(0), "fold_norms: tensor ", i,
                " has the shape ", each.sizes(), ", the weight of its layer has ", weight.sizes());
  }
  return FoldNorms::apply(tensors, eps.vec(), half);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def("fold_norms(Tensor[] tensors, float[] eps, bool half) -> Tensor[]", foldNorms);
}

}  // namespace nudge
