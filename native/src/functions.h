// The groups of functions that the addon exports, with one source file each.
#pragma once

#include <node_api.h>

#include "state.h"

namespace nudge {

void defineCalls(napi_env env, napi_value exports, State* state);     // call.cc
void defineTensors(napi_env env, napi_value exports, State* state);   // tensor.cc
void defineAutograd(napi_env env, napi_value exports, State* state);  // autograd.cc
void defineRuntime(napi_env env, napi_value exports, State* state);   // runtime.cc
void defineMemory(napi_env env, napi_value exports, State* state);    // memory.cc
void defineAugment(napi_env env, napi_value exports, State* state);  // augment.cc
void defineDecode(napi_env env, napi_value exports, State* state);    // decode.cc
void definePlans(napi_env env, napi_value exports, State* state);     // plan-calls.cc
void defineCuda(napi_env env, napi_value exports, State* state);      // cuda-graph.cc
void defineProfile(napi_env env, napi_value exports, State* state);   // profile.cc

}  // namespace nudge
