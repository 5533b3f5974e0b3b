// PIL's bilinear resize of 8-bit pictures: two passes, horizontal first, rounded to bytes in between.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "picture.h"

namespace nudge {

namespace {

constexpr int32_t kHalf = 1 << (Filter::kBits - 1);

typedef int32_t Int4 __attribute__((vector_size(16)));
typedef uint8_t Byte4 __attribute__((vector_size(4)));

// One row to one row of each plane. Pixels are read four bytes at a time, and for all target pixels equally many of them, so
// `line` goes on after its last pixel. Weights add up to 2^22, give or take their rounding, so 32 bits hold 255 times that
// and the sum needs no clipping.
template <int Taps>
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
    red[x] = static_cast<uint8_t>(sum[0]);
    green[x] = static_cast<uint8_t>(sum[1]);
    blue[x] = static_cast<uint8_t>(sum[2]);
  }
}

NUDGE_CLONES void resizeRow(const uint8_t* line, const Filter& filter, int size, uint8_t* red, uint8_t* green, uint8_t* blue) {
  if (filter.taps == 2) {
    resizeRowBy<2>(2, line, filter, size, red, green, blue);
  } else if (filter.taps == 3) {
    resizeRowBy<3>(3, line, filter, size, red, green, blue);
  } else {
    resizeRowBy<0>(filter.taps, line, filter, size, red, green, blue);
  }
}

NUDGE_CLONES void splitRow(const uint8_t* line, int size, uint8_t* red, uint8_t* green, uint8_t* blue) {
  for (int x = 0; x < size; x++) {
    red[x] = line[3 * x];
    green[x] = line[3 * x + 1];
    blue[x] = line[3 * x + 2];
  }
}

// One row of a plane from several.
NUDGE_CLONES void resizeColumns(const uint8_t* rows, const int32_t* weights, int count, int size, int32_t* sums, uint8_t* out) {
  std::fill(sums, sums + size, kHalf);
  for (int k = 0; k < count; k++, rows += size) {
    int32_t weight = weights[k];
#pragma omp simd
    for (int x = 0; x < size; x++) sums[x] += weight * rows[x];
  }
#pragma omp simd
  for (int x = 0; x < size; x++) out[x] = static_cast<uint8_t>(sums[x] >> Filter::kBits);
}

}  // namespace

void Filter::set(int source, int target) {
  double scale = static_cast<double>(source) / target, support = std::max(scale, 1.0);
  width = static_cast<int>(std::ceil(support)) * 2 + 1;
  first.resize(target);
  count.resize(target);
  weights.assign(static_cast<size_t>(target) * width, 0);
  taps = 0;
  exact_.resize(width);
  for (int i = 0; i < target; i++) {
    double centre = (i + 0.5) * scale, total = 0;
    int from = std::max(0, static_cast<int>(centre - support + 0.5));
    int to = std::min(source, static_cast<int>(centre + support + 0.5));
    for (int k = from; k < to; k++) {
      double distance = std::abs((k + 0.5 - centre) / support);
      exact_[k - from] = distance < 1 ? 1 - distance : 0;
      total += exact_[k - from];
    }
    first[i] = from;
    count[i] = to - from;
    taps = std::max(taps, to - from);
    int32_t* row = weights.data() + static_cast<size_t>(i) * width;
    for (int k = 0; k < to - from; k++) row[k] = static_cast<int32_t>(exact_[k] / total * (1 << kBits) + 0.5);
  }
}

void resize(const uint8_t* pixels, int stride, int width, int height, int size, Scratch& scratch) {
  size_t plane = static_cast<size_t>(size) * size, tall = static_cast<size_t>(size) * height;
  scratch.planes.resize(plane * 3);
  bool onePass = height == size;
  if (!onePass) scratch.rows.resize(tall * 3);
  uint8_t* rows = onePass ? scratch.planes.data() : scratch.rows.data();
  if (width != size) {
    scratch.horizontal.set(width, size);
    scratch.line.assign(static_cast<size_t>(width + scratch.horizontal.taps) * 3 + 1, 0);
  }
  for (int y = 0; y < height; y++) {
    const uint8_t* line = pixels + static_cast<size_t>(y) * stride * 3;
    uint8_t* red = rows + static_cast<size_t>(y) * size;
    if (width == size) {
      splitRow(line, size, red, red + tall, red + 2 * tall);
    } else {
      std::memcpy(scratch.line.data(), line, static_cast<size_t>(width) * 3);
      resizeRow(scratch.line.data(), scratch.horizontal, size, red, red + tall, red + 2 * tall);
    }
  }
  if (onePass) return;
  Filter& filter = scratch.vertical;
  filter.set(height, size);
  scratch.sums.resize(size);
  for (int c = 0; c < 3; c++) {
    for (int y = 0; y < size; y++) {
      const uint8_t* from = rows + c * tall + static_cast<size_t>(filter.first[y]) * size;
      const int32_t* weights = filter.weights.data() + static_cast<size_t>(y) * filter.width;
      resizeColumns(from, weights, filter.count[y], size, scratch.sums.data(), scratch.planes.data() + c * plane + static_cast<size_t>(y) * size);
    }
  }
}

}  // namespace nudge
