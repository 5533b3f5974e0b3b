// Network plans (network-plan.h) as JavaScript sees them: made from tensors, run on other threads, freed.
#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "convert.h"
#include "functions.h"
#include "network-plan.h"

namespace nudge {

namespace {

using plan::NetworkPlan;

std::mutex lock;
std::vector<std::shared_ptr<NetworkPlan>>& all() {
  static auto* plans = new std::vector<std::shared_ptr<NetworkPlan>>();  // never destroyed: a thread may still use one
  return *plans;
}

std::vector<napi_value> elements(napi_env env, napi_value array, const char* what) {
  if (!isArray(env, array)) throw Failure(std::string("planNetwork: ") + what + ": expected an array, got " + describe(env, array));
  uint32_t length = 0;
  napi_get_array_length(env, array, &length);
  std::vector<napi_value> values(length);
  for (uint32_t i = 0; i < length; i++) check(env, napi_get_element(env, array, i, &values[i]), what);
  return values;
}

int toSmall(napi_env env, napi_value value, const char* what) {
  int64_t number = toInt(env, value, what);
  if (number < -1 || number > 1 << 24) throw Failure(std::string("planNetwork: ") + what + " is out of range: " + std::to_string(number));
  return static_cast<int>(number);
}

// A float32 tensor on the CPU, contiguous.
at::Tensor constantAt(Call& call, napi_value value, int64_t dimensions) {
  at::Tensor tensor = toTensor(*call.state, call.env, value, "constant").detach();
  if (tensor.scalar_type() != at::kFloat || !tensor.device().is_cpu() || tensor.dim() != dimensions)
    throw Failure("planNetwork: expected a float32 tensor with " + std::to_string(dimensions) + " dimensions on the CPU, got " + describeTensor(tensor));
  return tensor.contiguous();
}

// planNetwork([channels, height, width], steps, outputs, vectors) → an id. A step is
// [kind, from, other, weight, bias, stride, padding, groups, kernel, act, low, high].
napi_value planNetwork(Call& call) {
  napi_env env = call.env;
  std::vector<int64_t> shape = toInts(env, call.at(0), "shape");
  if (shape.size() != 3) throw Failure("planNetwork: expected a shape [channels, height, width]");
  for (int64_t side : shape)
    if (side < 1 || side > 1 << 16) throw Failure("planNetwork: the shape is out of range");
  std::vector<plan::StepSpec> steps;
  std::vector<at::Tensor> constants;
  for (napi_value each : elements(env, call.at(1), "steps")) {
    std::vector<napi_value> step = elements(env, each, "step");
    if (step.size() != 12) throw Failure("planNetwork: expected steps of 12 numbers");
    plan::StepSpec spec;
    int kind = toSmall(env, step[0], "kind"), act = toSmall(env, step[9], "act");
    if (kind < 0 || kind > 3 || act < 0 || act > 2) throw Failure("planNetwork: an unknown kind of step");
    spec.kind = static_cast<plan::Kind>(kind);
    spec.from = toSmall(env, step[1], "from");
    spec.other = toSmall(env, step[2], "other");
    spec.stride = toSmall(env, step[5], "stride");
    spec.padding = toSmall(env, step[6], "padding");
    spec.groups = toSmall(env, step[7], "groups");
    spec.kernel = toSmall(env, step[8], "kernel");
    spec.after = {static_cast<plan::Act>(act), static_cast<float>(toDouble(env, step[10], "low")), static_cast<float>(toDouble(env, step[11], "high"))};
    if (spec.kind == plan::Kind::kConv) {
      at::Tensor weight = constantAt(call, step[3], 4), bias = constantAt(call, step[4], 1);
      spec.outputs = static_cast<int>(weight.size(0));
      // The inputs are compared with the map by the plan's caller; here they must not be read beyond their end.
      if (bias.size(0) != weight.size(0) || weight.size(2) != spec.kernel || weight.size(3) != spec.kernel || spec.groups < 1 || weight.numel() > INT32_MAX)
        throw Failure("planNetwork: weight " + describeTensor(weight) + " and bias " + describeTensor(bias) + " do not fit");
      spec.inputs = static_cast<int>(weight.size(1)) * spec.groups;
      spec.weight = static_cast<const float*>(weight.data_ptr());
      spec.bias = static_cast<const float*>(bias.data_ptr());
      constants.push_back(weight);
      constants.push_back(bias);
    }
    steps.push_back(spec);
  }
  std::vector<int> outputs;
  for (int64_t output : toInts(env, call.at(2), "outputs")) outputs.push_back(static_cast<int>(std::clamp<int64_t>(output, -1, 1 << 24)));
  const std::string vectors = isNothing(env, call.at(3)) ? "" : toString(env, call.at(3), "vectors");
  auto made = std::make_shared<NetworkPlan>(plan::Size{static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2])}, steps, outputs, vectors);
  std::lock_guard<std::mutex> guard(lock);
  for (size_t i = 0; i < all().size(); i++) {
    if (all()[i]) continue;
    all()[i] = std::move(made);
    return fromInt(env, static_cast<int64_t>(i));
  }
  all().push_back(std::move(made));
  return fromInt(env, static_cast<int64_t>(all().size()) - 1);
}

