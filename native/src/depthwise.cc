// nudge::depthwise: a depthwise 3 × 3 convolution with padding 1 and stride 1 or 2, differentiable twice. On a GPU,
// bfloat16 tensors in channels-last format use custom kernels: the operation is limited by memory bandwidth, and cuDNN
// is far from that limit. In all other cases it is ATen's convolution.
//
// Forward pass and gradient of the input: one thread computes a strip of a row for eight channels, so that shared
// inputs are read once and threads share nothing. Gradient of the weight: one thread moves along rows with the nine
// sums of four channels. The sums of the threads are added in a fixed order, so that the result is reproducible.
//
// nudge::depthwise_clamp: clamp(depthwise(x, weight) + bias), with the same result as a separate bias_clamp. It saves
// one pass over the feature map in both the forward and the backward pass. The kernel for the weight's gradient also
// masks the gradient of the output and sums the gradient of the bias.
#include "conv-gradients.h"
#include "cuda-kernels.h"
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>

namespace nudge {

using at::Tensor;

#ifdef NUDGE_KERNELS

// Compiled after FUSED_SOURCE, whose packing it uses. Only explicit FMA calls are fused. `taps` are [9, channels].
const char* const kernels::DEPTHWISE_SOURCE = R"cuda(
struct Maps { unsigned from_height, from_width, to_height, to_width, groups; };

// The operations after the convolution. A plain convolution has none. `mask` is that of bias_clamp, and may be null.
struct Clamp { const float* bias; unsigned char* mask; float low, high; };

// Computes a strip of a row of the target. With flipped taps it computes the input's gradient for stride 1.
template <int STRIDE, bool FLIPPED, bool CLAMPED>
__device__ void strip_forward(const uint4* from, const uint4* taps, uint4* to, unsigned items, Maps maps, Clamp clamp) {
  constexpr int STRIP = STRIDE == 1 ? 7 : 4;  // the feature maps of a 224 × 224 picture are 7, 14, 28 … wide
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= items) return;
  const unsigned strips = (maps.to_width + STRIP - 1) / STRIP;
  const unsigned group = item % maps.groups, first = item / maps.groups % strips * STRIP;
  const unsigned line = item / maps.groups / strips;  // among the rows of all pictures
  const unsigned picture = line / maps.to_height, row = line % maps.to_height;
  float sums[STRIP][8] = {};
#pragma unroll
  for (int ky = 0; ky < 3; ky++) {
    const int y = (int)row * STRIDE + ky - 1;
    if (y < 0 || y >= (int)maps.from_height) continue;
    float weights[3][8];
    for (int kx = 0; kx < 3; kx++) {
      const int tap = ky * 3 + kx;
      unpack(taps[(FLIPPED ? 8 - tap : tap) * maps.groups + group], weights[kx]);
    }
    const uint4* source = from + (picture * maps.from_height + y) * maps.from_width * maps.groups + group;
#pragma unroll
    for (int j = 0; j < (STRIP - 1) * STRIDE + 3; j++) {
      const int x = (int)first * STRIDE + j - 1;
      float value[8];
      unpack(x >= 0 && x < (int)maps.from_width ? source[x * maps.groups] : make_uint4(0, 0, 0, 0), value);
#pragma unroll
      for (int kx = 0; kx < 3; kx++) {
        const int place = (j - kx) / STRIDE;
        if (j < kx || (j - kx) % STRIDE != 0 || place >= STRIP) continue;
        for (int k = 0; k < 8; k++) sums[place][k] = __fmaf_rn(value[k], weights[kx][k], sums[place][k]);
      }
    }
  }
  if (CLAMPED) {
    float bias[8];
    load_eight(clamp.bias + 8 * group, bias);
#pragma unroll
    for (int place = 0; place < STRIP; place++) {
      unpack(packed(sums[place]), sums[place]);  // rounded in between, as with two operators
      for (int k = 0; k < 8; k++) sums[place][k] = clamped(sums[place][k] + bias[k], clamp.low, clamp.high);
    }
  }
#pragma unroll
  for (int place = 0; place < STRIP; place++)
    if (first + place < maps.to_width) {
      const unsigned at = (line * maps.to_width + first + place) * maps.groups + group;
      const uint4 made = packed(sums[place]);
      to[at] = made;
      if (CLAMPED && clamp.mask) {
        unpack(made, sums[place]);
        clamp.mask[at] = inside(sums[place], clamp.low, clamp.high);
      }
    }
}

