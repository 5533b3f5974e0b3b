// The body of plan-kernels-*.cc, which define VECTOR (the floats of a vector), TILE_ROWS and TABLE before they include it. The
// tile of a product fills the registers: TILE_ROWS × 2 sums, two vectors of weights and one value of a.
#include <cstring>

namespace nudge::plan {

namespace {

typedef float Vector __attribute__((vector_size(VECTOR * 4)));
typedef int32_t Integers __attribute__((vector_size(VECTOR * 4)));

#define INLINE inline __attribute__((always_inline))
#define UNROLLED _Pragma("GCC unroll 32")

INLINE Vector load(const float* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
INLINE void store(float* to, Vector value) { std::memcpy(to, &value, sizeof value); }
INLINE Vector all(float value) { return value - Vector{}; }  // x − 0 is x, so this is a broadcast only

// e^x to about 1e-7, for x between −87 and 88; values beyond are clamped. NaN stays NaN.
INLINE Vector exponential(Vector x) {
  x = x < all(-87.f) ? all(-87.f) : x;
  x = x > all(88.f) ? all(88.f) : x;
  const float shift = 12582912.f;  // 1.5 · 2^23: adding it rounds to an integer, which is then in the low bits
  Vector shifted = x * 1.44269504f + shift;
  Vector n = shifted - shift;
  Vector r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vector p = all(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.f;
  Integers bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits - 0x4B400000 + 127) << 23;
  Vector power;
  std::memcpy(&power, &bits, sizeof power);
  return p * power;
}

// A NaN passes through every kind: it must be seen in the result.
INLINE Vector finished(Vector x, const After& after) {
  if (after.act == Act::kClamp) {
    x = x < all(after.low) ? all(after.low) : x;
    return x > all(after.high) ? all(after.high) : x;
  }
  Vector gate = 1.f / (1.f + exponential(-x));
  return after.act == Act::kSilu ? x * gate : gate;
}

template <int ROWS, int VECTORS>
void tile(const Product& p, const float* a, const float* weights, const float* bias, const float* residual, float* c) {
  Vector sums[ROWS][VECTORS];
  UNROLLED for (int r = 0; r < ROWS; r++)
    UNROLLED for (int v = 0; v < VECTORS; v++) sums[r][v] = load(bias + v * VECTOR);
  const int64_t stride = p.aStride;
  for (int k = 0; k < p.inner; k++) {
    Vector w[VECTORS];
    UNROLLED for (int v = 0; v < VECTORS; v++) w[v] = load(weights + v * VECTOR);
    weights += VECTORS * VECTOR;
    UNROLLED for (int r = 0; r < ROWS; r++) {
      Vector value = all(a[r * stride + k]);
      UNROLLED for (int v = 0; v < VECTORS; v++) sums[r][v] += value * w[v];
    }
  }
  UNROLLED for (int r = 0; r < ROWS; r++) {
    UNROLLED for (int v = 0; v < VECTORS; v++) {
      int64_t at = r * p.cStride + v * VECTOR;
      Vector sum = sums[r][v];
      if (residual) sum += load(residual + at);
      store(c + at, finished(sum, p.after));
    }
  }
}

using Tile = void (*)(const Product&, const float*, const float*, const float*, const float*, float*);

template <int VECTORS>
Tile tileOf(int rows) {
  static constexpr Tile tiles[] = {
      tile<1, VECTORS>, tile<2, VECTORS>, tile<3, VECTORS>, tile<4, VECTORS>,
#if TILE_ROWS > 4
      tile<5, VECTORS>, tile<6, VECTORS>,
#endif
#if TILE_ROWS > 6
      tile<7, VECTORS>, tile<8, VECTORS>, tile<9, VECTORS>, tile<10, VECTORS>, tile<11, VECTORS>, tile<12, VECTORS>, tile<13, VECTORS>, tile<14, VECTORS>,
#endif
  };
  return tiles[rows - 1];
}

void product(const Product& p) {
  const int tiles = (p.rows + TILE_ROWS - 1) / TILE_ROWS;
  if (tiles == 0) return;
  const int least = p.rows / tiles, more = p.rows % tiles;  // tiles of nearly equal height
  for (int column = 0; column < p.columns; column += 2 * VECTOR) {
    const bool isWide = p.columns - column > VECTOR;
    const float* weights = p.weights + static_cast<int64_t>(column) * p.inner;
    for (int t = 0, row = 0; t < tiles; t++) {
      const int rows = least + (t < more);
      const int64_t at = row * p.cStride + column;
      Tile run = isWide ? tileOf<2>(rows) : tileOf<1>(rows);
      run(p, p.a + row * p.aStride, weights, p.bias + column, p.residual ? p.residual + at : nullptr, p.c + at);
      row += rows;
    }
  }
}

// COUNT neighbouring results of a depthwise row, all of whose columns are inside the map.
template <int KERNEL, int STRIDE, int COUNT>
INLINE void insideRow(const DepthwiseRow& d, int x, int channel, const float* weights) {
  Vector sums[COUNT];
  UNROLLED for (int i = 0; i < COUNT; i++) sums[i] = load(d.bias + channel);
  for (int ky = d.firstRow; ky < d.endRow; ky++) {
    const float* from = d.rows[ky] + static_cast<int64_t>(x * STRIDE - d.padding) * d.channels + channel;
    Vector w[KERNEL];
    UNROLLED for (int kx = 0; kx < KERNEL; kx++) w[kx] = load(weights + (ky * KERNEL + kx) * VECTOR);
    UNROLLED for (int j = 0; j < (COUNT - 1) * STRIDE + KERNEL; j++) {
      Vector value = load(from + static_cast<int64_t>(j) * d.channels);
      UNROLLED for (int i = 0; i < COUNT; i++) {
        const int kx = j - i * STRIDE;
        if (kx >= 0 && kx < KERNEL) sums[i] += value * w[kx];
      }
    }
  }
  UNROLLED for (int i = 0; i < COUNT; i++) {
    const int64_t at = static_cast<int64_t>(x + i) * d.channels + channel;
    Vector sum = sums[i];
    if (d.residual) sum += load(d.residual + at);
    store(d.out + at, finished(sum, d.after));
  }
}

// One result near the edge of the map.
void atEdge(const DepthwiseRow& d, int x, int channel, const float* weights) {
  Vector sum = load(d.bias + channel);
  for (int ky = d.firstRow; ky < d.endRow; ky++) {
    for (int kx = 0; kx < d.kernel; kx++) {
      const int column = x * d.stride - d.padding + kx;
      if (column < 0 || column >= d.from) continue;
      sum += load(d.rows[ky] + static_cast<int64_t>(column) * d.channels + channel) * load(weights + (ky * d.kernel + kx) * VECTOR);
    }
  }
  const int64_t at = static_cast<int64_t>(x) * d.channels + channel;
  if (d.residual) sum += load(d.residual + at);
  store(d.out + at, finished(sum, d.after));
}

template <int KERNEL, int STRIDE>
void depthwiseRow(const DepthwiseRow& d) {
  int first = (d.padding + STRIDE - 1) / STRIDE;  // the results whose columns are all inside are [first, end)
  int end = d.from + d.padding < KERNEL ? 0 : (d.from + d.padding - KERNEL) / STRIDE + 1;
  if (end > d.to) end = d.to;
  if (first > end) first = end;
  for (int channel = 0; channel < d.channels; channel += VECTOR) {
    const float* weights = d.weights + static_cast<int64_t>(channel) * KERNEL * KERNEL;
    int x = 0;
    for (; x < first; x++) atEdge(d, x, channel, weights);
    for (; x + 4 <= end; x += 4) insideRow<KERNEL, STRIDE, 4>(d, x, channel, weights);
    for (; x < end; x++) insideRow<KERNEL, STRIDE, 1>(d, x, channel, weights);
    for (; x < d.to; x++) atEdge(d, x, channel, weights);
  }
}

void depthwise(const DepthwiseRow& d) {
  if (d.kernel == 3) return d.stride == 1 ? depthwiseRow<3, 1>(d) : depthwiseRow<3, 2>(d);
  return d.stride == 1 ? depthwiseRow<5, 1>(d) : depthwiseRow<5, 2>(d);
}

void pool(const PoolRow& p) {
  for (int x = 0; x < p.to; x++) {
    const int left = x * p.stride - p.padding;
    const int first = left < 0 ? 0 : left, end = left + p.kernel > p.from ? p.from : left + p.kernel;
    for (int channel = 0; channel < p.channels; channel += VECTOR) {
      Vector most = all(-__builtin_inff());
      for (int row = 0; row < p.count; row++) {
        for (int column = first; column < end; column++) {
          Vector value = load(p.rows[row] + static_cast<int64_t>(column) * p.channels + channel);
          most = (value > most) | (value != value) ? value : most;
        }
      }
      store(p.out + static_cast<int64_t>(x) * p.channels + channel, most);
    }
  }
}

// The rows of the map are summed first, so that the rounding of large maps stays small.
void mean(const float* map, int64_t pixels, int width, int channels, float* out) {
  const float share = 1.f / static_cast<float>(pixels);
  for (int channel = 0; channel < channels; channel += VECTOR) {
    Vector sum{};
    for (int64_t row = 0; row < pixels; row += width) {
      Vector part{};
      for (int x = 0; x < width; x++) part += load(map + (row + x) * channels + channel);
      sum += part;
    }
    store(out + channel, sum * share);
  }
}

void scale(const float* map, const float* by, int64_t pixels, int channels, float* out) {
  for (int64_t pixel = 0; pixel < pixels; pixel++)
    for (int channel = 0; channel < channels; channel += VECTOR)
      store(out + pixel * channels + channel, load(map + pixel * channels + channel) * load(by + channel));
}

}  // namespace

const Kernels TABLE = {VECTOR, product, depthwise, pool, mean, scale};

}  // namespace nudge::plan
