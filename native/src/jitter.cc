// The colour jitter of PIL and torchvision on 8-bit pictures: blends that truncate, and a hue shift on an 8-bit HSV
// picture. It computes in double where they do, because an error of one step in the hue can be six steps in a channel.
#include <algorithm>
#include <cmath>

#include "picture.h"

namespace nudge {

namespace {

inline int32_t luma(int32_t r, int32_t g, int32_t b) { return (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16; }

// between + factor·(value − between), truncated and clipped. The values are whole numbers, so a factor beyond
// kMostFactor gives the same as kMostFactor, and the result is a 32-bit integer.
constexpr float kMostFactor = 1e6f;

inline uint8_t blend(float between, float value, float factor) {
  int32_t mixed = static_cast<int32_t>(between + factor * (value - between));
  return static_cast<uint8_t>(std::min(std::max(mixed, 0), 255));
}

inline float bounded(float factor) { return std::clamp(factor, -kMostFactor, kMostFactor); }

NUDGE_CLONES void blendWith(float between, uint8_t* values, size_t count, float factor) {
#pragma omp simd
  for (size_t i = 0; i < count; i++) values[i] = blend(between, values[i], factor);
}

NUDGE_CLONES uint32_t sumOfLuma(const uint8_t* r, const uint8_t* g, const uint8_t* b, size_t pixels) {
  uint32_t sum = 0;  // 4096² pixels of value 255 just fit
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < pixels; i++) sum += static_cast<uint32_t>(luma(r[i], g[i], b[i]));
  return sum;
}

NUDGE_CLONES void saturate(uint8_t* r, uint8_t* g, uint8_t* b, size_t pixels, float factor) {
#pragma omp simd
  for (size_t i = 0; i < pixels; i++) {
    float grey = static_cast<float>(luma(r[i], g[i], b[i]));
    r[i] = blend(grey, r[i], factor);
    g[i] = blend(grey, g[i], factor);
    b[i] = blend(grey, b[i], factor);
  }
}

NUDGE_CLONES void toGrey(uint8_t* r, uint8_t* g, uint8_t* b, size_t pixels) {
#pragma omp simd
  for (size_t i = 0; i < pixels; i++) r[i] = g[i] = b[i] = static_cast<uint8_t>(luma(r[i], g[i], b[i]));
}

// H = ⌊255·h⌋, S = ⌊255·s⌋, and V is the largest channel. H is shifted, and each sixth of the circle converts back in
// its own way. The mixture of float and double is that of PIL. Where this multiplies by a reciprocal, PIL divides, with
// equal results for all colours. It runs in blocks, with the conditions in loops over bytes, of which a vector holds
// many.
constexpr size_t kBlock = 256;
constexpr int32_t kSixths = 1543;  // hue · kSixths / 2^16 is the sixth of the circle: ⌊hue · 6 / 255⌋ for every hue

inline uint8_t when(bool condition, uint8_t value) { return static_cast<uint8_t>(-static_cast<uint8_t>(condition)) & value; }

NUDGE_CLONES void shiftHueOfBlock(uint8_t* red, uint8_t* green, uint8_t* blue, size_t pixels, int added) {
  uint8_t highs[kBlock], ranges[kBlock], offsets[kBlock], sectors[kBlock], ps[kBlock], qs[kBlock], ts[kBlock], colourful = 0;
  int8_t starts[kBlock], signs[kBlock];
#pragma omp simd reduction(| : colourful)
  for (size_t i = 0; i < pixels; i++) {
    uint8_t r = red[i], g = green[i], b = blue[i];
    uint8_t high = std::max(r, std::max(g, b)), low = std::min(r, std::min(g, b)), range = static_cast<uint8_t>(high - low);
    // The turn is bc − gc, 2 + rc − bc or 4 + gc − rc, where rc = (high − r) / range and so on. One of the two is 1.
    int8_t start = r == high ? int8_t{0} : g == high ? int8_t{2} : int8_t{4};
    uint8_t plus = r == high ? b : g == high ? r : g, minus = r == high ? g : g == high ? b : r;
    int8_t sign = plus == low ? int8_t{-1} : int8_t{1};
    highs[i] = high;
    ranges[i] = range;
    starts[i] = static_cast<int8_t>(start - sign);
    signs[i] = sign;
    offsets[i] = static_cast<uint8_t>(high - (plus == low ? minus : plus));
    colourful |= range;
  }
  if (colourful == 0) return;  // grey has no hue
#pragma omp simd
  for (size_t i = 0; i < pixels; i++) {
    float range = static_cast<float>(ranges[i]), divisor = static_cast<float>(ranges[i] + (ranges[i] == 0));
    float high = static_cast<float>(highs[i]), ofHigh = static_cast<float>(highs[i] + (highs[i] == 0));
    float turn = static_cast<float>(starts[i]) + static_cast<float>(signs[i]) * (static_cast<float>(offsets[i]) / divisor);
    double circle = turn * (1 / 6.0) + 1.0;
    float share = static_cast<float>(circle - static_cast<int32_t>(circle));
    int32_t hue = (static_cast<int32_t>(share * 255.0) + added) & 255;
    int32_t sector = (hue * kSixths) >> 16;
    float s = static_cast<float>(static_cast<int32_t>(range / ofHigh * 255.0) * (1 / 255.0));
    float f = static_cast<float>((hue * 6 - sector * 255) * (1 / 255.0));
    sectors[i] = static_cast<uint8_t>(sector);
    ps[i] = static_cast<uint8_t>(static_cast<int32_t>(high * (1.0 - s) + 0.5));
    qs[i] = static_cast<uint8_t>(static_cast<int32_t>(high * (1.0 - s * f) + 0.5));
    ts[i] = static_cast<uint8_t>(static_cast<int32_t>(high * (1.0 - s * (1.0 - f)) + 0.5));
  }
#pragma omp simd
  for (size_t i = 0; i < pixels; i++) {
    uint8_t high = highs[i], p = ps[i], q = qs[i], t = ts[i], sector = sectors[i] == 6 ? uint8_t{0} : sectors[i];
    red[i] = when(sector == 1, q) | when(sector == 4, t) | when(sector == 2, p) | when(sector == 3, p) | when(sector == 0, high) | when(sector == 5, high);
    green[i] = when(sector == 0, t) | when(sector == 3, q) | when(sector == 4, p) | when(sector == 5, p) | when(sector == 1, high) | when(sector == 2, high);
    blue[i] = when(sector == 2, t) | when(sector == 5, q) | when(sector == 0, p) | when(sector == 1, p) | when(sector == 3, high) | when(sector == 4, high);
  }
}

void shiftHue(uint8_t* r, uint8_t* g, uint8_t* b, size_t pixels, float shift) {
  int added = static_cast<int>(shift * 255);  // truncated; H wraps around at 256
  for (size_t i = 0; i < pixels; i += kBlock) shiftHueOfBlock(r + i, g + i, b + i, std::min(kBlock, pixels - i), added);
}

}  // namespace

void jitter(uint8_t* planes, size_t pixels, const Draw& draw) {
  uint8_t *r = planes, *g = planes + pixels, *b = planes + 2 * pixels;
  for (float which : draw.order) {
    if (which == 0 && draw.brightness != 1) blendWith(0, planes, pixels * 3, bounded(draw.brightness));
    if (which == 1 && draw.contrast != 1) {
      double mean = static_cast<double>(sumOfLuma(r, g, b, pixels)) / static_cast<double>(pixels);
      blendWith(static_cast<float>(std::floor(mean + 0.5)), planes, pixels * 3, bounded(draw.contrast));
    }
    if (which == 2 && draw.saturation != 1) saturate(r, g, b, pixels, bounded(draw.saturation));
    if (which == 3 && draw.hue != 0) shiftHue(r, g, b, pixels, draw.hue);
  }
  if (draw.gray != 0) toGrey(r, g, b, pixels);
}

}  // namespace nudge
