#include "guard.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "convert.h"

namespace nudge {

napi_value Call::at(size_t i) const { return i < count ? values[i] : nothing(env); }

std::string messageOf(const std::exception& error) {
  if (auto* torch = dynamic_cast<const c10::Error*>(&error)) return torch->what_without_backtrace();
  return error.what();
}

void throwToJavaScript(napi_env env, State* state, const Failure& failure) {
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (pending) return;
  napi_value message, error, where, shapes, constructor = nullptr;
  const char* text = failure.what();
  // Without memory for any part of the error, a plainer one is thrown.
  auto plain = [&] { napi_throw_error(env, "NUDGE_ENGINE", text); };
  if (state != nullptr && state->errorClass != nullptr) napi_get_reference_value(env, state->errorClass, &constructor);
  if (constructor == nullptr || napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message) != napi_ok ||
      napi_create_string_utf8(env, failure.operatorName.c_str(), NAPI_AUTO_LENGTH, &where) != napi_ok ||
      napi_create_array_with_length(env, failure.shapes.size(), &shapes) != napi_ok)
    return plain();
  for (size_t i = 0; i < failure.shapes.size(); i++) {
    napi_value shape;
    if (napi_create_string_utf8(env, failure.shapes[i].c_str(), NAPI_AUTO_LENGTH, &shape) != napi_ok ||
        napi_set_element(env, shapes, i, shape) != napi_ok)
      return plain();
  }
  napi_value arguments[] = {message, where, shapes};
  if (napi_new_instance(env, constructor, 3, arguments, &error) == napi_ok) napi_throw(env, error);
}

int32_t State::put(at::Tensor tensor) {
  if (fresh_.size() == fresh_.capacity()) fresh_.reserve(2 * fresh_.size() + 16);
  uint32_t index;
  if (free_.empty()) {
    index = static_cast<uint32_t>(slots_.size());
    if (index >> kIndexBits) throw Failure("more than 4 million live tensors: free them with a scope");
    // Reserve space to mark every slot as free, so that freeing a tensor never allocates.
    if (free_.capacity() <= slots_.size()) free_.reserve(2 * slots_.size() + 16);
    slots_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  slots_[index].tensor = std::move(tensor);
  fresh_.push_back(static_cast<int32_t>(slots_[index].generation << kIndexBits | index));
  return fresh_.back();
}

void State::undoEntry() {
  for (int32_t handle : fresh_)
    if (isLive(handle)) release(handle);
  fresh_.clear();
}

bool State::isLive(int32_t handle) const {
  uint32_t index = static_cast<uint32_t>(handle) & ((1u << kIndexBits) - 1);
  return handle > 0 && index < slots_.size() && slots_[index].generation == static_cast<uint32_t>(handle) >> kIndexBits &&
         slots_[index].tensor.defined();
}

at::Tensor& State::get(int32_t handle) { return slots_[static_cast<uint32_t>(handle) & ((1u << kIndexBits) - 1)].tensor; }

void State::release(int32_t handle) {
  if (!isLive(handle)) throw Failure("free: this tensor has been freed already");
  uint32_t index = static_cast<uint32_t>(handle) & ((1u << kIndexBits) - 1);
  slots_[index].tensor.reset();
  slots_[index].generation = slots_[index].generation % (kGenerations - 1) + 1;
  free_.push_back(index);
}

}  // namespace nudge
