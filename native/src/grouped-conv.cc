// nudge::grouped_conv: a convolution in groups of channels, differentiable twice. With channels last, cuDNN converts the
// maps of a grouped convolution to another layout and back, which takes longer than the convolution. Here the channels
// are divided into parts of one or more groups, each part is a dense convolution that cuDNN computes without conversion,
// and the maps are joined again. Several groups in one dense convolution have a weight that is zero outside its diagonal
// blocks: as many more products, but fewer and larger convolutions. With one part, no map is copied.
//
// On a GPU, bfloat16 maps in channels-last format are divided and joined by custom kernels at memory bandwidth; on other
// devices and layouts ATen's copies do it.
#include "conv-gradients.h"
#include "cuda-kernels.h"
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

namespace nudge {

using at::Tensor;

#ifdef NUDGE_KERNELS

const char* const kernels::GROUPED_CONV_SOURCE = R"cuda(
// Maps in channels-last format whose channels are the parts of one map. A part has `each` groups of eight channels.
struct Parts { uint4* maps[64]; unsigned each, parts; };

extern "C" __global__ void split_channels(const uint4* whole, Parts to, unsigned vectors) {
  const unsigned groups = to.each * to.parts;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
    const unsigned pixel = i / groups, group = i % groups;
    to.maps[group / to.each][pixel * to.each + group % to.each] = whole[i];
  }
}

extern "C" __global__ void join_channels(uint4* whole, Parts from, unsigned vectors) {
  const unsigned groups = from.each * from.parts;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
    const unsigned pixel = i / groups, group = i % groups;
    whole[i] = from.maps[group / from.each][pixel * from.each + group % from.each];
  }
}
)cuda";

#endif

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

// Returns how many groups a dense convolution computes: the most that divide the groups and have at most `widest` channels.
int64_t mergedGroups(const Tensor& weight, int64_t groups, int64_t widest) {
  int64_t width = std::max(weight.size(1), weight.size(0) / groups), most = 1;
  for (int64_t count = 2; count <= groups; count++)
    if (groups % count == 0 && count * width <= widest) most = count;
  return most;
}

constexpr int64_t MOST_PARTS = 64;

#ifdef NUDGE_KERNELS

// The argument of the kernels, with the same field order as above.
struct Parts {
  void* maps[MOST_PARTS];
  unsigned each, parts;
};

bool canMove(const Tensor& whole, int64_t parts) {
  return parts <= MOST_PARTS && whole.size(1) % (8 * parts) == 0 && kernels::isMap(whole);
}

// Launches split_channels or join_channels.
void moveChannels(const char* name, const Tensor& whole, const std::vector<Tensor>& maps) {
  auto parts = static_cast<unsigned>(maps.size());
  Parts pointers = {};
  for (unsigned p = 0; p < parts; p++) pointers.maps[p] = maps[p].data_ptr();
  pointers.each = static_cast<unsigned>(whole.size(1) / 8 / parts);
  pointers.parts = parts;
  auto vectors = static_cast<unsigned>(whole.numel() / 8);
  kernels::launch(name, whole, {std::max(1u, std::min(16384u, (vectors + 255) / 256))}, whole.data_ptr(), pointers, vectors);
}

#endif

// Returns the parts of a map as maps of their own.
std::vector<Tensor> dividedInto(const Tensor& x, int64_t parts) {
  if (parts == 1) return {x};
#ifdef NUDGE_KERNELS
  if (canMove(x, parts)) {
    Tensor all = at::empty({parts, x.size(0), x.size(2), x.size(3), x.size(1) / parts}, x.options());
    std::vector<Tensor> maps;
    for (int64_t p = 0; p < parts; p++) maps.push_back(all[p].permute({0, 3, 1, 2}));
    moveChannels("split_channels", x, maps);
    return maps;
  }
#endif
  std::vector<Tensor> maps = at::chunk(x, parts, 1);
  for (Tensor& map : maps) map = map.contiguous(x.suggest_memory_format());
  return maps;
}

Tensor joined(const std::vector<Tensor>& maps) {
  if (maps.size() == 1) return maps[0];
#ifdef NUDGE_KERNELS
  bool fast = true;
  for (const Tensor& map : maps) fast = fast && kernels::isMap(map) && map.sizes() == maps[0].sizes();
  if (fast) {
    std::vector<int64_t> shape = maps[0].sizes().vec();
    shape[1] *= static_cast<int64_t>(maps.size());
    Tensor whole = at::empty(shape, maps[0].options().memory_format(at::MemoryFormat::ChannelsLast));
    if (canMove(whole, static_cast<int64_t>(maps.size()))) {
      moveChannels("join_channels", whole, maps);
      return whole;
    }
  }
#endif
  return at::cat(maps, 1);
}

