// The kernels before and after a convolution. They are small and limited by memory bandwidth. Each makes one pass over
// a feature map, eight bfloat16 values at a time.
#include "fused-kernels.h"

#include "cuda-kernels.h"

#ifdef NUDGE_KERNELS
#include <algorithm>
#include <cmath>
#endif

namespace nudge::kernels {

using at::Tensor;

#ifdef NUDGE_KERNELS

const char* const FUSED_SOURCE = R"cuda(
typedef unsigned short u16;

__device__ float low_half(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ float high_half(unsigned pair) { return __uint_as_float(pair & 0xffff0000u); }

// Rounds to the nearest bfloat16, with ties to even. NaN stays NaN.
__device__ unsigned rounded(float value) {
  unsigned bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}
__device__ unsigned pack(float a, float b) {
#if __CUDA_ARCH__ >= 800
  unsigned pair;  // the same rounding as one instruction; its NaN has other bits
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
  return pair;
#else
  return rounded(a) | (rounded(b) << 16);
#endif
}

__device__ void unpack(uint4 from, float* to) {
  to[0] = low_half(from.x); to[1] = high_half(from.x); to[2] = low_half(from.y); to[3] = high_half(from.y);
  to[4] = low_half(from.z); to[5] = high_half(from.z); to[6] = low_half(from.w); to[7] = high_half(from.w);
}
__device__ uint4 packed(const float* from) {
  return make_uint4(pack(from[0], from[1]), pack(from[2], from[3]), pack(from[4], from[5]), pack(from[6], from[7]));
}
// Reads eight values with two loads. The address must be a multiple of 16 bytes.
__device__ void load_eight(const float* from, float* to) {
  const float4 a = ((const float4*)from)[0], b = ((const float4*)from)[1];
  to[0] = a.x; to[1] = a.y; to[2] = a.z; to[3] = a.w;
  to[4] = b.x; to[5] = b.y; to[6] = b.z; to[7] = b.w;
}
// It does not use fminf and fmaxf, which would replace NaN by a bound.
__device__ float clamped(float value, float low, float high) { return value < low ? low : (value > high ? high : value); }

// Returns a bit for each of eight values: whether it is between the bounds, so that it has a gradient.
__device__ unsigned inside(const float* value, float low, float high) {
  unsigned bits = 0;
  for (int k = 0; k < 8; k++) bits |= (value[k] > low && value[k] < high ? 1u : 0u) << k;
  return bits;
}
// Replaces the values of a pair by 0 where the lowest two bits are 0.
__device__ unsigned kept(unsigned pair, unsigned bits) {
  return pair & ((bits & 1u ? 0xffffu : 0u) | (bits & 2u ? 0xffff0000u : 0u));
}

// Where the result is between the bounds is written to `mask`, one byte for eight channels, unless it is null.
extern "C" __global__ void bias_clamp(const uint4* y, const float* bias, const uint4* residual, uint4* out, unsigned char* mask,
                                      unsigned vectors, unsigned groups, float low, float high) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
    float value[8], other[8], add[8];
    unpack(y[i], value);
    load_eight(bias + 8 * (i % groups), add);
    if (residual) {
      unpack(residual[i], other);
      for (int k = 0; k < 8; k++) value[k] += other[k];
    }
    for (int k = 0; k < 8; k++) value[k] = clamped(value[k] + add[k], low, high);
    const uint4 made = packed(value);
    out[i] = made;
    if (mask) {
      unpack(made, value);
      mask[i] = inside(value, low, high);
    }
  }
}

// Adds the sums of a block's threads, always in the same order. The block processes `span` adjacent groups of EACH channels,
// starting at the group `place` · `span`, and some rows. A thread has added every `height`-th row of one group.
template <int EACH>
__device__ void add_rows(const float* sum, unsigned place, unsigned span, unsigned groups, float* to) {
  __shared__ float sums[256 * EACH];
  const unsigned height = blockDim.x / span;
  for (int k = 0; k < EACH; k++) sums[k * 256 + threadIdx.x] = sum[k];
  __syncthreads();
  for (unsigned j = threadIdx.x; j < span * EACH; j += blockDim.x) {
    const unsigned k = j % EACH, which = j / EACH;
    if (place * span + which >= groups) continue;
    float total = 0;
    for (unsigned r = 0; r < height; r++) total += sums[k * 256 + r * span + which];
    to[(place * span + which) * EACH + k] = total;
  }
  __syncthreads();
}

