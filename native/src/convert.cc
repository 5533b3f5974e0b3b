#include "convert.h"

#include <cmath>

namespace nudge {

namespace {

struct DTypeName {
  const char* name;
  int code;
};
// The codes are those of c10::ScalarType and the same in every libtorch. The last ones exist only in newer versions.
constexpr DTypeName kDTypes[] = {
    {"uint8", 0},       {"int8", 1},     {"int16", 2},        {"int32", 3},          {"int64", 4},
    {"float16", 5},     {"float32", 6},  {"float64", 7},      {"complex64", 9},      {"complex128", 10},
    {"bool", 11},       {"bfloat16", 15}, {"float8_e5m2", 23}, {"float8_e4m3fn", 24}, {"uint16", 27},
    {"uint32", 28},     {"uint64", 29},  {"float8_e5m2fnuz", 25}, {"float8_e4m3fnuz", 26}, {"float8_e8m0fnu", 44},
};

napi_valuetype typeOf(napi_env env, napi_value value) {
  napi_valuetype type;
  check(env, napi_typeof(env, value, &type), "cannot read a value");
  return type;
}

[[noreturn]] void refuse(napi_env env, napi_value value, const char* what, const char* expected) {
  throw Failure(std::string(what) + ": expected " + expected + ", got " + describe(env, value));
}

}  // namespace

bool isNothing(napi_env env, napi_value value) {
  napi_valuetype type = typeOf(env, value);
  return type == napi_undefined || type == napi_null;
}

bool isArray(napi_env env, napi_value value) {
  bool yes = false;
  napi_is_array(env, value, &yes);
  return yes;
}

std::string describe(napi_env env, napi_value value) {
  switch (typeOf(env, value)) {
    case napi_undefined: return "undefined";
    case napi_null: return "null";
    case napi_boolean: return toBool(env, value, "") ? "true" : "false";
    case napi_number: {
      double number = 0;
      napi_get_value_double(env, value, &number);
      char text[32];
      snprintf(text, sizeof text, "%.17g", number);
      return text;
    }
    case napi_string: {
      std::string text = toString(env, value, "");
      if (text.size() > 60) text = text.substr(0, 60) + "…";
      return "\"" + text + "\"";
    }
    case napi_symbol: return "a symbol";
    case napi_function: return "a function";
    case napi_bigint: return "a bigint";
    default: return isArray(env, value) ? "an array" : "an object";
  }
}

int64_t toInt(napi_env env, napi_value value, const char* what) {
  napi_valuetype type = typeOf(env, value);
  if (type == napi_number) {
    double number = 0;
    napi_get_value_double(env, value, &number);
    if (number != std::floor(number) || std::abs(number) > 9007199254740991.0) refuse(env, value, what, "an integer");
    return static_cast<int64_t>(number);
  }
  if (type == napi_bigint) {
    int64_t number = 0;
    bool lossless = false;
    napi_get_value_bigint_int64(env, value, &number, &lossless);
    if (!lossless) refuse(env, value, what, "an integer of at most 64 bits");
    return number;
  }
  if (type == napi_boolean) return toBool(env, value, what) ? 1 : 0;
  refuse(env, value, what, "an integer");
}

double toDouble(napi_env env, napi_value value, const char* what) {
  double number = 0;
  if (napi_get_value_double(env, value, &number) != napi_ok) refuse(env, value, what, "a number");
  return number;
}

bool toBool(napi_env env, napi_value value, const char* what) {
  bool yes = false;
  if (napi_get_value_bool(env, value, &yes) != napi_ok) refuse(env, value, what, "true or false");
  return yes;
}

std::string toString(napi_env env, napi_value value, const char* what) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) refuse(env, value, what, "a string");
  std::string text(length, '\0');
  check(env, napi_get_value_string_utf8(env, value, text.data(), length + 1, &length), "cannot read a string");
  return text;
}

