// The arithmetic of a network plan (network-plan.cc), compiled once for each kind of vector unit. Maps have channels last, and
// the number of channels is padded to whole vectors, so no kernel has a remainder.
#pragma once

#include <cstdint>

namespace nudge::plan {

// What follows a sum, after its residual.
enum class Act { kClamp, kSilu, kSigmoid };

struct After {
  Act act = Act::kClamp;
  float low = 0, high = 0;
};

// c[rows, columns] = after(a[rows, inner] · weights + bias + residual). The weights are panels of two vectors of columns, and
// one of a single vector if columns is an odd number of vectors; a panel has its rows one after the other.
struct Product {
  const float* a;
  int64_t aStride;
  int rows, inner, columns;
  const float* weights;
  const float* bias;
  const float* residual;  // like c; null if there is none
  float* c;
  int64_t cStride;
  After after;
};

// One row of a depthwise convolution with a 3 × 3 or 5 × 5 kernel and stride 1 or 2. `rows` are the rows of the map under the
// kernel; those before `firstRow` and from `endRow` on are padding. The weights are [channels / vector, kernel², vector].
struct DepthwiseRow {
  const float* rows[5];
  int firstRow, endRow;
  int kernel, stride, padding;
  int from, to;  // the width of the map and of the result
  int channels;
  const float* weights;
  const float* bias;
  const float* residual;
  float* out;
  After after;
};

// The largest value under a window, for one row. Rows outside the map are not part of `rows`.
struct PoolRow {
  const float* const* rows;
  int count;
  int kernel, stride, padding, from, to, channels;
  float* out;
};

struct Kernels {
  int vector;  // the number of floats in a vector
  void (*product)(const Product&);
  void (*depthwise)(const DepthwiseRow&);
  void (*pool)(const PoolRow&);
  // out[channels] = the mean of map[pixels, channels]
  void (*mean)(const float* map, int64_t pixels, int width, int channels, float* out);
  // out[pixels, channels] = map[pixels, channels] · by[channels]
  void (*scale)(const float* map, const float* by, int64_t pixels, int channels, float* out);
};

extern const Kernels kPlain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define NUDGE_PLAN_X86
extern const Kernels kAvx2, kAvx512;
#endif

}  // namespace nudge::plan
