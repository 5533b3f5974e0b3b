// Every call from JavaScript passes through here: it reads the arguments and converts every C++ exception to a
// JavaScript error.
#pragma once

#include <node_api.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "state.h"

namespace nudge {

// An error of the caller or of libtorch. It becomes an EngineError with the operator and the shapes.
struct Failure : std::runtime_error {
  Failure(std::string message, std::string where = "", std::vector<std::string> what = {})
      : std::runtime_error(message), operatorName(std::move(where)), shapes(std::move(what)) {}
  std::string operatorName;
  std::vector<std::string> shapes;
};

// A JavaScript exception is already pending (for example, a getter threw), so there is nothing to add.
struct Pending {};

constexpr size_t kMaxArguments = 40;

// One call from JavaScript.
struct Call {
  napi_env env;
  State* state;
  size_t count = kMaxArguments;
  napi_value values[kMaxArguments];

  napi_value at(size_t i) const;  // undefined if missing
};

inline void check(napi_env env, napi_status status, const char* what) {
  if (status == napi_ok) return;
  bool pending = false;
  napi_is_exception_pending(env, &pending);
  if (pending) throw Pending{};
  throw Failure(what);
}

// Returns libtorch's message without the C++ backtrace.
std::string messageOf(const std::exception& error);

void throwToJavaScript(napi_env env, State* state, const Failure& failure);

template <napi_value (*Function)(Call&)>
napi_value entry(napi_env env, napi_callback_info info) {
  Call call;
  call.env = env;
  void* data = nullptr;
  napi_get_cb_info(env, info, &call.count, call.values, nullptr, &data);
  call.state = static_cast<State*>(data);
  call.state->beginEntry();
  try {
    if (call.count > kMaxArguments) throw Failure("too many arguments: " + std::to_string(call.count));
    return Function(call);
  } catch (const Pending&) {
    call.state->undoEntry();
  } catch (const Failure& failure) {
    call.state->undoEntry();
    throwToJavaScript(env, call.state, failure);
  } catch (const std::exception& error) {
    call.state->undoEntry();
    throwToJavaScript(env, call.state, Failure(messageOf(error)));
  } catch (...) {
    call.state->undoEntry();
    throwToJavaScript(env, call.state, Failure("an exception that is not a std::exception"));
  }
  return nullptr;
}

}  // namespace nudge