extern "C" __global__ void __launch_bounds__(256, 2) depthwise_1(const uint4* from, const uint4* taps, uint4* to, unsigned items, Maps maps) {
  strip_forward<1, false, false>(from, taps, to, items, maps, Clamp());
}
extern "C" __global__ void __launch_bounds__(256, 2) depthwise_2(const uint4* from, const uint4* taps, uint4* to, unsigned items, Maps maps) {
  strip_forward<2, false, false>(from, taps, to, items, maps, Clamp());
}
extern "C" __global__ void __launch_bounds__(256, 2) depthwise_clamp_1(const uint4* from, const uint4* taps, uint4* to, unsigned items, Maps maps, Clamp clamp) {
  strip_forward<1, false, true>(from, taps, to, items, maps, clamp);
}
extern "C" __global__ void __launch_bounds__(256, 2) depthwise_clamp_2(const uint4* from, const uint4* taps, uint4* to, unsigned items, Maps maps, Clamp clamp) {
  strip_forward<2, false, true>(from, taps, to, items, maps, clamp);
}
extern "C" __global__ void __launch_bounds__(256, 2) depthwise_map_1(const uint4* from, const uint4* taps, uint4* to, unsigned items, Maps maps) {
  strip_forward<1, true, false>(from, taps, to, items, maps, Clamp());
}

// The input's gradient for stride 2: eight positions of a row, from at most five positions in each of at most two rows.
extern "C" __global__ void __launch_bounds__(256, 2) depthwise_map_2(const uint4* from, const uint4* taps, uint4* to, unsigned items, Maps maps) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= items) return;
  const unsigned strips = (maps.to_width + 7) / 8;
  const unsigned group = item % maps.groups, strip = item / maps.groups % strips;
  const unsigned line = item / maps.groups / strips;
  const unsigned picture = line / maps.to_height, row = line % maps.to_height;
  float sums[8][8] = {};
#pragma unroll
  for (int ky = 0; ky < 3; ky++) {
    const int twice = (int)row + 1 - ky;
    if (twice < 0 || twice % 2 != 0 || twice / 2 >= (int)maps.from_height) continue;
    float weights[3][8];
    for (int kx = 0; kx < 3; kx++) unpack(taps[(ky * 3 + kx) * maps.groups + group], weights[kx]);
    const uint4* source = from + (picture * maps.from_height + twice / 2) * maps.from_width * maps.groups + group;
#pragma unroll
    for (int j = 0; j < 5; j++) {
      const unsigned x = strip * 4 + j;
      float value[8];
      unpack(x < maps.from_width ? source[x * maps.groups] : make_uint4(0, 0, 0, 0), value);
#pragma unroll
      for (int kx = 0; kx < 3; kx++) {
        const int place = 2 * j - 1 + kx;
        if (place < 0 || place >= 8) continue;
        for (int k = 0; k < 8; k++) sums[place][k] = __fmaf_rn(value[k], weights[kx][k], sums[place][k]);
      }
    }
  }
#pragma unroll
  for (int place = 0; place < 8; place++) {
    const unsigned x = strip * 8 + place;
    if (x < maps.to_width) to[(line * maps.to_width + x) * maps.groups + group] = packed(sums[place]);
  }
}

__device__ void unpack_four(uint2 from, float* to) {
  to[0] = low_half(from.x); to[1] = high_half(from.x); to[2] = low_half(from.y); to[3] = high_half(from.y);
}

// As add_rows, for several sums at once and with one synchronization. Each goes to a row of `to` [SUMS, groups · EACH].
template <int SUMS, int EACH>
__device__ void add_all_rows(float (*sum)[EACH], unsigned place, unsigned span, unsigned groups, float* to) {
  __shared__ float sums[SUMS * EACH * 256];
  const unsigned height = blockDim.x / span;
#pragma unroll
  for (int s = 0; s < SUMS; s++)
    for (int k = 0; k < EACH; k++) sums[(s * EACH + k) * 256 + threadIdx.x] = sum[s][k];
  __syncthreads();
  for (unsigned j = threadIdx.x; j < span * SUMS * EACH; j += blockDim.x) {
    const unsigned k = j % EACH, which = j / EACH % span, s = j / EACH / span;
    if (place * span + which >= groups) continue;
    float total = 0;
    for (unsigned r = 0; r < height; r++) total += sums[(s * EACH + k) * 256 + r * span + which];
    to[(s * groups + place * span + which) * EACH + k] = total;
  }
}

