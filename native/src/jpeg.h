// Ordinary JPEG files to RGB bytes, as libjpeg-turbo decodes them with its defaults: the exact integer transform ("islow") and
// "fancy" upsampling of colours, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nudge {

struct RgbPicture {
  int width = 0, height = 0;
  uint8_t* pixels = nullptr;  // three bytes a pixel, from malloc
};

struct JpegLimits {
  int64_t pixels = 0;    // more are refused
  int shortSide = 0;     // so is a longer short side, which is to be scaled; 0 for any
  bool upright = false;  // so is a picture that EXIF data ask to turn
};

// Decodes a file; false for everything that is not ordinary: progressive, CMYK, damaged or cut files, limits exceeded. A decoder
// that knows all formats then has the last word, errors and warnings included.
bool decodeJpeg(const uint8_t* data, size_t size, const JpegLimits& limits, RgbPicture& out);

}  // namespace nudge
