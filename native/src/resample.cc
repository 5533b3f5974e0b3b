// PIL's bilinear and bicubic resize of 8-bit pictures: two passes, horizontal first, rounded to bytes in between.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "picture.h"

namespace nudge {

namespace {

constexpr int32_t kHalf = 1 << (Filter::kBits - 1);

typedef int32_t Int4 __attribute__((vector_size(16)));
typedef uint8_t Byte4 __attribute__((vector_size(4)));

// Resizes one row to one row of each plane. Pixels are read four bytes at a time, with the same number of pixels for
// all target pixels, so `line` must be readable beyond its last pixel. The weights sum to 2^22 up to rounding, so 32
// bits hold 255 times that. Sums of the triangle kernel need no clipping. Some weights of the cubic kernel are
// negative, so its sums can be below 0 or above 255.
template <int Taps, bool Clip>
inline __attribute__((always_inline)) void resizeRowBy(int taps, const uint8_t* line, const Filter& filter, int size, uint8_t* red, uint8_t* green, uint8_t* blue) {
  const int32_t* weights = filter.weights.data();
  const int* first = filter.first.data();
  for (int x = 0; x < size; x++, weights += filter.width) {
    const uint8_t* p = line + static_cast<size_t>(first[x]) * 3;
    Int4 sum = {kHalf, kHalf, kHalf, kHalf};
    for (int k = 0; k < (Taps > 0 ? Taps : taps); k++, p += 3) {
      Byte4 pixel;
      std::memcpy(&pixel, p, 4);
      sum += __builtin_convertvector(pixel, Int4) * weights[k];
    }
    sum >>= Filter::kBits;
    if (Clip) {
      for (int c = 0; c < 3; c++) sum[c] = std::clamp(sum[c], 0, 255);
    }
    red[x] = static_cast<uint8_t>(sum[0]);
    green[x] = static_cast<uint8_t>(sum[1]);
    blue[x] = static_cast<uint8_t>(sum[2]);
  }
}

NUDGE_CLONES void resizeRow(const uint8_t* line, const Filter& filter, int size, uint8_t* red, uint8_t* green, uint8_t* blue) {
  if (filter.clips) {
    resizeRowBy<0, true>(filter.taps, line, filter, size, red, green, blue);
  } else if (filter.taps == 2) {
    resizeRowBy<2, false>(2, line, filter, size, red, green, blue);
  } else if (filter.taps == 3) {
    resizeRowBy<3, false>(3, line, filter, size, red, green, blue);
  } else {
    resizeRowBy<0, false>(filter.taps, line, filter, size, red, green, blue);
  }
}

NUDGE_CLONES void splitRow(const uint8_t* line, int size, uint8_t* red, uint8_t* green, uint8_t* blue) {
  for (int x = 0; x < size; x++) {
    red[x] = line[3 * x];
    green[x] = line[3 * x + 1];
    blue[x] = line[3 * x + 2];
  }
}

// Computes one row of a plane from several rows.
NUDGE_CLONES void resizeColumns(const uint8_t* rows, const int32_t* weights, int count, int size, bool clips, int32_t* sums, uint8_t* out) {
  std::fill(sums, sums + size, kHalf);
  for (int k = 0; k < count; k++, rows += size) {
    int32_t weight = weights[k];
#pragma omp simd
    for (int x = 0; x < size; x++) sums[x] += weight * rows[x];
  }
  if (clips) {
#pragma omp simd
    for (int x = 0; x < size; x++) out[x] = static_cast<uint8_t>(std::min(std::max(sums[x] >> Filter::kBits, 0), 255));
    return;
  }
#pragma omp simd
  for (int x = 0; x < size; x++) out[x] = static_cast<uint8_t>(sums[x] >> Filter::kBits);
}

double triangle(double distance) { return distance < 1 ? 1 - distance : 0; }

double cubic(double distance) {
  constexpr double a = -0.5;
  if (distance < 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  return distance < 2 ? (((distance - 5) * distance + 8) * distance - 4) * a : 0;
}

}  // namespace

void Filter::set(int source, int target, int begin, int size, Interpolation interpolation) {
  clips = interpolation == Interpolation::kBicubic;
  auto kernel = clips ? cubic : triangle;
  double scale = static_cast<double>(source) / target, stretch = std::max(scale, 1.0), support = stretch * (clips ? 2 : 1);
  width = static_cast<int>(std::ceil(support)) * 2 + 1;
  first.resize(size);
  count.resize(size);
  weights.assign(static_cast<size_t>(size) * width, 0);
  taps = 0;
  exact_.resize(width);
  for (int i = 0; i < size; i++) {
    double centre = (begin + i + 0.5) * scale, total = 0;
    int from = std::max(0, static_cast<int>(centre - support + 0.5));
    int to = std::min(source, static_cast<int>(centre + support + 0.5));
    for (int k = from; k < to; k++) {
      exact_[k - from] = kernel(std::abs((k + 0.5 - centre) / stretch));
      total += exact_[k - from];
    }
    first[i] = from;
    count[i] = to - from;
    taps = std::max(taps, to - from);
    int32_t* row = weights.data() + static_cast<size_t>(i) * width;
    for (int k = 0; k < to - from; k++) {
      double weight = exact_[k] / total * (1 << kBits);
      row[k] = static_cast<int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5);
    }
  }
}

void resize(const uint8_t* pixels, int stride, int width, int height, const Target& target, Scratch& scratch) {
  int size = target.size;
  // The rows that the result depends on: `tall` rows starting at `top`.
  bool keepsWidth = width == target.wide, keepsHeight = height == target.high;
  Filter& columns = scratch.vertical;
  int top = target.y, tall = size;
  if (!keepsHeight) {
    columns.set(height, target.high, target.y, size, target.interpolation);
    top = columns.first[0];
    tall = columns.first[size - 1] + columns.count[size - 1] - top;
  }
  size_t plane = static_cast<size_t>(size) * size, between = static_cast<size_t>(size) * tall;
  scratch.planes.resize(plane * 3);
  if (!keepsHeight) scratch.rows.resize(between * 3);
  uint8_t* rows = keepsHeight ? scratch.planes.data() : scratch.rows.data();
  if (!keepsWidth) {
    scratch.horizontal.set(width, target.wide, target.x, size, target.interpolation);
    scratch.line.assign(static_cast<size_t>(width + scratch.horizontal.taps) * 3 + 1, 0);
  }
  for (int y = 0; y < tall; y++) {
    const uint8_t* line = pixels + static_cast<size_t>(top + y) * stride * 3;
    uint8_t* red = rows + static_cast<size_t>(y) * size;
    if (keepsWidth) {
      splitRow(line + static_cast<size_t>(target.x) * 3, size, red, red + between, red + 2 * between);
    } else {
      std::memcpy(scratch.line.data(), line, static_cast<size_t>(width) * 3);
      resizeRow(scratch.line.data(), scratch.horizontal, size, red, red + between, red + 2 * between);
    }
  }
  if (keepsHeight) return;
  scratch.sums.resize(size);
  for (int c = 0; c < 3; c++) {
    for (int y = 0; y < size; y++) {
      const uint8_t* from = rows + c * between + static_cast<size_t>(columns.first[y] - top) * size;
      const int32_t* weights = columns.weights.data() + static_cast<size_t>(y) * columns.width;
      resizeColumns(from, weights, columns.count[y], size, columns.clips, scratch.sums.data(), scratch.planes.data() + c * plane + static_cast<size_t>(y) * size);
    }
  }
}

}  // namespace nudge