// `mask` is that of bias_clamp. The gradient is 0 where its bit is 0. The masked gradient is written to `to`.
struct Masked { const unsigned char* mask; uint2* to; };

// `map` is the input and `gradient` is the gradient of the output. Here, a group in `maps.groups` has four channels. The layout of
// blocks is that of bias_clamp_backward. The sums are written to `partial` [blocks, 9, channels] or, with a mask,
// [blocks, 10, channels], where the last sum is that of the bias. What the next position needs is read before the sums of this
// position, so that threads wait less.
template <int STRIDE, bool MASKED>
__device__ void weight_sums(const uint2* __restrict__ map, const uint2* __restrict__ gradient, float* partial, unsigned lines,
                            unsigned span, unsigned lines_a_block, Maps maps, const unsigned char* __restrict__ mask,
                            uint2* __restrict__ to) {
  constexpr int SUMS = MASKED ? 10 : 9;
  const unsigned height = blockDim.x / span;
  const unsigned own = threadIdx.x % span, first = threadIdx.x / span;
  const unsigned group = blockIdx.y * span + own;
  const unsigned half = group % 2 * 4;  // a byte of the mask has the bits of two groups
  const uint2 nothing = make_uint2(0, 0);
  float sums[SUMS][4] = {};
  if (first < height && group < maps.groups) {
    const unsigned end = min(lines, (blockIdx.x + 1) * lines_a_block);
    for (unsigned line = blockIdx.x * lines_a_block + first; line < end; line += height) {
      const unsigned picture = line / maps.to_height, row = line % maps.to_height;
      const uint2* source = map + picture * maps.from_height * maps.from_width * maps.groups + group;
      unsigned at = line * maps.to_width * maps.groups + group;
      bool there[3];
      unsigned begin[3];
      // The columns left, in the middle and right of a position, and those that the next position needs.
      uint2 left[3], middle[3], right[3], coming[3][STRIDE], given = gradient[at];
      unsigned bits = MASKED ? mask[at / 2] : 0;
#pragma unroll
      for (int ky = 0; ky < 3; ky++) {
        const int y = (int)row * STRIDE + ky - 1;
        there[ky] = y >= 0 && y < (int)maps.from_height;
        begin[ky] = there[ky] ? y * maps.from_width : 0;
        middle[ky] = nothing;
        right[ky] = STRIDE == 1 && there[ky] ? source[begin[ky] * maps.groups] : nothing;
#pragma unroll
        for (int j = 0; j < STRIDE; j++) {
          const unsigned x = STRIDE == 1 ? 1 : j;
          coming[ky][j] = there[ky] && x < maps.from_width ? source[(begin[ky] + x) * maps.groups] : nothing;
        }
      }
#pragma unroll 2
      for (unsigned x = 0; x < maps.to_width; x++) {
        const uint2 here = MASKED ? make_uint2(kept(given.x, bits >> half), kept(given.y, bits >> (half + 2))) : given;
        const unsigned now = at;
#pragma unroll
        for (int ky = 0; ky < 3; ky++) {
          left[ky] = STRIDE == 1 ? middle[ky] : right[ky];
          middle[ky] = STRIDE == 1 ? right[ky] : coming[ky][0];
          right[ky] = coming[ky][STRIDE - 1];
        }
        if (x + 1 < maps.to_width) {
          at += maps.groups;
          given = gradient[at];
          if (MASKED) bits = mask[at / 2];
#pragma unroll
          for (int ky = 0; ky < 3; ky++)
#pragma unroll
            for (int j = 0; j < STRIDE; j++) {
              const unsigned column = STRIDE == 1 ? x + 2 : 2 * x + 2 + j;
              coming[ky][j] = there[ky] && column < maps.from_width ? source[(begin[ky] + column) * maps.groups] : nothing;
            }
        }
        float value[4];
        unpack_four(here, value);
        if (MASKED) {
          to[now] = here;
          for (int k = 0; k < 4; k++) sums[SUMS - 1][k] += value[k];
        }
#pragma unroll
        for (int ky = 0; ky < 3; ky++) {
          float a[4], b[4], c[4];
          unpack_four(left[ky], a);
          unpack_four(middle[ky], b);
          unpack_four(right[ky], c);
          for (int k = 0; k < 4; k++) {
            sums[ky * 3][k] = __fmaf_rn(value[k], a[k], sums[ky * 3][k]);
            sums[ky * 3 + 1][k] = __fmaf_rn(value[k], b[k], sums[ky * 3 + 1][k]);
            sums[ky * 3 + 2][k] = __fmaf_rn(value[k], c[k], sums[ky * 3 + 2][k]);
          }
        }
      }
    }
  }
  add_all_rows<SUMS, 4>(sums, blockIdx.y, span, maps.groups, partial + blockIdx.x * SUMS * maps.groups * 4);
}

