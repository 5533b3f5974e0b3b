// Decodes ordinary JPEG files to RGB bytes, bit for bit as libjpeg-turbo does with its defaults: the accurate integer
// transform ("islow") and "fancy" upsampling of chroma.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nudge {

struct RgbPicture {
  int width = 0, height = 0;
  uint8_t* pixels = nullptr;  // three bytes per pixel, from malloc
};

struct JpegLimits {
  int64_t pixels = 0;    // the maximum number of pixels
  int shortSide = 0;     // the maximum length of the shorter side, because longer ones are scaled down; 0 for no limit
  bool upright = false;  // whether to reject pictures that EXIF data ask to rotate
};

// Decodes a file. Returns false for anything unusual: progressive, CMYK, damaged or truncated files, or exceeded
// limits. Another decoder that supports all formats then decodes the file and reports errors and warnings.
bool decodeJpeg(const uint8_t* data, size_t size, const JpegLimits& limits, RgbPicture& out);

}  // namespace nudge
