// The gradients of a convolution as a function that can be differentiated again, any number of times.
#pragma once

#include <ATen/ATen.h>

#include <tuple>

namespace nudge {

struct ConvShape {
  int64_t stride, padding, groups;
};

// The operator nudge::conv2d: ATen's convolution, with gradients that can be differentiated again.
at::Tensor twiceConv2d(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias, ConvShape shape);

// Returns the gradients of x and of the weight, undefined where they are not needed.
std::tuple<at::Tensor, at::Tensor> convGradients(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                                 ConvShape shape, bool needsX, bool needsWeight);

// The operator of depthwise.cc, which can be differentiated.
at::Tensor depthwise(const at::Tensor& x, const at::Tensor& weight, int64_t stride);

// Whether depthwise.cc has kernels for these gradients of a depthwise 3 × 3 convolution, and the gradients of x and of the weight
// without autograd.
bool hasDepthwiseKernels(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight, int64_t stride);
std::tuple<at::Tensor, at::Tensor> depthwiseGradients(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                                      int64_t stride);

}  // namespace nudge
