// Makes 8-bit RGB pictures smaller, with the bytes of libvips' reduce (as sharp calls it): rows first, then columns, rounded to
// bytes in between. The position of a target pixel is rounded to 1/64 of a pixel, which selects one of 65 masks of weights with 12
// bits. Pixels beyond the edge are those of the edge.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "decoders.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nudge {

namespace {

constexpr int kMasks = 64, kBits = 12, kStrip = 16, kPerGroup = 4;

double sinc(double x) {
  if (x == 0) return 1;
  x *= 3.14159265358979323846;
  return std::sin(x) / x;
}

double weightAt(Reduction kernel, double x) {
  // In libvips' order, because weights are cut off to 12 bits: some are exact, and must not become a little less.
  double distance = std::abs(x), squared = distance * distance, cubed = squared * distance;
  switch (kernel) {
    case Reduction::kLinear:
      return distance < 1 ? 1 - distance : 0;
    case Reduction::kCubic:  // Catmull-Rom
      if (distance <= 1) return (9 * cubed - 15 * squared + 6) / 6;
      return distance <= 2 ? (-3 * cubed + 15 * squared - 24 * distance + 12) / 6 : 0;
    default:  // Lanczos with three lobes
      return distance <= 3 ? sinc(x) * sinc(x / 3) : 0;
  }
}

// How `target` pixels are computed from `source` pixels along one direction.
struct Plan {
  int source = 0, target = 0;
  Reduction kernel = Reduction::kLanczos;
  int taps = 0;        // the number of weights of a mask
  int width = 0;       // that number rounded up to a multiple of four; the additional weights are 0
  int before = 0;      // how many pixels the first source pixel of a mask can be before the first pixel
  std::vector<int16_t> masks;
  std::vector<int> first;          // the first source pixel of each target pixel, plus `before`
  std::vector<const int16_t*> of;  // its mask

  void set(int from, int to, Reduction by) {
    if (source == from && target == to && kernel == by) return;
    source = 0;  // until all is set: there may be not enough memory
    target = to;
    kernel = by;
    // The factor is inverted twice on the way through sharp and libvips. So is it here, for the same rounding.
    double shrink = 1.0 / (1.0 / (static_cast<double>(from) / to));
    int lobes = by == Reduction::kLinear ? 1 : by == Reduction::kCubic ? 2 : 3;
    taps = 2 * static_cast<int>(std::rint(lobes * shrink)) + 1;
    width = (taps + kPerGroup - 1) / kPerGroup * kPerGroup;
    before = (taps + 1) / 2 - 1;
    setMasks(shrink);
    double start = (1 + (to * shrink - from)) / 2 - 1, at = 0;
    first.resize(to);
    of.resize(to);
    for (int i = 0; i < to; i++) {
      // libvips adds the factor for each pixel, and computes the position again for each strip of rows.
      at = i == 0 || (strips && i % kStrip == 0) ? (i + 0.5) * shrink - 0.5 - start : at + shrink;
      first[i] = static_cast<int>(at);
      int part = static_cast<int>(at * kMasks * 2) & (kMasks * 2 - 1);
      of[i] = masks.data() + static_cast<size_t>((part + 1) >> 1) * width;
    }
    source = from;
  }

  explicit Plan(bool ofRows) : strips(ofRows) {}

 private:
  const bool strips;