extern "C" __global__ void __launch_bounds__(256, 2) depthwise_weight_1(const uint2* map, const uint2* gradient, float* partial, unsigned lines,
                                              unsigned span, unsigned lines_a_block, Maps maps) {
  weight_sums<1, false>(map, gradient, partial, lines, span, lines_a_block, maps, nullptr, nullptr);
}
extern "C" __global__ void __launch_bounds__(256, 2) depthwise_weight_2(const uint2* map, const uint2* gradient, float* partial, unsigned lines,
                                              unsigned span, unsigned lines_a_block, Maps maps) {
  weight_sums<2, false>(map, gradient, partial, lines, span, lines_a_block, maps, nullptr, nullptr);
}
extern "C" __global__ void __launch_bounds__(256, 2) depthwise_masked_1(const uint2* map, const uint2* gradient, float* partial, unsigned lines,
                                              unsigned span, unsigned lines_a_block, Maps maps, Masked masked) {
  weight_sums<1, true>(map, gradient, partial, lines, span, lines_a_block, maps, masked.mask, masked.to);
}
extern "C" __global__ void __launch_bounds__(256, 2) depthwise_masked_2(const uint2* map, const uint2* gradient, float* partial, unsigned lines,
                                              unsigned span, unsigned lines_a_block, Maps maps, Masked masked) {
  weight_sums<2, true>(map, gradient, partial, lines, span, lines_a_block, maps, masked.mask, masked.to);
}

// As add_partials, but for `partial` [blocks, count, channels]: the first nine sums become `weight` [channels, 9] and the tenth `bias`.
extern "C" __global__ void add_taps(const float* partial, u16* weight, float* bias, unsigned blocks, unsigned channels, unsigned count) {
  const unsigned column = blockIdx.x * 32 + threadIdx.x, columns = count * channels;
  const float sum = column_sum(partial, blocks, columns, column);
  if (threadIdx.y != 0 || column >= columns) return;
  const unsigned tap = column / channels, channel = column % channels;
  if (tap < 9) weight[channel * 9 + tap] = rounded(sum);
  else bias[channel] = sum;
}
)cuda";

#endif

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

#ifdef NUDGE_KERNELS

// The arguments of the kernels, with the same field order as above.
struct Maps {
  unsigned fromHeight, fromWidth, toHeight, toWidth, groups;
};
struct Clamp {
  const float* bias;
  void* mask;
  float low, high;
};
struct Masked {
  const void* mask;
  void* to;
};

Maps mapsOf(const Tensor& from, const Tensor& to, int64_t channelsPerGroup) {
  auto size = [](const Tensor& map, int64_t dim) { return static_cast<unsigned>(map.size(dim)); };
  return {size(from, 2), size(from, 3), size(to, 2), size(to, 3), static_cast<unsigned>(from.size(1) / channelsPerGroup)};
}

Tensor emptyMap(const Tensor& like, int64_t height, int64_t width) {
  return at::empty({like.size(0), like.size(1), height, width}, like.options().memory_format(at::MemoryFormat::ChannelsLast));
}

unsigned linesOf(const Tensor& map) { return static_cast<unsigned>(map.size(0) * map.size(2)); }

// Launches one of the kernels that compute strips of a row.
template <typename... More>
void makeStrips(const char* name, const Tensor& from, const Tensor& taps, const Tensor& to, unsigned strip, More... more) {
  Maps maps = mapsOf(from, to, 8);
  unsigned items = linesOf(to) * ((maps.toWidth + strip - 1) / strip) * maps.groups;
  kernels::launch(name, from, {(items + 255) / 256}, from.data_ptr(), taps.data_ptr(), to.data_ptr(), items, maps, more...);
}

