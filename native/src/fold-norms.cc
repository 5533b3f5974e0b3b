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

// Whether the kernel supports these tensors, in the order of foldGradientsOf.
bool canUnfoldAll(at::TensorList all, size_t layers) {
  for (size_t i = 2 * layers; i < all.size(); i++) {
    const Tensor& each = all[i];
    bool fits = i < 3 * layers ? kernels::canFold(each) : each.is_cuda() && each.scalar_type() == at::kFloat && each.is_contiguous();
    if (!fits) return false;
  }
  return true;
}

void launchBackward(at::TensorList tensors, const std::vector<double>& eps, variable_list& result) {
  size_t layers = eps.size();
  bool half = true;
  for (size_t i = 0; i < layers; i++) half = half && tensors[i].scalar_type() == at::kBFloat16;
  std::vector<FoldedLayer> all;
  std::vector<int64_t> channels;
  variable_list kept;  // until the launch
  for (size_t i = 0; i < layers; i++) {
    const Tensor &weight = tensors[2 * layers + i], &gamma = tensors[3 * layers + i];
    // Use the layout of the weight, whatever the layout of the convolution's gradient.
    Tensor given = tensors[i], ofShift = tensors[layers + i].to(at::kFloat).contiguous();
    if (given.strides() != weight.strides() || given.scalar_type() != (half ? at::kBFloat16 : at::kFloat))
      given = at::empty_like(weight, weight.options().dtype(half ? at::kBFloat16 : at::kFloat)).copy_(given);
    result[i] = at::empty_like(weight);
    result[layers + i] = at::empty_like(gamma);
    // β is not read.
    all.push_back(layerOf({weight, gamma, gamma, tensors[4 * layers + i], tensors[5 * layers + i]}, eps[i]));
    all.back().folded = given.data_ptr();
    all.back().shift = ofShift.data_ptr<float>();
    all.back().ofWeight = result[i].data_ptr<float>();
    all.back().ofGamma = result[layers + i].data_ptr<float>();
    channels.push_back(weight.size(0));
    kept.push_back(given);
    kept.push_back(ofShift);
  }
  launchLayers("fold_layers_backward", tensors[2 * layers], all, channels, half);
}

#endif

// Returns the gradients of n weights and n γ. `all` are n gradients of each of folded weights and shifts, and n of each of
// weight, γ, mean and variance.
variable_list foldGradientsOf(at::TensorList all, const std::vector<double>& eps) {
  size_t layers = eps.size();
  variable_list result(2 * layers);
#ifdef NUDGE_KERNELS
  if (canUnfoldAll(all, layers)) {
    launchBackward(all, eps, result);
    return result;
  }
#endif
  for (size_t i = 0; i < layers; i++) {
    const Tensor &weight = all[2 * layers + i], &gamma = all[3 * layers + i], &mean = all[4 * layers + i], &variance = all[5 * layers + i];
    Tensor one = (variance + eps[i]).rsqrt(), given = all[i].to(weight.scalar_type());
    std::vector<int64_t> inner;
    for (int64_t dim = 1; dim < weight.dim(); dim++) inner.push_back(dim);
    Tensor ofScale = (given * weight).sum(inner) - all[layers + i] * mean;
    result[i] = given * perChannel(gamma * one, weight);
    result[layers + i] = ofScale * one;
  }
  return result;
}

struct FoldNorms : torch::autograd::Function<FoldNorms> {
  static variable_list forward(AutogradContext* context, at::TensorList tensors, std::vector<double> eps, bool half);
  static variable_list backward(AutogradContext* context, variable_list gradients);
};

// foldGradientsOf with a gradient of its own. Like a convolution (conv-gradients.cc), a fold F(w, γ) = w·γ/√(var + eps) is linear in
// both arguments. With a and b the gradients of the results for w and γ, the gradient of F's gradient is F(a, γ) + F(w, b), and
// those of w and γ are the gradients of F(a, b).
struct FoldGradients : torch::autograd::Function<FoldGradients> {
  static variable_list forward(AutogradContext* context, at::TensorList all, std::vector<double> eps) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward(all.vec());
    context->saved_data["eps"] = eps;
    return foldGradientsOf(all, eps);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    std::vector<double> eps = context->saved_data["eps"].toDoubleVector();
    size_t layers = eps.size();
    auto part = [&](size_t i) { return variable_list(saved.begin() + i * layers, saved.begin() + (i + 1) * layers); };
    auto listOf = [](const std::vector<variable_list>& parts) {
      variable_list all;
      for (const variable_list& each : parts) all.insert(all.end(), each.begin(), each.end());
      return all;
    };
    variable_list given = part(0), weights = part(2), gammas = part(3), means = part(4), variances = part(5);
    variable_list a(gradients.begin(), gradients.begin() + layers), b(gradients.begin() + layers, gradients.end()), zeros;
    for (size_t i = 0; i < layers; i++) {
      zeros.push_back(at::zeros_like(gammas[i]));
      if (a[i].strides() != weights[i].strides()) a[i] = at::empty_like(weights[i]).copy_(a[i]);
    }
    bool half = given[0].scalar_type() == at::kBFloat16 && weights[0].scalar_type() != at::kBFloat16;
    variable_list byWeight = FoldNorms::apply(at::TensorList(listOf({weights, b, zeros, means, variances})), eps, half);
    variable_list byGamma = FoldNorms::apply(at::TensorList(listOf({a, gammas, zeros, means, variances})), eps, half);
    variable_list ofArguments = FoldGradients::apply(at::TensorList(listOf({given, zeros, a, b, means, variances})), eps);
    variable_list ofGiven(layers);
    if (at::GradMode::is_enabled())  // because the operator on lists has no gradient
      for (size_t i = 0; i < layers; i++) ofGiven[i] = byGamma[i] + byWeight[i];
    else
      ofGiven = at::_foreach_add(at::TensorList(byGamma.data(), layers), at::TensorList(byWeight.data(), layers));
    variable_list result = listOf({ofGiven, variable_list(byWeight.begin() + layers, byWeight.end()), ofArguments});
    result.resize(6 * layers + 1);  // mean, variance and eps have no gradient
    return result;
  }
};

variable_list FoldNorms::forward(AutogradContext* context, at::TensorList tensors, std::vector<double> eps, bool half) {
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

variable_list FoldNorms::backward(AutogradContext* context, variable_list gradients) {
  variable_list saved = context->get_saved_variables();
  std::vector<double> eps = context->saved_data["eps"].toDoubleVector(), usedEps;
  size_t layers = eps.size();
  variable_list result(5 * layers + 2);
  std::vector<size_t> used;
  for (size_t i = 0; i < layers; i++) {
    const Variable &weight = saved[i], &gamma = saved[layers + i];
    if (!gradients[i].defined() && !gradients[layers + i].defined()) continue;
    used.push_back(i);
    usedEps.push_back(eps[i]);
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(weight);
    if (!gradients[layers + i].defined()) gradients[layers + i] = at::zeros_like(gamma);
    result[2 * layers + i] = gradients[layers + i];  // β
  }
  if (used.empty()) return result;
  variable_list all;
  for (size_t part : {0, 1})
    for (size_t i : used) all.push_back(gradients[part * layers + i]);
  for (size_t part : {0, 1, 3, 4})  // weight, γ, mean and variance
    for (size_t i : used) all.push_back(saved[part * layers + i]);
  variable_list made = FoldGradients::apply(at::TensorList(all), usedEps);
  for (size_t k = 0; k < used.size(); k++) {
    result[used[k]] = made[k];
    result[layers + used[k]] = made[used.size() + k];
  }
  return result;
}

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
