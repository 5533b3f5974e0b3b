// Pictures to batches on the CPU: crop, resize, flip, colour jitter, grayscale, normalise, each sample by its own draw, one
// pass a picture, threads over the batch. The arithmetic is PIL's on 8-bit pictures (what the field trains with), so that
// a given draw gives the same picture: a triangle filter widened by the scale (antialias) in two passes of fixed-point
// weights, blends that truncate, and hue shifted on an 8-bit HSV picture.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "convert.h"
#include "functions.h"

namespace nudge {

namespace {

// One sample's draw, as TypeScript lays it out in a Float32Array.
struct Draw {
  float left, top, width, height;  // the crop, in pixels of the source
  float flip;
  float brightness, contrast, saturation;  // factors; 1 leaves the picture as it is
  float hue;                               // shift as a share of the circle, -0.5 to 0.5; 0 leaves it
  float order[4];                          // which of brightness 0, contrast 1, saturation 2, hue 3 comes first, second, …
  float gray;
};
constexpr size_t kDrawFloats = sizeof(Draw) / sizeof(float);

uint8_t clip8(float value) { return static_cast<uint8_t>(value <= 0 ? 0 : value >= 255 ? 255 : value); }

uint8_t luma(const uint8_t* p) {
  return static_cast<uint8_t>((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
}

// The weights with which source pixels make each target pixel along one direction, in 22-bit fixed point.
struct Filter {
  static constexpr int kBits = 22;
  std::vector<int> first, count;
  std::vector<int32_t> weights;
  int width = 0;  // weights a target pixel

  Filter(int source, int target) {
    double scale = static_cast<double>(source) / target, support = std::max(scale, 1.0);
    width = static_cast<int>(std::ceil(support)) * 2 + 1;
    first.resize(target);
    count.resize(target);
    weights.assign(static_cast<size_t>(target) * width, 0);
    std::vector<double> exact(width);
    for (int i = 0; i < target; i++) {
      double centre = (i + 0.5) * scale, total = 0;
      int from = std::max(0, static_cast<int>(centre - support + 0.5));
      int to = std::min(source, static_cast<int>(centre + support + 0.5));
      for (int k = from; k < to; k++) {
        double distance = std::abs((k + 0.5 - centre) / support);
        exact[k - from] = distance < 1 ? 1 - distance : 0;
        total += exact[k - from];
      }
      first[i] = from;
      count[i] = to - from;
      for (int k = 0; k < to - from; k++) {
        weights[static_cast<size_t>(i) * width + k] = static_cast<int32_t>(exact[k] / total * (1 << kBits) + 0.5);
      }
    }
  }
};

uint8_t fromFixed(int64_t sum) {
  int64_t value = sum >> Filter::kBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// Scratch of one thread, kept from picture to picture.
struct Scratch {
  std::vector<uint8_t> source, rows, picture;
};

// The crop of an RGB picture, `stride` pixels a row, resized to size×size into scratch.picture.
void cropAndResize(const uint8_t* pixels, int stride, const Draw& draw, int size, Scratch& scratch) {
  int left = static_cast<int>(draw.left), top = static_cast<int>(draw.top);
  int width = static_cast<int>(draw.width), height = static_cast<int>(draw.height);
  scratch.picture.resize(static_cast<size_t>(size) * size * 3);
  const uint8_t* rows = pixels + (static_cast<size_t>(top) * stride + left) * 3;
  int rowPixels = stride;
  constexpr int64_t kHalf = 1 << (Filter::kBits - 1);
  if (width != size) {
    Filter filter(width, size);
    scratch.rows.resize(static_cast<size_t>(size) * height * 3);
    for (int y = 0; y < height; y++) {
      const uint8_t* row = rows + static_cast<size_t>(y) * stride * 3;
      uint8_t* out = scratch.rows.data() + static_cast<size_t>(y) * size * 3;
      for (int x = 0; x < size; x++, out += 3) {
        const uint8_t* p = row + static_cast<size_t>(filter.first[x]) * 3;
        const int32_t* w = filter.weights.data() + static_cast<size_t>(x) * filter.width;
        int64_t r = kHalf, g = kHalf, b = kHalf;
        for (int k = 0; k < filter.count[x]; k++, p += 3) {
          r += static_cast<int64_t>(w[k]) * p[0];
          g += static_cast<int64_t>(w[k]) * p[1];
          b += static_cast<int64_t>(w[k]) * p[2];
        }
        out[0] = fromFixed(r);
        out[1] = fromFixed(g);
        out[2] = fromFixed(b);
      }
    }
    rows = scratch.rows.data();
    rowPixels = size;
  }
  if (height == size) {
    for (int y = 0; y < size; y++) {
      std::memcpy(scratch.picture.data() + static_cast<size_t>(y) * size * 3, rows + static_cast<size_t>(y) * rowPixels * 3, static_cast<size_t>(size) * 3);
    }
    return;
  }
  Filter filter(height, size);
  std::vector<int32_t> sums(static_cast<size_t>(size) * 3);
  for (int y = 0; y < size; y++) {
    std::fill(sums.begin(), sums.end(), static_cast<int32_t>(kHalf));
    const int32_t* w = filter.weights.data() + static_cast<size_t>(y) * filter.width;
    for (int k = 0; k < filter.count[y]; k++) {
      const uint8_t* row = rows + static_cast<size_t>(filter.first[y] + k) * rowPixels * 3;
      for (int i = 0; i < size * 3; i++) sums[i] += w[k] * row[i];  // weights add up to 2^22, so 32 bits hold 255 times that
    }
    uint8_t* out = scratch.picture.data() + static_cast<size_t>(y) * size * 3;
    for (int i = 0; i < size * 3; i++) out[i] = fromFixed(sums[i]);
  }
}

// between + factor·(value − between), truncated as PIL's blend does.
uint8_t blend(float between, uint8_t value, float factor) { return clip8(between + factor * (static_cast<float>(value) - between)); }

void brightness(uint8_t* p, size_t pixels, float factor) {
  uint8_t table[256];
  for (int i = 0; i < 256; i++) table[i] = blend(0, static_cast<uint8_t>(i), factor);
  for (size_t i = 0; i < pixels * 3; i++) p[i] = table[p[i]];
}

void contrast(uint8_t* p, size_t pixels, float factor) {
  uint64_t sum = 0;
  for (size_t i = 0; i < pixels; i++) sum += luma(p + i * 3);
  float mean = std::floor(static_cast<float>(static_cast<double>(sum) / static_cast<double>(pixels) + 0.5));
  uint8_t table[256];
  for (int i = 0; i < 256; i++) table[i] = blend(mean, static_cast<uint8_t>(i), factor);
  for (size_t i = 0; i < pixels * 3; i++) p[i] = table[p[i]];
}

void saturation(uint8_t* p, size_t pixels, float factor) {
  for (size_t i = 0; i < pixels; i++, p += 3) {
    float gray = luma(p);
    for (int c = 0; c < 3; c++) p[c] = blend(gray, p[c], factor);
  }
}

// Hue on 8-bit HSV: H = ⌊255·h⌋, S = ⌊255·s⌋, V the largest channel; H + shift wraps at 256; back by sectors of 60°.
void hue(uint8_t* p, size_t pixels, float shift) {
  int added = static_cast<int>(shift * 255);  // truncated, then taken modulo 256
  for (size_t i = 0; i < pixels; i++, p += 3) {
    int r = p[0], g = p[1], b = p[2];
    int high = std::max(r, std::max(g, b)), low = std::min(r, std::min(g, b));
    int h = 0, s = 0;
    if (high != low) {
      float range = static_cast<float>(high - low);
      float rc = (high - r) / range, gc = (high - g) / range, bc = (high - b) / range;
      float turn = r == high ? bc - gc : g == high ? 2 + rc - bc : 4 + gc - rc;
      turn = std::fmod(turn / 6 + 1, 1.0f);
      h = clip8(turn * 255);
      s = clip8(range / static_cast<float>(high) * 255);
    }
    h = (h + added) & 255;
    if (s == 0) {
      p[0] = p[1] = p[2] = static_cast<uint8_t>(high);
      continue;
    }
    float sector = h * 6 / 255.0f, saturated = s / 255.0f, v = static_cast<float>(high);
    int which = static_cast<int>(std::floor(sector));
    float f = sector - static_cast<float>(which);
    uint8_t m = clip8(std::round(v * (1 - saturated))), q = clip8(std::round(v * (1 - saturated * f)));
    uint8_t t = clip8(std::round(v * (1 - saturated * (1 - f)))), top = static_cast<uint8_t>(high);
    switch (which % 6) {
      case 0: p[0] = top, p[1] = t, p[2] = m; break;
      case 1: p[0] = q, p[1] = top, p[2] = m; break;
      case 2: p[0] = m, p[1] = top, p[2] = t; break;
      case 3: p[0] = m, p[1] = q, p[2] = top; break;
      case 4: p[0] = t, p[1] = m, p[2] = top; break;
      default: p[0] = top, p[1] = m, p[2] = q;
    }
  }
}

void jitter(uint8_t* p, size_t pixels, const Draw& draw) {
  for (float which : draw.order) {
    if (which == 0 && draw.brightness != 1) brightness(p, pixels, draw.brightness);
    if (which == 1 && draw.contrast != 1) contrast(p, pixels, draw.contrast);
    if (which == 2 && draw.saturation != 1) saturation(p, pixels, draw.saturation);
    if (which == 3 && draw.hue != 0) hue(p, pixels, draw.hue);
  }
  if (draw.gray == 0) return;
  for (size_t i = 0; i < pixels; i++, p += 3) p[0] = p[1] = p[2] = luma(p);
}

// A finished 8-bit picture to its place in the batch, flipped and normalised through a table of 256 values a channel.
void store(const uint8_t* picture, int size, bool flip, const float (*table)[256], float* out, bool channelsLast) {
  size_t plane = static_cast<size_t>(size) * size;
  for (int y = 0; y < size; y++) {
    const uint8_t* row = picture + static_cast<size_t>(y) * size * 3;
    for (int x = 0; x < size; x++) {
      const uint8_t* p = row + (flip ? size - 1 - x : x) * 3;
      size_t place = static_cast<size_t>(y) * size + x;
      for (int c = 0; c < 3; c++) out[channelsLast ? place * 3 + c : c * plane + place] = table[c][p[c]];
    }
  }
}

void readPixels(int descriptor, int64_t offset, size_t bytes, std::vector<uint8_t>& target) {
  target.resize(bytes);
  size_t done = 0;
  while (done < bytes) {
    ssize_t got = pread(descriptor, target.data() + done, bytes - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Failure(std::string("reading cached pixels: ") + std::strerror(errno));
    if (got == 0) throw Failure("reading cached pixels: the file ends early; make the cache anew");
    done += static_cast<size_t>(got);
  }
}

template <typename T>
const T* viewOf(napi_env env, napi_value value, size_t count, const char* what) {
  Bytes bytes = toBytes(env, value, what);
  if (bytes.size != count * sizeof(T) || reinterpret_cast<uintptr_t>(bytes.data) % alignof(T) != 0) {
    throw Failure(std::string("augment: ") + what + " has " + std::to_string(bytes.size) + " bytes, expected " + std::to_string(count * sizeof(T)));
  }
  return reinterpret_cast<const T*>(bytes.data);
}

// augment(source, offsets, sizes, draws, size, mean, std, channelsLast) → float32 [n, 3, size, size]
// source: a uint8 tensor of RGB pictures one after the other, or null and a file descriptor in `fd` (last argument).
napi_value augment(Call& call) {
  napi_env env = call.env;
  int64_t size = toInt(env, call.at(4), "size");
  if (size < 1 || size > 4096) throw Failure("augment: size: expected 1 to 4096, got " + std::to_string(size));
  bool channelsLast = toBool(env, call.at(7), "channelsLast");
  bool fromFile = isNothing(env, call.at(0));
  int64_t descriptor = fromFile ? toInt(env, call.at(8), "file descriptor") : -1;
  at::Tensor pixels;
  if (!fromFile) {
    pixels = toTensor(*call.state, env, call.at(0), "source");
    if (pixels.scalar_type() != at::kByte || !pixels.is_contiguous() || !pixels.device().is_cpu()) {
      throw Failure("augment: source: expected a contiguous uint8 tensor on the CPU, got " + describeTensor(pixels));
    }
  }
  Bytes sizeBytes = toBytes(env, call.at(2), "sizes");
  size_t n = sizeBytes.size / (2 * sizeof(int32_t));
  const int32_t* sizes = viewOf<int32_t>(env, call.at(2), n * 2, "sizes");
  const double* offsets = viewOf<double>(env, call.at(1), n, "offsets");
  const Draw* draws = reinterpret_cast<const Draw*>(viewOf<float>(env, call.at(3), n * kDrawFloats, "draws"));
  const float* mean = viewOf<float>(env, call.at(5), 3, "mean");
  const float* deviation = viewOf<float>(env, call.at(6), 3, "std");
  float table[3][256];
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < 256; i++) table[c][i] = (static_cast<float>(i) / 255.0f - mean[c]) / deviation[c];
  }
  for (size_t i = 0; i < n; i++) {
    const Draw& d = draws[i];
    int64_t width = sizes[2 * i], height = sizes[2 * i + 1];
    bool sizeFits = width >= 1 && height >= 1 && width <= 65535 && height <= 65535;
    bool cropFits = d.left >= 0 && d.top >= 0 && d.width >= 1 && d.height >= 1 && std::floor(d.left) + std::floor(d.width) <= static_cast<float>(width) &&
                    std::floor(d.top) + std::floor(d.height) <= static_cast<float>(height);
    bool inSource = offsets[i] >= 0 && (fromFile || offsets[i] + static_cast<double>(width * height * 3) <= static_cast<double>(pixels.numel()));
    if (!sizeFits || !cropFits || !inSource) {
      throw Failure("augment: sample " + std::to_string(i) + ": its crop or its pixels lie outside the picture (" + std::to_string(width) + "×" +
                    std::to_string(height) + ")");
    }
  }
  at::Tensor out = at::empty({static_cast<int64_t>(n), 3, size, size},
                             at::TensorOptions().dtype(at::kFloat).memory_format(channelsLast ? c10::MemoryFormat::ChannelsLast : c10::MemoryFormat::Contiguous));
  float* target = static_cast<float*>(out.data_ptr());
  const uint8_t* base = fromFile ? nullptr : static_cast<const uint8_t*>(pixels.data_ptr());
  at::parallel_for(0, static_cast<int64_t>(n), 1, [&](int64_t from, int64_t to) {
    thread_local Scratch scratch;
    for (int64_t i = from; i < to; i++) {
      int width = sizes[2 * i], height = sizes[2 * i + 1];
      const uint8_t* source = base + (fromFile ? 0 : static_cast<int64_t>(offsets[i]));
      if (fromFile) {
        readPixels(static_cast<int>(descriptor), static_cast<int64_t>(offsets[i]), static_cast<size_t>(width) * height * 3, scratch.source);
        source = scratch.source.data();
      }
      cropAndResize(source, width, draws[i], static_cast<int>(size), scratch);
      jitter(scratch.picture.data(), static_cast<size_t>(size) * size, draws[i]);
      store(scratch.picture.data(), static_cast<int>(size), draws[i].flip != 0, table, target + i * 3 * size * size, channelsLast);
    }
  });
  return fromTensor(*call.state, env, std::move(out));
}

}  // namespace

void defineAugment(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "augment", entry<augment>);
}

}  // namespace nudge