Tensor tapsOf(const Tensor& weight) { return weight.reshape({-1, 9}).t().contiguous(); }

Tensor emptyOutput(const Tensor& x, int64_t stride) {
  return emptyMap(x, (x.size(2) - 1) / stride + 1, (x.size(3) - 1) / stride + 1);
}

Tensor mapGradient(const Tensor& x, const Tensor& gradient, const Tensor& taps, int64_t stride) {
  Tensor result = at::empty_like(x);
  if (stride == 1)
    makeStrips("depthwise_map_1", gradient, taps, result, 7);
  else
    makeStrips("depthwise_map_2", gradient, taps, result, 8);
  return result;
}

// Returns the gradient of the weight and, if there is a mask, of the bias in float32: sums over all positions of a channel.
template <typename... More>
std::tuple<Tensor, Tensor> weightGradients(const char* name, const Tensor& x, const Tensor& gradient, const Tensor& weight, More... more) {
  constexpr unsigned count = 9 + sizeof...(More);  // of the sums: nine taps and, with a mask, the bias
  Maps maps = mapsOf(x, gradient, 4);
  unsigned lines = linesOf(gradient), channels = 4 * maps.groups;
  unsigned across = (maps.groups + 31) / 32, span = (maps.groups + across - 1) / across, height = 256 / span;
  // Enough blocks to fill the largest GPUs. More blocks would mean more partial sums.
  unsigned blocks = std::max(1u, std::min((lines + height - 1) / height, 1024 / across));
  unsigned linesPerBlock = (lines + blocks - 1) / blocks;
  blocks = (lines + linesPerBlock - 1) / linesPerBlock;
  auto inFloat = x.options().dtype(at::kFloat);
  Tensor partial = at::empty({blocks, count * channels}, inFloat);
  kernels::launch(name, x, {blocks, across}, x.data_ptr(), gradient.data_ptr(), partial.data_ptr<float>(), lines, span,
                  linesPerBlock, maps, more...);
  Tensor ofWeight = at::empty({channels, 1, 3, 3}, weight.options()), ofBias = at::empty({count > 9 ? channels : 0}, inFloat);
  kernels::launch("add_taps", x, {(count * channels + 31) / 32, 1, 32, 32}, partial.data_ptr<float>(), ofWeight.data_ptr(),
                  ofBias.data_ptr<float>(), blocks, channels, count);
  return {ofWeight, ofBias};
}

Tensor weightGradient(const Tensor& x, const Tensor& gradient, const Tensor& weight, int64_t stride) {
  return std::get<0>(weightGradients(stride == 1 ? "depthwise_weight_1" : "depthwise_weight_2", x, gradient, weight));
}

struct Depthwise : torch::autograd::Function<Depthwise> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight, int64_t stride) {
    at::AutoDispatchBelowADInplaceOrView below;
    Tensor taps = tapsOf(weight), y = emptyOutput(x, stride);
    if (stride == 1)
      makeStrips("depthwise_1", x, taps, y, 7);
    else
      makeStrips("depthwise_2", x, taps, y, 4);
    context->save_for_backward({x, weight, taps});
    context->saved_data["stride"] = stride;
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &x = saved[0], &weight = saved[1];
    int64_t stride = context->saved_data["stride"].toInt();
    Variable none;
    if (at::GradMode::is_enabled()) {  // for a second derivative
      auto [ofX, ofWeight] = convGradients(gradients[0], x, weight, {stride, 1, x.size(1)}, true, true);
      return {ofX, ofWeight, none};
    }
    Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    return {mapGradient(x, gradient, saved[2], stride), weightGradient(x, gradient, weight, stride), none};
  }
};