std::shared_ptr<NetworkPlan> planAt(Call& call, bool isFreed) {
  int64_t index = toInt(call.env, call.at(0), "plan");
  std::lock_guard<std::mutex> guard(lock);
  if (index < 0 || index >= static_cast<int64_t>(all().size()) || !all()[index]) throw Failure("network plan: it has been freed");
  return isFreed ? std::exchange(all()[index], nullptr) : all()[index];
}

// One run of a plan. It holds everything that the threads read and write.
struct Running {
  std::shared_ptr<NetworkPlan> plan;
  at::Tensor x;
  std::vector<at::Tensor> outputs;
  int threads = 1;
  std::string problem;
  napi_deferred deferred = nullptr;

  void run() {
    std::vector<float*> to;
    for (at::Tensor& output : outputs) to.push_back(static_cast<float*>(output.data_ptr()));
    plan->run(static_cast<const float*>(x.data_ptr()), x.size(0), threads, to);
  }
};

// (plan, x, outputs, threads): x is float32 [n, channels, height, width]; the outputs are float32 [n, width] and are written.
std::unique_ptr<Running> runningOf(Call& call) {
  napi_env env = call.env;
  auto running = std::make_unique<Running>();
  running->plan = planAt(call, false);
  at::Tensor x = toTensor(*call.state, env, call.at(1), "x").detach();
  const plan::Size size = running->plan->input();
  if (x.dim() != 4 || x.scalar_type() != at::kFloat || !x.device().is_cpu() || x.size(1) != size.channels || x.size(2) != size.height || x.size(3) != size.width)
    throw Failure("runPlan: expected float32 [n, " + std::to_string(size.channels) + ", " + std::to_string(size.height) + ", " + std::to_string(size.width) + "] on the CPU, got " + describeTensor(x));
  running->x = x.permute({0, 2, 3, 1}).contiguous();
  running->outputs = toTensors(*call.state, env, call.at(2), "outputs");
  if (running->outputs.size() != running->plan->outputCount()) throw Failure("runPlan: another number of outputs");
  for (size_t i = 0; i < running->outputs.size(); i++) {
    const at::Tensor& output = running->outputs[i];
    if (output.scalar_type() != at::kFloat || !output.device().is_cpu() || output.dim() != 2 || output.size(0) != x.size(0) || output.size(1) != running->plan->outputSize(i) || !output.is_contiguous())
      throw Failure("runPlan: an output has another shape: " + describeTensor(output));
  }
  running->threads = static_cast<int>(std::clamp<int64_t>(toInt(env, call.at(3), "threads"), 1, 1024));
  return running;
}

// On the thread of JavaScript: settles the promise.
void complete(napi_env env, napi_value, void*, void* data) {
  std::unique_ptr<Running> running(static_cast<Running*>(data));
  if (env == nullptr) return;  // the environment is shutting down
  napi_value result = nullptr;
  if (running->problem.empty()) {
    napi_get_undefined(env, &result);
    napi_resolve_deferred(env, running->deferred, result);
    return;
  }
  napi_value message = nullptr;
  napi_create_string_utf8(env, running->problem.c_str(), NAPI_AUTO_LENGTH, &message);
  napi_create_error(env, nullptr, message, &result);
  napi_reject_deferred(env, running->deferred, result);
}

// On a thread of its own. Node's thread pool would start it only after all pictures that wait there to be decoded.
void execute(Running* running, napi_threadsafe_function settle) {
  try {
    running->run();
  } catch (const std::exception& error) {
    running->problem = error.what();
  }
  if (napi_call_threadsafe_function(settle, running, napi_tsfn_blocking) != napi_ok) delete running;
  napi_release_threadsafe_function(settle, napi_tsfn_release);
}

// runPlan(plan, x, outputs, threads) → a promise.
napi_value runPlan(Call& call) {
  napi_env env = call.env;
  std::unique_ptr<Running> running = runningOf(call);
  napi_value promise = nullptr;
  napi_threadsafe_function settle = nullptr;
  check(env, napi_create_threadsafe_function(env, nullptr, nullptr, fromString(env, "nudge:plan"), 0, 1, nullptr, nullptr, nullptr, complete, &settle), "runPlan: no function");
  check(env, napi_create_promise(env, &running->deferred, &promise), "runPlan: no promise");
  try {
    std::thread(execute, running.get(), settle).detach();
  } catch (const std::system_error&) {
    execute(running.get(), settle);  // no more threads
  }
  running.release();
  return promise;
}

napi_value freePlan(Call& call) {
  planAt(call, true);
  return nothing(call.env);
}

}  // namespace

void definePlans(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "planNetwork", entry<planNetwork>);
  defineFunction(env, exports, state, "runPlan", entry<runPlan>);
  defineFunction(env, exports, state, "freePlan", entry<freePlan>);
}

}  // namespace nudge
