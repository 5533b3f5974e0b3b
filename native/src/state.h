// The objects of one JavaScript environment: tensors by slot, generators, resolved operators, the error class.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <node_api.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace nudge {

// How one argument of an operator is converted from a JavaScript value. It is read from the schema when the operator is
// resolved.
enum class Kind : uint8_t {
  Tensor, TensorList, OptionalTensorList, Scalar, ScalarList, Int, IntList, Double, DoubleList, Bool, BoolList,
  String, Device, DType, Layout, MemoryFormat, Generator, Unsupported,
};

struct Argument {
  std::string name;
  std::string type;
  Kind kind = Kind::Unsupported;
  bool optional = false;
  bool positive = false;  // libtorch divides by it without checking, so values of zero and below are rejected here
  bool keywordOnly = false;
  bool hasFallback = false;
  int64_t length = 0;  // for int[2], one number can be passed for both
  c10::IValue fallback;
};

struct Operator {
  c10::OperatorHandle handle;
  std::string name;
  std::vector<Argument> arguments;
  bool returnsList = false;
  bool needsFinite = false;  // LAPACK does not terminate on infinities
  bool needsElements = false;  // libtorch divides by the number of elements without checking
  std::vector<int> resized;  // the arguments that it may resize; libtorch does so before it has the memory
  std::vector<int> aliases;  // for each return value: the index of the argument, if the operator writes in place; otherwise -1
};

// The handle of a tensor combines a slot number and the slot's generation in one small integer, so that using a stale
// handle is an error.
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
  // An entry that fails hands nothing to JavaScript: what it has put since it began is released.
  void beginEntry() { fresh_.clear(); }
  void undoEntry();
  size_t live() const { return slots_.size() - free_.size(); }

  std::vector<at::Generator> generators;
  std::deque<Operator> operators;  // references stay valid as it grows
  napi_ref errorClass = nullptr;

 private:
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  std::vector<int32_t> fresh_;  // handles put since the entry began
};

}  // namespace nudge
