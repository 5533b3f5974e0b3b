// Pictures with 8 bits per channel, and PIL's arithmetic on them, so that a given draw produces the same picture as
// common training code. Internally, a picture consists of three planes (all red, all green, all blue), which the
// compiler can vectorize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Compiled twice, for AVX2 and for any x86-64; the loader selects one. Both are without FMA, so that they round
// equally.
#if defined(__x86_64__) && defined(__GLIBC__)
#define NUDGE_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define NUDGE_CLONES
#endif

namespace nudge {

// The longest side of a picture (`longestSide` in src/data/decoded-picture.ts). Resized, it still fits in 32 bits.
constexpr int32_t kLongestSide = 1 << 17;

// The draw of one sample, in the layout of the Float32Array in TypeScript (src/data/augment.ts).
struct Draw {
  float left, top, width, height;  // the crop, in pixels of the source
  float flip;
  float brightness, contrast, saturation;  // factors; 1 means no change
  float hue;                               // the shift as a share of the circle, -0.5 to 0.5; 0 means no change
  float order[4];                          // the order of brightness 0, contrast 1, saturation 2 and hue 3
  float gray;
  float wide, high;  // the size to which the crop is resized; 0 means the size of the result
  float x, y;        // the position of the result in it, for a centre crop after the resize
};
constexpr size_t kDrawFloats = sizeof(Draw) / sizeof(float);

// Bilinear is a triangle kernel, and bicubic is Keys' kernel with a = -0.5. Both are widened by the scale when a
// picture is made smaller.
enum class Interpolation { kBilinear, kBicubic };

// The weights of the source pixels for each target pixel along one direction.
struct Filter {
  static constexpr int kBits = 22;  // the number of bits of the fixed-point weights
  std::vector<int> first, count;
  std::vector<int32_t> weights;
  int width = 0;  // the number of stored weights per target pixel; those after its count are 0
  int taps = 0;   // the largest count
  bool clips = false;  // whether sums can exceed the range of a byte

  // Computes the weights of `size` target pixels starting at `begin`, for resizing `source` pixels to `target`.
  void set(int source, int target, int begin, int size, Interpolation interpolation);

 private:
  std::vector<double> exact_;
};

// The buffers of one thread, which are reused for all pictures.
struct Scratch {
  std::vector<uint8_t> source, line, rows, planes;
  std::vector<int32_t> sums;
  Filter horizontal, vertical;
};

// The target of a rectangle: it is resized to wide × high with antialiasing, and cropped to size × size pixels at (x,
// y).
struct Target {
  int wide, high, x, y, size;
  Interpolation interpolation;
};

// Resizes the rectangle of an RGB picture (three bytes per pixel, `stride` pixels per row) that starts at `pixels`,
// into scratch.planes.
void resize(const uint8_t* pixels, int stride, int width, int height, const Target& target, Scratch& scratch);

// Applies brightness, contrast, saturation and hue in the order of the draw, then grayscale.
void jitter(uint8_t* planes, size_t pixels, const Draw& draw);

}  // namespace nudge
