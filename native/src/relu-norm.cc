// nudge::relu_norm: group norm of relu(x + shift), for small networks in float32. The shift is the bias of the convolution
// before it. Differentiable twice.
//
// ATen adds the bias, clamps, computes statistics and normalizes in four passes over the map. The map of a group fits into
// the registers of one block here, so that each direction reads and writes it once. Sums are added in a fixed order. On other
// devices, and for shapes that the kernels do not support, ATen's operators give the same result up to rounding.
#include "cuda-kernels.h"
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace nudge {

using at::Tensor;

#ifdef NUDGE_KERNELS

// It uses functions of LAYER_NORM_SOURCE.
const char* const kernels::RELU_NORM_SOURCE = R"cuda(
// `mean` and `scale` = 1/√(variance + eps) of each group are written. `last`: the map is in channels-last format.
struct ReluNorm {
  const float* x; const float* shift; const float* weight; const float* bias;
  float* y; float* mean; float* scale;
  unsigned channels, pixels, groups; float eps; int last;
};

// `partial` [samples, 3, channels] receives the gradients of weight, bias and shift.
struct ReluNormBackward {
  const float* gradient; const float* x; const float* shift; const float* weight; const float* mean; const float* scale;
  float* of_x; float* partial;
  unsigned channels, pixels, groups; int last;
};

// The four values of a thread in turn (s, e): false if there are none. With the channels first they are of one channel, and
// warp w has the channels w, w + 8, ...; with the channels last they are of four.
template <int E>
__device__ bool group_four(unsigned per, unsigned channels, unsigned pixels, unsigned sample, unsigned group, int last, int s, int e,
                           unsigned* at, unsigned* channel) {
  if (last) {
    const unsigned across = per / 4, pixel = threadIdx.x / across + (s * E + e) * (256 / across);
    *channel = group * per + threadIdx.x % across * 4;
    *at = ((sample * pixels + pixel) * channels + *channel) / 4;
    return pixel < pixels;
  }
  const unsigned inside = threadIdx.x / 32 + 8 * s, place = threadIdx.x % 32 + 32 * e;
  *channel = group * per + inside;
  *at = (sample * channels + *channel) * (pixels / 4) + place;
  return inside < per && place < pixels / 4;
}

// Every thread of the block of 256 gets the same sum.
__device__ float block_sum(float value, float* shared) {
  value = warp_sum(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < 8; w++) sum += shared[w];
  return sum;
}

// A block normalizes one group of one sample.
template <int S, int E>
__device__ void relu_norm_forward(const ReluNorm& a) {
  __shared__ float shared[8];
  const unsigned sample = blockIdx.x / a.groups, group = blockIdx.x % a.groups, per = a.channels / a.groups;
  const float count = (float)(per * a.pixels);
  float value[S * E][4];
  float total = 0;
#pragma unroll
  for (int s = 0; s < S; s++)
#pragma unroll
    for (int e = 0; e < E; e++) {
      unsigned at, channel;
      if (group_four<E>(per, a.channels, a.pixels, sample, group, a.last, s, e, &at, &channel)) {
        load_four(a.x, at, 0, value[s * E + e]);
#pragma unroll
        for (int k = 0; k < 4; k++) {
          const float moved = value[s * E + e][k] + (a.shift ? a.shift[channel + (a.last ? k : 0)] : 0);
          value[s * E + e][k] = moved < 0 ? 0 : moved;
          total += value[s * E + e][k];
        }
      }
    }
  const float mean = block_sum(total, shared) / count;
  float squares = 0;
#pragma unroll
  for (int s = 0; s < S; s++)
#pragma unroll
    for (int e = 0; e < E; e++) {
      unsigned at, channel;
      if (group_four<E>(per, a.channels, a.pixels, sample, group, a.last, s, e, &at, &channel)) {
#pragma unroll
        for (int k = 0; k < 4; k++) squares += (value[s * E + e][k] - mean) * (value[s * E + e][k] - mean);
      }
    }
  const float scale = 1 / sqrtf(block_sum(squares, shared) / count + a.eps);
#pragma unroll
  for (int s = 0; s < S; s++)
#pragma unroll
    for (int e = 0; e < E; e++) {
      unsigned at, channel;
      if (group_four<E>(per, a.channels, a.pixels, sample, group, a.last, s, e, &at, &channel)) {
        float y[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
          const unsigned c = channel + (a.last ? k : 0);
          y[k] = (value[s * E + e][k] - mean) * scale * a.weight[c] + a.bias[c];
        }
        store_four(a.y, at, 0, y);
      }
    }
  if (threadIdx.x == 0) {
    a.mean[blockIdx.x] = mean;
    a.scale[blockIdx.x] = scale;
  }
}

template <int S, int E>
__device__ void relu_norm_backward(const ReluNormBackward& a) {
  __shared__ float shared[8];
  __shared__ float parts[8][3][32];
  const unsigned sample = blockIdx.x / a.groups, group = blockIdx.x % a.groups, per = a.channels / a.groups;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float count = (float)(per * a.pixels), mean = a.mean[blockIdx.x], scale = a.scale[blockIdx.x];
  float given[S * E][4], normed[S * E][4];
  float sums[3][4] = {};
  unsigned on = 0;
  float total = 0, along = 0;
#pragma unroll
  for (int s = 0; s < S; s++)
#pragma unroll
    for (int e = 0; e < E; e++) {
      const int j = s * E + e;
      unsigned at, channel;
      if (group_four<E>(per, a.channels, a.pixels, sample, group, a.last, s, e, &at, &channel)) {
        load_four(a.gradient, at, 0, given[j]);
        load_four(a.x, at, 0, normed[j]);
#pragma unroll
        for (int k = 0; k < 4; k++) {
          const unsigned c = channel + (a.last ? k : 0);
          const float moved = normed[j][k] + (a.shift ? a.shift[c] : 0);
          if (!(moved <= 0)) on |= 1u << (4 * j + k);
          normed[j][k] = ((moved < 0 ? 0 : moved) - mean) * scale;
          const float of_weight = given[j][k] * normed[j][k], of_bias = given[j][k];
          if (a.last) {
            sums[0][k] += of_weight;
            sums[1][k] += of_bias;
          } else {
            sums[0][s] += of_weight;
            sums[1][s] += of_bias;
          }
          given[j][k] *= a.weight[c];
          total += given[j][k];
          along += given[j][k] * normed[j][k];
        }
      }
    }
  total = block_sum(total, shared) / count;
  along = block_sum(along, shared) / count;
#pragma unroll
  for (int s = 0; s < S; s++)
#pragma unroll
    for (int e = 0; e < E; e++) {
      const int j = s * E + e;
      unsigned at, channel;
      if (group_four<E>(per, a.channels, a.pixels, sample, group, a.last, s, e, &at, &channel)) {
        float result[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
          result[k] = on >> (4 * j + k) & 1u ? scale * (given[j][k] - total - normed[j][k] * along) : 0;
          if (a.last) sums[2][k] += result[k];
          else sums[2][s] += result[k];
        }
        store_four(a.of_x, at, 0, result);
      }
    }
  float* partial = a.partial + sample * 3 * a.channels + group * per;
  if (a.last) {
    const unsigned across = per / 4;
    for (int which = 0; which < 3; which++)
      for (int k = 0; k < 4; k++) {
        float sum = sums[which][k];
        for (unsigned step = 16; step >= across; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (lane < across) parts[warp][which][lane * 4 + k] = sum;
      }
    __syncthreads();
    if (threadIdx.x < 3 * per) {
      const unsigned which = threadIdx.x / per, c = threadIdx.x % per;
      float sum = 0;
      for (int w = 0; w < 8; w++) sum += parts[w][which][c];
      partial[which * a.channels + c] = sum;
    }
  } else {
#pragma unroll
    for (int s = 0; s < S; s++)
      for (int which = 0; which < 3; which++) {
        const float sum = warp_sum(sums[which][s]);
        if (lane == 0 && warp + 8 * s < per) partial[which * a.channels + warp + 8 * s] = sum;
      }
  }
}

extern "C" __global__ void __launch_bounds__(256) relu_norm_1_7(ReluNorm a) { relu_norm_forward<1, 7>(a); }
extern "C" __global__ void __launch_bounds__(256) relu_norm_2_2(ReluNorm a) { relu_norm_forward<2, 2>(a); }
extern "C" __global__ void __launch_bounds__(256) relu_norm_backward_1_7(ReluNormBackward a) { relu_norm_backward<1, 7>(a); }
extern "C" __global__ void __launch_bounds__(256) relu_norm_backward_2_2(ReluNormBackward a) { relu_norm_backward<2, 2>(a); }
)cuda";

#endif

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

#ifdef NUDGE_KERNELS

// The arguments of the kernels, with the same field order as above.
struct ReluNorm {
  const float *x, *shift, *weight, *bias;
  float *y, *mean, *scale;
  unsigned channels, pixels, groups;
  float eps;
  int last;
};
struct ReluNormBackward {
  const float *gradient, *x, *shift, *weight, *mean, *scale;
  float *ofX, *partial;
  unsigned channels, pixels, groups;
  int last;
};

bool isLast(const Tensor& x) { return !x.is_contiguous(); }

bool isAligned(const Tensor& tensor) {
  return tensor.is_cuda() && tensor.scalar_type() == at::kFloat && reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 16 == 0;
}

bool isDenseMap(const Tensor& x) {
  return isAligned(x) && (x.is_contiguous() || x.is_contiguous(at::MemoryFormat::ChannelsLast));
}

// Returns the name of the kernel whose threads hold a group, or null.
const char* kernelFor(const Tensor& x, int64_t groups, bool backward) {
  int64_t per = x.size(1) / groups, pixels = x.size(2) * x.size(3);
  bool isPower = per == 4 || per == 8 || per == 16;
  if (!isPower || pixels % 4 != 0 || x.numel() == 0 || x.numel() >= (int64_t{1} << 31)) return nullptr;
  if (per <= 8 && pixels <= 4 * 32 * 7) return backward ? "relu_norm_backward_1_7" : "relu_norm_1_7";
  if (pixels <= 4 * 32 * 2) return backward ? "relu_norm_backward_2_2" : "relu_norm_2_2";
  return nullptr;
}

bool known(const Tensor& x, const c10::optional<Tensor>& shift, const Tensor& weight, const Tensor& bias, int64_t groups) {
  if (!isDenseMap(x) || kernelFor(x, groups, false) == nullptr || !kernels::problem(x.device().index()).empty()) return false;
  for (const Tensor* each : {&weight, &bias})
    if (!each->is_cuda() || each->scalar_type() != at::kFloat || !each->is_contiguous()) return false;
  return !shift.has_value() || (shift->is_cuda() && shift->scalar_type() == at::kFloat && shift->is_contiguous());
}

unsigned blocksOf(const Tensor& x, int64_t groups) { return static_cast<unsigned>(x.size(0) * groups); }

std::tuple<Tensor, Tensor, Tensor> normOnDevice(const Tensor& x, const c10::optional<Tensor>& shift, const Tensor& weight,
                                                const Tensor& bias, int64_t groups, double eps) {
  Tensor y = at::empty_like(x), mean = at::empty({x.size(0) * groups}, x.options()), scale = at::empty_like(mean);
  ReluNorm norm = {x.data_ptr<float>(), shift.has_value() ? shift->data_ptr<float>() : nullptr, weight.data_ptr<float>(),
                   bias.data_ptr<float>(), y.data_ptr<float>(), mean.data_ptr<float>(), scale.data_ptr<float>(),
                   static_cast<unsigned>(x.size(1)), static_cast<unsigned>(x.size(2) * x.size(3)), static_cast<unsigned>(groups),
                   static_cast<float>(eps), isLast(x)};
  kernels::launch(kernelFor(x, groups, false), x, {blocksOf(x, groups)}, norm);
  return {y, mean, scale};
}

// Returns the gradients of x, and of weight, bias and shift as [3, channels].
std::tuple<Tensor, Tensor> normBackwardOnDevice(const Tensor& given, const Tensor& x, const Tensor& shift, const Tensor& weight,
                                                const Tensor& mean, const Tensor& scale, int64_t groups) {
  Tensor gradient = given.to(at::kFloat).contiguous(isLast(x) ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  if (!isAligned(gradient)) gradient = gradient.clone(at::MemoryFormat::Preserve);
  Tensor ofX = at::empty_like(x), partial = at::empty({x.size(0), 3 * x.size(1)}, x.options());
  ReluNormBackward norm = {gradient.data_ptr<float>(), x.data_ptr<float>(), shift.defined() ? shift.data_ptr<float>() : nullptr,
                           weight.data_ptr<float>(), mean.data_ptr<float>(), scale.data_ptr<float>(), ofX.data_ptr<float>(),
                           partial.data_ptr<float>(), static_cast<unsigned>(x.size(1)),
                           static_cast<unsigned>(x.size(2) * x.size(3)), static_cast<unsigned>(groups), isLast(x)};
  kernels::launch(kernelFor(x, groups, true), x, {blocksOf(x, groups)}, norm);
  return {ofX, kernels::addPartials(partial).view({3, x.size(1)})};
}

#endif

Tensor shifted(const Tensor& x, const Tensor& shift) { return shift.defined() ? x + shift.view({1, -1, 1, 1}) : x; }

struct ReluGroupNorm : torch::autograd::Function<ReluGroupNorm> {
  static Variable forward(AutogradContext* context, const Variable& x, const c10::optional<Variable>& shift, const Variable& weight,
                          const Variable& bias, int64_t groups, double eps) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->saved_data["groups"] = groups;
    context->saved_data["eps"] = eps;
    context->saved_data["shift"] = shift.has_value();
    Tensor y, mean, scale, none;
    Tensor bySum = shift.has_value() ? *shift : none;
    bool fast = false;
#ifdef NUDGE_KERNELS
    fast = known(x, shift, weight, bias, groups);
    if (fast) std::tie(y, mean, scale) = normOnDevice(x, shift, weight, bias, groups, eps);
#endif
    if (!fast) y = at::group_norm(at::relu(shifted(x, bySum)), groups, weight, bias, eps);
    context->saved_data["fast"] = fast;
    variable_list kept = {x, weight};
    if (shift.has_value()) kept.push_back(*shift);
    if (fast) kept.insert(kept.end(), {mean, scale});
    context->save_for_backward(kept);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &x = saved[0], &weight = saved[1], &given = gradients[0];
    Variable none;
    bool hasShift = context->saved_data["shift"].toBool();
    Variable shift = hasShift ? saved[2] : none;
    int64_t groups = context->saved_data["groups"].toInt();
#ifdef NUDGE_KERNELS
    if (!at::GradMode::is_enabled() && context->saved_data["fast"].toBool()) {
      const Tensor &mean = saved[hasShift ? 3 : 2], &scale = saved[hasShift ? 4 : 3];
      auto [ofX, sums] = normBackwardOnDevice(given, x, shift, weight, mean, scale, groups);
      return {ofX, hasShift ? sums[2] : none, sums[0], sums[1], none, none};
    }
#endif
    // These operations can be differentiated again.
    Tensor moved = shifted(x, shift), on = moved.detach().gt(0).to(x.scalar_type()), clamped = moved * on;
    auto grouped = [&](const Tensor& map) { return map.reshape({x.size(0), groups, -1}); };
    auto byChannel = [](const Tensor& map) { return map.sum({0, 2, 3}); };
    Tensor wide = grouped(clamped), centred = wide - wide.mean(-1, true);
    Tensor scale = (centred * centred).mean(-1, true).add(context->saved_data["eps"].toDouble()).rsqrt();
    Tensor normed = centred * scale, weighted = grouped(given * weight.view({1, -1, 1, 1}));
    Tensor ofGroups = scale * (weighted - weighted.mean(-1, true) - normed * (weighted * normed).mean(-1, true));
    Tensor ofX = ofGroups.view(x.sizes()) * on;
    return {ofX, hasShift ? byChannel(ofX) : none, byChannel(given * normed.view(x.sizes())), byChannel(given), none, none};
  }
};

Tensor reluNorm(const Tensor& x, const c10::optional<Tensor>& shift, const Tensor& weight, const Tensor& bias, int64_t groups,
                double eps) {
  TORCH_CHECK(x.dim() == 4 && groups > 0 && x.size(1) % groups == 0 && weight.dim() == 1 && weight.size(0) == x.size(1) &&
                  bias.sizes() == weight.sizes() && (!shift.has_value() || shift->sizes() == weight.sizes()),
              "relu_norm: expected a map [n, c, h, w], weight, bias and shift [c] and groups that divide c, got ", x.sizes(), ", ",
              weight.sizes(), ", ", bias.sizes(), " and ", groups, " groups");
  return ReluGroupNorm::apply(x, shift, weight, bias, groups, eps);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def("relu_norm(Tensor x, Tensor? shift, Tensor weight, Tensor bias, int groups, float eps) -> Tensor", reluNorm);
}

}  // namespace nudge
