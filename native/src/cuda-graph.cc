// CUDA: devices, synchronization, memory, and graphs that are captured once and replayed.
#include "convert.h"
#include "cuda-kernels.h"
#include "functions.h"

#ifdef NUDGE_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <cuda_runtime.h>
#include <torch/version.h>

#include <map>
#include <memory>
#endif

namespace nudge {

namespace {

#ifdef NUDGE_CUDA

struct Capture {
  std::unique_ptr<at::cuda::CUDAGraph> graph;
  c10::DeviceIndex device;
};
std::map<int64_t, Capture> captures;
int64_t nextCapture = 0;
int64_t capturing = -1;
std::unique_ptr<c10::cuda::CUDAStreamGuard> captureStream;

// An aborted capture may be empty, and libtorch 2 would print a warning about it.
#if TORCH_VERSION_MAJOR >= 2
struct NoWarnings : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};
struct QuietWhile {
  explicit QuietWhile(bool quiet) : guard(quiet ? &none : c10::WarningUtils::get_warning_handler()) {}
  NoWarnings none;
  c10::WarningUtils::WarningHandlerGuard guard;
};
#else
struct QuietWhile {
  explicit QuietWhile(bool) {}
};
#endif

c10::DeviceIndex deviceIndex(Call& call, size_t i) {
  c10::Device device = toDevice(call.env, call.at(i), "device");
  if (!device.is_cuda()) throw Failure("expected a cuda device, got \"" + device.str() + "\"");
  int count = static_cast<int>(c10::cuda::device_count());
  int index = device.has_index() ? device.index() : c10::cuda::current_device();
  if (index >= count) throw Failure("there is no " + device.str() + ": " + std::to_string(count) + " CUDA devices are visible");
  // Before the first tensor on a GPU, libtorch's allocator does not know the device and has no statistics of it.
  at::empty({0}, at::device(c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index))));
  return static_cast<c10::DeviceIndex>(index);
}

napi_value cudaDevices(Call& call) {
  napi_value result;
  check(call.env, napi_create_array(call.env, &result), "cannot make an array");
  int count = at::hasCUDA() ? static_cast<int>(c10::cuda::device_count()) : 0;
  for (int i = 0; i < count; i++) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) throw Failure("cannot read the properties of cuda:" + std::to_string(i));
    napi_value item = newObject(call.env);
    setProperty(call.env, item, "name", fromString(call.env, properties.name));
    setProperty(call.env, item, "memory", fromInt(call.env, static_cast<int64_t>(properties.totalGlobalMem)));
    setProperty(call.env, item, "capability",
                fromString(call.env, std::to_string(properties.major) + "." + std::to_string(properties.minor)));
    setElement(call.env, result, i, item);
  }
  return result;
}

napi_value synchronize(Call& call) {
  if (!at::hasCUDA()) return nothing(call.env);
  c10::cuda::CUDAGuard guard(deviceIndex(call, 0));
  c10::cuda::device_synchronize();
  return nothing(call.env);
}

napi_value cudaMemory(Call& call) {
  auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(deviceIndex(call, 0));
  constexpr size_t all = 0;  // StatType::AGGREGATE
  napi_value result = newObject(call.env);
  setProperty(call.env, result, "used", fromInt(call.env, stats.allocated_bytes[all].current));
  setProperty(call.env, result, "peak", fromInt(call.env, stats.allocated_bytes[all].peak));
  setProperty(call.env, result, "reserved", fromInt(call.env, stats.reserved_bytes[all].current));
  return result;
}

napi_value resetCudaPeak(Call& call) {
  c10::cuda::CUDACachingAllocator::resetPeakStats(deviceIndex(call, 0));
  return nothing(call.env);
}

napi_value emptyCache(Call& call) {
  if (at::hasCUDA()) c10::cuda::CUDACachingAllocator::emptyCache();
  return nothing(call.env);
}

// fusedKernels(device) → why it has none, or "".
napi_value fusedKernels(Call& call) { return fromString(call.env, kernels::problem(deviceIndex(call, 0))); }

// captureBegin(device) → graph id. The following operations are recorded but not run until captureEnd.
napi_value captureBegin(Call& call) {
  if (capturing >= 0) throw Failure("capture: one is under way already");
  c10::DeviceIndex device = deviceIndex(call, 0);
  c10::cuda::CUDAGuard guard(device);
  c10::cuda::device_synchronize();
  c10::cuda::CUDACachingAllocator::emptyCache(); // during a capture, cached blocks cannot be freed for others
  auto stream = std::make_unique<c10::cuda::CUDAStreamGuard>(c10::cuda::getStreamFromPool(false, device));
  auto graph = std::make_unique<at::cuda::CUDAGraph>();
  graph->capture_begin();
  captureStream = std::move(stream);
  capturing = nextCapture++;
  captures[capturing] = {std::move(graph), device};
  return fromInt(call.env, capturing);
}

