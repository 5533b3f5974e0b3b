// Calls any operator by its schema. It is resolved once by name and then called through the dispatcher with boxed
// values.
#include <ATen/ScalarOps.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/stack.h>
#include <torch/csrc/jit/runtime/operator.h>

#include "convert.h"
#include "functions.h"

namespace nudge {

namespace {

// libtorch divides by these without checking, and zero ends the process (SIGFPE).
bool mustBePositive(const std::string& name) {
  return name == "groups" || name == "num_groups" || name == "kernel_size" || name == "dilation" || name == "chunks" ||
         name == "split_size" || name == "upscale_factor" || name == "downscale_factor" || name == "num_heads";
}

Kind elementKind(c10::TypeKind kind) {
  switch (kind) {
    case c10::TypeKind::TensorType: return Kind::Tensor;
    case c10::TypeKind::NumberType: return Kind::Scalar;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: return Kind::Int;
    case c10::TypeKind::FloatType: return Kind::Double;
    case c10::TypeKind::BoolType: return Kind::Bool;
    case c10::TypeKind::StringType: return Kind::String;
    case c10::TypeKind::DeviceObjType: return Kind::Device;
    case c10::TypeKind::GeneratorType: return Kind::Generator;
    case c10::TypeKind::ScalarTypeType: return Kind::DType;
    case c10::TypeKind::LayoutType: return Kind::Layout;
    case c10::TypeKind::MemoryFormatType: return Kind::MemoryFormat;
    default: return Kind::Unsupported;
  }
}

Argument readArgument(const c10::Argument& source) {
  Argument argument;
  argument.name = source.name();
  c10::TypePtr type = source.real_type();  // real_type: ScalarType and MemoryFormat where type() returns int
  argument.type = type->str();
  if (auto optional = type->cast<c10::OptionalType>()) {
    argument.optional = true;
    type = optional->getElementType();
  }
  if (auto list = type->cast<c10::ListType>()) {
    c10::TypePtr element = list->getElementType();
    bool optionalElements = element->kind() == c10::TypeKind::OptionalType;
    if (optionalElements) element = element->cast<c10::OptionalType>()->getElementType();
    switch (elementKind(element->kind())) {
      case Kind::Tensor: argument.kind = optionalElements ? Kind::OptionalTensorList : Kind::TensorList; break;
      case Kind::Int: argument.kind = Kind::IntList; break;
      case Kind::Double: argument.kind = Kind::DoubleList; break;
      case Kind::Bool: argument.kind = Kind::BoolList; break;
      case Kind::Scalar: argument.kind = Kind::ScalarList; break;
      default: argument.kind = Kind::Unsupported;
    }
  } else {
    argument.kind = elementKind(type->kind());
  }
  if (source.N()) argument.length = *source.N();
  argument.positive = mustBePositive(argument.name);
  argument.keywordOnly = source.kwarg_only();
  if (source.default_value()) {
    argument.hasFallback = true;
    argument.fallback = *source.default_value();
  } else if (argument.optional) {
    argument.hasFallback = true;
  }
  return argument;
}

Operator readOperator(const c10::OperatorHandle& handle) {
  const c10::FunctionSchema& schema = handle.schema();
  Operator result{handle, schema.name(), {}, false, false, false, {}, {}};
  result.returnsList = schema.returns().size() == 1 && schema.returns()[0].type()->kind() == c10::TypeKind::ListType;
  result.needsFinite = schema.name().rfind("aten::linalg_", 0) == 0 && schema.name() != "aten::linalg_vector_norm";
  if (!schema.overload_name().empty()) result.name += "." + schema.overload_name();
  result.needsElements = schema.name() == "aten::native_channel_shuffle" || schema.name() == "aten::channel_shuffle" ||
                         schema.name() == "aten::batch_norm_update_stats";
  bool isResize = schema.name().rfind("aten::resize", 0) == 0;
  for (const c10::Argument& argument : schema.arguments()) {
    bool isWritten = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (isWritten && (isResize || argument.kwarg_only())) result.resized.push_back(static_cast<int>(result.arguments.size()));
    result.arguments.push_back(readArgument(argument));
  }
  for (const c10::Argument& returned : schema.returns()) {
    int alias = -1;
    if (returned.alias_info() != nullptr && returned.alias_info()->isWrite()) {
      for (size_t i = 0; i < schema.arguments().size(); i++) {
        const auto* info = schema.arguments()[i].alias_info();
        if (info != nullptr && info->isWrite() && info->beforeSets() == returned.alias_info()->beforeSets()) alias = static_cast<int>(i);
      }
    }
    result.aliases.push_back(alias);
  }
  return result;
}

// A tensor argument: a handle, or [number] for a number that takes part in arithmetic without affecting the dtype.
at::Tensor toTensorOrNumber(State& state, napi_env env, napi_value value, const char* what) {
  napi_valuetype type;
  check(env, napi_typeof(env, value, &type), what);
  if (type != napi_object || !isArray(env, value)) return toTensor(state, env, value, what);
  napi_value element;
  check(env, napi_get_element(env, value, 0, &element), what);
  at::Tensor number = c10::scalar_to_tensor(toScalar(env, element, what));
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  return number;
}

template <typename T, typename Convert>
c10::IValue toList(napi_env env, napi_value value, const char* what, Convert convert) {
  uint32_t length = 0;
  if (!isArray(env, value)) throw Failure(std::string(what) + ": expected an array, got " + describe(env, value));
  check(env, napi_get_array_length(env, value, &length), what);
  c10::List<T> list;
  list.reserve(length);
  for (uint32_t i = 0; i < length; i++) {
    napi_value element;
    check(env, napi_get_element(env, value, i, &element), what);
    list.push_back(convert(env, element, what));
  }
  return list;
}

void checkPositive(const Argument& argument, c10::IntArrayRef values) {
  if (!argument.positive) return;
  for (int64_t value : values) {
    // libtorch stores some of these in 32 bits, where 2^32 becomes zero.
    if (value <= 0 || value > INT32_MAX) throw Failure(argument.name + ": expected 1 to 2147483647, got " + std::to_string(value));
  }
}

c10::IValue toIntList(const Argument& argument, napi_env env, napi_value value) {
  const char* what = argument.name.c_str();
  std::vector<int64_t> values;
  if (argument.length > 0 && !isArray(env, value)) {
    values.assign(argument.length, toInt(env, value, what));
  } else {
    values = toInts(env, value, what);
  }
  checkPositive(argument, values);
  return values;
}

c10::IValue toOptionalTensorList(State& state, napi_env env, napi_value value, const char* what) {
  uint32_t length = 0;
  if (!isArray(env, value)) throw Failure(std::string(what) + ": expected an array, got " + describe(env, value));
  check(env, napi_get_array_length(env, value, &length), what);
  c10::impl::GenericList list(c10::OptionalType::create(c10::TensorType::get()));
  for (uint32_t i = 0; i < length; i++) {
    napi_value element;
    check(env, napi_get_element(env, value, i, &element), what);
    list.push_back(isNothing(env, element) ? c10::IValue() : c10::IValue(toTensor(state, env, element, what)));
  }
  return list;
}

int64_t toMemoryFormat(napi_env env, napi_value value, const char* what) {
  std::string name = toString(env, value, what);
  if (name == "contiguous") return static_cast<int64_t>(c10::MemoryFormat::Contiguous);
  if (name == "preserve") return static_cast<int64_t>(c10::MemoryFormat::Preserve);
  if (name == "channels_last") return static_cast<int64_t>(c10::MemoryFormat::ChannelsLast);
  throw Failure(std::string(what) + ": expected contiguous, channels_last or preserve, got \"" + name + "\"");
}

c10::IValue toIValue(State& state, const Argument& argument, napi_env env, napi_value value) {
  const char* what = argument.name.c_str();
  switch (argument.kind) {
    case Kind::Tensor: return toTensorOrNumber(state, env, value, what);
    case Kind::TensorList: return c10::List<at::Tensor>(toTensors(state, env, value, what));
    case Kind::OptionalTensorList: return toOptionalTensorList(state, env, value, what);
    case Kind::Scalar: return toScalar(env, value, what);
    case Kind::Int: {
      int64_t number = toInt(env, value, what);
      checkPositive(argument, number);
      return number;
    }
    case Kind::IntList: return toIntList(argument, env, value);
    case Kind::Double: return toDouble(env, value, what);
    case Kind::DoubleList: return toList<double>(env, value, what, toDouble);
    case Kind::Bool: return toBool(env, value, what);
    case Kind::BoolList: return toList<bool>(env, value, what, toBool);
    case Kind::ScalarList: {
      c10::impl::GenericList list(c10::NumberType::get());
      uint32_t length = 0;
      if (!isArray(env, value)) throw Failure(std::string(what) + ": expected an array, got " + describe(env, value));
      check(env, napi_get_array_length(env, value, &length), what);
      for (uint32_t i = 0; i < length; i++) {
        napi_value element;
        check(env, napi_get_element(env, value, i, &element), what);
        list.push_back(toScalar(env, element, what));
      }
      return list;
    }
    case Kind::String: return toString(env, value, what);
    case Kind::Device: return toDevice(env, value, what);
    case Kind::DType: return static_cast<int64_t>(toDType(env, value, what));
    case Kind::Layout: {
      if (toString(env, value, what) != "strided") throw Failure(std::string(what) + ": only the strided layout is supported");
      return static_cast<int64_t>(c10::Layout::Strided);
    }
    case Kind::MemoryFormat: return toMemoryFormat(env, value, what);
    case Kind::Generator: return toGenerator(state, env, value, what);
    case Kind::Unsupported: break;
  }
  throw Failure(argument.name + ": arguments of type " + argument.type + " cannot be given from JavaScript");
}

napi_value fromIValue(State& state, napi_env env, const c10::IValue& value) {
  if (value.isTensor()) return fromTensor(state, env, value.toTensor());
  if (value.isTensorList()) return fromHandles(state, env, value.toTensorVector());
  if (value.isDouble()) return fromDouble(env, value.toDouble());
  if (value.isInt()) return fromInt(env, value.toInt());
  if (value.isBool()) return fromBool(env, value.toBool());
  if (value.isString()) return fromString(env, value.toStringRef());
  if (value.isIntList()) return fromInts(env, value.toIntVector());
  if (value.isNone()) {
    napi_value result;
    check(env, napi_get_null(env, &result), "cannot make null");
    return result;
  }
  if (value.isScalar()) return fromDouble(env, value.toScalar().toDouble());
  throw Failure("returns a " + value.tagKind() + ", which has no JavaScript form");
}

// Limits lists with one tensor per element of a dimension, or with a given number of tensors. libtorch would create
// billions and be killed.
void checkListLength(const Operator& op, const torch::jit::Stack& stack) {
  constexpr int64_t kMost = 1000000;
  int64_t dim = 0, parts = 0, each = 1;
  for (size_t i = 1; i < op.arguments.size(); i++) {
    const std::string& name = op.arguments[i].name;
    if (!stack[i].isInt()) continue;
    if (name == "dim") dim = stack[i].toInt();
    if (name == "chunks") parts = stack[i].toInt();
    if (name == "split_size") each = stack[i].toInt();
  }
  bool byElement = op.name.rfind("aten::unbind", 0) == 0 || op.name.rfind("aten::split", 0) == 0;
  if (byElement && stack[0].isTensor() && stack[0].toTensor().dim() > 0) {
    const at::Tensor& self = stack[0].toTensor();
    parts = self.size(c10::maybe_wrap_dim(dim, self.dim())) / std::max<int64_t>(each, 1);
  }
  if (parts > kMost) throw Failure("this would make " + std::to_string(parts) + " tensors; at most " + std::to_string(kMost) + " are allowed");
}

// Only checks on the CPU, where it is one pass besides a factorization. On a GPU it would make the host wait.
void checkFinite(const torch::jit::Stack& stack) {
  if (!stack[0].isTensor() || !stack[0].toTensor().device().is_cpu()) return;
  at::NoGradGuard noGrad;
  if (!at::isfinite(stack[0].toTensor()).all().item<bool>()) throw Failure("the matrix holds NaN or infinity");
}

// Saves the sizes of tensors that an operator may resize, to restore them if it fails. libtorch sets the new sizes
// before it allocates the memory, so a failed allocation leaves a tensor that extends beyond its storage.
class SizesBefore {
 public:
  SizesBefore(const Operator& op, const torch::jit::Stack& stack) {
    for (int i : op.resized) {
      if (!stack[i].isTensor() || !stack[i].toTensor().defined()) continue;
      const at::Tensor& tensor = stack[i].toTensor();
      saved_.push_back({tensor, tensor.sizes().vec(), tensor.strides().vec(), tensor.storage_offset()});
    }
  }

