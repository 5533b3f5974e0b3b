// Operators for factors per channel, differentiable twice:
//
//  nudge::channel_mean   the mean of each channel of a map [n, c, h, w], and the map itself: the gradients of the two are
//                        added in one pass
//  nudge::channel_scale  x · s for a map and factors [n, c], as in squeeze-excitation
//  nudge::scale_add      x + (branch · γ) · keep: layer scale, stochastic depth and the residual connection
//
// ATen's kernels for such broadcasts do not read vectors, and each gradient needs a product and a reduction. Here the
// backward pass reads each map once, and adds partial sums in a fixed order. On other devices, and for layouts that the
// kernels do not support, ATen's operators give the same result up to rounding.
#include "cuda-kernels.h"
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>

namespace nudge {

using at::Tensor;

#ifdef NUDGE_KERNELS

// It uses the functions of FUSED_SOURCE and LAYER_NORM_SOURCE.
const char* const kernels::CHANNEL_FACTORS_SOURCE = R"cuda(
// A group is eight channels, blockIdx.y is the picture, and a picture has `vectors` groups in all its pixels.
extern "C" __global__ void channel_scale(const uint4* x, const uint4* factors, uint4* out, unsigned vectors, unsigned groups) {
  const unsigned begin = blockIdx.y * vectors;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
    float value[8], factor[8];
    unpack(x[begin + i], value);
    unpack(factors[blockIdx.y * groups + i % groups], factor);
    for (int k = 0; k < 8; k++) value[k] *= factor[k];
    out[begin + i] = packed(value);
  }
}

// Adds gradients of the means, divided by the number of pixels, to the gradient of the map.
extern "C" __global__ void channel_mean_backward(const uint4* gradient, const float* of_mean, uint4* out, unsigned vectors,
                                                 unsigned groups) {
  const unsigned begin = blockIdx.y * vectors;
  const float part = 1.0f / (vectors / groups);
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
    float value[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    if (gradient) unpack(gradient[begin + i], value);
    const float* add = of_mean + 8 * (blockIdx.y * groups + i % groups);
    for (int k = 0; k < 8; k++) value[k] += add[k] * part;
    out[begin + i] = packed(value);
  }
}

// A block processes `span` adjacent groups of a picture and some of its pixels, as in bias_clamp_backward. blockIdx.x is
// part · across + the place of the groups, and blockIdx.y the picture. The sums over the pixels are written to `partial`
// [parts, pictures, channels].
extern "C" __global__ void channel_scale_backward(const uint4* gradient, const uint4* x, const uint4* factors, uint4* result,
                                                  float* partial, unsigned pixels, unsigned groups, unsigned span,
                                                  unsigned across, unsigned pixels_a_block) {
  const unsigned height = blockDim.x / span;
  const unsigned own = threadIdx.x % span, first = threadIdx.x / span;
  const unsigned part = blockIdx.x / across, place = blockIdx.x % across, picture = blockIdx.y;
  const unsigned group = place * span + own;
  float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  if (first < height && group < groups) {
    float factor[8];
    unpack(factors[picture * groups + group], factor);
    const unsigned end = min(pixels, (part + 1) * pixels_a_block);
#pragma unroll 4
    for (unsigned pixel = part * pixels_a_block + first; pixel < end; pixel += height) {
      const unsigned i = (picture * pixels + pixel) * groups + group;
      float value[8], input[8];
      unpack(gradient[i], value);
      unpack(x[i], input);
      for (int k = 0; k < 8; k++) {
        sum[k] += value[k] * input[k];
        value[k] *= factor[k];
      }
      result[i] = packed(value);
    }
  }
  add_rows<8>(sum, place, span, groups, partial + (part * gridDim.y + picture) * groups * 8);
}

// Here a group is four channels, and blockIdx.y is the sample. `keep` is null or one factor for each sample.
extern "C" __global__ void scale_add(const float* x, const void* branch, const float* gamma, const float* keep, float* out,
                                     unsigned vectors, unsigned groups, int half) {
  const unsigned begin = blockIdx.y * vectors;
  const float kept = keep ? keep[blockIdx.y] : 1;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
    float value[4], other[4], factor[4];
    load_four(x, begin + i, 0, value);
    load_four(branch, begin + i, half, other);
    load_four(gamma, i % groups, 0, factor);
    for (int k = 0; k < 4; k++) value[k] += other[k] * factor[k] * kept;
    store_four(out, begin + i, 0, value);
  }
}

