// The engine itself: versions, build flags, devices, threads, random generators and flags.
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <torch/csrc/api/include/torch/version.h>

#include "convert.h"
#include "functions.h"

namespace nudge {

namespace {

napi_value info(Call& call) {
  napi_env env = call.env;
  napi_value result = newObject(env);
  setProperty(env, result, "version", fromString(env, TORCH_VERSION));
  setProperty(env, result, "config", fromString(env, at::show_config()));
  setProperty(env, result, "parallel", fromString(env, at::get_parallel_info()));
  setProperty(env, result, "cuda", fromBool(env, at::hasCUDA()));
  setProperty(env, result, "threads", fromInt(env, at::get_num_threads()));
#ifdef NUDGE_CUDA
  setProperty(env, result, "builtForCuda", fromBool(env, true));
#else
  setProperty(env, result, "builtForCuda", fromBool(env, false));
#endif
  Dl_info library{};
  dladdr(reinterpret_cast<void*>(&at::get_num_threads), &library);
  setProperty(env, result, "library", fromString(env, library.dli_fname != nullptr ? library.dli_fname : ""));
  return result;
}

// OpenBLAS has its own thread pool, which libtorch does not know. Null for other BLAS libraries.
template <typename Function>
Function* openBlas(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

int toThreads(Call& call) {
  int64_t count = toInt(call.env, call.at(0), "threads");
  if (count < 1 || count > 1024) throw Failure("threads: expected 1 to 1024, got " + std::to_string(count));
  return static_cast<int>(count);
}

// setThreads(n): one number of threads for all computations, because it affects the results.
napi_value setThreads(Call& call) {
  int count = toThreads(call);
  at::set_num_threads(count);
  if (auto* set = openBlas<void(int)>("openblas_set_num_threads")) set(count);
  return nothing(call.env);
}

napi_value threads(Call& call) { return fromInt(call.env, at::get_num_threads()); }

// setBlasThreads(n) → the previous number of threads; 0 without OpenBLAS.
napi_value setBlasThreads(Call& call) {
  int count = toThreads(call);
  auto* get = openBlas<int()>("openblas_get_num_threads");
  auto* set = openBlas<void(int)>("openblas_set_num_threads");
  if (get == nullptr || set == nullptr) return fromInt(call.env, 0);
  int before = get();
  if (count != before) set(count);
  return fromInt(call.env, before);
}

// newGenerator(device, seed) → generator id.
napi_value newGenerator(Call& call) {
  c10::Device device = toDevice(call.env, call.at(0), "device");
  uint64_t seed = static_cast<uint64_t>(toInt(call.env, call.at(1), "seed"));
  if (device.is_meta()) throw Failure("generator: there is none for the meta device");
  at::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(seed);
  auto& all = call.state->generators;
  for (size_t i = 0; i < all.size(); i++) {
    if (all[i].defined()) continue;
    all[i] = generator;
    return fromInt(call.env, static_cast<int64_t>(i));
  }
  all.push_back(generator);
  return fromInt(call.env, static_cast<int64_t>(all.size()) - 1);
}

napi_value freeGenerator(Call& call) {
  toGenerator(*call.state, call.env, call.at(0), "generator") = at::Generator();
  return nothing(call.env);
}

napi_value manualSeed(Call& call) {
  at::manual_seed(static_cast<uint64_t>(toInt(call.env, call.at(0), "seed")));
  return nothing(call.env);
}

// setFlag(name, on): flags of libtorch that affect speed or results.
napi_value setFlag(Call& call) {
  std::string name = toString(call.env, call.at(0), "flag");
  bool on = toBool(call.env, call.at(1), "value");
  at::Context& context = at::globalContext();
  if (name == "tf32") {
    context.setAllowTF32CuBLAS(on);
    context.setAllowTF32CuDNN(on);
  } else if (name == "cudnn-benchmark") {
    context.setBenchmarkCuDNN(on);
  } else if (name == "cudnn-deterministic") {
    context.setDeterministicCuDNN(on);
  } else if (name == "deterministic") {
    context.setDeterministicAlgorithms(on, /*warn_only=*/false);
  } else if (name == "flush-denormals") {
    context.setFlushDenormal(on);
  } else {
    throw Failure("unknown flag \"" + name + "\" (known: tf32, cudnn-benchmark, cudnn-deterministic, deterministic, flush-denormals)");
  }
  return nothing(call.env);
}

// setCudnnTrials(n): the number of plans that cuDNN times for each convolution to select the fastest. With 0 it uses
// its first choice.
napi_value setCudnnTrials(Call& call) {
  int64_t count = toInt(call.env, call.at(0), "count");
  if (count < 0 || count > 1000) throw Failure("setCudnnTrials: expected a number from 0 to 1000");
  at::globalContext().setBenchmarkCuDNN(count > 0);
  if (count > 0) at::globalContext().setBenchmarkLimitCuDNN(static_cast<int>(count));
  return nothing(call.env);
}

napi_value setErrorClass(Call& call) {
  napi_valuetype type;
  check(call.env, napi_typeof(call.env, call.at(0), &type), "cannot read the error class");
  if (type != napi_function) throw Failure("setErrorClass: expected a class");
  if (call.state->errorClass != nullptr) napi_delete_reference(call.env, call.state->errorClass);
  check(call.env, napi_create_reference(call.env, call.at(0), 1, &call.state->errorClass), "cannot keep the error class");
  return nothing(call.env);
}

}  // namespace

void defineRuntime(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "info", entry<info>);
  defineFunction(env, exports, state, "setThreads", entry<setThreads>);
  defineFunction(env, exports, state, "threads", entry<threads>);
  defineFunction(env, exports, state, "setBlasThreads", entry<setBlasThreads>);
  defineFunction(env, exports, state, "newGenerator", entry<newGenerator>);
  defineFunction(env, exports, state, "freeGenerator", entry<freeGenerator>);
  defineFunction(env, exports, state, "manualSeed", entry<manualSeed>);
  defineFunction(env, exports, state, "setFlag", entry<setFlag>);
  defineFunction(env, exports, state, "setCudnnTrials", entry<setCudnnTrials>);
  defineFunction(env, exports, state, "setErrorClass", entry<setErrorClass>);
}

}  // namespace nudge