c10::Scalar toScalar(napi_env env, napi_value value, const char* what) {
  napi_valuetype type = typeOf(env, value);
  if (type == napi_boolean) return c10::Scalar(toBool(env, value, what));
  if (type == napi_bigint) return c10::Scalar(toInt(env, value, what));
  if (type != napi_number) refuse(env, value, what, "a number");
  double number = 0;
  napi_get_value_double(env, value, &number);
  // JavaScript does not distinguish 2 from 2.0. An integer stays an integer, so that `ints.mul(2)` returns integers.
  // For floating point tensors it makes no difference.
  bool integral = number == std::floor(number) && std::abs(number) <= 9007199254740991.0;
  if (integral && !(number == 0 && std::signbit(number))) return c10::Scalar(static_cast<int64_t>(number));
  return c10::Scalar(number);
}

at::Tensor& toTensor(State& state, napi_env env, napi_value value, const char* what) {
  int32_t handle = 0;
  if (napi_get_value_int32(env, value, &handle) != napi_ok) refuse(env, value, what, "a tensor");
  if (!state.isLive(handle)) throw Failure(std::string(what) + ": this tensor has been freed");
  return state.get(handle);
}

std::vector<at::Tensor> toTensors(State& state, napi_env env, napi_value value, const char* what) {
  if (!isArray(env, value)) refuse(env, value, what, "an array of tensors");
  uint32_t length = 0;
  check(env, napi_get_array_length(env, value, &length), what);
  std::vector<at::Tensor> tensors;
  tensors.reserve(length);
  for (uint32_t i = 0; i < length; i++) {
    napi_value element;
    check(env, napi_get_element(env, value, i, &element), what);
    tensors.push_back(toTensor(state, env, element, what));
  }
  return tensors;
}

std::vector<int64_t> toInts(napi_env env, napi_value value, const char* what) {
  if (!isArray(env, value)) refuse(env, value, what, "an array of integers");
  uint32_t length = 0;
  check(env, napi_get_array_length(env, value, &length), what);
  if (length > 1000000) throw Failure(std::string(what) + ": a list of " + std::to_string(length) + " integers is too long");
  std::vector<int64_t> numbers(length);
  for (uint32_t i = 0; i < length; i++) {
    napi_value element;
    check(env, napi_get_element(env, value, i, &element), what);
    numbers[i] = toInt(env, element, what);
  }
  return numbers;
}

at::ScalarType toDType(napi_env env, napi_value value, const char* what) {
  if (typeOf(env, value) == napi_string) {
    std::string name = toString(env, value, what);
    for (const DTypeName& known : kDTypes) {
      if (name != known.name) continue;
      if (known.code >= static_cast<int>(at::ScalarType::NumOptions)) {
        throw Failure(std::string(what) + ": this libtorch has no " + name + "; a newer one is needed");
      }
      return static_cast<at::ScalarType>(known.code);
    }
    refuse(env, value, what, "a dtype such as \"float32\"");
  }
  int64_t code = toInt(env, value, what);
  for (const DTypeName& known : kDTypes) {
    if (code == known.code && code < static_cast<int>(at::ScalarType::NumOptions)) return static_cast<at::ScalarType>(code);
  }
  refuse(env, value, what, "a dtype");
}

c10::Device toDevice(napi_env env, napi_value value, const char* what) {
  std::string text = toString(env, value, what);
  c10::Device device = [&] {
    try {
      return c10::Device(text);
    } catch (const std::exception&) {
      throw Failure(std::string(what) + ": expected a device such as \"cpu\" or \"cuda:0\", got \"" + text + "\"");
    }
  }();
  if (device.is_cuda() && !at::hasCUDA()) {
    throw Failure(std::string(what) + ": \"" + text + "\": this libtorch was built without CUDA, or no GPU is visible (see nudge doctor)");
  }
  if (!device.is_cpu() && !device.is_cuda() && !device.is_meta()) {
    throw Failure(std::string(what) + ": \"" + text + "\": only cpu, cuda and meta devices are supported");
  }
  return device;
}

at::Generator& toGenerator(State& state, napi_env env, napi_value value, const char* what) {
  int64_t index = toInt(env, value, what);
  if (index < 0 || index >= static_cast<int64_t>(state.generators.size()) || !state.generators[index].defined()) {
    throw Failure(std::string(what) + ": this generator has been freed");
  }
  return state.generators[index];
}