struct DepthwiseClamp : torch::autograd::Function<DepthwiseClamp> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight, const Variable& bias, int64_t stride,
                          double low, double high, bool learns) {
    at::AutoDispatchBelowADInplaceOrView below;
    Tensor taps = tapsOf(weight), out = emptyOutput(x, stride), add = kernels::alignedFloats(bias), mask;
    if (learns) mask = at::empty({out.numel() / 8}, at::device(x.device()).dtype(at::kByte));
    Clamp clamp = {add.data_ptr<float>(), learns ? mask.data_ptr() : nullptr, static_cast<float>(low), static_cast<float>(high)};
    if (stride == 1)
      makeStrips("depthwise_clamp_1", x, taps, out, 7, clamp);
    else
      makeStrips("depthwise_clamp_2", x, taps, out, 4, clamp);
    context->save_for_backward({x, weight, taps, out, mask});
    context->saved_data["stride"] = stride;
    context->saved_data["low"] = low;
    context->saved_data["high"] = high;
    context->saved_data["dtype"] = static_cast<int64_t>(bias.scalar_type());
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &x = saved[0], &weight = saved[1], &out = saved[3];
    int64_t stride = context->saved_data["stride"].toInt();
    double low = context->saved_data["low"].toDouble(), high = context->saved_data["high"].toDouble();
    auto dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
    Variable none;
    if (at::GradMode::is_enabled()) {  // for a second derivative
      auto [masked, ofBias] = clampGradients(gradients[0], out, saved[4], low, high);
      auto [ofX, ofWeight] = convGradients(masked, x, weight, {stride, 1, x.size(1)}, true, true);
      return {ofX, ofWeight, ofBias.to(dtype), none, none, none, none};
    }
    Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast), masked = at::empty_like(gradient);
    Masked arguments = {saved[4].data_ptr(), masked.data_ptr()};
    const char* name = stride == 1 ? "depthwise_masked_1" : "depthwise_masked_2";
    auto [ofWeight, ofBias] = weightGradients(name, x, gradient, weight, arguments);
    return {mapGradient(x, masked, saved[2], stride), ofWeight, ofBias.to(dtype), none, none, none, none};
  }
};

bool known(const Tensor& x, const Tensor& weight, int64_t stride) {
  return kernels::isMap(x) && weight.is_cuda() && weight.scalar_type() == at::kBFloat16 && (stride == 1 || stride == 2);
}

#endif

void checkShapes(const Tensor& x, const Tensor& weight) {
  TORCH_CHECK(x.dim() == 4 && weight.dim() == 4 && weight.size(0) == x.size(1) && weight.size(1) == 1 && weight.size(2) == 3 && weight.size(3) == 3,
              "depthwise: expected a map [n, c, h, w] and weights [c, 1, 3, 3], got ", x.sizes(), " and ", weight.sizes());
}

Tensor depthwiseClamp(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, double low, double high) {
  checkShapes(x, weight);
  TORCH_CHECK(bias.dim() == 1 && bias.size(0) == x.size(1), "depthwise_clamp: expected a bias [", x.size(1), "], got ", bias.sizes());
#ifdef NUDGE_KERNELS
  if (known(x, weight, stride) && bias.is_cuda()) {
    bool learns = at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad() || bias.requires_grad());
    return DepthwiseClamp::apply(x, weight, bias, stride, low, high, learns);
  }
#endif
  return biasClamp(depthwise(x, weight, stride), bias, c10::nullopt, low, high);
}

}  // namespace

Tensor depthwise(const Tensor& x, const Tensor& weight, int64_t stride) {
  checkShapes(x, weight);
#ifdef NUDGE_KERNELS
  if (known(x, weight, stride)) return Depthwise::apply(x, weight, stride);
#endif
  return twiceConv2d(x, weight, c10::nullopt, {stride, 1, x.size(1)});
}

#ifdef NUDGE_KERNELS

bool hasDepthwiseKernels(const Tensor& gradient, const Tensor& x, const Tensor& weight, int64_t stride) {
  return known(x, weight, stride) && kernels::isMap(gradient);
}

std::tuple<Tensor, Tensor> depthwiseGradients(const Tensor& gradient, const Tensor& x, const Tensor& weight, int64_t stride) {
  return {mapGradient(x, gradient, tapsOf(weight), stride), weightGradient(x, gradient, weight, stride)};
}

#else

bool hasDepthwiseKernels(const Tensor&, const Tensor&, const Tensor&, int64_t) { return false; }

// It is never called, because the function above returns false.
std::tuple<Tensor, Tensor> depthwiseGradients(const Tensor&, const Tensor&, const Tensor&, int64_t) { return {}; }

#endif

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def("depthwise(Tensor x, Tensor weight, int stride) -> Tensor", depthwise);
  library.def("depthwise_clamp(Tensor x, Tensor weight, Tensor bias, int stride, float low, float high) -> Tensor", depthwiseClamp);
}

}  // namespace nudge