// The sums over the rows of a block are written to `partial` [blocks, channels], and add_partials adds these. `other` is added
// to the gradient. `mask` shows where it is 0. Both may be null, and `result` if it is the gradient.
extern "C" __global__ void bias_clamp_backward(const uint4* gradient, const uint4* other, const unsigned char* mask, uint4* result,
                                               float* partial, unsigned rows, unsigned groups, unsigned span, unsigned rows_a_block) {
  const unsigned height = blockDim.x / span;
  const unsigned own = threadIdx.x % span, first = threadIdx.x / span;
  const unsigned group = blockIdx.y * span + own;
  float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  if (first < height && group < groups) {
    const unsigned end = min(rows, (blockIdx.x + 1) * rows_a_block);
    for (unsigned row = blockIdx.x * rows_a_block + first; row < end; row += height) {
      const unsigned i = row * groups + group;
      float value[8];
      uint4 given = gradient[i];
      const unsigned bits = mask ? mask[i] : 255;
      if (other) {
        float more[8];
        unpack(given, value);
        unpack(other[i], more);
        for (int k = 0; k < 8; k++) value[k] += more[k];
        given = packed(value);
      }
      given = make_uint4(kept(given.x, bits), kept(given.y, bits >> 2), kept(given.z, bits >> 4), kept(given.w, bits >> 6));
      if (result) result[i] = given;
      unpack(given, value);
      for (int k = 0; k < 8; k++) sum[k] += value[k];
    }
  }
  add_rows<8>(sum, blockIdx.y, span, groups, partial + blockIdx.x * groups * 8);
}

// The sum of a column of `partial` [blocks, columns], for the first row of threads of a block of 32 columns.
__device__ float column_sum(const float* partial, unsigned blocks, unsigned columns, unsigned column) {
  __shared__ float sums[32][33];
  float sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (unsigned b = threadIdx.y; b < blocks; b += blockDim.y) sum += partial[b * columns + column];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && column < columns) {
    for (unsigned r = 1; r < blockDim.y; r++) sum += sums[r][threadIdx.x];
  }
  return sum;
}

extern "C" __global__ void add_partials(const float* partial, float* result, unsigned blocks, unsigned channels) {
  const unsigned channel = blockIdx.x * 32 + threadIdx.x;
  const float sum = column_sum(partial, blocks, channels, channel);
  if (threadIdx.y == 0 && channel < channels) result[channel] = sum;
}

// A block folds one output channel of a layer.
__device__ void fold_channel(unsigned channel, const float* weight, const float* gamma, const float* beta, const float* mean,
                             const float* variance, float eps, void* folded, float* shift, unsigned inner, int half) {
  const float scale = gamma[channel] / sqrtf(variance[channel] + eps);
  if (threadIdx.x == 0) shift[channel] = beta[channel] - mean[channel] * scale;
  for (unsigned i = threadIdx.x; i < inner; i += blockDim.x) {
    const unsigned at = channel * inner + i;
    const float value = weight[at] * scale;
    if (half) ((u16*)folded)[at] = rounded(value);
    else ((float*)folded)[at] = value;
  }
}

__device__ void fold_channel_backward(unsigned channel, const void* of_folded, const float* of_shift, const float* weight,
                                      const float* gamma, const float* mean, const float* variance, float eps,
                                      float* of_weight, float* of_gamma, unsigned inner, int half) {
  __shared__ float sums[256];
  const float one = 1 / sqrtf(variance[channel] + eps);
  const float scale = gamma[channel] * one;
  float sum = 0;
  for (unsigned i = threadIdx.x; i < inner; i += blockDim.x) {
    const unsigned at = channel * inner + i;
    const float value = half ? __uint_as_float(((unsigned)((const u16*)of_folded)[at]) << 16) : ((const float*)of_folded)[at];
    of_weight[at] = value * scale;
    sum += value * weight[at];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) of_gamma[channel] = (sums[0] - of_shift[channel] * mean[channel]) * one;
}

extern "C" __global__ void fold(const float* weight, const float* gamma, const float* beta, const float* mean,
                                const float* variance, float eps, void* folded, float* shift, unsigned inner, int half) {
  fold_channel(blockIdx.x, weight, gamma, beta, mean, variance, eps, folded, shift, inner, half);
}