  void putBack() {
    for (const Saved& saved : saved_) {
      at::TensorImpl* impl = saved.tensor.unsafeGetTensorImpl();
      impl->set_storage_offset(saved.offset);
      impl->set_sizes_and_strides(saved.sizes, saved.strides);
    }
  }

 private:
  struct Saved {
    at::Tensor tensor;
    std::vector<int64_t> sizes, strides;
    int64_t offset;
  };
  std::vector<Saved> saved_;
};

std::vector<std::string> describeArguments(State& state, const Operator& op, const Call& call) {
  std::vector<std::string> shapes;
  auto add = [&](napi_value value) {
    int32_t handle = 0;
    if (napi_get_value_int32(call.env, value, &handle) != napi_ok) return;
    shapes.push_back(state.isLive(handle) ? describeTensor(state.get(handle)) : "freed");
  };
  for (size_t i = 0; i < op.arguments.size() && i + 1 < call.count; i++) {
    napi_value value = call.values[i + 1];
    if (op.arguments[i].kind == Kind::Tensor) add(value);
    if (op.arguments[i].kind == Kind::TensorList && isArray(call.env, value)) {
      uint32_t length = 0;
      napi_get_array_length(call.env, value, &length);
      for (uint32_t k = 0; k < length && k < 8; k++) {
        napi_value element;
        if (napi_get_element(call.env, value, k, &element) == napi_ok) add(element);
      }
      if (length > 8) shapes.push_back("… " + std::to_string(length - 8) + " more");
    }
  }
  return shapes;
}

[[noreturn]] void fail(State& state, const Operator& op, const Call& call, std::string message) {
  std::vector<std::string> shapes = describeArguments(state, op, call);
  std::string text = op.name.rfind("aten::", 0) == 0 ? op.name.substr(6) : op.name;
  text = text.substr(0, text.find('.'));
  if (!shapes.empty()) {
    text += "(";
    for (size_t i = 0; i < shapes.size(); i++) text += (i ? ", " : "") + shapes[i];
    text += ")";
  }
  throw Failure(text + ": " + message, op.name, std::move(shapes));
}

const Operator& operatorAt(const Call& call) {
  int64_t id = toInt(call.env, call.at(0), "operator");
  if (id < 0 || id >= static_cast<int64_t>(call.state->operators.size())) throw Failure("no operator has the number " + std::to_string(id));
  return call.state->operators[id];
}

// call(operator, ...arguments): undefined means the default of the schema.
napi_value callOperator(Call& call) {
  State& state = *call.state;
  const Operator& op = operatorAt(call);
  // The memory of the stack is reused, but moved out during a call, because a getter in an argument may call again.
  thread_local torch::jit::Stack spare;
  torch::jit::Stack stack = std::move(spare);
  stack.clear();
  try {
    if (call.count - 1 > op.arguments.size()) {
      throw Failure("takes " + std::to_string(op.arguments.size()) + " arguments, got " + std::to_string(call.count - 1));
    }
    for (size_t i = 0; i < op.arguments.size(); i++) {
      const Argument& argument = op.arguments[i];
      bool given = false;
      if (i + 1 < call.count) {
        napi_valuetype type;
        check(call.env, napi_typeof(call.env, call.values[i + 1], &type), "cannot read an argument");
        given = type != napi_undefined;
        if (type == napi_null && argument.optional) {
          stack.emplace_back();
          continue;
        }
      }
      if (given) {
        stack.push_back(toIValue(state, argument, call.env, call.values[i + 1]));
      } else if (argument.hasFallback) {
        stack.push_back(argument.fallback);
      } else {
        throw Failure("the argument \"" + argument.name + "\" (" + argument.type + ") is missing");
      }
    }
    if (op.returnsList) checkListLength(op, stack);
    if (op.needsFinite) checkFinite(stack);
    if (op.needsElements && stack[0].isTensor() && stack[0].toTensor().numel() == 0) throw Failure("the tensor has no elements");
    if (op.resized.empty()) {
      op.handle.callBoxed(stack);
    } else {
      SizesBefore before(op, stack);
      try {
        op.handle.callBoxed(stack);
      } catch (...) {
        before.putBack();
        throw;
      }
    }
  } catch (const Failure& failure) {
    fail(state, op, call, failure.what());
  } catch (const std::exception& error) {
    fail(state, op, call, messageOf(error));
  }
  napi_value result;
  auto convert = [&](size_t i) {
    return op.aliases[i] >= 0 && op.arguments[op.aliases[i]].kind == Kind::Tensor ? call.values[op.aliases[i] + 1]
                                                                                  : fromIValue(state, call.env, stack[i]);
  };
  if (stack.empty()) {
    result = nothing(call.env);
  } else if (stack.size() == 1) {
    result = convert(0);
  } else {
    check(call.env, napi_create_array_with_length(call.env, stack.size(), &result), "cannot make an array");
    for (size_t i = 0; i < stack.size(); i++) setElement(call.env, result, i, convert(i));
  }
  stack.clear();
  spare = std::move(stack);
  return result;
}

// resolve(name, overload) → operator id.
napi_value resolve(Call& call) {
  std::string name = toString(call.env, call.at(0), "operator name");
  std::string overload = toString(call.env, call.at(1), "overload name");
  auto handle = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!handle) throw Failure("this libtorch has no operator " + name + (overload.empty() ? "" : "." + overload), name);
  call.state->operators.push_back(readOperator(*handle));
  return fromInt(call.env, static_cast<int64_t>(call.state->operators.size()) - 1);
}

// overloads(name) → the names of the overloads in the dispatcher.
napi_value overloads(Call& call) {
  std::string name = toString(call.env, call.at(0), "operator name");
  size_t colons = name.find("::");
  if (colons == std::string::npos || colons == 0 || colons + 2 == name.size()) {
    throw Failure("operator names look like aten::add, got \"" + name + "\"");
  }
  napi_value result;
  check(call.env, napi_create_array(call.env, &result), "cannot make an array");
  uint32_t count = 0;
  for (const auto& op : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name))) {
    if (!c10::Dispatcher::singleton().findSchema({name, op->schema().overload_name()})) continue;
    setElement(call.env, result, count++, fromString(call.env, op->schema().overload_name()));
  }
  return result;
}

