// PNG (ISO/IEC 15948) with 8 bits per sample: grey, colour or a palette, with or without alpha, not interlaced. Its
// colours are used as they are stored: gamma and colour profiles are ignored, and alpha is dropped.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "decoders.h"
#include "inflate.h"
#include "picture.h"

namespace nudge {

namespace {

// The checksum of chunks, eight bytes at a time: table[k] is that of a byte and k zeros after it.
struct Checksum {
  std::array<std::array<uint32_t, 256>, 8> table;

  Checksum() {
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0u);
      table[0][i] = value;
    }
    for (size_t k = 1; k < 8; k++) {
      for (size_t i = 0; i < 256; i++) table[k][i] = (table[k - 1][i] >> 8) ^ table[0][table[k - 1][i] & 255];
    }
  }

  uint32_t of(const uint8_t* bytes, size_t size) const {
    uint32_t value = 0xffffffffu;
    for (; size >= 8; size -= 8, bytes += 8) {
      uint32_t low = value ^ (bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24);
      value = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^ table[3][bytes[4]] ^ table[2][bytes[5]] ^
              table[1][bytes[6]] ^ table[0][bytes[7]];
    }
    for (; size > 0; size--, bytes++) value = (value >> 8) ^ table[0][(value ^ *bytes) & 255];
    return ~value;
  }
};

inline uint32_t number(const uint8_t* at) { return static_cast<uint32_t>(at[0]) << 24 | at[1] << 16 | at[2] << 8 | at[3]; }

NUDGE_CLONES void addRows(const uint8_t* in, const uint8_t* above, size_t bytes, uint8_t* out) {
#pragma omp simd
  for (size_t i = 0; i < bytes; i++) out[i] = static_cast<uint8_t>(in[i] + above[i]);
}

// The neighbour that is nearest to left + above − corner.
inline int nearest(int left, int above, int corner) {
  int toLeft = std::abs(above - corner), toAbove = std::abs(left - corner), toCorner = std::abs(left + above - 2 * corner);
  int other = toAbove <= toCorner ? above : corner;
  return toLeft <= toAbove && toLeft <= toCorner ? left : other;
}

// Undoes the filters that depend on the pixel to the left. Its bytes are in `left`, those of the pixel above it in
// `corner`.
template <int Bytes, typename Predict>
inline __attribute__((always_inline)) void addPredicted(const uint8_t* in, const uint8_t* above, size_t bytes, uint8_t* out, Predict predict) {
  int left[Bytes] = {}, corner[Bytes] = {};
  for (size_t i = 0; i < bytes; i += Bytes) {
    for (int c = 0; c < Bytes; c++) {
      int up = above[i + c];
      left[c] = (in[i + c] + predict(left[c], up, corner[c])) & 255;
      corner[c] = up;
      out[i + c] = static_cast<uint8_t>(left[c]);
    }
  }
}

// Undoes the filter of a row. `above` is the row before it, or zeros.
template <int Bytes>
void unfilter(int filter, const uint8_t* in, const uint8_t* above, size_t bytes, uint8_t* out) {
  switch (filter) {
    case 0:
      std::memcpy(out, in, bytes);
      return;
    case 1:
      return addPredicted<Bytes>(in, above, bytes, out, [](int left, int, int) { return left; });
    case 2:
      return addRows(in, above, bytes, out);
    case 3:
      return addPredicted<Bytes>(in, above, bytes, out, [](int left, int up, int) { return (left + up) >> 1; });
    case 4:
      return addPredicted<Bytes>(in, above, bytes, out, nearest);
    default:
      throw Odd{};
  }
}

// The buffers of one thread, which are reused for all pictures except after a huge one.
struct PngScratch {
  static constexpr size_t kMost = 32 << 20;
  std::vector<uint8_t> packed, filtered, lines;
};

class Decoder {
 public:
  Decoder(const uint8_t* data, size_t size, const DecodeLimits& limits, PngScratch& scratch) : at_(data), end_(data + size), limits_(limits), scratch_(scratch) {}

  void decode(RgbPicture& out) {
    readChunks();
    size_t bytes = static_cast<size_t>(width_) * samples_, filtered = (bytes + 1) * height_;
    require(filtered / 1032 <= scratch_.packed.size());  // the highest compression
    scratch_.filtered.resize(filtered + kInflateSlack);
    inflate(scratch_.packed.data(), scratch_.packed.size(), scratch_.filtered.data(), filtered);
    require(out.resize(width_, height_));
    writePixels(out.pixels, bytes);
  }

