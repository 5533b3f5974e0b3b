// Gradients: backward, grad, grad mode, leaves and their accumulated gradients.
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "convert.h"
#include "functions.h"

namespace nudge {

namespace {

// Reads the gradients of the outputs. Undefined means ones, for scalars; otherwise there must be one for each output.
std::vector<at::Tensor> toGradients(Call& call, size_t i, size_t expected) {
  if (isNothing(call.env, call.at(i))) return {};
  std::vector<at::Tensor> gradients = toTensors(*call.state, call.env, call.at(i), "gradients");
  if (gradients.size() != expected) {
    throw Failure("expected " + std::to_string(expected) + " gradients, one an output, got " + std::to_string(gradients.size()));
  }
  return gradients;
}

std::vector<std::string> describeAll(const std::vector<at::Tensor>& tensors) {
  std::vector<std::string> shapes;
  for (const at::Tensor& tensor : tensors) shapes.push_back(describeTensor(tensor));
  return shapes;
}

// backward(outputs, gradients | undefined, retainGraph, createGraph)
napi_value backward(Call& call) {
  std::vector<at::Tensor> outputs = toTensors(*call.state, call.env, call.at(0), "outputs");
  try {
    torch::autograd::backward(outputs, toGradients(call, 1, outputs.size()), toBool(call.env, call.at(2), "retainGraph"),
                              toBool(call.env, call.at(3), "createGraph"));
  } catch (const Failure&) {
    throw;
  } catch (const std::exception& error) {
    throw Failure("backward: " + messageOf(error), "backward", describeAll(outputs));
  }
  return nothing(call.env);
}

// grad(outputs, inputs, gradients | undefined, retainGraph, createGraph, allowUnused) → handles, null for unused
// inputs.
napi_value grad(Call& call) {
  std::vector<at::Tensor> outputs = toTensors(*call.state, call.env, call.at(0), "outputs");
  std::vector<at::Tensor> inputs = toTensors(*call.state, call.env, call.at(1), "inputs");
  std::vector<at::Tensor> result;
  try {
    result = torch::autograd::grad(outputs, inputs, toGradients(call, 2, outputs.size()),
                                   toBool(call.env, call.at(3), "retainGraph"), toBool(call.env, call.at(4), "createGraph"),
                                   toBool(call.env, call.at(5), "allowUnused"));
  } catch (const Failure&) {
    throw;
  } catch (const std::exception& error) {
    throw Failure("grad: " + messageOf(error), "grad", describeAll(outputs));
  }
  return fromHandles(*call.state, call.env, result);
}

napi_value setGradEnabled(Call& call) {
  bool before = at::GradMode::is_enabled();
  at::GradMode::set_enabled(toBool(call.env, call.at(0), "enabled"));
  return fromBool(call.env, before);
}

napi_value requiresGrad(Call& call) {
  return fromBool(call.env, toTensor(*call.state, call.env, call.at(0), "tensor").requires_grad());
}

napi_value setRequiresGrad(Call& call) {
  at::Tensor& tensor = toTensor(*call.state, call.env, call.at(0), "tensor");
  bool yes = toBool(call.env, call.at(1), "requiresGrad");
  if (!tensor.is_leaf() && !yes) throw Failure("requiresGrad_: only a leaf can stop requiring gradients; use detach()");
  if (yes && !at::isFloatingType(tensor.scalar_type()) && !at::isComplexType(tensor.scalar_type())) {
    throw Failure("requiresGrad_: only floating-point tensors can require gradients, this is " + describeTensor(tensor));
  }
  tensor.set_requires_grad(yes);
  return nothing(call.env);
}

napi_value isLeaf(Call& call) { return fromBool(call.env, toTensor(*call.state, call.env, call.at(0), "tensor").is_leaf()); }

napi_value retainGrad(Call& call) {
  at::Tensor& tensor = toTensor(*call.state, call.env, call.at(0), "tensor");
  if (!tensor.requires_grad()) throw Failure("retainGrad: " + describeTensor(tensor) + " does not require gradients");
  tensor.retain_grad();
  return nothing(call.env);
}

napi_value getGrad(Call& call) {
  at::Tensor& tensor = toTensor(*call.state, call.env, call.at(0), "tensor");
  return fromTensor(*call.state, call.env, tensor.is_leaf() || tensor.retains_grad() ? tensor.grad() : at::Tensor());
}

// setGrad(tensor, gradient | null)
napi_value setGrad(Call& call) {
  at::Tensor& tensor = toTensor(*call.state, call.env, call.at(0), "tensor");
  if (isNothing(call.env, call.at(1))) {
    tensor.mutable_grad() = at::Tensor();
    return nothing(call.env);
  }
  at::Tensor& gradient = toTensor(*call.state, call.env, call.at(1), "gradient");
  if (gradient.sizes() != tensor.sizes() || gradient.scalar_type() != tensor.scalar_type() || gradient.device() != tensor.device()) {
    throw Failure("grad: " + describeTensor(gradient) + " cannot be the gradient of " + describeTensor(tensor));
  }
  tensor.mutable_grad() = gradient;
  return nothing(call.env);
}

// share(target, source): the target uses the source's memory, like `target.data = source` in PyTorch.
napi_value share(Call& call) {
  at::Tensor& target = toTensor(*call.state, call.env, call.at(0), "target");
  target.set_data(toTensor(*call.state, call.env, call.at(1), "source").detach());
  return nothing(call.env);
}

}  // namespace

void defineAutograd(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "backward", entry<backward>);
  defineFunction(env, exports, state, "grad", entry<grad>);
  defineFunction(env, exports, state, "setGradEnabled", entry<setGradEnabled>);
  defineFunction(env, exports, state, "requiresGrad", entry<requiresGrad>);
  defineFunction(env, exports, state, "setRequiresGrad", entry<setRequiresGrad>);
  defineFunction(env, exports, state, "isLeaf", entry<isLeaf>);
  defineFunction(env, exports, state, "retainGrad", entry<retainGrad>);
  defineFunction(env, exports, state, "getGrad", entry<getGrad>);
  defineFunction(env, exports, state, "setGrad", entry<setGrad>);
  defineFunction(env, exports, state, "share", entry<share>);
}

}  // namespace nudge
