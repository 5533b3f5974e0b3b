// Creates tensors from typed arrays and files, reads them, returns their properties, and frees their slots.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "convert.h"
#include "functions.h"

namespace nudge {

namespace {

at::Tensor& tensorAt(Call& call, size_t i = 0) { return toTensor(*call.state, call.env, call.at(i), "tensor"); }

at::Tensor emptyOnCpu(c10::IntArrayRef shape, at::ScalarType dtype) {
  for (int64_t size : shape) {
    if (size < 0) throw Failure("a shape cannot hold the negative size " + std::to_string(size));
  }
  return at::empty(shape, at::TensorOptions().dtype(dtype));
}

// fromBytes(view, dtype, shape): makes one copy. The array still belongs to the caller.
napi_value fromBytes(Call& call) {
  at::ScalarType dtype = toDType(call.env, call.at(1), "dtype");
  at::Tensor tensor = emptyOnCpu(toInts(call.env, call.at(2), "shape"), dtype);
  Bytes bytes = toBytes(call.env, call.at(0), "data");  // must come last, because reading the shape may run a getter that detaches it
  if (tensor.nbytes() != bytes.size) {
    throw Failure("tensor: " + describeTensor(tensor) + " needs " + std::to_string(tensor.nbytes()) + " bytes, the data has " +
                  std::to_string(bytes.size));
  }
  if (dtype == at::kBool) {  // for C++, bytes other than 0 and 1 are not valid bools
    bool* target = static_cast<bool*>(tensor.data_ptr());
    for (size_t i = 0; i < bytes.size; i++) target[i] = bytes.data[i] != 0;
  } else if (bytes.size > 0) {
    std::memcpy(tensor.data_ptr(), bytes.data, bytes.size);
  }
  return fromTensor(*call.state, call.env, std::move(tensor));
}

// read(tensor, view): copies the elements in row-major order into a view with exactly that many bytes.
napi_value read(Call& call) {
  at::NoGradGuard noGrad;
  at::Tensor tensor = tensorAt(call).detach().to(at::kCPU).contiguous().resolve_conj().resolve_neg();
  Bytes bytes = toBytes(call.env, call.at(1), "target");
  if (tensor.nbytes() != bytes.size) {
    throw Failure("read: " + describeTensor(tensor) + " has " + std::to_string(tensor.nbytes()) + " bytes, the target " +
                  std::to_string(bytes.size));
  }
  if (bytes.size > 0) std::memcpy(bytes.data, tensor.data_ptr(), bytes.size);
  return nothing(call.env);
}

// readFile(fd, offset, dtype, shape): reads from a file directly into the memory of a new tensor.
napi_value readFile(Call& call) {
  int64_t descriptor = toInt(call.env, call.at(0), "file descriptor");
  int64_t offset = toInt(call.env, call.at(1), "offset");
  at::ScalarType dtype = toDType(call.env, call.at(2), "dtype");
  at::Tensor tensor = emptyOnCpu(toInts(call.env, call.at(3), "shape"), dtype);
  auto* target = static_cast<uint8_t*>(tensor.data_ptr());
  size_t done = 0, total = tensor.nbytes();
  while (done < total) {
    ssize_t got = pread(static_cast<int>(descriptor), target + done, std::min<size_t>(total - done, 1 << 30), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Failure(std::string("reading a tensor from a file: ") + std::strerror(errno));
    if (got == 0) throw Failure("reading a tensor from a file: it ends " + std::to_string(total - done) + " bytes too early");
    done += static_cast<size_t>(got);
  }
  if (dtype == at::kBool) {
    for (size_t i = 0; i < total; i++) target[i] = target[i] != 0;
  }
  return fromTensor(*call.state, call.env, std::move(tensor));
}

// item(tensor): the value of its only element as a number, boolean or (beyond 2^53) bigint.
napi_value item(Call& call) {
  at::Tensor& tensor = tensorAt(call);
  if (tensor.numel() != 1) throw Failure("item: " + describeTensor(tensor) + " has " + std::to_string(tensor.numel()) + " elements, not one");
  c10::Scalar value = tensor.item();
  if (value.isBoolean()) return fromBool(call.env, value.toBool());
  if (value.isIntegral(false)) return fromInt(call.env, value.toLong());
  if (value.isComplex()) throw Failure("item: complex numbers have no JavaScript form");
  return fromDouble(call.env, value.toDouble());
}

napi_value shape(Call& call) { return fromInts(call.env, tensorAt(call).sizes()); }
napi_value strides(Call& call) { return fromInts(call.env, tensorAt(call).strides()); }
napi_value dtype(Call& call) { return fromString(call.env, dtypeName(tensorAt(call).scalar_type())); }
napi_value device(Call& call) { return fromString(call.env, tensorAt(call).device().str()); }
napi_value describeOne(Call& call) { return fromString(call.env, describeTensor(tensorAt(call))); }

napi_value isChannelsLast(Call& call) {
  at::Tensor& tensor = tensorAt(call);
  return fromBool(call.env, tensor.dim() == 4 && tensor.is_contiguous(c10::MemoryFormat::ChannelsLast));
}

// address(tensor): the address of its first element, to check whether two tensors share memory.
napi_value address(Call& call) {
  at::Tensor& tensor = tensorAt(call);
  return fromInt(call.env, tensor.device().is_meta() ? 0 : static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor.data_ptr())));
}

napi_value isLive(Call& call) {
  int32_t handle = 0;
  napi_get_value_int32(call.env, call.at(0), &handle);
  return fromBool(call.env, call.state->isLive(handle));
}

napi_value freeOne(Call& call) {
  int32_t handle = 0;
  if (napi_get_value_int32(call.env, call.at(0), &handle) != napi_ok) throw Failure("free: expected a tensor");
  call.state->release(handle);
  return nullptr;  // undefined, without any cost
}

napi_value liveTensors(Call& call) { return fromInt(call.env, static_cast<int64_t>(call.state->live())); }

}  // namespace

void defineTensors(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "fromBytes", entry<fromBytes>);
  defineFunction(env, exports, state, "read", entry<read>);
  defineFunction(env, exports, state, "readFile", entry<readFile>);
  defineFunction(env, exports, state, "item", entry<item>);
  defineFunction(env, exports, state, "shape", entry<shape>);
  defineFunction(env, exports, state, "strides", entry<strides>);
  defineFunction(env, exports, state, "dtype", entry<dtype>);
  defineFunction(env, exports, state, "device", entry<device>);
  defineFunction(env, exports, state, "describe", entry<describeOne>);
  defineFunction(env, exports, state, "isChannelsLast", entry<isChannelsLast>);
  defineFunction(env, exports, state, "address", entry<address>);
  defineFunction(env, exports, state, "isLive", entry<isLive>);
  defineFunction(env, exports, state, "free", entry<freeOne>);
  defineFunction(env, exports, state, "liveTensors", entry<liveTensors>);
}

}  // namespace nudge
