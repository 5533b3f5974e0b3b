// The kernels behind fused.cc: whether they know a layout, and what they do. All run on the tensors' device and stream.
#pragma once

#include <ATen/ATen.h>

#include <tuple>

namespace nudge {

// The operator of fused.cc, with gradients.
at::Tensor biasClamp(const at::Tensor& y, const at::Tensor& bias, const c10::optional<at::Tensor>& residual, double low, double high);

}  // namespace nudge

namespace nudge::kernels {

// A bfloat16 map on a GPU with its channels last, a multiple of eight of them: what kernels over maps know.
bool isMap(const at::Tensor& tensor);

// A float32 weight on a GPU, dense, with its output channels outermost.
bool canFold(const at::Tensor& weight);
std::tuple<at::Tensor, at::Tensor> fold(const at::Tensor& weight, const at::Tensor& gamma, const at::Tensor& beta,
                                        const at::Tensor& mean, const at::Tensor& variance, double eps, bool half);
// The gradients of weight and γ; that of β is the shift's.
std::tuple<at::Tensor, at::Tensor> foldBackward(const at::Tensor& ofFolded, const at::Tensor& ofShift, const at::Tensor& weight,
                                                const at::Tensor& gamma, const at::Tensor& mean, const at::Tensor& variance,
                                                double eps);

// Where y is such a map, and the residual too.
bool canClamp(const at::Tensor& y, const c10::optional<at::Tensor>& residual);
bool canUnclamp(const at::Tensor& gradient, const at::Tensor& out);
at::Tensor biasClamp(const at::Tensor& y, const at::Tensor& bias, const c10::optional<at::Tensor>& residual, double low,
                     double high);
// The gradients of the map and, in float32, of the bias. `out` is undefined where nothing was clamped.
std::tuple<at::Tensor, at::Tensor> biasClampBackward(const at::Tensor& gradient, const at::Tensor& out, double low, double high);

}  // namespace nudge::kernels
