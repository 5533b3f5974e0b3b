// nudge::layer_norm: the sum s = x [+ residual] and its layer norm over the last dimension, differentiable twice.
//
// In mixed precision, ATen's layer norm runs between two casts, and its gradient takes three kernels and an addition to
// the gradient of the residual stream. Here each direction is one pass over the tensor, plus one addition of the partial
// sums of the weight's and bias's gradients, in a fixed order. Statistics are computed in float32. On other devices, and
// for shapes that the kernels do not support, ATen's operators give the same result up to rounding.
#include "cuda-kernels.h"
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>

namespace nudge {

using at::Tensor;

#ifdef NUDGE_KERNELS

// It uses functions of FUSED_SOURCE and DEPTHWISE_SOURCE.
const char* const kernels::LAYER_NORM_SOURCE = R"cuda(
// Four values that are next to each other, in bfloat16 (`half`) or float32.
__device__ void load_four(const void* from, unsigned at, int half, float* to) {
  if (half) {
    unpack_four(((const uint2*)from)[at], to);
  } else {
    const float4 values = ((const float4*)from)[at];
    to[0] = values.x; to[1] = values.y; to[2] = values.z; to[3] = values.w;
  }
}
__device__ void store_four(void* to, unsigned at, int half, const float* from) {
  if (half) ((uint2*)to)[at] = make_uint2(pack(from[0], from[1]), pack(from[2], from[3]));
  else ((float4*)to)[at] = make_float4(from[0], from[1], from[2], from[3]);
}
// Every thread of the warp gets the same sum.
__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

// `y`, `mean` and `scale` = 1/√(variance + eps) are written, and `sum` if there is a residual.
struct Norm {
  const void* x; const void* residual; const float* weight; const float* bias;
  void* y; float* sum; float* mean; float* scale;
  unsigned rows, width; float eps; int x_half, residual_half, y_half;
};

// `of_sum` is null or the gradient of the sum, in the dtype of x. `of_residual` is null or a copy of `of_x` in bfloat16.
struct NormBackward {
  const void* gradient; const void* of_sum; const void* x; const float* weight; const float* mean; const float* scale;
  void* of_x; void* of_residual; float* partial;
  unsigned rows, width; int gradient_half, x_half;
};

// A warp processes a row, and a thread of it the vectors lane, lane + 32, ... of four values: at most N of them.
template <int N>
__device__ void norm_forward(const Norm& a) {
  const unsigned lane = threadIdx.x % 32, vectors = a.width / 4;
  const unsigned row = blockIdx.x * 8 + threadIdx.x / 32;
  if (row >= a.rows) return;
  float value[N][4];
  float total = 0;
#pragma unroll
  for (int j = 0; j < N; j++) {
    const unsigned at = lane + 32 * j;
    if (at < vectors) {
      load_four(a.x, row * vectors + at, a.x_half, value[j]);
      if (a.residual) {
        float other[4];
        load_four(a.residual, row * vectors + at, a.residual_half, other);
        for (int k = 0; k < 4; k++) value[j][k] += other[k];
        store_four(a.sum, row * vectors + at, 0, value[j]);
      }
      for (int k = 0; k < 4; k++) total += value[j][k];
    }
  }
  const float mean = warp_sum(total) / a.width;
  float squares = 0;
#pragma unroll
  for (int j = 0; j < N; j++)
    if (lane + 32 * j < vectors)
      for (int k = 0; k < 4; k++) squares += (value[j][k] - mean) * (value[j][k] - mean);
  const float scale = 1 / sqrtf(warp_sum(squares) / a.width + a.eps);
#pragma unroll
  for (int j = 0; j < N; j++) {
    const unsigned at = lane + 32 * j;
    if (at < vectors) {
      float weight[4], bias[4], y[4];
      load_four(a.weight, at, 0, weight);
      load_four(a.bias, at, 0, bias);
      for (int k = 0; k < 4; k++) y[k] = (value[j][k] - mean) * scale * weight[k] + bias[k];
      store_four(a.y, row * vectors + at, a.y_half, y);
    }
  }
  if (lane == 0) {
    a.mean[row] = mean;
    a.scale[row] = scale;
  }
}

// A warp processes every (8 · blocks)-th row. The sums over its block's rows are written to `partial` [blocks, 2, width]:
// the gradients of weight and bias.
template <int N>
__device__ void norm_backward(const NormBackward& a) {
  __shared__ float shared[8][N * 128];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, vectors = a.width / 4;
  float sums[2][N][4] = {};
  for (unsigned row = blockIdx.x * 8 + warp; row < a.rows; row += gridDim.x * 8) {
    const float mean = a.mean[row], scale = a.scale[row];
    float given[N][4], normed[N][4];
    float total = 0, along = 0;
#pragma unroll
    for (int j = 0; j < N; j++) {
      const unsigned at = lane + 32 * j;
      if (at < vectors) {
        load_four(a.gradient, row * vectors + at, a.gradient_half, given[j]);
        load_four(a.x, row * vectors + at, a.x_half, normed[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
      const unsigned at = lane + 32 * j;
      if (at < vectors) {
        float weight[4];
        load_four(a.weight, at, 0, weight);
        for (int k = 0; k < 4; k++) {
          normed[j][k] = (normed[j][k] - mean) * scale;
          sums[0][j][k] += given[j][k] * normed[j][k];
          sums[1][j][k] += given[j][k];
          given[j][k] *= weight[k];
          total += given[j][k];
          along += given[j][k] * normed[j][k];
        }
      }
    }
    total = warp_sum(total) / a.width;
    along = warp_sum(along) / a.width;
#pragma unroll
    for (int j = 0; j < N; j++) {
      const unsigned at = lane + 32 * j;
      if (at < vectors) {
        float result[4], more[4] = {0, 0, 0, 0};
        if (a.of_sum) load_four(a.of_sum, row * vectors + at, a.x_half, more);
        for (int k = 0; k < 4; k++) result[k] = scale * (given[j][k] - total - normed[j][k] * along) + more[k];
        store_four(a.of_x, row * vectors + at, a.x_half, result);
        if (a.of_residual) store_four(a.of_residual, row * vectors + at, 1, result);
      }
    }
  }
#pragma unroll
  for (int which = 0; which < 2; which++) {
#pragma unroll
    for (int j = 0; j < N; j++)
      for (int k = 0; k < 4; k++) shared[warp][(lane + 32 * j) * 4 + k] = sums[which][j][k];
    __syncthreads();
    for (unsigned column = threadIdx.x; column < a.width; column += blockDim.x) {
      float sum = 0;
      for (int w = 0; w < 8; w++) sum += shared[w][column];
      a.partial[(blockIdx.x * 2 + which) * a.width + column] = sum;
    }
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(256) layer_norm_1(Norm a) { norm_forward<1>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_2(Norm a) { norm_forward<2>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_3(Norm a) { norm_forward<3>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_4(Norm a) { norm_forward<4>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_6(Norm a) { norm_forward<6>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_8(Norm a) { norm_forward<8>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_backward_1(NormBackward a) { norm_backward<1>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_backward_2(NormBackward a) { norm_backward<2>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_backward_3(NormBackward a) { norm_backward<3>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_backward_4(NormBackward a) { norm_backward<4>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_backward_6(NormBackward a) { norm_backward<6>(a); }
extern "C" __global__ void __launch_bounds__(256) layer_norm_backward_8(NormBackward a) { norm_backward<8>(a); }
)cuda";

#endif

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

bool isHalf(const Tensor& tensor) { return tensor.scalar_type() == at::kBFloat16; }

#ifdef NUDGE_KERNELS

// The arguments of the kernels, with the same field order as above.
struct Norm {
  const void *x, *residual;
  const float *weight, *bias;
  void* y;
  float *sum, *mean, *scale;
  unsigned rows, width;
  float eps;
  int xHalf, residualHalf, yHalf;
};
struct NormBackward {
  const void *gradient, *ofSum, *x;
  const float *weight, *mean, *scale;
  void *ofX, *ofResidual;
  float* partial;
  unsigned rows, width;
  int gradientHalf, xHalf;
};

bool isDense(const Tensor& tensor) {
  return tensor.is_cuda() && (tensor.scalar_type() == at::kFloat || isHalf(tensor)) && tensor.is_contiguous() &&
         reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 16 == 0;
}

// A gradient may be a part of another tensor.
Tensor madeDense(const Tensor& tensor) { return isDense(tensor) ? tensor : tensor.clone(at::MemoryFormat::Contiguous); }

bool known(const Tensor& x, const c10::optional<Tensor>& residual, const Tensor& weight, const Tensor& bias) {
  if (!isDense(x) || !kernels::problem(x.device().index()).empty()) return false;
  if (x.size(-1) % 4 != 0 || x.size(-1) > 1024 || x.numel() == 0 || x.numel() / 4 >= (int64_t{1} << 31)) return false;
  for (const Tensor* each : {&weight, &bias})
    if (!isDense(*each) || isHalf(*each)) return false;
  return !residual.has_value() || (!isHalf(x) && isDense(*residual) && residual->sizes() == x.sizes());
}

// Returns the name of the kernel whose threads hold enough vectors for a row.
const char* kernelFor(int64_t width, bool backward) {
  int64_t vectors = (width + 127) / 128;
  if (vectors <= 1) return backward ? "layer_norm_backward_1" : "layer_norm_1";
  if (vectors <= 2) return backward ? "layer_norm_backward_2" : "layer_norm_2";
  if (vectors <= 3) return backward ? "layer_norm_backward_3" : "layer_norm_3";
  if (vectors <= 4) return backward ? "layer_norm_backward_4" : "layer_norm_4";
  if (vectors <= 6) return backward ? "layer_norm_backward_6" : "layer_norm_6";
  return backward ? "layer_norm_backward_8" : "layer_norm_8";
}

// Enough blocks for two to four on each multiprocessor of the largest GPUs. More blocks would mean more partial sums.
constexpr unsigned MOST_BLOCKS = 528;

std::tuple<Tensor, Tensor, Tensor, Tensor> normOnDevice(const Tensor& x, const c10::optional<Tensor>& residual, const Tensor& weight,
                                                        const Tensor& bias, double eps, bool half) {
  auto width = static_cast<unsigned>(x.size(-1)), rows = static_cast<unsigned>(x.numel() / x.size(-1));
  Tensor y = at::empty(x.sizes(), x.options().dtype(half ? at::kBFloat16 : at::kFloat));
  Tensor sum = residual.has_value() ? at::empty(x.sizes(), x.options()) : x;
  Tensor mean = at::empty({rows}, x.options().dtype(at::kFloat)), scale = at::empty_like(mean);
  Norm norm = {x.data_ptr(), residual.has_value() ? residual->data_ptr() : nullptr, weight.data_ptr<float>(), bias.data_ptr<float>(),
               y.data_ptr(), residual.has_value() ? sum.data_ptr<float>() : nullptr, mean.data_ptr<float>(), scale.data_ptr<float>(),
               rows, width, static_cast<float>(eps), isHalf(x), residual.has_value() && isHalf(*residual), half};
  kernels::launch(kernelFor(width, false), x, {(rows + 7) / 8}, norm);
  return {y, sum, mean, scale};
}

// Returns the gradients of x, of the residual, and of weight and bias as [2, width]. `ofSum` may be undefined.
std::tuple<Tensor, Tensor, Tensor> normBackwardOnDevice(const Tensor& given, const Tensor& ofSum, const Tensor& x, const Tensor& weight,
                                                        const Tensor& mean, const Tensor& scale, bool copyHalf) {
  auto width = static_cast<unsigned>(x.size(-1)), rows = static_cast<unsigned>(x.numel() / x.size(-1));
  Tensor gradient = madeDense(given), more = ofSum.defined() ? madeDense(ofSum.to(x.scalar_type())) : ofSum;
  Tensor ofX = at::empty(x.sizes(), x.options());
  Tensor ofResidual = copyHalf ? at::empty(x.sizes(), x.options().dtype(at::kBFloat16)) : ofX;
  unsigned blocks = std::min((rows + 7) / 8, MOST_BLOCKS);
  Tensor partial = at::empty({blocks, 2 * width}, mean.options());
  NormBackward norm = {gradient.data_ptr(), more.defined() ? more.data_ptr() : nullptr, x.data_ptr(), weight.data_ptr<float>(),
                       mean.data_ptr<float>(), scale.data_ptr<float>(), ofX.data_ptr(), copyHalf ? ofResidual.data_ptr() : nullptr,
                       partial.data_ptr<float>(), rows, width, isHalf(gradient), isHalf(x)};
  kernels::launch(kernelFor(width, true), x, {blocks}, norm);
  return {ofX, ofResidual, kernels::addPartials(partial).view({2, width})};
}

#endif

Tensor inFull(const Tensor& tensor) { return isHalf(tensor) ? tensor.to(at::kFloat) : tensor; }

struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static variable_list forward(AutogradContext* context, const Variable& x, const c10::optional<Variable>& residual,
                               const Variable& weight, const Variable& bias, double eps, bool half) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->set_materialize_grads(false);
    context->saved_data["eps"] = eps;
    context->saved_data["residual"] = residual.has_value();
    context->saved_data["dtype"] = static_cast<int64_t>(residual.has_value() ? residual->scalar_type() : x.scalar_type());
    Tensor y, sum, mean, scale;
    bool fast = false;
#ifdef NUDGE_KERNELS
    fast = known(x, residual, weight, bias);
    if (fast) std::tie(y, sum, mean, scale) = normOnDevice(x, residual, weight, bias, eps, half);
#endif
    if (!fast) {
      sum = residual.has_value() ? x + *residual : x;
      y = at::layer_norm(inFull(sum), {x.size(-1)}, weight, bias, eps);
      if (half) y = y.to(at::kBFloat16);
    }
    context->saved_data["fast"] = fast;
    // Without a residual, autograd returns x as a view with a gradient of its own.
    if (fast)
      context->save_for_backward({sum, weight, mean, scale});
    else
      context->save_for_backward({sum, weight});
    return {y, sum};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &sum = saved[0], &weight = saved[1];
    const Variable &given = gradients[0], &ofSum = gradients[1];
    bool hasResidual = context->saved_data["residual"].toBool();
    auto dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
    Variable none;
    if (!given.defined()) return {ofSum, hasResidual ? ofSum.to(dtype) : none, none, none, none, none};
#ifdef NUDGE_KERNELS
    if (!at::GradMode::is_enabled() && context->saved_data["fast"].toBool()) {
      bool copyHalf = hasResidual && dtype == at::kBFloat16 && !isHalf(sum);
      auto [ofX, ofResidual, sums] = normBackwardOnDevice(given, ofSum, sum, weight, saved[2], saved[3], copyHalf);
      return {ofX, hasResidual ? ofResidual : none, sums[0], sums[1], none, none};
    }
#endif
    // These operations can be differentiated again.
    Tensor wide = inFull(sum), gradient = given.to(wide.scalar_type());
    Tensor centred = wide - wide.mean(-1, true);
    Tensor scale = (centred * centred).mean(-1, true).add(context->saved_data["eps"].toDouble()).rsqrt();
    Tensor normed = centred * scale, weighted = gradient * weight;
    Tensor ofX = scale * (weighted - weighted.mean(-1, true) - normed * (weighted * normed).mean(-1, true));
    if (ofSum.defined()) ofX = ofX + ofSum;
    int64_t width = sum.size(-1);
    Tensor ofWeight = (gradient * normed).reshape({-1, width}).sum(0), ofBias = gradient.reshape({-1, width}).sum(0);
    return {ofX.to(sum.scalar_type()), hasResidual ? ofX.to(dtype) : none, ofWeight, ofBias, none, none};
  }
};

std::tuple<Tensor, Tensor> layerNorm(const Tensor& x, const c10::optional<Tensor>& residual, const Tensor& weight, const Tensor& bias,
                                     double eps, bool half) {
  TORCH_CHECK(x.dim() > 0 && weight.dim() == 1 && weight.size(0) == x.size(-1) && bias.sizes() == weight.sizes(),
              "layer_norm: expected weight and bias [", x.dim() > 0 ? x.size(-1) : 0, "], got ", weight.sizes(), " and ", bias.sizes());
  TORCH_CHECK(!residual.has_value() || residual->sizes() == x.sizes(), "layer_norm: the residual must have the shape of x");
  variable_list made = LayerNorm::apply(x, residual, weight, bias, eps, half);
  return {made[0], made[1]};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def(
      "layer_norm(Tensor x, Tensor? residual, Tensor weight, Tensor bias, float eps, bool half) -> (Tensor, Tensor)", layerNorm);
}

}  // namespace nudge
