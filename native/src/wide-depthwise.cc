// nudge::wide_depthwise: a depthwise 5 × 5 or 7 × 7 convolution with stride 1, the same size as its input and an optional
// bias, differentiable twice. On a GPU, bfloat16 tensors in channels-last format use custom kernels for the forward pass
// and the gradient of the input, and cuDNN for the gradient of the weight. In all other cases it is ATen's convolution.
//
// One thread computes a strip of a row for four channels, row by row of the kernel, so that each input that is read is used
// for up to seven outputs. The bias is added in the same pass.
#include "conv-gradients.h"
#include "cuda-kernels.h"
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace nudge {

using at::Tensor;

#ifdef NUDGE_KERNELS

// It uses the functions of FUSED_SOURCE and DEPTHWISE_SOURCE. `taps` are [SIZE², channels].
const char* const kernels::WIDE_DEPTHWISE_SOURCE = R"cuda(
struct Wide { unsigned height, width, groups; };

// With flipped taps it computes the input's gradient.
template <int SIZE, bool FLIPPED>
__device__ void wide_strip(const uint2* from, const uint2* taps, const float* bias, uint2* to, unsigned items, Wide map) {
  constexpr int STRIP = 7, HALF = SIZE / 2;  // the feature maps of a 224 × 224 picture are 7, 14, 28 … wide
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= items) return;
  const unsigned strips = (map.width + STRIP - 1) / STRIP;
  const unsigned group = item % map.groups, first = item / map.groups % strips * STRIP;
  const unsigned line = item / map.groups / strips;  // among the rows of all pictures
  const unsigned picture = line / map.height, row = line % map.height;
  float sums[STRIP][4] = {};
#pragma unroll 1
  for (int ky = 0; ky < SIZE; ky++) {
    const int y = (int)row + ky - HALF;
    if (y < 0 || y >= (int)map.height) continue;
    float weights[SIZE][4];
#pragma unroll
    for (int kx = 0; kx < SIZE; kx++) {
      const int tap = ky * SIZE + kx;
      unpack_four(taps[(FLIPPED ? SIZE * SIZE - 1 - tap : tap) * map.groups + group], weights[kx]);
    }
    const uint2* source = from + (picture * map.height + y) * map.width * map.groups + group;
#pragma unroll
    for (int j = 0; j < STRIP + SIZE - 1; j++) {
      const int x = (int)first + j - HALF;
      float value[4];
      unpack_four(x >= 0 && x < (int)map.width ? source[x * map.groups] : make_uint2(0, 0), value);
#pragma unroll
      for (int kx = 0; kx < SIZE; kx++) {
        const int place = j - kx;
        if (place < 0 || place >= STRIP) continue;
        for (int k = 0; k < 4; k++) sums[place][k] = __fmaf_rn(value[k], weights[kx][k], sums[place][k]);
      }
    }
  }
  float add[4] = {0, 0, 0, 0};
  if (bias)
    for (int k = 0; k < 4; k++) add[k] = bias[4 * group + k];
#pragma unroll
  for (int place = 0; place < STRIP; place++)
    if (first + place < map.width)
      to[(line * map.width + first + place) * map.groups + group] =
          make_uint2(pack(sums[place][0] + add[0], sums[place][1] + add[1]), pack(sums[place][2] + add[2], sums[place][3] + add[3]));
}

extern "C" __global__ void __launch_bounds__(256) wide_depthwise_5(const uint2* from, const uint2* taps, const float* bias, uint2* to, unsigned items, Wide map) {
  wide_strip<5, false>(from, taps, bias, to, items, map);
}
extern "C" __global__ void __launch_bounds__(256) wide_depthwise_7(const uint2* from, const uint2* taps, const float* bias, uint2* to, unsigned items, Wide map) {
  wide_strip<7, false>(from, taps, bias, to, items, map);
}
extern "C" __global__ void __launch_bounds__(256) wide_depthwise_5_map(const uint2* from, const uint2* taps, const float* bias, uint2* to, unsigned items, Wide map) {
  wide_strip<5, true>(from, taps, bias, to, items, map);
}
extern "C" __global__ void __launch_bounds__(256) wide_depthwise_7_map(const uint2* from, const uint2* taps, const float* bias, uint2* to, unsigned items, Wide map) {
  wide_strip<7, true>(from, taps, bias, to, items, map);
}
)cuda";

