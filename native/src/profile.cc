// Which kernels a GPU ran and for how long, by libtorch's profiler. Kernels of replayed graphs are included.
#include <torch/csrc/autograd/profiler_kineto.h>

#include <map>
#include <set>

#include "convert.h"
#include "functions.h"

namespace nudge {

namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// libtorch 2.3 and later have nanoseconds.
template <typename Event>
auto nanoseconds(const Event& event, int) -> decltype(event.durationNs()) {
  return event.durationNs();
}
template <typename Event>
auto nanoseconds(const Event& event, long) -> decltype(event.durationUs()) {
  return 1000 * event.durationUs();
}

ProfilerConfig config() { return ProfilerConfig(ProfilerState::KINETO); }
std::set<ActivityType> activities() { return {ActivityType::CUDA}; }

napi_value profileStart(Call& call) {
  if (!at::hasCUDA()) throw Failure("profile: this libtorch has no CUDA");
  profiler::prepareProfiler(config(), activities());
  profiler::enableProfiler(config(), activities());
  return nothing(call.env);
}

// profileStop() → [name, count, nanoseconds] for each kernel, copy or fill that ran since profileStart.
napi_value profileStop(Call& call) {
  napi_env env = call.env;
  auto result = profiler::disableProfiler();
  std::map<std::string, std::pair<int64_t, int64_t>> kernels;
  for (const auto& event : result->events()) {
    if (event.deviceType() != c10::DeviceType::CUDA) continue;
    auto& [count, time] = kernels[event.name()];
    count++;
    time += static_cast<int64_t>(nanoseconds(event, 0));
  }
  napi_value rows;
  check(env, napi_create_array(env, &rows), "cannot make an array");
  uint32_t at = 0;
  for (const auto& [name, found] : kernels) {
    napi_value row = newObject(env);
    setProperty(env, row, "name", fromString(env, name));
    setProperty(env, row, "count", fromInt(env, found.first));
    setProperty(env, row, "nanoseconds", fromInt(env, found.second));
    check(env, napi_set_element(env, rows, at++, row), "cannot make an array");
  }
  return rows;
}

}  // namespace

void defineProfile(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "profileStart", entry<profileStart>);
  defineFunction(env, exports, state, "profileStop", entry<profileStop>);
}

}  // namespace nudge