Bytes toBytes(napi_env env, napi_value value, const char* what) {
  void* data = nullptr;
  size_t size = 0;
  bool yes = false;
  if (napi_is_typedarray(env, value, &yes) == napi_ok && yes) {
    napi_typedarray_type type;
    size_t length = 0;
    check(env, napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr), what);
    static constexpr size_t kSizes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8};
    if (static_cast<size_t>(type) >= sizeof kSizes / sizeof *kSizes) refuse(env, value, what, "a known typed array");
    size = length * kSizes[type];
  } else if (napi_is_dataview(env, value, &yes) == napi_ok && yes) {
    check(env, napi_get_dataview_info(env, value, &size, &data, nullptr, nullptr), what);
  } else if (napi_is_arraybuffer(env, value, &yes) == napi_ok && yes) {
    check(env, napi_get_arraybuffer_info(env, value, &data, &size), what);
  } else {
    refuse(env, value, what, "a typed array");
  }
  if (data == nullptr && size > 0) throw Failure(std::string(what) + ": the array's buffer has been detached");
  return {static_cast<uint8_t*>(data), data == nullptr ? 0 : size};
}

napi_value fromDouble(napi_env env, double value) {
  napi_value result;
  check(env, napi_create_double(env, value, &result), "cannot make a number");
  return result;
}

napi_value fromInt(napi_env env, int64_t value) {
  napi_value result;
  if (value > 9007199254740991 || value < -9007199254740991) {
    check(env, napi_create_bigint_int64(env, value, &result), "cannot make a bigint");
  } else {
    check(env, napi_create_int64(env, value, &result), "cannot make a number");
  }
  return result;
}

napi_value fromBool(napi_env env, bool value) {
  napi_value result;
  check(env, napi_get_boolean(env, value, &result), "cannot make a boolean");
  return result;
}

napi_value fromString(napi_env env, const std::string& value) {
  napi_value result;
  check(env, napi_create_string_utf8(env, value.data(), value.size(), &result), "cannot make a string");
  return result;
}

napi_value fromInts(napi_env env, c10::IntArrayRef values) {
  napi_value result;
  check(env, napi_create_array_with_length(env, values.size(), &result), "cannot make an array");
  for (size_t i = 0; i < values.size(); i++) setElement(env, result, i, fromInt(env, values[i]));
  return result;
}

napi_value fromTensor(State& state, napi_env env, at::Tensor tensor) {
  napi_value result;
  if (!tensor.defined()) {
    check(env, napi_get_null(env, &result), "cannot make null");
  } else {
    check(env, napi_create_int32(env, state.put(std::move(tensor)), &result), "cannot make a handle");
  }
  return result;
}

napi_value fromHandles(State& state, napi_env env, const std::vector<at::Tensor>& tensors) {
  napi_value result;
  check(env, napi_create_array_with_length(env, tensors.size(), &result), "cannot make an array");
  for (size_t i = 0; i < tensors.size(); i++) setElement(env, result, i, fromTensor(state, env, tensors[i]));
  return result;
}

napi_value newObject(napi_env env) {
  napi_value result;
  check(env, napi_create_object(env, &result), "cannot make an object");
  return result;
}

void setElement(napi_env env, napi_value array, size_t index, napi_value value) {
  check(env, napi_set_element(env, array, static_cast<uint32_t>(index), value), "cannot set an element of an array");
}

void setProperty(napi_env env, napi_value object, const char* name, napi_value value) {
  check(env, napi_set_named_property(env, object, name, value), name);
}

napi_value nothing(napi_env env) {
  napi_value result;
  check(env, napi_get_undefined(env, &result), "cannot make undefined");
  return result;
}

const char* dtypeName(at::ScalarType type) {
  for (const DTypeName& known : kDTypes) {
    if (static_cast<int>(type) == known.code) return known.name;
  }
  return c10::toString(type);
}

std::string describeTensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return "none";
  std::string text = std::string(dtypeName(tensor.scalar_type())) + "[";
  for (int64_t i = 0; i < tensor.dim(); i++) text += (i ? ", " : "") + std::to_string(tensor.size(i));
  text += "]";
  if (!tensor.device().is_cpu()) text += "@" + tensor.device().str();
  return text;
}

void defineFunction(napi_env env, napi_value exports, State* state, const char* name, napi_callback function) {
  napi_value value;
  check(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, function, state, &value), name);
  setProperty(env, exports, name, value);
}

}  // namespace nudge