// The gradients of the branch and, in `partial` [blocks, channels], of gamma. A sample has `rows_a_sample` rows. The layout of blocks is that of
// bias_clamp_backward.
extern "C" __global__ void scale_add_backward(const float* gradient, const void* branch, const float* gamma, const float* keep,
                                              void* of_branch, float* partial, unsigned rows, unsigned groups, unsigned span,
                                              unsigned rows_a_block, unsigned rows_a_sample, int half) {
  const unsigned height = blockDim.x / span;
  const unsigned own = threadIdx.x % span, first = threadIdx.x / span;
  const unsigned group = blockIdx.y * span + own;
  float sum[4] = {0, 0, 0, 0};
  if (first < height && group < groups) {
    float factor[4];
    load_four(gamma, group, 0, factor);
    const unsigned end = min(rows, (blockIdx.x + 1) * rows_a_block);
#pragma unroll 4
    for (unsigned row = blockIdx.x * rows_a_block + first; row < end; row += height) {
      const unsigned i = row * groups + group;
      float value[4], other[4];
      load_four(gradient, i, 0, value);
      load_four(branch, i, half, other);
      const float kept = keep ? keep[row / rows_a_sample] : 1;
      for (int k = 0; k < 4; k++) {
        value[k] *= kept;
        sum[k] += value[k] * other[k];
        value[k] *= factor[k];
      }
      store_four(of_branch, i, half, value);
    }
  }
  add_rows<4>(sum, blockIdx.y, span, groups, partial + blockIdx.x * groups * 4);
}
)cuda";

#endif

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

Tensor asMap(const Tensor& factors) { return factors.unsqueeze(-1).unsqueeze(-1); }

// Factors [n] for a tensor [n, ...].
Tensor asRows(const Tensor& keep, const Tensor& like) {
  std::vector<int64_t> shape(like.dim(), 1);
  shape[0] = keep.numel();
  return keep.view(shape);
}

#ifdef NUDGE_KERNELS

bool isAligned(const Tensor& tensor, at::ScalarType dtype) {
  return tensor.is_cuda() && tensor.scalar_type() == dtype && tensor.is_contiguous() &&
         reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 16 == 0;
}

unsigned groupsOf(const Tensor& map) { return static_cast<unsigned>(map.size(1) / 8); }
unsigned pixelsOf(const Tensor& map) { return static_cast<unsigned>(map.size(2) * map.size(3)); }

// The blocks for loops over the vectors of each sample. There must be fewer than 65536 samples.
kernels::Shape loopsOver(unsigned vectors, int64_t samples) {
  return {std::max(1u, std::min(16384u, (vectors + 255) / 256)), static_cast<unsigned>(samples)};
}
// Returns whether x is a map for these kernels.
bool isKnownMap(const Tensor& x) { return kernels::isMap(x) && x.size(0) < 65536; }
unsigned vectorsOf(const Tensor& x, int64_t each) { return static_cast<unsigned>(x.numel() / x.size(0) / each); }

// How a block's 256 threads are divided over groups of channels: `across` blocks of `span` groups next to each other.
struct Split {
  unsigned across, span, height;
  explicit Split(unsigned groups) : across((groups + 31) / 32), span((groups + across - 1) / across), height(256 / span) {}
};

bool canScale(const Tensor& x, const Tensor& factors) {
  return isKnownMap(x) && isAligned(factors, at::kBFloat16);
}

Tensor scaledOnDevice(const Tensor& x, const Tensor& factors) {
  Tensor out = at::empty_like(x);
  unsigned vectors = vectorsOf(x, 8);
  kernels::launch("channel_scale", x, loopsOver(vectors, x.size(0)), x.data_ptr(), factors.data_ptr(), out.data_ptr(), vectors,
                  groupsOf(x));
  return out;
}

// Returns the gradients of the map and, in float32, of the factors.
std::tuple<Tensor, Tensor> scaleBackwardOnDevice(const Tensor& gradient, const Tensor& x, const Tensor& factors) {
  unsigned groups = groupsOf(x), pixels = pixelsOf(x);
  auto pictures = static_cast<unsigned>(x.size(0));
  Split split(groups);
  // Enough blocks to fill the largest GPUs. More blocks would mean more partial sums.
  unsigned most = std::max(1u, 2048 / (pictures * split.across));
  unsigned parts = std::max(1u, std::min((pixels + 4 * split.height - 1) / (4 * split.height), most));
  unsigned pixelsPerBlock = (pixels + parts - 1) / parts;
  parts = (pixels + pixelsPerBlock - 1) / pixelsPerBlock;
  Tensor result = at::empty_like(x), partial = at::empty({parts, x.size(0) * x.size(1)}, x.options().dtype(at::kFloat));
  kernels::launch("channel_scale_backward", x, {parts * split.across, pictures}, gradient.data_ptr(), x.data_ptr(), factors.data_ptr(),
                  result.data_ptr(), partial.data_ptr<float>(), pixels, groups, split.span, split.across, pixelsPerBlock);
  return {result, kernels::addPartials(partial).view(factors.sizes())};
}

