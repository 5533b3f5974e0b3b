// nudge::max_pool: max pooling with 3 × 3 windows, stride 2 and padding 1, as after the first convolution of a ResNet,
// differentiable twice. ATen's kernels for channels last store a 64-bit index for each output and add gradients atomically
// in shared memory. On a GPU, for bfloat16 maps in channels-last format, the kernels here store the place in the window as
// one byte, and the backward pass reads at most four windows for each input, in a fixed order. In all other cases it is
// ATen's operator.
#include "cuda-kernels.h"
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace nudge {

using at::Tensor;

#ifdef NUDGE_KERNELS

// It uses the functions of FUSED_SOURCE.
const char* const kernels::MAX_POOL_SOURCE = R"cuda(
struct Pool { unsigned height, width, out_height, out_width, groups; };

// One thread computes eight channels of an output. As in ATen, the first of equal values counts, and NaN is the largest.
extern "C" __global__ void max_pool(const uint4* from, uint4* to, uint2* places, unsigned items, Pool pool) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= items) return;
  const unsigned group = item % pool.groups, column = item / pool.groups % pool.out_width;
  const unsigned line = item / pool.groups / pool.out_width;  // among the rows of all pictures
  const unsigned picture = line / pool.out_height, row = line % pool.out_height;
  float best[8];
  unsigned place[8];
  bool none = true;
#pragma unroll
  for (int ky = 0; ky < 3; ky++) {
    const int y = (int)row * 2 + ky - 1;
    if (y < 0 || y >= (int)pool.height) continue;
#pragma unroll
    for (int kx = 0; kx < 3; kx++) {
      const int x = (int)column * 2 + kx - 1;
      if (x < 0 || x >= (int)pool.width) continue;
      float value[8];
      unpack(from[((picture * pool.height + y) * pool.width + x) * pool.groups + group], value);
      for (int k = 0; k < 8; k++)
        if (none || value[k] > best[k] || value[k] != value[k]) {
          best[k] = value[k];
          place[k] = ky * 3 + kx;
        }
      none = false;
    }
  }
  to[item] = packed(best);
  places[item] = make_uint2(place[0] | (place[1] << 8) | (place[2] << 16) | (place[3] << 24),
                            place[4] | (place[5] << 8) | (place[6] << 16) | (place[7] << 24));
}

// One thread computes eight channels of an input's gradient.
extern "C" __global__ void max_pool_backward(const uint4* gradient, const uint2* places, uint4* to, unsigned items, Pool pool) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= items) return;
  const unsigned group = item % pool.groups, x = item / pool.groups % pool.width;
  const unsigned line = item / pool.groups / pool.width;
  const unsigned picture = line / pool.height, y = line % pool.height;
  float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (unsigned row = y / 2; row <= (y + 1) / 2 && row < pool.out_height; row++)
    for (unsigned column = x / 2; column <= (x + 1) / 2 && column < pool.out_width; column++) {
      const unsigned own = (y + 1 - 2 * row) * 3 + (x + 1 - 2 * column);
      const unsigned at = ((picture * pool.out_height + row) * pool.out_width + column) * pool.groups + group;
      const uint2 place = places[at];
      float value[8];
      unpack(gradient[at], value);
      for (int k = 0; k < 8; k++)
        if ((((k < 4 ? place.x : place.y) >> (8 * (k % 4))) & 255u) == own) sum[k] += value[k];
    }
  to[item] = packed(sum);
}
)cuda";

#endif

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

#ifdef NUDGE_KERNELS

// The argument of the kernels, with the same field order as above.
struct Pool {
  unsigned height, width, outHeight, outWidth, groups;
};

Pool poolOf(const Tensor& x, const Tensor& out) {
  auto size = [](const Tensor& map, int64_t dim) { return static_cast<unsigned>(map.size(dim)); };
  return {size(x, 2), size(x, 3), size(out, 2), size(out, 3), size(x, 1) / 8};
}

unsigned vectorsOf(const Tensor& map) { return static_cast<unsigned>(map.numel() / 8); }

struct MaxPool : torch::autograd::Function<MaxPool> {
  static Variable forward(AutogradContext* context, const Variable& x) {
    at::AutoDispatchBelowADInplaceOrView below;
    Tensor out = at::empty({x.size(0), x.size(1), (x.size(2) - 1) / 2 + 1, (x.size(3) - 1) / 2 + 1},
                           x.options().memory_format(at::MemoryFormat::ChannelsLast));
    Tensor places = at::empty({out.numel()}, x.options().dtype(at::kByte));
    kernels::launch("max_pool", x, {(vectorsOf(out) + 255) / 256}, x.data_ptr(), out.data_ptr(), places.data_ptr(), vectorsOf(out), poolOf(x, out));
    context->save_for_backward({x, places});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable& x = saved[0];
    if (at::GradMode::is_enabled()) {  // for a second derivative
      Tensor indices = std::get<1>(at::max_pool2d_with_indices(x.detach(), {3, 3}, {2, 2}, {1, 1}));
      return {at::max_pool2d_with_indices_backward(gradients[0], x, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false, indices)};
    }
    Tensor given = gradients[0].contiguous(at::MemoryFormat::ChannelsLast), result = at::empty_like(x);
    kernels::launch("max_pool_backward", x, {(vectorsOf(x) + 255) / 256}, given.data_ptr(), saved[1].data_ptr(), result.data_ptr(), vectorsOf(x),
                    poolOf(x, given));
    return {result};
  }
};

#endif

Tensor maxPool(const Tensor& x) {
#ifdef NUDGE_KERNELS
  if (kernels::isMap(x)) return MaxPool::apply(x);
#endif
  return at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) { library.def("max_pool(Tensor x) -> Tensor", maxPool); }

}  // namespace nudge