extern "C" __global__ void fold_backward(const void* of_folded, const float* of_shift, const float* weight,
                                         const float* gamma, const float* mean, const float* variance, float eps,
                                         float* of_weight, float* of_gamma, unsigned inner, int half) {
  fold_channel_backward(blockIdx.x, of_folded, of_shift, weight, gamma, mean, variance, eps, of_weight, of_gamma, inner, half);
}
)cuda";

namespace {

constexpr unsigned THREADS = 256;

Tensor asFloat(const Tensor& tensor) { return tensor.to(at::kFloat).contiguous(); }

void* dataOf(const Tensor& tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; }

unsigned blocksFor(unsigned items, unsigned perBlock, unsigned most) {
  return std::max(1u, std::min(most, (items + perBlock - 1) / perBlock));
}

// Enough to fill the largest GPUs several times.
constexpr unsigned MOST_BLOCKS = 1024;

}  // namespace

Tensor alignedFloats(const Tensor& values) {
  Tensor dense = asFloat(values);
  return reinterpret_cast<uintptr_t>(dense.data_ptr()) % 16 == 0 ? dense : dense.clone();
}

bool isMap(const Tensor& tensor) {
  return tensor.is_cuda() && problem(tensor.device().index()).empty() && tensor.scalar_type() == at::kBFloat16 && tensor.dim() == 4 && tensor.size(1) % 8 == 0 &&
         tensor.numel() > 0 && tensor.numel() / 8 < (int64_t{1} << 31) && tensor.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 16 == 0;
}

bool canFold(const Tensor& weight) {
  return weight.is_cuda() && problem(weight.device().index()).empty() && weight.scalar_type() == at::kFloat && weight.dim() == 4 && weight.numel() > 0 &&
         weight.is_non_overlapping_and_dense() && weight.stride(0) == weight.numel() / weight.size(0);
}

std::tuple<Tensor, Tensor> fold(const Tensor& weight, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                                const Tensor& variance, double eps, bool half) {
  Tensor folded = at::empty_like(weight, weight.options().dtype(half ? at::kBFloat16 : at::kFloat));
  Tensor shift = at::empty_like(gamma);
  Tensor g = asFloat(gamma), b = asFloat(beta), m = asFloat(mean), v = asFloat(variance);
  launch("fold", weight, {static_cast<unsigned>(weight.size(0))}, weight.data_ptr<float>(), g.data_ptr<float>(),
         b.data_ptr<float>(), m.data_ptr<float>(), v.data_ptr<float>(), static_cast<float>(eps), folded.data_ptr(),
         shift.data_ptr<float>(), static_cast<unsigned>(weight.stride(0)), static_cast<int>(half));
  return {folded, shift};
}

std::tuple<Tensor, Tensor> foldBackward(const Tensor& ofFolded, const Tensor& ofShift, const Tensor& weight, const Tensor& gamma,
                                        const Tensor& mean, const Tensor& variance, double eps) {
  bool half = ofFolded.scalar_type() == at::kBFloat16;
  // Use the layout of the weight, whatever the layout of the convolution's gradient.
  Tensor given = ofFolded;
  if (given.strides() != weight.strides() || (!half && given.scalar_type() != at::kFloat)) {
    given = at::empty_like(weight, weight.options().dtype(half ? at::kBFloat16 : at::kFloat));
    given.copy_(ofFolded);
  }
  Tensor ofWeight = at::empty_like(weight), ofGamma = at::empty_like(gamma);
  Tensor s = asFloat(ofShift), g = asFloat(gamma), m = asFloat(mean), v = asFloat(variance);
  launch("fold_backward", weight, {static_cast<unsigned>(weight.size(0))}, given.data_ptr(), s.data_ptr<float>(),
         weight.data_ptr<float>(), g.data_ptr<float>(), m.data_ptr<float>(), v.data_ptr<float>(), static_cast<float>(eps),
         ofWeight.data_ptr<float>(), ofGamma.data_ptr<float>(), static_cast<unsigned>(weight.stride(0)), static_cast<int>(half));
  return {ofWeight, ofGamma};
}

bool canClamp(const Tensor& y, const c10::optional<Tensor>& residual) {
  return isMap(y) && (!residual.has_value() || (isMap(*residual) && residual->sizes() == y.sizes()));
}

bool canUnclamp(const Tensor& gradient, const Tensor& other) { return isMap(gradient) && (!other.defined() || isMap(other)); }

