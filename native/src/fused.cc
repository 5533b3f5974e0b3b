// Custom operators for a convolution with frozen batch norm, differentiable twice:
//
//  nudge::fold_norm         W·s and t, for s = γ/√(var + eps) and t = β − mean·s: the norm as part of the convolution
//  nudge::bias_clamp        clamp(y + bias [+ residual]): the operations after the convolution
//  nudge::bias_clamp_twice  the same as two tensors, for the two uses of a residual block. Their gradients are added in
//                           the kernel that computes the gradient of the clamp
//
// On a GPU each is one kernel in the forward pass and one or two in the backward pass (fused-kernels.cc), where ATen
// needs a dozen: for MobileNetV2, adding biases and summing their gradients took 4 of 10.5 ms. On other devices, and
// for layouts that the kernels do not support, they use ATen's operators, with the same results up to rounding.
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <limits>

namespace nudge {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

Tensor perChannel(const Tensor& values) { return values.view({-1, 1, 1, 1}); }

// Returns all dimensions except that of the output channels.
std::vector<int64_t> allButFirst(const Tensor& tensor) {
  std::vector<int64_t> dims;
  for (int64_t i = 1; i < tensor.dim(); i++) dims.push_back(i);
  return dims;
}

struct FoldNorm : torch::autograd::Function<FoldNorm> {
  static variable_list forward(AutogradContext* context, const Variable& weight, const Variable& gamma, const Variable& beta,
                               const Variable& mean, const Variable& variance, double eps, bool half) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({weight, gamma, mean, variance});
    context->saved_data["eps"] = eps;
    if (kernels::canFold(weight)) {
      auto [folded, shift] = kernels::fold(weight, gamma, beta, mean, variance, eps, half);
      return {folded, shift};
    }
    Tensor scale = gamma * (variance + eps).rsqrt();
    Tensor folded = weight * perChannel(scale);
    return {half ? folded.to(at::kBFloat16) : folded, beta - mean * scale};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &weight = saved[0], &gamma = saved[1], &mean = saved[2], &variance = saved[3];
    double eps = context->saved_data["eps"].toDouble();
    Variable ofFolded = gradients[0], ofShift = gradients[1];
    Variable none;
    if (!ofFolded.defined()) ofFolded = at::zeros_like(weight);
    if (!ofShift.defined()) ofShift = at::zeros_like(gamma);
    if (!at::GradMode::is_enabled() && kernels::canFold(weight)) {
      auto [ofWeight, ofGamma] = kernels::foldBackward(ofFolded, ofShift, weight, gamma, mean, variance, eps);
      return {ofWeight, ofGamma, ofShift, none, none, none, none};
    }
    Tensor one = (variance + eps).rsqrt();
    Tensor given = ofFolded.to(weight.scalar_type());
    Tensor ofScale = (given * weight).sum(allButFirst(weight)) - ofShift * mean;
    return {given * perChannel(gamma * one), ofScale * one, ofShift, none, none, none, none};
  }
};

Tensor asMap(const Tensor& tensor) { return tensor.defined() ? tensor.contiguous(at::MemoryFormat::ChannelsLast) : tensor; }

Tensor orUndefined(const c10::optional<Tensor>& tensor) { return tensor.has_value() ? *tensor : Tensor(); }

// The gradient where the result is not clamped.
Tensor masked(const Tensor& gradient, const Tensor& out, double low, double high) {
  if (!out.defined()) return gradient;
  return gradient * at::logical_and(out.detach() > low, out.detach() < high).to(gradient.scalar_type());
}

// The gradient of bias_clamp with the kernels, which is linear in the gradient of the result: its own gradient needs a pass
// that adds that of the bias, and one that applies the mask.
struct ClampGradients : torch::autograd::Function<ClampGradients> {
  static variable_list forward(AutogradContext* context, const Variable& gradient, const c10::optional<Variable>& out,
                               const c10::optional<Variable>& mask, double low, double high) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->set_materialize_grads(false);
    context->save_for_backward({orUndefined(out), orUndefined(mask)});
    context->saved_data["low"] = low;
    context->saved_data["high"] = high;
    context->saved_data["shape"] = gradient.sizes().vec();
    auto [ofY, ofBias] = kernels::biasClampBackward(gradient, Tensor(), orUndefined(mask));
    return {mask.has_value() ? ofY : at::alias(gradient), ofBias};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &out = saved[0], &mask = saved[1];
    double low = context->saved_data["low"].toDouble(), high = context->saved_data["high"].toDouble();
    Variable ofY = gradients[0], ofBias = gradients[1], none;
    if (!ofY.defined() && !ofBias.defined()) return {none, none, none, none, none};
    constexpr double INF = std::numeric_limits<double>::infinity();
    Tensor sum = asMap(ofY);
    if (!at::GradMode::is_enabled() && sum.defined() && kernels::canUnclamp(sum, Tensor())) {
      if (ofBias.defined()) sum = std::get<0>(kernels::biasClamp(sum, ofBias, c10::nullopt, -INF, INF, false));
      if (mask.defined()) sum = std::get<0>(kernels::biasClampBackward(sum, Tensor(), mask));
      return {sum, none, none, none, none};
    }
    if (ofBias.defined()) {
      Tensor added = ofBias.to(at::kBFloat16).view({1, -1, 1, 1});
      sum = sum.defined() ? sum + added : added.expand(context->saved_data["shape"].toIntVector());
    }
    return {masked(sum, out, low, high), none, none, none, none};
  }
};

