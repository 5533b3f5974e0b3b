// Starting our own CUDA kernels by name, on a tensor's device and its current stream.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <string>

#ifdef NUDGE_CUDA
#if __has_include(<nvrtc.h>) && __has_include(<cuda.h>)
#define NUDGE_KERNELS
#endif
#endif

namespace nudge::kernels {

// Why a GPU has no such kernels; empty where it has. Compiles them the first time.
std::string problem(c10::DeviceIndex device);

#ifdef NUDGE_KERNELS

extern const char* const FUSED_SOURCE;      // fused-kernels.cc
extern const char* const DEPTHWISE_SOURCE;  // depthwise.cc
extern const char* const AUGMENT_SOURCE;    // augment-kernels.cc

// Blocks, and threads in a block.
struct Shape {
  unsigned x = 1, y = 1;
  unsigned threadsX = 256, threadsY = 1;
};

void start(const char* name, const at::Tensor& where, Shape shape, void** arguments);

// The arguments must have the kernel's own types.
template <typename... Arguments>
void launch(const char* name, const at::Tensor& where, Shape shape, Arguments... arguments) {
  std::array<void*, sizeof...(Arguments)> pointers = {static_cast<void*>(&arguments)...};
  start(name, where, shape, pointers.data());
}

#endif

}  // namespace nudge::kernels
