// The Node-API addon over libtorch. There is one State per JavaScript environment, and one file for each group of
// functions.
#include "convert.h"
#include "functions.h"

namespace {

napi_value initialize(napi_env env, napi_value exports) {
  auto* state = new nudge::State();
  napi_set_instance_data(env, state, [](napi_env, void* data, void*) { delete static_cast<nudge::State*>(data); }, nullptr);
  try {
    nudge::defineCalls(env, exports, state);
    nudge::defineTensors(env, exports, state);
    nudge::defineAutograd(env, exports, state);
    nudge::defineRuntime(env, exports, state);
    nudge::defineMemory(env, exports, state);
    nudge::defineAugment(env, exports, state);
    nudge::defineDecode(env, exports, state);
    nudge::definePlans(env, exports, state);
    nudge::defineCuda(env, exports, state);
    nudge::defineProfile(env, exports, state);
  } catch (const std::exception& error) {
    napi_throw_error(env, "NUDGE_ENGINE", error.what());
  } catch (...) {
    napi_throw_error(env, "NUDGE_ENGINE", "the addon could not be initialised");
  }
  return exports;
}

}  // namespace

NAPI_MODULE(nudge, initialize)