#endif

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

#ifdef NUDGE_KERNELS

// The argument of the kernels, with the same field order as above.
struct Wide {
  unsigned height, width, groups;
};

bool known(const Tensor& x, const Tensor& weight) {
  return kernels::isMap(x) && weight.is_cuda() && weight.scalar_type() == at::kBFloat16 &&
         (weight.size(2) == 5 || weight.size(2) == 7);
}

Tensor strips(const char* name, const Tensor& from, const Tensor& weight, const Tensor& bias) {
  Tensor taps = weight.reshape({weight.size(0), -1}).t().contiguous(), to = at::empty_like(from);
  Wide map = {static_cast<unsigned>(from.size(2)), static_cast<unsigned>(from.size(3)), static_cast<unsigned>(from.size(1) / 4)};
  unsigned items = static_cast<unsigned>(from.size(0)) * map.height * ((map.width + 6) / 7) * map.groups;
  kernels::launch(name, from, {(items + 255) / 256}, from.data_ptr(), taps.data_ptr(),
                  static_cast<const float*>(bias.defined() ? bias.data_ptr<float>() : nullptr), to.data_ptr(), items, map);
  return to;
}

struct WideDepthwise : torch::autograd::Function<WideDepthwise> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight, const c10::optional<Variable>& bias) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, weight});
    context->saved_data["bias"] = bias.has_value();
    if (bias.has_value()) context->saved_data["dtype"] = static_cast<int64_t>(bias->scalar_type());
    Tensor add = bias.has_value() ? bias->to(at::kFloat).contiguous() : Tensor();
    return strips(weight.size(2) == 5 ? "wide_depthwise_5" : "wide_depthwise_7", x, weight, add);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &x = saved[0], &weight = saved[1];
    int64_t size = weight.size(2), channels = x.size(1);
    bool needsX = context->needs_input_grad(0), needsWeight = context->needs_input_grad(1), twice = at::GradMode::is_enabled();
    Tensor given = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    Variable ofX, ofWeight, ofBias;
    if (twice || needsWeight)
      std::tie(ofX, ofWeight) = convGradients(given, x, weight, {1, size / 2, channels}, needsX && twice, needsWeight);
    if (needsX && !twice) ofX = strips(size == 5 ? "wide_depthwise_5_map" : "wide_depthwise_7_map", given, weight, Tensor());
    if (context->saved_data["bias"].toBool()) {
      Tensor rows = given.permute({0, 2, 3, 1}).reshape({-1, channels});
      auto dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
      ofBias = !twice && kernels::canSumRows(rows) ? kernels::sumRows(rows).to(dtype) : rows.sum(0, false, dtype);
    }
    return {ofX, ofWeight, ofBias};
  }
};

#endif

Tensor wideDepthwise(const Tensor& x, const Tensor& weight, const c10::optional<Tensor>& bias) {
  TORCH_CHECK(x.dim() == 4 && weight.dim() == 4 && x.size(1) > 0 && weight.size(0) == x.size(1) && weight.size(1) == 1 && weight.size(2) == weight.size(3) &&
                  weight.size(2) % 2 == 1 && (!bias.has_value() || (bias->dim() == 1 && bias->size(0) == x.size(1))),
              "wide_depthwise: expected a map [n, c, h, w], weights [c, 1, k, k] with an odd k and a bias [c], got ", x.sizes(), " and ",
              weight.sizes());
#ifdef NUDGE_KERNELS
  if (known(x, weight)) return WideDepthwise::apply(x, weight, bias);
#endif
  c10::optional<Tensor> add;
  if (bias.has_value()) add = bias->to(x.scalar_type());
  return twiceConv2d(x, weight, add, {1, weight.size(2) / 2, x.size(1)});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def("wide_depthwise(Tensor x, Tensor weight, Tensor? bias) -> Tensor", wideDepthwise);
}

}  // namespace nudge
