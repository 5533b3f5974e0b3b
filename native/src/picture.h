// Pictures of 8 bits a channel, and PIL's arithmetic on them, so that a given draw gives the picture the field trains with.
// Inside, a picture is three planes one after the other (all red, all green, all blue): what the compiler can vectorise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Compiled twice, for AVX2 and for any x86-64; the loader picks. Without FMA, so that both round alike.
#if defined(__x86_64__) && defined(__GLIBC__)
#define NUDGE_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define NUDGE_CLONES
#endif

namespace nudge {

// One sample's draw, as TypeScript (src/data/augment.ts) lays it out in a Float32Array.
struct Draw {
  float left, top, width, height;  // the crop, in pixels of the source
  float flip;
  float brightness, contrast, saturation;  // factors; 1 leaves the picture as it is
  float hue;                               // shift as a share of the circle, -0.5 to 0.5; 0 leaves it
  float order[4];                          // which of brightness 0, contrast 1, saturation 2, hue 3 comes first, second, …
  float gray;
  float wide, high;  // the size that the crop is resized to; 0 for the result's own
  float x, y;        // where the result begins in it: a centre crop after the resize
};
constexpr size_t kDrawFloats = sizeof(Draw) / sizeof(float);

// Bilinear is a triangle, and bicubic Keys' kernel with a = -0.5, both widened by the scale where a picture is made smaller.
enum class Interpolation { kBilinear, kBicubic };

// The weights with which source pixels make each target pixel along one direction.
struct Filter {
  static constexpr int kBits = 22;  // weights are fixed-point numbers of so many bits
  std::vector<int> first, count;
  std::vector<int32_t> weights;
  int width = 0;  // places for weights, a target pixel; those after its count are 0
  int taps = 0;   // the largest count
  bool clips = false;  // whether sums can leave the range of a byte

  // The weights of `size` target pixels from `begin` on, where `source` pixels become `target`.
  void set(int source, int target, int begin, int size, Interpolation interpolation);

 private:
  std::vector<double> exact_;
};

// Scratch of one thread, kept from picture to picture.
struct Scratch {
  std::vector<uint8_t> source, line, rows, planes;
  std::vector<int32_t> sums;
  Filter horizontal, vertical;
};

// What a rectangle becomes: resized to wide × high with antialias, and of that the size × size pixels from (x, y) on.
struct Target {
  int wide, high, x, y, size;
  Interpolation interpolation;
};

// The rectangle of an RGB picture (three bytes a pixel, `stride` pixels a row) that begins at `pixels`, into scratch.planes.
void resize(const uint8_t* pixels, int stride, int width, int height, const Target& target, Scratch& scratch);

// Brightness, contrast, saturation and hue in the draw's order, then grayscale.
void jitter(uint8_t* planes, size_t pixels, const Draw& draw);

}  // namespace nudge
