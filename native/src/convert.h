// All conversions between JavaScript and C++ values. `what` names the value in errors: "dim", "argument 2".
#pragma once

#include <ATen/ATen.h>
#include <node_api.h>

#include <string>
#include <vector>

#include "guard.h"
#include "state.h"

namespace nudge {

bool isNothing(napi_env env, napi_value value);  // null or undefined
bool isArray(napi_env env, napi_value value);
std::string describe(napi_env env, napi_value value);  // for "expected …, got …"

int64_t toInt(napi_env env, napi_value value, const char* what);
double toDouble(napi_env env, napi_value value, const char* what);
bool toBool(napi_env env, napi_value value, const char* what);
std::string toString(napi_env env, napi_value value, const char* what);
c10::Scalar toScalar(napi_env env, napi_value value, const char* what);
at::Tensor& toTensor(State& state, napi_env env, napi_value value, const char* what);
std::vector<at::Tensor> toTensors(State& state, napi_env env, napi_value value, const char* what);
std::vector<int64_t> toInts(napi_env env, napi_value value, const char* what);
at::ScalarType toDType(napi_env env, napi_value value, const char* what);
c10::Device toDevice(napi_env env, napi_value value, const char* what);
at::Generator& toGenerator(State& state, napi_env env, napi_value value, const char* what);

// The bytes of a typed array, Buffer, DataView or ArrayBuffer. A detached one is an error.
struct Bytes {
  uint8_t* data;
  size_t size;
};
Bytes toBytes(napi_env env, napi_value value, const char* what);

napi_value fromDouble(napi_env env, double value);
napi_value fromInt(napi_env env, int64_t value);  // a BigInt beyond 2^53
napi_value fromBool(napi_env env, bool value);
napi_value fromString(napi_env env, const std::string& value);
napi_value fromInts(napi_env env, c10::IntArrayRef values);
napi_value fromHandles(State& state, napi_env env, const std::vector<at::Tensor>& tensors);
napi_value fromTensor(State& state, napi_env env, at::Tensor tensor);  // null for an undefined one
napi_value newObject(napi_env env);
void setElement(napi_env env, napi_value array, size_t index, napi_value value);
void setProperty(napi_env env, napi_value object, const char* name, napi_value value);
napi_value nothing(napi_env env);

// `float32[4, 3]`, with the device when it is not the CPU.
std::string describeTensor(const at::Tensor& tensor);
const char* dtypeName(at::ScalarType type);

void defineFunction(napi_env env, napi_value exports, State* state, const char* name, napi_callback function);

}  // namespace nudge
