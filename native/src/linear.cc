// Linear layers, differentiable twice:
//
//  nudge::linear       x·Wᵀ + b. It is ATen's operator except for the gradient of the bias: on a GPU, ATen's reduction of
//                      bfloat16 columns is far from the memory bandwidth, and a kernel of fused-kernels.cc adds them
//  nudge::linear_gelu  GELU(x·Wᵀ + b), exact. One kernel computes the gradient of GELU and that of the bias
//
// ATen's kernels of GELU are limited by the error function. The kernels here compute it with one exponential, which the
// gradient needs too.
#include "cuda-kernels.h"
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>

namespace nudge {

using at::Tensor;

#ifdef NUDGE_KERNELS

// It uses the functions of FUSED_SOURCE.
const char* const kernels::LINEAR_SOURCE = R"cuda(
// The normal distribution function of x, given exp(−x²/2): Abramowitz and Stegun 7.1.26, at most 1e-7 off.
__device__ float normal_below(float x, float exponential) {
  const float t = __fdividef(1.0f, __fmaf_rn(0.3275911f * 0.70710678f, fabsf(x), 1.0f));
  float sum = __fmaf_rn(1.061405429f, t, -1.453152027f);
  sum = __fmaf_rn(sum, t, 1.421413741f);
  sum = __fmaf_rn(sum, t, -0.284496736f);
  sum = __fmaf_rn(sum, t, 0.254829592f);
  const float tail = 0.5f * exponential * (sum * t);
  return x < 0 ? tail : 1 - tail;
}

extern "C" __global__ void gelu(const uint4* x, uint4* out, unsigned vectors) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
    float value[8];
    unpack(x[i], value);
#pragma unroll
    for (int k = 0; k < 8; k++) value[k] *= normal_below(value[k], __expf(-0.5f * value[k] * value[k]));
    out[i] = packed(value);
  }
}

// The layout of blocks and of `partial` is that of bias_clamp_backward.
extern "C" __global__ void gelu_backward(const uint4* gradient, const uint4* x, uint4* result, float* partial, unsigned rows,
                                         unsigned groups, unsigned span, unsigned rows_a_block) {
  const unsigned height = blockDim.x / span;
  const unsigned own = threadIdx.x % span, first = threadIdx.x / span;
  const unsigned group = blockIdx.y * span + own;
  float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  if (first < height && group < groups) {
    const unsigned end = min(rows, (blockIdx.x + 1) * rows_a_block);
    for (unsigned row = blockIdx.x * rows_a_block + first; row < end; row += height) {
      const unsigned i = row * groups + group;
      float value[8], input[8];
      unpack(gradient[i], value);
      unpack(x[i], input);
#pragma unroll
      for (int k = 0; k < 8; k++) {
        const float exponential = __expf(-0.5f * input[k] * input[k]);
        value[k] *= __fmaf_rn(input[k] * 0.39894228f, exponential, normal_below(input[k], exponential));
        sum[k] += value[k];
      }
      result[i] = packed(value);
    }
  }
  add_rows<8>(sum, blockIdx.y, span, groups, partial + blockIdx.x * groups * 8);
}
)cuda";

#endif

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// Returns the gradients of x and the weight from that of the product, [rows, outputs].
std::tuple<Tensor, Tensor> productGradients(const AutogradContext* context, const Tensor& rows, const Tensor& x, const Tensor& weight) {
  Tensor ofX, ofWeight;
  if (context->needs_input_grad(0)) ofX = rows.mm(weight).view(x.sizes());
  if (context->needs_input_grad(1)) ofWeight = rows.t().mm(x.reshape({-1, weight.size(1)}));
  return {ofX, ofWeight};
}

struct Linear : torch::autograd::Function<Linear> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight, const Variable& bias) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, weight});
    return at::linear(x, weight, bias);
  }

  // All operations can be differentiated again, except for the kernel, which is used when this is not needed.
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &x = saved[0], &weight = saved[1];
    Variable ofBias;
    Tensor rows = gradients[0].reshape({-1, weight.size(0)});
    auto [ofX, ofWeight] = productGradients(context, rows, x, weight);
    if (context->needs_input_grad(2)) {
      bool fast = !at::GradMode::is_enabled() && kernels::canSumRows(rows);
      ofBias = fast ? kernels::sumRows(rows).to(rows.scalar_type()) : rows.sum(0);
    }
    return {ofX, ofWeight, ofBias};
  }
};

struct LinearGelu : torch::autograd::Function<LinearGelu> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight, const Variable& bias) {
    at::AutoDispatchBelowADInplaceOrView below;
    Tensor product = at::linear(x, weight, bias);
    context->save_for_backward({x, weight, bias, product});
#ifdef NUDGE_KERNELS
    if (weight.size(0) > 0 && kernels::canSumRows(product.reshape({-1, weight.size(0)}))) {
      Tensor out = at::empty_like(product);
      auto vectors = static_cast<unsigned>(product.numel() / 8);
      kernels::launch("gelu", product, {std::min(16384u, (vectors + 255) / 256)}, product.data_ptr(), out.data_ptr(), vectors);
      return out;
    }
#endif
    return at::gelu(product);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &x = saved[0], &weight = saved[1], &bias = saved[2];
    Tensor rows, ofBias;
#ifdef NUDGE_KERNELS
    Tensor given = gradients[0].reshape({-1, weight.size(0)}), product = saved[3].reshape({-1, weight.size(0)});
    if (!at::GradMode::is_enabled() && kernels::canSumRows(given) && kernels::canSumRows(product)) {
      kernels::RowBlocks split(given.size(0), given.size(1));
      rows = at::empty_like(given);
      Tensor partial = at::empty({split.blocks, given.size(1)}, given.options().dtype(at::kFloat));
      kernels::launch("gelu_backward", given, {split.blocks, split.across}, given.data_ptr(), product.data_ptr(), rows.data_ptr(),
                      partial.data_ptr<float>(), split.rows, split.groups, split.span, split.rowsPerBlock);
      ofBias = kernels::addPartials(partial).to(given.scalar_type());
    }
#endif
    if (!rows.defined()) {
      // A second derivative needs the product as a function of the inputs.
      Tensor again = at::GradMode::is_enabled() ? at::linear(x, weight, bias) : saved[3];
      rows = at::gelu_backward(gradients[0], again).reshape({-1, weight.size(0)});
      ofBias = rows.sum(0);
    }
    auto [ofX, ofWeight] = productGradients(context, rows, x, weight);
    return {ofX, ofWeight, ofBias};
  }
};

void checkShapes(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  TORCH_CHECK(x.dim() > 0 && weight.dim() == 2 && x.size(-1) == weight.size(1) && bias.dim() == 1 && bias.size(0) == weight.size(0),
              "linear: expected x [..., inputs], a weight [outputs, inputs] and a bias [outputs], got ", x.sizes(), ", ", weight.sizes(),
              " and ", bias.sizes());
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  checkShapes(x, weight, bias);
  return Linear::apply(x, weight, bias);
}

Tensor linearGelu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  checkShapes(x, weight, bias);
  return LinearGelu::apply(x, weight, bias);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def("linear(Tensor x, Tensor weight, Tensor bias) -> Tensor", linear);
  library.def("linear_gelu(Tensor x, Tensor weight, Tensor bias) -> Tensor", linearGelu);
}

}  // namespace nudge