  void setMasks(double shrink) {
    masks.assign(static_cast<size_t>(kMasks + 1) * width, 0);
    std::vector<double> exact(taps);
    for (int mask = 0; mask <= kMasks; mask++) {
      double centre = static_cast<double>(mask) / kMasks + taps / 2.0 - 1, total = 0;
      for (int i = 0; i < taps; i++) total += exact[i] = weightAt(kernel, (i - centre) / shrink);
      for (int i = 0; i < taps; i++) masks[static_cast<size_t>(mask) * width + i] = static_cast<int16_t>(exact[i] / total * (1 << kBits));
    }
  }
};

inline uint8_t toByte(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

// The sum of rows with these weights, from byte `x` on.
void sumRowsFrom(int x, const uint8_t* const* rows, const int16_t* weights, int taps, int size, uint8_t* out) {
  constexpr int kBlock = 64;
  int32_t sums[kBlock];
  for (; x < size; x += kBlock) {
    const int count = std::min(kBlock, size - x);
    std::fill(sums, sums + count, 1 << (kBits - 1));
    for (int k = 0; k < taps; k++) {
      const uint8_t* row = rows[k] + x;
      const int32_t weight = weights[k];
#pragma omp simd
      for (int i = 0; i < count; i++) sums[i] += row[i] * weight;
    }
    for (int i = 0; i < count; i++) out[x + i] = toByte(sums[i]);
  }
}

void sumRows(const uint8_t* const* rows, const int16_t* weights, int taps, int size, uint8_t* out) { sumRowsFrom(0, rows, weights, taps, size, out); }

// A row of target pixels from a row that starts `before` pixels before the picture.
void sumColumnsOf(const uint8_t* row, const Plan& plan, uint8_t* out) {
  for (int x = 0; x < plan.target; x++) {
    const uint8_t* pixel = row + static_cast<size_t>(plan.first[x]) * 3;
    int32_t sums[3] = {1 << (kBits - 1), 1 << (kBits - 1), 1 << (kBits - 1)};
    for (int k = 0; k < plan.taps; k++, pixel += 3) {
      for (int c = 0; c < 3; c++) sums[c] += pixel[c] * plan.of[x][k];
    }
    for (int c = 0; c < 3; c++) out[3 * x + c] = toByte(sums[c]);
  }
}

// Two rows of target pixels.
void sumColumns(const uint8_t* row0, const uint8_t* row1, const Plan& plan, uint8_t* out0, uint8_t* out1) {
  sumColumnsOf(row0, plan, out0);
  sumColumnsOf(row1, plan, out1);
}

#if defined(__x86_64__)
#define NUDGE_AVX2 __attribute__((target("avx2")))

// Two weights for each 32-bit lane.
NUDGE_AVX2 inline __m256i pairOf(const int16_t* weights) {
  int32_t pair;
  std::memcpy(&pair, weights, 4);
  return _mm256_set1_epi32(pair);
}

// The same as sumRows; two rows are multiplied at a time.
NUDGE_AVX2 void sumRowsAvx2(const uint8_t* const* rows, const int16_t* weights, int taps, int size, uint8_t* out) {
  int x = 0;
  for (; x + 16 <= size; x += 16) {
    __m256i low = _mm256_set1_epi32(1 << (kBits - 1)), high = low;
    for (int k = 0; k < taps; k += 2) {
      const uint8_t* next = k + 1 < taps ? rows[k + 1] : rows[k];  // its weight is 0
      __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[k] + x)));
      __m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(next + x)));
      __m256i pair = pairOf(weights + k);
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), pair));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), pair));
    }
    __m256i words = _mm256_packs_epi32(_mm256_srai_epi32(low, kBits), _mm256_srai_epi32(high, kBits));
    __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + x), bytes);
  }
  sumRowsFrom(x, rows, weights, taps, size, out);
}