struct BiasClamp : torch::autograd::Function<BiasClamp> {
  // Returns the result, with `twice` as two tensors of the same memory, whose gradients the backward pass adds.
  static variable_list forward(AutogradContext* context, const Variable& y, const Variable& bias, const c10::optional<Variable>& residual,
                               double low, double high, bool twice, bool learns) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->set_materialize_grads(false);
    bool clamps = std::isfinite(low) || std::isfinite(high), fast = kernels::canClamp(y, residual);
    context->saved_data["low"] = low;
    context->saved_data["high"] = high;
    context->saved_data["residual"] = residual.has_value();
    context->saved_data["fast"] = fast;
    context->saved_data["dtype"] = static_cast<int64_t>(bias.scalar_type());
    Tensor out, mask;
    if (fast) {
      std::tie(out, mask) = kernels::biasClamp(y, bias, residual, low, high, learns);
    } else {
      out = y + bias.to(y.scalar_type()).view({1, -1, 1, 1});
      if (residual.has_value()) out.add_(*residual);
      if (clamps) out.clamp_(low, high);
    }
    // The gradient at the bounds is zero, so the output shows where the gradient is nonzero.
    if (clamps) context->save_for_backward({out, mask});
    if (!twice) return {out};
    return {out, at::alias(out)};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    double low = context->saved_data["low"].toDouble(), high = context->saved_data["high"].toDouble();
    auto dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
    variable_list saved = context->get_saved_variables();
    Variable out = saved.empty() ? Variable() : saved[0], mask = saved.empty() ? Variable() : saved[1];
    Variable given = gradients[0], other = gradients.size() < 2 ? Variable() : gradients[1];
    Variable ofY, ofBias, none;
    if (!given.defined()) std::swap(given, other);
    if (!given.defined()) return {none, none, none, none, none, none, none};
    bool done = false;
    if (context->saved_data["fast"].toBool()) {
      // The gradient of a mean over the map is not in channels-last format. All gradients before it would follow its layout.
      Tensor map = asMap(given), more = asMap(other);
      done = kernels::canUnclamp(map, more);
      if (done && at::GradMode::is_enabled()) std::tie(ofY, ofBias) = clampGradients(more.defined() ? map + more : map, out, mask, low, high);
      else if (done) std::tie(ofY, ofBias) = kernels::biasClampBackward(map, more, mask);
      if (done) ofBias = ofBias.to(dtype);
    }
    if (!done) {
      ofY = masked(other.defined() ? given + other : given, out, low, high);
      ofBias = ofY.sum({0, 2, 3}, false, dtype);
    }
    return {ofY, ofBias, context->saved_data["residual"].toBool() ? ofY : none, none, none, none, none};
  }
};

variable_list clampedBy(const Tensor& y, const Tensor& bias, const c10::optional<Tensor>& residual, double low, double high, bool twice) {
  bool learns = at::GradMode::is_enabled() &&
                (y.requires_grad() || bias.requires_grad() || (residual.has_value() && residual->requires_grad()));
  return BiasClamp::apply(y, bias, residual, low, high, twice, learns);
}

std::tuple<Tensor, Tensor> foldNorm(const Tensor& weight, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                    const Tensor& variance, double eps, bool half) {
  variable_list made = FoldNorm::apply(weight, gamma, beta, mean, variance, eps, half);
  return {made[0], made[1]};
}

}  // namespace

std::tuple<Tensor, Tensor> clampGradients(const Tensor& gradient, const Tensor& out, const Tensor& mask, double low, double high) {
  auto given = [](const Tensor& tensor) { return tensor.defined() ? c10::optional<Tensor>(tensor.detach()) : c10::nullopt; };
  variable_list made = ClampGradients::apply(asMap(gradient), given(out), given(mask), low, high);
  return {made[0], made[1]};
}

Tensor biasClamp(const Tensor& y, const Tensor& bias, const c10::optional<Tensor>& residual, double low, double high) {
  return clampedBy(y, bias, residual, low, high, false)[0];
}

std::tuple<Tensor, Tensor> biasClampTwice(const Tensor& y, const Tensor& bias, const c10::optional<Tensor>& residual, double low,
                                          double high) {
  variable_list made = clampedBy(y, bias, residual, low, high, true);
  return {made[0], made[1]};
}

TORCH_LIBRARY(nudge, library) {
  library.def(
      "fold_norm(Tensor weight, Tensor gamma, Tensor beta, Tensor mean, Tensor variance, float eps, bool half) -> (Tensor, Tensor)",
      foldNorm);
  library.def("bias_clamp(Tensor y, Tensor bias, Tensor? residual, float low, float high) -> Tensor", biasClamp);
  library.def("bias_clamp_twice(Tensor y, Tensor bias, Tensor? residual, float low, float high) -> (Tensor, Tensor)", biasClampTwice);
}

}  // namespace nudge