 private:
  void readChunks() {
    static const Checksum checksum;
    constexpr uint8_t start[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    require(end_ - at_ > 8 && std::memcmp(at_, start, 8) == 0);
    at_ += 8;
    scratch_.packed.clear();
    for (bool first = true;; first = false) {
      require(end_ - at_ >= 12);
      size_t size = number(at_);
      require(size <= static_cast<size_t>(end_ - at_) - 12);
      const uint8_t *name = at_ + 4, *content = at_ + 8;
      require(std::all_of(name, name + 4, [](uint8_t letter) { return (letter | 32) >= 'a' && (letter | 32) <= 'z'; }));  // as libpng
      require(number(content + size) == checksum.of(name, size + 4));
      at_ += size + 12;
      auto is = [&](const char* other) { return std::memcmp(name, other, 4) == 0; };
      require(first == is("IHDR"));
      if (is("IEND")) break;
      bool inData = is("IDAT");
      ended_ = ended_ || (!inData && !scratch_.packed.empty());
      if (first) {
        readHeader(content, size);
      } else if (is("PLTE")) {
        readPalette(content, size);
      } else if (inData) {
        require(!ended_);
        scratch_.packed.insert(scratch_.packed.end(), content, content + size);
      } else {
        require((name[0] & 32) != 0 && !is("acTL"));
        // Orientation is in EXIF data, which some programs store as text.
        if (limits_.upright) require(!is("eXIf") && !is("tEXt") && !is("zTXt") && !is("iTXt"));
      }
    }
    require(!scratch_.packed.empty() && (colour_ != 3 || colours_ > 0));
  }

  void readHeader(const uint8_t* content, size_t size) {
    require(size == 13);
    uint32_t width = number(content), height = number(content + 4);
    require(width > 0 && height > 0 && std::max(width, height) <= static_cast<uint32_t>(kLongestSide));
    require(static_cast<int64_t>(width) * height <= limits_.pixels);
    require(limits_.pngShortSide == 0 || std::min(width, height) <= static_cast<uint32_t>(limits_.pngShortSide));
    width_ = static_cast<int>(width);
    height_ = static_cast<int>(height);
    colour_ = content[9];
    require(content[8] == 8 && content[10] == 0 && content[11] == 0 && content[12] == 0);  // 8 bits, not interlaced
    constexpr int samples[] = {1, 0, 3, 1, 2, 0, 4};
    require(colour_ <= 6 && samples[colour_] > 0);
    samples_ = samples[colour_];
  }

  void readPalette(const uint8_t* content, size_t size) {
    require(colours_ == 0 && scratch_.packed.empty() && size > 0 && size % 3 == 0 && size <= sizeof palette_);
    std::memcpy(palette_, content, size);
    colours_ = static_cast<int>(size / 3);
  }

  void writePixels(uint8_t* pixels, size_t bytes) {
    size_t stride = static_cast<size_t>(width_) * 3;
    scratch_.lines.assign(2 * bytes, 0);
    const uint8_t *in = scratch_.filtered.data(), *above = scratch_.lines.data();
    for (int y = 0; y < height_; y++, in += bytes + 1, pixels += stride) {
      // Rows of colours are written in place; others are converted from one of two lines.
      uint8_t* row = samples_ == 3 ? pixels : scratch_.lines.data() + (y % 2 == 0 ? bytes : 0);
      if (samples_ == 1) unfilter<1>(in[0], in + 1, above, bytes, row);
      if (samples_ == 2) unfilter<2>(in[0], in + 1, above, bytes, row);
      if (samples_ == 3) unfilter<3>(in[0], in + 1, above, bytes, row);
      if (samples_ == 4) unfilter<4>(in[0], in + 1, above, bytes, row);
      if (samples_ != 3) toRgb(row, pixels);
      above = row;
    }
  }

  void toRgb(const uint8_t* row, uint8_t* out) const {
    for (int x = 0; x < width_; x++, row += samples_, out += 3) {
      if (colour_ == 3) {
        require(*row < colours_);
        std::memcpy(out, palette_[*row], 3);
      } else if (samples_ == 4) {
        std::memcpy(out, row, 3);
      } else {
        out[0] = out[1] = out[2] = *row;
      }
    }
  }

  const uint8_t *at_, *end_;
  const DecodeLimits& limits_;
  PngScratch& scratch_;
  int width_ = 0, height_ = 0, colour_ = 0, samples_ = 0, colours_ = 0;
  bool ended_ = false;  // whether another chunk came after the pixels
  uint8_t palette_[256][3];
};

}  // namespace

bool decodePng(const uint8_t* data, size_t size, const DecodeLimits& limits, RgbPicture& out) {
  thread_local PngScratch scratch;
  bool done = true;
  try {
    Decoder(data, size, limits, scratch).decode(out);
  } catch (const Odd&) {
    done = false;
  }
  if (scratch.filtered.capacity() + scratch.packed.capacity() > PngScratch::kMost) scratch = {};
  return done;
}

}  // namespace nudge
