// What one JavaScript environment owns: tensors by slot, generators, resolved operators, the error class.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <node_api.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace nudge {

// How one argument of an operator is made from a JavaScript value; read off the schema once, when the operator is resolved.
enum class Kind : uint8_t {
  Tensor, TensorList, OptionalTensorList, Scalar, ScalarList, Int, IntList, Double, DoubleList, Bool, BoolList,
  String, Device, DType, Layout, MemoryFormat, Generator, Unsupported,
};

struct Argument {
  std::string name;
  std::string type;
  Kind kind = Kind::Unsupported;
  bool optional = false;
  bool positive = false;  // libtorch divides by it without looking: zero and below are refused here
  bool keywordOnly = false;
  bool hasFallback = false;
  int64_t length = 0;  // int[2] takes one number for both
  c10::IValue fallback;
};

struct Operator {
  c10::OperatorHandle handle;
  std::string name;
  std::vector<Argument> arguments;
  bool returnsList = false;
  bool needsFinite = false;  // LAPACK loops for ever on infinities
  bool needsElements = false;  // libtorch divides by the number of elements without looking
  std::vector<int> resized;  // the arguments whose sizes it may change: libtorch does so before it has the memory
  std::vector<int> aliases;  // for each return: the argument it is, when the operator writes in place; else -1
};

// A tensor's handle is a slot number and the slot's generation in one small integer, so that a stale handle is an error.
struct Slot {
  at::Tensor tensor;
  uint32_t generation = 1;
};

class State {
 public:
  static constexpr uint32_t kIndexBits = 22;
  static constexpr uint32_t kGenerations = 1u << 9;

  int32_t put(at::Tensor tensor);
  at::Tensor& get(int32_t handle);
  bool isLive(int32_t handle) const;
  void release(int32_t handle);
  size_t live() const { return slots_.size() - free_.size(); }

  std::vector<at::Generator> generators;
  std::deque<Operator> operators;  // references stay valid while it grows
  napi_ref errorClass = nullptr;

 private:
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace nudge