// Returns the weights of the dense convolutions, with input channels last.
std::vector<Tensor> denseWeights(const Tensor& weight, int64_t groups, int64_t merged) {
  int64_t parts = groups / merged, outputs = weight.size(0) / groups, inputs = weight.size(1), height = weight.size(2), width = weight.size(3);
  if (merged == 1) return at::chunk(weight.contiguous(at::MemoryFormat::ChannelsLast), parts, 0);
  Tensor all = at::zeros({parts, merged, outputs, height, width, merged, inputs}, weight.options().memory_format(at::MemoryFormat::Contiguous));
  // The diagonal becomes the last dimension.
  all.diagonal(0, 1, 5).copy_(weight.reshape({parts, merged, outputs, inputs, height, width}).permute({0, 2, 4, 5, 3, 1}));
  std::vector<Tensor> weights;
  for (int64_t p = 0; p < parts; p++)
    weights.push_back(all[p].view({merged * outputs, height, width, merged * inputs}).permute({0, 3, 1, 2}));
  return weights;
}

// Returns the gradient of a part's weight from that of the dense one: its diagonal blocks.
Tensor diagonalOf(const Tensor& dense, int64_t merged) {
  if (merged == 1) return dense;
  int64_t outputs = dense.size(0) / merged, inputs = dense.size(1) / merged, height = dense.size(2), width = dense.size(3);
  Tensor blocks = dense.permute({0, 2, 3, 1}).reshape({merged, outputs, height, width, merged, inputs}).diagonal(0, 0, 4);
  return blocks.permute({4, 0, 1, 2, 3}).reshape({merged * outputs, height, width, inputs}).permute({0, 3, 1, 2});
}

struct GroupedConv : torch::autograd::Function<GroupedConv> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight, int64_t stride, int64_t padding,
                          int64_t groups, int64_t merged) {
    at::AutoDispatchBelowADInplaceOrView below;
    std::vector<Tensor> maps = dividedInto(x, groups / merged), weights = denseWeights(weight, groups, merged), outputs;
    for (size_t p = 0; p < maps.size(); p++) outputs.push_back(at::conv2d(maps[p], weights[p], {}, stride, padding));
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["groups"] = groups;
    context->saved_data["merged"] = merged;
    variable_list saved = {x, weight};
    if (maps.size() > 1) saved.insert(saved.end(), maps.begin(), maps.end());
    context->save_for_backward(saved);
    return joined(outputs);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &x = saved[0], &weight = saved[1];
    int64_t stride = context->saved_data["stride"].toInt(), padding = context->saved_data["padding"].toInt();
    int64_t groups = context->saved_data["groups"].toInt(), merged = context->saved_data["merged"].toInt();
    bool needsX = context->needs_input_grad(0), needsWeight = context->needs_input_grad(1);
    Variable none;
    if (at::GradMode::is_enabled()) {  // for a second derivative
      auto [ofX, ofWeight] = convGradients(gradients[0], x, weight, {stride, padding, groups}, needsX, needsWeight);
      return {ofX, ofWeight, none, none, none, none};
    }
    int64_t parts = groups / merged;
    Tensor given = gradients[0].contiguous(x.suggest_memory_format());
    std::vector<Tensor> outputs = dividedInto(given, parts), weights = denseWeights(weight, groups, merged), ofMaps, ofWeights;
    for (int64_t p = 0; p < parts; p++) {
      auto [ofMap, ofDense] = convGradients(outputs[p], parts == 1 ? x : saved[2 + p], weights[p], {stride, padding, 1}, needsX, needsWeight);
      if (needsX) ofMaps.push_back(ofMap);
      if (needsWeight) ofWeights.push_back(diagonalOf(ofDense, merged));
    }
    return {needsX ? joined(ofMaps) : none, needsWeight ? at::cat(ofWeights, 0) : none, none, none, none, none};
  }
};

Tensor groupedConv(const Tensor& x, const Tensor& weight, int64_t stride, int64_t padding, int64_t groups, int64_t widest) {
  TORCH_CHECK(groups > 0 && stride > 0 && padding >= 0 && x.dim() == 4 && weight.dim() == 4 && x.size(1) > 0 && groups <= x.size(1) &&
                  weight.size(1) * groups == x.size(1) &&
                  weight.size(0) % groups == 0,
              "grouped_conv: expected a map [n, c, h, w], weights [outputs, c / groups, k, k] and a positive stride, got ", x.sizes(), ", ",
              weight.sizes(), " and ", groups, " groups");
  // Many narrow convolutions take longer than cuDNN's changes of layout: 37 groups of 24 channels in RegNetY-1.6GF.
  int64_t merged = mergedGroups(weight, groups, widest);
  if (groups / merged > 8 && merged * weight.size(1) < 64) return twiceConv2d(x, weight, c10::nullopt, {stride, padding, groups});
  return GroupedConv::apply(x, weight, stride, padding, groups, merged);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def("grouped_conv(Tensor x, Tensor weight, int stride, int padding, int groups, int widest) -> Tensor", groupedConv);
}

}  // namespace nudge