// schema(operator) → { name, text, arguments: [{ name, type, keywordOnly, hasDefault }], returns: [type] }.
napi_value schema(Call& call) {
  const Operator& op = operatorAt(call);
  napi_env env = call.env;
  napi_value result = newObject(env), list, returned;
  setProperty(env, result, "name", fromString(env, op.name));
  std::ostringstream text;
  text << op.handle.schema();
  setProperty(env, result, "text", fromString(env, text.str()));
  check(env, napi_create_array(env, &list), "cannot make an array");
  for (size_t i = 0; i < op.arguments.size(); i++) {
    const Argument& argument = op.arguments[i];
    napi_value item = newObject(env);
    setProperty(env, item, "name", fromString(env, argument.name));
    setProperty(env, item, "type", fromString(env, argument.type));
    setProperty(env, item, "length", fromInt(env, argument.length));
    setProperty(env, item, "keywordOnly", fromBool(env, argument.keywordOnly));
    setProperty(env, item, "hasDefault", fromBool(env, argument.hasFallback));
    setElement(env, list, i, item);
  }
  setProperty(env, result, "arguments", list);
  check(env, napi_create_array(env, &returned), "cannot make an array");
  const auto& returns = op.handle.schema().returns();
  for (size_t i = 0; i < returns.size(); i++) {
    napi_value item = newObject(env);
    setProperty(env, item, "type", fromString(env, returns[i].real_type()->str()));
    setProperty(env, item, "argument", fromInt(env, op.aliases[i]));
    setElement(env, returned, i, item);
  }
  setProperty(env, result, "returns", returned);
  return result;
}

}  // namespace

void defineCalls(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "call", entry<callOperator>);
  defineFunction(env, exports, state, "resolve", entry<resolve>);
  defineFunction(env, exports, state, "overloads", entry<overloads>);
  defineFunction(env, exports, state, "schema", entry<schema>);
}

}  // namespace nudge
