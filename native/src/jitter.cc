// The colour jitter of PIL and torchvision on 8-bit pictures: blends that truncate, and a hue shift on an 8-bit HSV
// picture. It computes in double where they do, because an error of one step in the hue can be six steps in a channel.
#include <algorithm>
#include <cmath>

#include "picture.h"

namespace nudge {

namespace {

inline int32_t luma(int32_t r, int32_t g, int32_t b) { return (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16; }

// between + factor·(value − between), clipped and truncated.
inline uint8_t blend(float between, float value, float factor) {
  float mixed = between + factor * (value - between);
  return static_cast<uint8_t>(static_cast<int32_t>(std::min(std::max(mixed, 0.0f), 255.0f)));
}

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

// The position of a shifted hue: the sixth of the circle, and the offset within it.
struct HueTable {
  int32_t sector[256];
  float into[256];

  explicit HueTable(float shift) {
    int added = static_cast<int>(shift * 255);  // truncated; H wraps around at 256
    for (int h = 0; h < 256; h++) {
      int shifted = (h + added) & 255;
      double place = shifted * 6.0 / 255.0;
      int which = static_cast<int>(place);
      sector[h] = which % 6;
      into[h] = static_cast<float>(place - which);
    }
  }
};

// H = ⌊255·h⌋, S = ⌊255·s⌋, and V is the largest channel. The table shifts H, and the sectors convert back. The mixture
// of float and double is that of PIL. It runs in blocks with separate loops for the conditions, because one combined
// loop would not be vectorized.
constexpr size_t kBlock = 256;

inline int32_t when(bool condition, int32_t value) { return -static_cast<int32_t>(condition) & value; }

NUDGE_CLONES void shiftHueOfBlock(uint8_t* red, uint8_t* green, uint8_t* blue, size_t pixels, const HueTable& table) {
  int32_t highs[kBlock], ranges[kBlock], starts[kBlock], plus[kBlock], minus[kBlock], sectors[kBlock], ps[kBlock], qs[kBlock], ts[kBlock];
#pragma omp simd
  for (size_t i = 0; i < pixels; i++) {
    int32_t r = red[i], g = green[i], b = blue[i];
    int32_t high = std::max(r, std::max(g, b)), low = std::min(r, std::min(g, b));
    highs[i] = high;
    ranges[i] = high - low;
    // The turn is bc − gc, 2 + rc − bc or 4 + gc − rc, where rc = (high − r) / range and so on.
    starts[i] = r == high ? 0 : g == high ? 2 : 4;
    plus[i] = high - (r == high ? b : g == high ? r : g);
    minus[i] = high - (r == high ? g : g == high ? b : r);
  }
#pragma omp simd
  for (size_t i = 0; i < pixels; i++) {
    float range = static_cast<float>(ranges[i]), divisor = static_cast<float>(ranges[i] + (ranges[i] == 0));
    float high = static_cast<float>(highs[i]), ofHigh = static_cast<float>(highs[i] + (highs[i] == 0));
    double turn = starts[i] + static_cast<double>(static_cast<float>(plus[i]) / divisor) - static_cast<double>(static_cast<float>(minus[i]) / divisor);
    double circle = static_cast<float>(turn) / 6.0 + 1.0;
    float share = static_cast<float>(circle - static_cast<int32_t>(circle));
    int32_t hue = static_cast<int32_t>(share * 255.0);
    float s = static_cast<float>(static_cast<int32_t>(range / ofHigh * 255.0) / 255.0), f = table.into[hue];
    sectors[i] = table.sector[hue];
    ps[i] = static_cast<int32_t>(high * (1.0 - s) + 0.5);
    qs[i] = static_cast<int32_t>(high * (1.0 - s * f) + 0.5);
    ts[i] = static_cast<int32_t>(high * (1.0 - s * (1.0 - f)) + 0.5);
  }
#pragma omp simd
  for (size_t i = 0; i < pixels; i++) {
    int32_t sector = sectors[i], high = highs[i], p = ps[i], q = qs[i], t = ts[i];
    red[i] = static_cast<uint8_t>(when(sector == 1, q) | when(sector == 4, t) | when((sector | 1) == 3, p) | when(sector == 0, high) | when(sector == 5, high));
    green[i] = static_cast<uint8_t>(when(sector == 0, t) | when(sector == 3, q) | when(sector > 3, p) | when(sector == 1, high) | when(sector == 2, high));
    blue[i] = static_cast<uint8_t>(when(sector == 2, t) | when(sector == 5, q) | when(sector < 2, p) | when(sector == 3, high) | when(sector == 4, high));
  }
}

void shiftHue(uint8_t* r, uint8_t* g, uint8_t* b, size_t pixels, const HueTable& table) {
  for (size_t i = 0; i < pixels; i += kBlock) shiftHueOfBlock(r + i, g + i, b + i, std::min(kBlock, pixels - i), table);
}

}  // namespace

void jitter(uint8_t* planes, size_t pixels, const Draw& draw) {
  uint8_t *r = planes, *g = planes + pixels, *b = planes + 2 * pixels;
  for (float which : draw.order) {
    if (which == 0 && draw.brightness != 1) blendWith(0, planes, pixels * 3, draw.brightness);
    if (which == 1 && draw.contrast != 1) {
      double mean = static_cast<double>(sumOfLuma(r, g, b, pixels)) / static_cast<double>(pixels);
      blendWith(static_cast<float>(std::floor(mean + 0.5)), planes, pixels * 3, draw.contrast);
    }
    if (which == 2 && draw.saturation != 1) saturate(r, g, b, pixels, draw.saturation);
    if (which == 3 && draw.hue != 0) shiftHue(r, g, b, pixels, HueTable(draw.hue));
  }
  if (draw.gray != 0) toGrey(r, g, b, pixels);
}

}  // namespace nudge