// captureEnd(keep): a failed capture is ended with keep = false and discarded.
napi_value captureEnd(Call& call) {
  if (capturing < 0) throw Failure("capture: none is under way");
  bool keep = toBool(call.env, call.at(0), "keep");
  int64_t id = capturing;
  capturing = -1;
  QuietWhile givenUp(!keep);
  try {
    captures[id].graph->capture_end();
  } catch (...) {
    captureStream.reset();
    captures.erase(id);
    if (keep) throw;
    return nothing(call.env);
  }
  captureStream.reset();
  if (!keep) captures.erase(id);
  return nothing(call.env);
}

napi_value replay(Call& call) {
  auto found = captures.find(toInt(call.env, call.at(0), "graph"));
  if (found == captures.end()) throw Failure("replay: this graph has been freed");
  int64_t times = toInt(call.env, call.at(1), "times");
  c10::cuda::CUDAGuard guard(found->second.device);
  for (int64_t i = 0; i < times; i++) found->second.graph->replay();
  return nothing(call.env);
}

// keepPace(device): waits, without using the processor, until the device has finished what was queued before the last
// call. So a host that queues work faster than it is done does not spin in the driver, whose queue is full.
napi_value keepPace(Call& call) {
  c10::DeviceIndex device = deviceIndex(call, 0);
  c10::cuda::CUDAGuard guard(device);
  static std::map<c10::DeviceIndex, cudaEvent_t> reached;
  auto found = reached.find(device);
  cudaError_t result = cudaSuccess;
  if (found == reached.end()) {
    cudaEvent_t event;
    result = cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming);
    if (result == cudaSuccess) found = reached.emplace(device, event).first;
  } else {
    result = cudaEventSynchronize(found->second);
  }
  if (result == cudaSuccess) result = cudaEventRecord(found->second, c10::cuda::getCurrentCUDAStream(device).stream());
  if (result != cudaSuccess) throw Failure(std::string("waiting for the device: ") + cudaGetErrorString(result));
  return nothing(call.env);
}

// sleepInWaits(device): a thread that waits for the device sleeps. By default it spins, and so each process that shares
// a GPU keeps a core busy.
napi_value sleepInWaits(Call& call) {
  c10::Device device = toDevice(call.env, call.at(0), "device");
  if (!device.is_cuda() || !at::hasCUDA()) return nothing(call.env);
  c10::cuda::CUDAGuard guard(deviceIndex(call, 0));
  if (cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) != cudaSuccess) cudaGetLastError();  // older drivers refuse; they go on spinning
  return nothing(call.env);
}

napi_value freeGraph(Call& call) {
  auto found = captures.find(toInt(call.env, call.at(0), "graph"));
  if (found == captures.end()) throw Failure("free: this graph has been freed already");
  if (found->first == capturing) throw Failure("free: this graph is still being captured");
  c10::cuda::CUDAGuard guard(found->second.device);
  c10::cuda::device_synchronize();
  captures.erase(found);
  return nothing(call.env);
}

#else

[[noreturn]] void noCuda() {
  throw Failure("this build of the addon has no CUDA: it needs a libtorch with CUDA and the CUDA headers (see nudge doctor)");
}

napi_value cudaDevices(Call& call) {
  napi_value result;
  check(call.env, napi_create_array(call.env, &result), "cannot make an array");
  return result;
}
napi_value synchronize(Call& call) { return nothing(call.env); }
napi_value cudaMemory(Call&) { noCuda(); }
napi_value resetCudaPeak(Call&) { noCuda(); }
napi_value emptyCache(Call& call) { return nothing(call.env); }
napi_value fusedKernels(Call&) { noCuda(); }
napi_value captureBegin(Call&) { noCuda(); }
napi_value captureEnd(Call&) { noCuda(); }
napi_value replay(Call&) { noCuda(); }
napi_value keepPace(Call&) { noCuda(); }
napi_value sleepInWaits(Call& call) { return nothing(call.env); }
napi_value freeGraph(Call&) { noCuda(); }

#endif

}  // namespace

void defineCuda(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "cudaDevices", entry<cudaDevices>);
  defineFunction(env, exports, state, "synchronize", entry<synchronize>);
  defineFunction(env, exports, state, "cudaMemory", entry<cudaMemory>);
  defineFunction(env, exports, state, "resetCudaPeak", entry<resetCudaPeak>);
  defineFunction(env, exports, state, "fusedKernels", entry<fusedKernels>);
  defineFunction(env, exports, state, "emptyCache", entry<emptyCache>);
  defineFunction(env, exports, state, "captureBegin", entry<captureBegin>);
  defineFunction(env, exports, state, "captureEnd", entry<captureEnd>);
  defineFunction(env, exports, state, "replay", entry<replay>);
  defineFunction(env, exports, state, "keepPace", entry<keepPace>);
  defineFunction(env, exports, state, "sleepInWaits", entry<sleepInWaits>);
  defineFunction(env, exports, state, "freeGraph", entry<freeGraph>);
}

}  // namespace nudge