// `gradient` may be undefined.
Tensor meanBackwardOnDevice(const Tensor& gradient, const Tensor& ofMean, const Tensor& x) {
  Tensor out = at::empty_like(x), add = ofMean.to(at::kFloat).contiguous();
  unsigned vectors = vectorsOf(x, 8);
  kernels::launch("channel_mean_backward", x, loopsOver(vectors, x.size(0)),
                  gradient.defined() ? gradient.data_ptr() : static_cast<void*>(nullptr),
                  add.data_ptr<float>(), out.data_ptr(), vectors, groupsOf(x));
  return out;
}

bool canAdd(const Tensor& x, const Tensor& branch, const Tensor& gamma, const c10::optional<Tensor>& keep) {
  return isAligned(x, at::kFloat) && kernels::problem(x.device().index()).empty() &&
         (isAligned(branch, at::kBFloat16) || isAligned(branch, at::kFloat)) && isAligned(gamma, at::kFloat) && gamma.size(0) % 4 == 0 &&
         x.numel() > 0 && x.size(0) < 65536 && x.numel() / 4 < (int64_t{1} << 31) &&
         (!keep.has_value() || (keep->is_cuda() && keep->scalar_type() == at::kFloat && keep->is_contiguous()));
}

const float* dataOf(const c10::optional<Tensor>& keep) { return keep.has_value() ? keep->data_ptr<float>() : nullptr; }

Tensor addedOnDevice(const Tensor& x, const Tensor& branch, const Tensor& gamma, const c10::optional<Tensor>& keep) {
  Tensor out = at::empty_like(x);
  unsigned vectors = vectorsOf(x, 4);
  auto groups = static_cast<unsigned>(gamma.size(0) / 4);
  kernels::launch("scale_add", x, loopsOver(vectors, x.size(0)), x.data_ptr<float>(), branch.data_ptr(), gamma.data_ptr<float>(), dataOf(keep),
                  out.data_ptr<float>(), vectors, groups, static_cast<int>(branch.scalar_type() == at::kBFloat16));
  return out;
}

// Returns the gradients of the branch and of gamma.
std::tuple<Tensor, Tensor> addBackwardOnDevice(const Tensor& gradient, const Tensor& branch, const Tensor& gamma,
                                               const c10::optional<Tensor>& keep) {
  auto rows = static_cast<unsigned>(branch.numel() / gamma.size(0)), groups = static_cast<unsigned>(gamma.size(0) / 4);
  auto rowsPerSample = static_cast<unsigned>(rows / branch.size(0));
  Split split(groups);
  unsigned most = std::max(1u, 2048 / split.across);
  unsigned blocks = std::max(1u, std::min((rows + 4 * split.height - 1) / (4 * split.height), most));
  unsigned rowsPerBlock = (rows + blocks - 1) / blocks;
  blocks = (rows + rowsPerBlock - 1) / rowsPerBlock;
  Tensor ofBranch = at::empty_like(branch), partial = at::empty({blocks, gamma.size(0)}, gamma.options());
  kernels::launch("scale_add_backward", branch, {blocks, split.across}, gradient.data_ptr<float>(), branch.data_ptr(),
                  gamma.data_ptr<float>(), dataOf(keep), ofBranch.data_ptr(), partial.data_ptr<float>(), rows, groups, split.span,
                  rowsPerBlock, rowsPerSample, static_cast<int>(branch.scalar_type() == at::kBFloat16));
  return {ofBranch, kernels::addPartials(partial)};
}

#endif

struct ChannelMean : torch::autograd::Function<ChannelMean> {
  static variable_list forward(AutogradContext* context, const Variable& x) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->set_materialize_grads(false);
    context->save_for_backward({x});
    auto dtype = x.scalar_type() == at::kBFloat16 ? at::kFloat : x.scalar_type();
    // Autograd returns x as a view with a gradient of its own.
    return {x.mean({2, 3}, false, dtype), x};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    Variable x = context->get_saved_variables()[0];
    const Variable &ofMean = gradients[0], &given = gradients[1];
    if (!ofMean.defined()) return {given};
#ifdef NUDGE_KERNELS
    if (!at::GradMode::is_enabled() && isKnownMap(x) && (!given.defined() || kernels::isMap(given)))
      return {meanBackwardOnDevice(given, ofMean, x)};
#endif
    Tensor spread = asMap(ofMean / static_cast<double>(x.size(2) * x.size(3))).expand(x.sizes()).to(x.scalar_type());
    return {given.defined() ? given + spread : spread};
  }
};

