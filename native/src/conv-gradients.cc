// nudge::conv2d: ATen's convolution, with a faster second derivative.
//
// ATen's second derivative of a convolution is a loop over the groups, which are 960 for a depthwise convolution of
// MobileNetV2, and computes the gradient of the weight as a convolution with a kernel as large as the feature map. Here it
// consists of the three operations that the first derivative has too. A convolution y = x∗w is linear in both arguments.
// With the adjoints g⋆w (the gradient of x) and x⋆g (that of w) for a gradient g of y, and a and b the gradients of these
// two, it is
//
//   of g: a∗w + x∗b,   of x: g⋆b,   of w: a⋆g,
//
// so that the last two are the gradients of a convolution again, of a with the kernel b.
#include "conv-gradients.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace nudge {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

bool isDepthwise3(const Tensor& x, const Tensor& weight, ConvShape shape) {
  return shape.groups == x.size(1) && weight.size(0) == x.size(1) && shape.padding == 1 && weight.size(2) == 3 && weight.size(3) == 3;
}

Tensor convolved(const Tensor& x, const Tensor& weight, ConvShape shape) {
  if (x.is_cuda() && isDepthwise3(x, weight, shape)) return depthwise(x, weight, shape.stride);
  return at::conv2d(x, weight, {}, shape.stride, shape.padding, 1, shape.groups);
}

// A convolution is fast only if its maps have the same layout. The gradient of a mean, for example, has another one.
Tensor laidOutLike(const Tensor& gradient, const Tensor& x) {
  return x.suggest_memory_format() == at::MemoryFormat::ChannelsLast ? gradient.contiguous(at::MemoryFormat::ChannelsLast) : gradient;
}

std::tuple<Tensor, Tensor> plainGradients(const Tensor& gradient, const Tensor& x, const Tensor& weight, ConvShape shape, bool needsX,
                                          bool needsWeight) {
  if (needsX && needsWeight && isDepthwise3(x, weight, shape) && hasDepthwiseKernels(gradient, x, weight, shape.stride)) return depthwiseGradients(gradient, x, weight, shape.stride);
  auto [ofX, ofWeight, ofBias] =
      at::convolution_backward(gradient, x, weight, c10::nullopt, {shape.stride, shape.stride}, {shape.padding, shape.padding}, {1, 1},
                               false, {0, 0}, shape.groups, {needsX, needsWeight, false});
  return {ofX, ofWeight};
}

void save(AutogradContext* context, ConvShape shape) {
  context->saved_data["stride"] = shape.stride;
  context->saved_data["padding"] = shape.padding;
  context->saved_data["groups"] = shape.groups;
}

ConvShape savedShape(AutogradContext* context) {
  auto of = [&](const char* name) { return context->saved_data[name].toInt(); };
  return {of("stride"), of("padding"), of("groups")};
}

// Returns the needed gradients only, that of x first.
struct ConvGradients : torch::autograd::Function<ConvGradients> {
  static variable_list forward(AutogradContext* context, const Variable& gradient, const Variable& x, const Variable& weight,
                               ConvShape shape, bool needsX, bool needsWeight) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->set_materialize_grads(false);
    context->save_for_backward({gradient, x, weight});
    save(context, shape);
    context->saved_data["needsX"] = needsX;
    context->saved_data["needsWeight"] = needsWeight;
    auto [ofX, ofWeight] = plainGradients(gradient, x, weight, shape, needsX, needsWeight);
    variable_list made;
    if (needsX) made.push_back(ofX);
    if (needsWeight) made.push_back(ofWeight);
    return made;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &gradient = saved[0], &x = saved[1], &weight = saved[2];
    ConvShape shape = savedShape(context);
    bool needsX = context->saved_data["needsX"].toBool(), needsWeight = context->saved_data["needsWeight"].toBool();
    Variable a = needsX ? gradients.front() : Variable(), b = needsWeight ? gradients.back() : Variable();
    if (a.defined()) a = laidOutLike(a, x);
    Variable ofGradient, none;
    if (context->needs_input_grad(0)) {
      if (a.defined()) ofGradient = convolved(a, weight, shape);
      if (b.defined()) ofGradient = a.defined() ? ofGradient + convolved(x, b, shape) : convolved(x, b, shape);
    }
    // Of an argument that is not defined, only the size is read.
    auto [ofX, ofWeight] = convGradients(gradient, a.defined() ? a : x, b.defined() ? b : weight, shape,
                                         b.defined() && context->needs_input_grad(1), a.defined() && context->needs_input_grad(2));
    return {ofGradient, ofX, ofWeight, none, none, none};
  }
};

struct Conv : torch::autograd::Function<Conv> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight, const c10::optional<Variable>& bias,
                          ConvShape shape) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, weight});
    save(context, shape);
    context->saved_data["bias"] = bias.has_value();
    return at::conv2d(x, weight, bias.has_value() ? *bias : Tensor(), shape.stride, shape.padding, 1, shape.groups);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    auto [ofX, ofWeight] = convGradients(gradients[0], saved[0], saved[1], savedShape(context), context->needs_input_grad(0),
                                         context->needs_input_grad(1));
    Variable ofBias, none;
    if (context->saved_data["bias"].toBool()) ofBias = gradients[0].sum({0, 2, 3});
    return {ofX, ofWeight, ofBias, none};
  }
};

Tensor conv2d(const Tensor& x, const Tensor& weight, const c10::optional<Tensor>& bias, int64_t stride, int64_t padding, int64_t groups) {
  TORCH_CHECK(groups > 0 && stride > 0 && padding >= 0 && x.dim() == 4 && weight.dim() == 4 && weight.size(1) * groups == x.size(1) &&
                  weight.size(0) % groups == 0 && (!bias.has_value() || (bias->dim() == 1 && bias->size(0) == weight.size(0))),
              "conv2d: expected a map [n, c, h, w], weights [outputs, c / groups, k, k], a bias [outputs] and a positive stride, got ",
              x.sizes(), ", ", weight.sizes(), " and ", groups, " groups");
  return twiceConv2d(x, weight, bias, {stride, padding, groups});
}

}  // namespace

Tensor twiceConv2d(const Tensor& x, const Tensor& weight, const c10::optional<Tensor>& bias, ConvShape shape) {
  return Conv::apply(x, weight, bias, shape);
}

std::tuple<Tensor, Tensor> convGradients(const Tensor& gradient, const Tensor& x, const Tensor& weight, ConvShape shape, bool needsX,
                                         bool needsWeight) {
  if (!needsX && !needsWeight) return {};
  variable_list made = ConvGradients::apply(laidOutLike(gradient, x), x, weight, shape, needsX, needsWeight);
  return {needsX ? made.front() : Tensor(), needsWeight ? made.back() : Tensor()};
}

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def("conv2d(Tensor x, Tensor weight, Tensor? bias, int stride, int padding, int groups) -> Tensor", conv2d);
}

}  // namespace nudge