bool canSumRows(const Tensor& x) {
  return x.is_cuda() && problem(x.device().index()).empty() && x.scalar_type() == at::kBFloat16 && x.dim() == 2 &&
         x.is_contiguous() && x.size(1) % 8 == 0 && x.numel() > 0 && x.numel() / 8 < (int64_t{1} << 31) &&
         reinterpret_cast<uintptr_t>(x.data_ptr()) % 16 == 0;
}

Tensor sumRows(const Tensor& x) { return std::get<1>(biasClampBackward(x, Tensor(), Tensor())); }

std::tuple<Tensor, Tensor> biasClamp(const Tensor& y, const Tensor& bias, const c10::optional<Tensor>& residual, double low, double high,
                                     bool learns) {
  Tensor out = at::empty_like(y), add = alignedFloats(bias), mask;
  if (learns && (std::isfinite(low) || std::isfinite(high))) mask = at::empty({y.numel() / 8}, y.options().dtype(at::kByte).memory_format(at::MemoryFormat::Contiguous));
  auto vectors = static_cast<unsigned>(y.numel() / 8);
  launch("bias_clamp", y, {blocksFor(vectors, THREADS, 16 * MOST_BLOCKS)}, y.data_ptr(), add.data_ptr<float>(),
         residual.has_value() ? residual->data_ptr() : static_cast<void*>(nullptr), out.data_ptr(), dataOf(mask), vectors,
         static_cast<unsigned>(y.size(1) / 8), static_cast<float>(low), static_cast<float>(high));
  return {out, mask};
}

RowBlocks::RowBlocks(int64_t rows, int64_t columns) : rows(static_cast<unsigned>(rows)), groups(static_cast<unsigned>(columns / 8)) {
  across = (groups + THREADS - 1) / THREADS;
  span = (groups + across - 1) / across;
  blocks = blocksFor(this->rows, 4 * (THREADS / span), MOST_BLOCKS / across);
  rowsPerBlock = (this->rows + blocks - 1) / blocks;
  blocks = (this->rows + rowsPerBlock - 1) / rowsPerBlock;
}

Tensor addPartials(const Tensor& partial) {
  if (partial.size(0) == 1) return partial[0];
  auto blocks = static_cast<unsigned>(partial.size(0)), channels = static_cast<unsigned>(partial.size(1));
  Tensor total = at::empty({partial.size(1)}, partial.options());
  // With few channels there are few blocks, so each has many threads.
  launch("add_partials", partial, {(channels + 31) / 32, 1, 32, 32}, partial.data_ptr<float>(), total.data_ptr<float>(), blocks,
         channels);
  return total;
}

std::tuple<Tensor, Tensor> biasClampBackward(const Tensor& gradient, const Tensor& other, const Tensor& mask) {
  bool changes = mask.defined() || other.defined();
  Tensor result = changes ? at::empty_like(gradient) : gradient;
  int64_t channels = gradient.size(1);
  RowBlocks split(gradient.numel() / channels, channels);
  Tensor partial = at::empty({split.blocks, channels}, gradient.options().dtype(at::kFloat));
  launch("bias_clamp_backward", gradient, {split.blocks, split.across}, gradient.data_ptr(), dataOf(other), dataOf(mask),
         changes ? result.data_ptr() : static_cast<void*>(nullptr), partial.data_ptr<float>(), split.rows, split.groups, split.span,
         split.rowsPerBlock);
  return {result, addPartials(partial)};
}

#else

bool canFold(const Tensor&) { return false; }
bool canClamp(const Tensor&, const c10::optional<Tensor>&) { return false; }
bool canUnclamp(const Tensor&, const Tensor&) { return false; }
bool canSumRows(const Tensor&) { return false; }

// These are never called, because the functions above return false.
std::tuple<Tensor, Tensor> fold(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, double, bool) {
  return {};
}
std::tuple<Tensor, Tensor> foldBackward(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                        const Tensor&, double) {
  return {};
}
std::tuple<Tensor, Tensor> biasClamp(const Tensor&, const Tensor&, const c10::optional<Tensor>&, double, double, bool) { return {}; }
std::tuple<Tensor, Tensor> biasClampBackward(const Tensor&, const Tensor&, const Tensor&) { return {}; }
Tensor sumRows(const Tensor&) { return {}; }

#endif

}  // namespace nudge::kernels