struct ChannelScale : torch::autograd::Function<ChannelScale> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& factors) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, factors});
#ifdef NUDGE_KERNELS
    if (canScale(x, factors)) return scaledOnDevice(x, factors);
#endif
    return x * asMap(factors);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &x = saved[0], &factors = saved[1];
#ifdef NUDGE_KERNELS
    if (!at::GradMode::is_enabled() && canScale(x, factors)) {
      Tensor given = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
      if (kernels::isMap(given)) {
        auto [ofX, ofFactors] = scaleBackwardOnDevice(given, x, factors);
        return {ofX, ofFactors.to(factors.scalar_type())};
      }
    }
#endif
    return {gradients[0] * asMap(factors), (gradients[0] * x).sum({2, 3})};
  }
};

struct ScaleAdd : torch::autograd::Function<ScaleAdd> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& branch, const Variable& gamma,
                          const c10::optional<Variable>& keep) {
    at::AutoDispatchBelowADInplaceOrView below;
    bool fast = false;
#ifdef NUDGE_KERNELS
    fast = canAdd(x, branch, gamma, keep);
#endif
    context->saved_data["fast"] = fast;
    context->saved_data["keep"] = keep.has_value();
    context->saved_data["dtype"] = static_cast<int64_t>(x.scalar_type());
    if (keep.has_value())
      context->save_for_backward({branch, gamma, *keep});
    else
      context->save_for_backward({branch, gamma});
#ifdef NUDGE_KERNELS
    if (fast) return addedOnDevice(x, branch, gamma, keep);
#endif
    Tensor scaled = branch * gamma;
    return (keep.has_value() ? scaled * asRows(*keep, branch) : scaled) + x;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &branch = saved[0], &gamma = saved[1];
    c10::optional<Tensor> keep;
    if (context->saved_data["keep"].toBool()) keep = saved[2];
    auto dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
    Variable none;
#ifdef NUDGE_KERNELS
    if (!at::GradMode::is_enabled() && context->saved_data["fast"].toBool()) {
      Tensor given = gradients[0].to(at::kFloat).contiguous();
      if (isAligned(given, at::kFloat)) {
        auto [ofBranch, ofGamma] = addBackwardOnDevice(given, branch, gamma, keep);
        return {gradients[0].to(dtype), ofBranch, ofGamma, none};
      }
    }
#endif
    Tensor given = keep.has_value() ? gradients[0] * asRows(*keep, branch) : gradients[0];
    Tensor ofGamma = (given * branch).reshape({-1, gamma.size(0)}).sum(0).to(gamma.scalar_type());
    return {gradients[0].to(dtype), (given * gamma).to(branch.scalar_type()), ofGamma, none};
  }
};

std::tuple<Tensor, Tensor> channelMean(const Tensor& x) {
  TORCH_CHECK(x.dim() == 4, "channel_mean: expected a map [n, c, h, w], got ", x.sizes());
  variable_list made = ChannelMean::apply(x);
  return {made[0], made[1]};
}

Tensor channelScale(const Tensor& x, const Tensor& factors) {
  TORCH_CHECK(x.dim() == 4 && factors.dim() == 2 && factors.size(0) == x.size(0) && factors.size(1) == x.size(1) &&
                  factors.scalar_type() == x.scalar_type(),
              "channel_scale: expected a map [n, c, h, w] and factors [n, c] of the same dtype, got ", x.sizes(), " and ", factors.sizes());
  return ChannelScale::apply(x, factors);
}

Tensor scaleAdd(const Tensor& x, const Tensor& branch, const Tensor& gamma, const c10::optional<Tensor>& keep) {
  TORCH_CHECK(x.dim() > 1 && branch.sizes() == x.sizes() && gamma.dim() == 1 && gamma.size(0) == x.size(-1) &&
                  (!keep.has_value() || keep->numel() == x.size(0)),
              "scale_add: expected x and a branch [n, ..., c], gamma [c] and factors [n], got ", x.sizes(), ", ", branch.sizes(), " and ",
              gamma.sizes());
  return ScaleAdd::apply(x, branch, gamma, keep);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def("channel_mean(Tensor x) -> (Tensor, Tensor)", channelMean);
  library.def("channel_scale(Tensor x, Tensor factors) -> Tensor", channelScale);
  library.def("scale_add(Tensor x, Tensor branch, Tensor gamma, Tensor? keep) -> Tensor", scaleAdd);
}

}  // namespace nudge
