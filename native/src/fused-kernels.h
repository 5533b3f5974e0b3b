// The kernels of fused.cc: whether they support a layout, and their functions. All run on the device and stream of the
// tensors.
#pragma once

#include <ATen/ATen.h>

#include <tuple>

namespace nudge {

// The operator of fused.cc, with gradients.
at::Tensor biasClamp(const at::Tensor& y, const at::Tensor& bias, const c10::optional<at::Tensor>& residual, double low, double high);

// Returns the gradients of the feature map and, in float32, of the bias, as functions of the gradient of `out` that can be
// differentiated again. `out` is the result of kernels::biasClamp and `mask` its mask; both are undefined without a clamp.
std::tuple<at::Tensor, at::Tensor> clampGradients(const at::Tensor& gradient, const at::Tensor& out, const at::Tensor& mask, double low,
                                                  double high);

}  // namespace nudge

namespace nudge::kernels {

// Returns whether a tensor is a bfloat16 feature map on a GPU in channels-last format, with a multiple of eight
// channels.
bool isMap(const at::Tensor& tensor);

// Returns the values as float32, contiguous, at an address that is a multiple of 16 bytes.
at::Tensor alignedFloats(const at::Tensor& values);

// Returns whether a weight is float32 on a GPU and dense, with the output channels as the outermost dimension.
bool canFold(const at::Tensor& weight);
std::tuple<at::Tensor, at::Tensor> fold(const at::Tensor& weight, const at::Tensor& gamma, const at::Tensor& beta,
                                        const at::Tensor& mean, const at::Tensor& variance, double eps, bool half);
// Returns the gradients of weight and γ. The gradient of β is that of the shift.
std::tuple<at::Tensor, at::Tensor> foldBackward(const at::Tensor& ofFolded, const at::Tensor& ofShift, const at::Tensor& weight,
                                                const at::Tensor& gamma, const at::Tensor& mean, const at::Tensor& variance,
                                                double eps);

// Returns whether y, and the residual if there is one, are such feature maps.
bool canClamp(const at::Tensor& y, const c10::optional<at::Tensor>& residual);
bool canUnclamp(const at::Tensor& gradient, const at::Tensor& other);
// Returns the result and, if it clamps and `learns`, a bit for each value: whether it is between the bounds.
std::tuple<at::Tensor, at::Tensor> biasClamp(const at::Tensor& y, const at::Tensor& bias, const c10::optional<at::Tensor>& residual,
                                             double low, double high, bool learns);
// Returns the gradients of the feature map and, in float32, of the bias. `other` is a second gradient, which is added. `mask` is
// that of biasClamp. Both may be undefined.
std::tuple<at::Tensor, at::Tensor> biasClampBackward(const at::Tensor& gradient, const at::Tensor& other, const at::Tensor& mask);

// Returns whether a matrix is bfloat16 on a GPU and contiguous, with a multiple of eight columns.
bool canSumRows(const at::Tensor& x);
// Returns the sums of the columns in float32, always added in the same order.
at::Tensor sumRows(const at::Tensor& x);

// How the rows of a matrix are divided over blocks that add them (add_rows in fused-kernels.cc): `across` blocks of `span`
// groups of eight columns next to each other, and `blocks` of `rowsPerBlock` rows.
struct RowBlocks {
  unsigned rows, groups, across, span, blocks, rowsPerBlock;
  RowBlocks(int64_t rows, int64_t columns);
};

// Adds [blocks, channels] over the blocks of a kernel.
at::Tensor addPartials(const at::Tensor& partial);

}  // namespace nudge::kernels
