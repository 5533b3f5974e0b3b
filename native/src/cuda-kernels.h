// Launches custom CUDA kernels by name, on the device of a tensor and its current stream.
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

// Returns why a GPU has no such kernels, or an empty string if it has them. Compiles them on the first call.
std::string problem(c10::DeviceIndex device);

#ifdef NUDGE_KERNELS

extern const char* const FUSED_SOURCE;            // fused-kernels.cc
extern const char* const DEPTHWISE_SOURCE;        // depthwise.cc
extern const char* const AUGMENT_SOURCE;          // augment-kernels.cc
extern const char* const LAYER_NORM_SOURCE;       // layer-norm.cc
extern const char* const CHANNEL_FACTORS_SOURCE;  // channel-factors.cc
extern const char* const GROUPED_CONV_SOURCE;     // grouped-conv.cc
extern const char* const MAX_POOL_SOURCE;         // max-pool.cc
extern const char* const WIDE_DEPTHWISE_SOURCE;   // wide-depthwise.cc
extern const char* const FOLD_NORMS_SOURCE;       // fold-norms.cc
extern const char* const LINEAR_SOURCE;           // linear.cc
extern const char* const ADAM_SOURCE;             // adam.cc
extern const char* const RELU_NORM_SOURCE;        // relu-norm.cc

// The number of blocks, and of threads per block.
struct Shape {
  unsigned x = 1, y = 1;
  unsigned threadsX = 256, threadsY = 1;
};

void start(const char* name, const at::Tensor& where, Shape shape, void** arguments);

// The arguments must have exactly the types of the kernel's parameters.
template <typename... Arguments>
void launch(const char* name, const at::Tensor& where, Shape shape, Arguments... arguments) {
  std::array<void*, sizeof...(Arguments)> pointers = {static_cast<void*>(&arguments)...};
  start(name, where, shape, pointers.data());
}

#endif

}  // namespace nudge::kernels
