// Decoders of ordinary picture files to RGB bytes. Files are untrusted: every index is checked, and anything unusual
// returns `false`. Another decoder that supports all formats then decodes the file and reports errors and warnings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nudge {

struct RgbPicture {
  int width = 0, height = 0;
  uint8_t* pixels = nullptr;  // three bytes per pixel, from malloc
};

struct DecodeLimits {
  int64_t pixels = 0;    // the maximum number of pixels
  int shortSide = 0;     // the maximum length of the shorter side of a JPEG, because longer ones are scaled down; 0 for no limit
  bool upright = false;  // whether to reject pictures that EXIF data ask to rotate
};

// Decodes a JPEG file, bit for bit as libjpeg-turbo does with its defaults: the accurate integer transform ("islow")
// and "fancy" upsampling of chroma. Returns false for progressive, CMYK, damaged or truncated files, and if a limit is
// exceeded.
bool decodeJpeg(const uint8_t* data, size_t size, const DecodeLimits& limits, RgbPicture& out);

// Decodes a PNG file with 8 bits per sample, without its alpha channel. Returns false for other depths, interlaced,
// animated, damaged or truncated files, and if a limit is exceeded.
bool decodePng(const uint8_t* data, size_t size, const DecodeLimits& limits, RgbPicture& out);

// Thrown inside a decoder for anything unusual.
struct Odd {};

inline void require(bool condition) {
  if (!condition) throw Odd{};
}

}  // namespace nudge
