// Convolutions with constant weights, for prediction on the CPU. XNNPACK, through libtorch's operators
// `prepacked::conv2d_clamp_*`, packs the weight once and clamps the result in the same pass. These operators take an
// object of libtorch that is not a tensor, which call.cc does not support.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <mutex>

#include "convert.h"
#include "functions.h"

namespace nudge {

namespace {

struct Packed {
  c10::IValue context;  // none if the slot is free
  int64_t inputs = 0, kernelHeight = 0, kernelWidth = 0, padding = 0;
};

std::mutex lock;
std::vector<Packed>& all() {
  static auto* packed = new std::vector<Packed>();  // never destroyed, because libtorch may already be unloaded
  return *packed;
}

c10::optional<c10::OperatorHandle> operatorNamed(const char* name) { return c10::Dispatcher::singleton().findSchema({name, ""}); }

// packConv(weight, bias, stride, padding, groups, low, high) → an id, or undefined if this libtorch has no XNNPACK.
napi_value packConv(Call& call) {
  napi_env env = call.env;
  auto pack = operatorNamed("prepacked::conv2d_clamp_prepack");
  if (!pack.has_value() || !operatorNamed("prepacked::conv2d_clamp_run").has_value()) return nothing(env);
  at::Tensor weight = toTensor(*call.state, env, call.at(0), "weight").detach();
  at::Tensor bias = toTensor(*call.state, env, call.at(1), "bias").detach();
  int64_t stride = toInt(env, call.at(2), "stride"), padding = toInt(env, call.at(3), "padding"), groups = toInt(env, call.at(4), "groups");
  double low = toDouble(env, call.at(5), "low"), high = toDouble(env, call.at(6), "high");
  bool floats = weight.scalar_type() == at::kFloat && bias.scalar_type() == at::kFloat && weight.device().is_cpu() && bias.device().is_cpu();
  if (!floats || weight.dim() != 4 || weight.numel() == 0 || bias.dim() != 1 || bias.size(0) != weight.size(0)) {
    throw Failure("packConv: expected a float32 weight [outputs, inputs, height, width] and bias [outputs] on the CPU, got " + describeTensor(weight) + " and " +
                  describeTensor(bias));
  }
  if (stride < 1 || stride > 64 || padding < 0 || padding > 64 || groups < 1 || weight.size(0) % groups != 0 || !(low < high)) {
    throw Failure("packConv: stride, padding, groups, low or high is out of range");
  }
  std::vector<int64_t> strides(2, stride), paddings(2, padding), dilations(2, 1);
  torch::jit::Stack stack{weight, bias, strides, paddings, dilations, groups, c10::Scalar(low), c10::Scalar(high)};
  pack->callBoxed(&stack);
  Packed packed{stack.at(0), weight.size(1) * groups, weight.size(2), weight.size(3), padding};
  std::lock_guard<std::mutex> guard(lock);
  for (size_t i = 0; i < all().size(); i++) {
    if (!all()[i].context.isNone()) continue;
    all()[i] = std::move(packed);
    return fromInt(env, static_cast<int64_t>(i));
  }
  all().push_back(std::move(packed));
  return fromInt(env, static_cast<int64_t>(all().size()) - 1);
}

Packed& packedAt(Call& call, size_t argument) {
  int64_t index = toInt(call.env, call.at(argument), "convolution");
  if (index < 0 || index >= static_cast<int64_t>(all().size()) || all()[index].context.isNone()) throw Failure("packed convolution: it has been freed");
  return all()[index];
}

// packedConv(x, convolution) → the convolution of x, [n, inputs, height, width], clamped.
napi_value packedConv(Call& call) {
  at::Tensor x = toTensor(*call.state, call.env, call.at(0), "x").detach();
  Packed packed;
  {
    std::lock_guard<std::mutex> guard(lock);
    packed = packedAt(call, 1);
  }
  bool fits = x.dim() == 4 && x.scalar_type() == at::kFloat && x.device().is_cpu() && x.numel() > 0 && x.size(1) == packed.inputs &&
              x.size(2) + 2 * packed.padding >= packed.kernelHeight && x.size(3) + 2 * packed.padding >= packed.kernelWidth;
  if (!fits) throw Failure("packedConv: expected float32 [n, " + std::to_string(packed.inputs) + ", height, width] on the CPU, got " + describeTensor(x));
  torch::jit::Stack stack{x, packed.context};
  operatorNamed("prepacked::conv2d_clamp_run")->callBoxed(&stack);
  return fromTensor(*call.state, call.env, stack.at(0).toTensor());
}

napi_value freePackedConv(Call& call) {
  std::lock_guard<std::mutex> guard(lock);
  packedAt(call, 0) = Packed();
  return nothing(call.env);
}

}  // namespace

void definePackedConv(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "packConv", entry<packConv>);
  defineFunction(env, exports, state, "packedConv", entry<packedConv>);
  defineFunction(env, exports, state, "freePackedConv", entry<freePackedConv>);
}

}  // namespace nudge