// The same as sumColumns. Sixteen bytes are read at a time, of which twelve are used, and four bytes are written for
// each pixel: the rows have room for both.
NUDGE_AVX2 void sumColumnsAvx2(const uint8_t* row0, const uint8_t* row1, const Plan& plan, uint8_t* out0, uint8_t* out1) {
  const __m256i front = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i back = _mm256_broadcastsi128_si256(_mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  for (int x = 0; x < plan.target; x++) {
    size_t at = static_cast<size_t>(plan.first[x]) * 3;
    const int16_t* weights = plan.of[x];
    __m256i sum = _mm256_set1_epi32(1 << (kBits - 1));
    for (int k = 0; k < plan.taps; k += kPerGroup, at += 3 * kPerGroup) {
      __m256i pixels = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row0 + at))), _mm_loadu_si128(reinterpret_cast<const __m128i*>(row1 + at)), 1);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, front), pairOf(weights + k)));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, back), pairOf(weights + k + 2)));
    }
    __m256i words = _mm256_packs_epi32(_mm256_srai_epi32(sum, kBits), sum);
    __m256i bytes = _mm256_packus_epi16(words, words);
    uint32_t pixel0 = static_cast<uint32_t>(_mm256_extract_epi32(bytes, 0)), pixel1 = static_cast<uint32_t>(_mm256_extract_epi32(bytes, 4));
    std::memcpy(out0 + 3 * x, &pixel0, 4);
    std::memcpy(out1 + 3 * x, &pixel1, 4);
  }
}
#endif

struct Kernels {
  decltype(&sumRows) rows;
  decltype(&sumColumns) columns;
};
constexpr Kernels kPlain = {sumRows, sumColumns};

// The best kernels of this processor.
const Kernels& kernelsHere() {
#if defined(__x86_64__)
  static const Kernels best = __builtin_cpu_supports("avx2") ? Kernels{sumRowsAvx2, sumColumnsAvx2} : kPlain;
  return best;
#else
  return kPlain;
#endif
}

}  // namespace

bool reduce(const RgbPicture& picture, int width, int height, Reduction kernel, bool plain, RgbPicture& out) {
  if (width > picture.width || height > picture.height || 4 * width <= picture.width || 4 * height <= picture.height) return false;
  if (!out.resize(width, height)) return false;
  const Kernels& kernels = plain ? kPlain : kernelsHere();
  const bool narrower = width < picture.width, lower = height < picture.height;
  thread_local Plan columns(false), rows(true);
  thread_local std::vector<const uint8_t*> above;
  thread_local std::vector<uint8_t> between, made;
  if (narrower) columns.set(picture.width, width, kernel);
  if (lower) rows.set(picture.height, height, kernel);
  const int before = narrower ? columns.before : 0;
  const size_t line = static_cast<size_t>(picture.width) * 3, wide = static_cast<size_t>(width) * 3;
  // Two rows with the pixels beyond their edges and room to read on, and two target rows with room to write on.
  const size_t stride = line + static_cast<size_t>(narrower ? columns.width + before : 0) * 3 + 16;
  between.resize(2 * stride);
  made.resize(2 * (wide + 4));
  above.resize(lower ? rows.taps : 0);
  for (int y = 0; y < height; y += 2) {
    const int count = std::min(2, height - y);
    for (int i = 0; i < count; i++) {
      uint8_t* row = between.data() + i * stride + static_cast<size_t>(before) * 3;
      if (lower) {
        for (int k = 0; k < rows.taps; k++) above[k] = picture.pixels + static_cast<size_t>(std::clamp(rows.first[y + i] - rows.before + k, 0, picture.height - 1)) * line;
        kernels.rows(above.data(), rows.of[y + i], rows.taps, static_cast<int>(line), row);
      } else {
        std::memcpy(row, picture.pixels + static_cast<size_t>(y + i) * line, line);
      }
      for (int x = 1; x <= before; x++) std::memcpy(row - 3 * x, row, 3);
      for (uint8_t* end = row + line; end + 3 <= between.data() + (i + 1) * stride; end += 3) std::memcpy(end, row + line - 3, 3);
    }
    const uint8_t *first = between.data(), *second = first + (count - 1) * stride;
    uint8_t* target = out.pixels + static_cast<size_t>(y) * wide;
    if (narrower) {
      kernels.columns(first, second, columns, made.data(), made.data() + wide + 4);
      first = made.data();
      second = first + wide + 4;
    }
    std::memcpy(target, first, wide);
    if (count == 2) std::memcpy(target + wide, second, wide);
  }
  return true;
}

}  // namespace nudge
