// Decoders of ordinary picture files to RGB bytes. Files are untrusted: every index is checked, and anything unusual
// returns `false`. Another decoder that supports all formats then decodes the file and reports errors and warnings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace nudge {

// Pixels of three bytes. The memory is kept when the size changes, so that a picture can be used again and again.
class RgbPicture {
 public:
  int width = 0, height = 0;
  uint8_t* pixels = nullptr;

  RgbPicture() = default;
  RgbPicture(const RgbPicture&) = delete;
  RgbPicture& operator=(const RgbPicture&) = delete;
  ~RgbPicture() { std::free(pixels); }

  size_t bytes() const { return static_cast<size_t>(width) * height * 3; }
  size_t room() const { return room_; }  // the bytes of memory, at least as many

  // Returns false if there is not enough memory. The pixels are not initialized.
  bool resize(int newWidth, int newHeight) {
    width = newWidth;
    height = newHeight;
    if (bytes() <= room_) return true;
    std::free(pixels);
    pixels = static_cast<uint8_t*>(std::malloc(bytes()));
    room_ = pixels == nullptr ? 0 : bytes();
    return pixels != nullptr;
  }

  void clear() {
    std::free(release());
    width = height = 0;
  }

  // The caller frees the pixels.
  uint8_t* release() {
    room_ = 0;
    return std::exchange(pixels, nullptr);
  }

  // Moves the pixels to another picture, or copies them if their memory is larger. Returns false if there is not enough memory.
  bool moveTo(RgbPicture& other) {
    if (room_ > bytes()) {
      if (!other.resize(width, height)) return false;
      std::memcpy(other.pixels, pixels, bytes());
      return true;
    }
    std::swap(width, other.width);
    std::swap(height, other.height);
    std::swap(pixels, other.pixels);
    std::swap(room_, other.room_);
    return true;
  }

 private:
  size_t room_ = 0;
};

struct DecodeLimits {
  int64_t pixels = 0;    // the maximum number of pixels
  int shortSide = 0;     // the maximum length of the shorter side of a JPEG, because longer ones are scaled down; 0 for no limit
  int pngShortSide = 0;  // that of a PNG
  bool upright = false;  // whether to reject pictures that EXIF data ask to rotate
};

// Decodes a JPEG file, bit for bit as libjpeg-turbo does with its defaults: the accurate integer transform ("islow")
// and "fancy" upsampling of chroma. Returns false for progressive, CMYK, damaged or truncated files, and if a limit is
// exceeded.
bool decodeJpeg(const uint8_t* data, size_t size, const DecodeLimits& limits, RgbPicture& out);

// Decodes a PNG file with 8 bits per sample, without its alpha channel. Returns false for other depths, interlaced,
// animated, damaged or truncated files, and if a limit is exceeded.
bool decodePng(const uint8_t* data, size_t size, const DecodeLimits& limits, RgbPicture& out);

enum class Reduction { kLanczos, kLinear, kCubic };

// Makes a picture smaller, with the bytes of libvips. Returns false if there is not enough memory, if a side becomes longer, or if it
// becomes four times as short or shorter: libvips then does something else. `plain` avoids vector instructions, for tests.
bool reduce(const RgbPicture& picture, int width, int height, Reduction kernel, bool plain, RgbPicture& out);

// Thrown inside a decoder for anything unusual.
struct Odd {};

inline void require(bool condition) {
  if (!condition) throw Odd{};
}

}  // namespace nudge
