// Baseline JPEG (ITU T.81): one interleaved scan of 8-bit samples with Huffman codes, grey or YCbCr, with chroma at
// full size (4:4:4), half the width (4:2:2), or half of both (4:2:0). Nearly every photograph in a dataset is of this
// kind, and for such small pictures a general library spends most of its time elsewhere.
#include "decoders.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "picture.h"

namespace nudge {

namespace {

// The row-major index of the i-th coefficient of a block.
constexpr uint8_t kZigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
                                 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
                                 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// The bits of a scan, most significant first. After a marker it returns zeros and counts them.
class Bits {
 public:
  const uint8_t* at = nullptr;
  const uint8_t* end = nullptr;

  // Ensures that at least 57 bits are available.
  inline void fill() {
    if (end - at >= 8) {
      uint64_t next;
      std::memcpy(&next, at, 8);
      next = __builtin_bswap64(next);
      if (((~next - 0x0101010101010101u) & next & 0x8080808080808080u) == 0) {  // no byte is FF
        buffer_ |= next >> count_;
        int bytes = (64 - count_) >> 3;
        at += bytes;
        count_ += bytes * 8;
        return;
      }
    }
    while (count_ <= 56) {
      uint64_t byte = 0;
      if (at >= end || (*at == 0xff && (at + 1 >= end || at[1] != 0))) {
        zeros_ += 8;
      } else {
        byte = *at;
        at += *at == 0xff ? 2 : 1;
      }
      // A fast fill may leave bits of the next byte in the buffer. They are the same bits, so setting them twice is
      // correct.
      buffer_ |= byte << (56 - count_);
      count_ += 8;
    }
  }

  inline void need(int bits) {
    if (count_ < bits) fill();
  }
  inline uint32_t peek(int bits) const { return static_cast<uint32_t>(buffer_ >> (64 - bits)); }
  inline void skip(int bits) {
    buffer_ <<= bits;
    count_ -= bits;
  }

  // Called at the end of a sequence of codes: all bits must have been used, except those that pad the last byte, and
  // none after the marker.
  void finish() {
    fill();
    require(count_ >= zeros_ && count_ - zeros_ < 8);
    buffer_ = 0;
    count_ = zeros_ = 0;
    require(at + 1 < end && *at == 0xff);
    while (at + 2 < end && at[1] == 0xff) at++;
  }

 private:
  uint64_t buffer_ = 0;
  int count_ = 0, zeros_ = 0;
};

// Converts `bits` bits to a number that is negative if the first bit is 0 (T.81, figure F.12).
inline int extend(uint32_t value, int bits) { return static_cast<int>(value) - ((value >> (bits - 1)) != 0 ? 0 : (1 << bits) - 1); }

class Huffman {
 public:
  static constexpr int kFast = 10;
  bool defined = false;

  // Reads the number of codes of each length, and the symbols.
  void read(const uint8_t* counts, const uint8_t* symbols, int total, bool ofAc) {
    std::fill(std::begin(code_), std::end(code_), uint16_t{0});
    std::fill(std::begin(value_), std::end(value_), 0);
    std::memcpy(symbols_, symbols, static_cast<size_t>(total));
    uint32_t code = 0;
    int next = 0;
    for (int length = 1; length <= 16; length++) {
      first_[length] = next - static_cast<int>(code);
      for (int i = 0; i < counts[length - 1]; i++, code++, next++) {
        require(code < (1u << length) && (ofAc || symbols[next] <= 15));
        if (length <= kFast) enter(code, length, symbols[next], ofAc);
      }
      require(counts[length - 1] == 0 || code < (1u << length));  // no code may be all ones, as in libjpeg
      limit_[length] = counts[length - 1] == 0 ? 0 : code << (16 - length);
      code <<= 1;
    }
    defined = true;
  }

  // Returns the next symbol. At least 16 bits must be available.
  inline int symbol(Bits& bits) const {
    uint16_t entry = code_[bits.peek(kFast)];
    if (entry != 0) {
      bits.skip(entry >> 8);
      return entry & 255;
    }
    uint32_t code = bits.peek(16);
    for (int length = kFast + 1; length <= 16; length++) {
      if (code >= limit_[length]) continue;
      bits.skip(length);
      return symbols_[first_[length] + static_cast<int>(code >> (16 - length))];
    }
    throw Odd{};
  }

  // Returns a symbol and the number after it, if both are short: the number in the upper half, then the preceding
  // zeros, and the number of bits of both. Returns 0 otherwise.
  inline int32_t valueAt(uint32_t bits) const { return value_[bits]; }

 private:
  void enter(uint32_t code, int length, int symbol, bool ofAc) {
    int spare = kFast - length, run = symbol >> 4, bits = symbol & 15;
    for (uint32_t rest = 0; rest < (1u << spare); rest++) {
      uint32_t place = (code << spare) | rest;
      code_[place] = static_cast<uint16_t>((length << 8) | symbol);
      if (!ofAc || bits == 0 || bits > spare) continue;
      int value = extend(rest >> (spare - bits), bits);
      value_[place] = value * 65536 + (run << 8) + length + bits;
    }
  }

  uint16_t code_[1 << kFast];
  int32_t value_[1 << kFast];
  uint32_t limit_[17];  // the limit of the codes of a length, shifted to the left of 16 bits
  int first_[17];       // added to a code, it gives the index of the symbol
  uint8_t symbols_[256];
};

struct Component {
  int id = 0, across = 1, down = 1, quantisation = 0;
  const Huffman *dc = nullptr, *ac = nullptr;
  int last = 0;  // the first coefficient of the previous block
  int width = 0, height = 0;
  size_t stride = 0;
  uint8_t* plane = nullptr;
};

// Sums and products of the transform may wrap around for extreme coefficients, which is defined for unsigned numbers.
typedef uint32_t Lanes __attribute__((vector_size(32)));
typedef int32_t SignedLanes __attribute__((vector_size(32)));
typedef int16_t Shorts __attribute__((vector_size(16)));

// Eight rows of eight numbers. They are fields and not an array, so that the compiler keeps them in registers.
struct Rows {
  Lanes a, b, c, d, e, f, g, h;
};

template <int Shift>
inline __attribute__((always_inline)) void descale(Lanes& value) {
  value = reinterpret_cast<Lanes>(reinterpret_cast<SignedLanes>(value + (1u << (Shift - 1))) >> Shift);
}

// One direction of the inverse transform of eight columns at once, after Loeffler, Ligtenberg and Moschytz, with
// libjpeg's constants: fixed-point numbers with 13 fractional bits.
template <int Shift>
inline __attribute__((always_inline)) void transform(Rows& r) {
  Lanes z1 = (r.c + r.g) * 4433u;
  Lanes t2 = z1 - r.g * 15137u, t3 = z1 + r.c * 6270u;
  Lanes t0 = (r.a + r.e) << 13, t1 = (r.a - r.e) << 13;
  Lanes e0 = t0 + t3, e3 = t0 - t3, e1 = t1 + t2, e2 = t1 - t2;
  t0 = r.h, t1 = r.f, t2 = r.d, t3 = r.b;
  z1 = (t0 + t3) * 7373u;
  Lanes z2 = (t1 + t2) * 20995u, z3 = t0 + t2, z4 = t1 + t3;
  Lanes z5 = (z3 + z4) * 9633u;
  z3 = z5 - z3 * 16069u;
  z4 = z5 - z4 * 3196u;
  t0 = t0 * 2446u - z1 + z3;
  t1 = t1 * 16819u - z2 + z4;
  t2 = t2 * 25172u - z2 + z3;
  t3 = t3 * 12299u - z1 + z4;
  r = {e0 + t3, e1 + t2, e2 + t1, e3 + t0, e3 - t0, e2 - t1, e1 - t2, e0 - t3};
  descale<Shift>(r.a), descale<Shift>(r.b), descale<Shift>(r.c), descale<Shift>(r.d);
  descale<Shift>(r.e), descale<Shift>(r.f), descale<Shift>(r.g), descale<Shift>(r.h);
}

// These swap elements of pairs, groups of four, and halves, as steps of a transposition.
inline __attribute__((always_inline)) void swapPairs(Lanes& x, Lanes& y) {
  Lanes was = x;
  x = __builtin_shufflevector(was, y, 0, 8, 2, 10, 4, 12, 6, 14);
  y = __builtin_shufflevector(was, y, 1, 9, 3, 11, 5, 13, 7, 15);
}

inline __attribute__((always_inline)) void swapFours(Lanes& x, Lanes& y) {
  Lanes was = x;
  x = __builtin_shufflevector(was, y, 0, 1, 8, 9, 4, 5, 12, 13);
  y = __builtin_shufflevector(was, y, 2, 3, 10, 11, 6, 7, 14, 15);
}

inline __attribute__((always_inline)) void swapHalves(Lanes& x, Lanes& y) {
  Lanes was = x;
  x = __builtin_shufflevector(was, y, 0, 1, 2, 3, 8, 9, 10, 11);
  y = __builtin_shufflevector(was, y, 4, 5, 6, 7, 12, 13, 14, 15);
}

inline __attribute__((always_inline)) void transpose(Rows& r) {
  swapPairs(r.a, r.b), swapPairs(r.c, r.d), swapPairs(r.e, r.f), swapPairs(r.g, r.h);
  swapFours(r.a, r.c), swapFours(r.b, r.d), swapFours(r.e, r.g), swapFours(r.f, r.h);
  swapHalves(r.a, r.e), swapHalves(r.b, r.f), swapHalves(r.c, r.g), swapHalves(r.d, r.h);
}

inline __attribute__((always_inline)) void load(const int16_t* coefficients, Lanes& lanes) {
  Shorts row;
  std::memcpy(&row, coefficients, sizeof row);
  lanes = reinterpret_cast<Lanes>(__builtin_convertvector(row, SignedLanes));
}

inline __attribute__((always_inline)) void toSamples(Lanes& lanes) {
  SignedLanes sample = reinterpret_cast<SignedLanes>(lanes) + 128;
  sample = sample < 0 ? SignedLanes{} : sample;
  lanes = reinterpret_cast<Lanes>(sample > 255 ? SignedLanes{} + 255 : sample);
}

// Converts coefficients to samples.
NUDGE_CLONES void inverseTransform(const int16_t* coefficients, uint8_t* out, size_t stride) {
  Rows r;
  load(coefficients, r.a), load(coefficients + 8, r.b), load(coefficients + 16, r.c), load(coefficients + 24, r.d);
  load(coefficients + 32, r.e), load(coefficients + 40, r.f), load(coefficients + 48, r.g), load(coefficients + 56, r.h);
  transform<11>(r);
  transpose(r);
  transform<18>(r);
  toSamples(r.a), toSamples(r.b), toSamples(r.c), toSamples(r.d);
  toSamples(r.e), toSamples(r.f), toSamples(r.g), toSamples(r.h);
  // Each vector is now a column. Four of them together are halves of eight rows, with one byte per sample.
  Lanes left = r.a | r.b << 8 | r.c << 16 | r.d << 24, right = r.e | r.f << 8 | r.g << 16 | r.h << 24;
  Lanes rows[2] = {__builtin_shufflevector(left, right, 0, 8, 1, 9, 2, 10, 3, 11), __builtin_shufflevector(left, right, 4, 12, 5, 13, 6, 14, 7, 15)};
  const auto* bytes = reinterpret_cast<const uint8_t*>(rows);
  for (int i = 0; i < 8; i++) std::memcpy(out + static_cast<size_t>(i) * stride, bytes + 8 * i, 8);
}

// Fills a block that only has its first coefficient.
void fillBlock(int coefficient, uint8_t* out, size_t stride) {
  int sample = std::clamp(((coefficient * 4 + 16) >> 5) + 128, 0, 255);
  for (int i = 0; i < 8; i++, out += stride) std::memset(out, sample, 8);
}

// Far above the largest coefficient of a photograph. Beyond it, decoders differ in how they overflow.
constexpr uint32_t kCoefficientBits = 12;

// The largest sum of the coefficients of a block. Up to it, no sum of libjpeg-turbo's first pass leaves 16 bits, where it saturates:
// such a sum is at most 4 · 1.387 times that of a column. The sum of a photograph's block is below it unless it is black and white noise.
constexpr uint32_t kMostOfBlock = 5900;

void decodeBlock(Bits& scan, Component& component, const uint16_t* quantisation, uint8_t* out) {
  alignas(32) int16_t coefficients[64];
  std::memset(coefficients, 0, sizeof coefficients);
  Bits bits = scan;  // kept in registers
  bits.need(32);
  int length = component.dc->symbol(bits);
  require(length <= 11);
  if (length > 0) {
    component.last += extend(bits.peek(length), length);
    bits.skip(length);
  }
  require(component.last >= -65536 && component.last <= 65536);
  int first = component.last * quantisation[0];
  uint32_t sizes = static_cast<uint32_t>(first ^ (first >> 31)), total = sizes;
  coefficients[0] = static_cast<int16_t>(first);
  const Huffman& ac = *component.ac;
  int k = 1, place = 0;
  while (k < 64) {
    bits.need(32);
    int value;
    if (int32_t both = ac.valueAt(bits.peek(Huffman::kFast)); both != 0) {
      k += (both >> 8) & 15;
      value = both >> 16;
      bits.skip(both & 255);
    } else {
      int symbol = ac.symbol(bits), size = symbol & 15;
      if (size == 0) {
        if (symbol != 0xf0) break;
        k += 16;
        continue;
      }
      k += symbol >> 4;
      value = extend(bits.peek(size), size);
      bits.skip(size);
    }
    require(k < 64);
    value *= quantisation[k];
    uint32_t magnitude = static_cast<uint32_t>(value ^ (value >> 31));
    sizes |= magnitude;
    total += magnitude;
    place = kZigzag[k++];
    coefficients[place] = static_cast<int16_t>(value);
  }
  scan = bits;
  require(k <= 64 && sizes >> kCoefficientBits == 0 && (place == 0 || total <= kMostOfBlock));
  if (place == 0) {
    fillBlock(first, out, component.stride);
  } else {
    inverseTransform(coefficients, out, component.stride);
  }
}

// Doubles a row: each sample becomes two, weighted 3 to 1 with the neighbour on that side. The left one is rounded
// down, the right one up.
NUDGE_CLONES void widenRow(const uint8_t* in, int count, uint8_t* out) {
  out[0] = in[0];
  out[1] = static_cast<uint8_t>((in[0] * 3 + in[1] + 2) >> 2);
#pragma omp simd
  for (int i = 1; i < count - 1; i++) {
    out[2 * i] = static_cast<uint8_t>((in[i] * 3 + in[i - 1] + 1) >> 2);
    out[2 * i + 1] = static_cast<uint8_t>((in[i] * 3 + in[i + 1] + 2) >> 2);
  }
  out[2 * count - 2] = static_cast<uint8_t>((in[count - 1] * 3 + in[count - 2] + 1) >> 2);
  out[2 * count - 1] = in[count - 1];
}

// The same in both directions: `near` is the row that contains the target row, `far` is its neighbour on that side.
NUDGE_CLONES void widenRows(const uint8_t* near, const uint8_t* far, int count, int16_t* sums, uint8_t* out) {
#pragma omp simd
  for (int i = 0; i < count; i++) sums[i] = static_cast<int16_t>(near[i] * 3 + far[i]);
  out[0] = static_cast<uint8_t>((sums[0] * 4 + 8) >> 4);
  out[1] = static_cast<uint8_t>((sums[0] * 3 + sums[1] + 7) >> 4);
#pragma omp simd
  for (int i = 1; i < count - 1; i++) {
    out[2 * i] = static_cast<uint8_t>((sums[i] * 3 + sums[i - 1] + 8) >> 4);
    out[2 * i + 1] = static_cast<uint8_t>((sums[i] * 3 + sums[i + 1] + 7) >> 4);
  }
  out[2 * count - 2] = static_cast<uint8_t>((sums[count - 1] * 3 + sums[count - 2] + 8) >> 4);
  out[2 * count - 1] = static_cast<uint8_t>((sums[count - 1] * 4 + 7) >> 4);
}

inline uint8_t clip(int32_t value) { return static_cast<uint8_t>(std::min(std::max(value, 0), 255)); }

constexpr int kPiece = 16;
typedef uint8_t Piece __attribute__((vector_size(kPiece)));

// Interleaves three rows to one row of pixels. `count` is rounded up to whole pieces, and the buffers have room for
// that.
inline __attribute__((always_inline)) void interleave(const uint8_t* red, const uint8_t* green, const uint8_t* blue, uint8_t* out) {
  Piece r, g, b;
  std::memcpy(&r, red, kPiece);
  std::memcpy(&g, green, kPiece);
  std::memcpy(&b, blue, kPiece);
  // First place red and green, then blue. Index 16 + i is the i-th element of the second vector.
  Piece first = __builtin_shufflevector(r, g, 0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5);
  Piece second = __builtin_shufflevector(r, g, 21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26);
  Piece third = __builtin_shufflevector(r, g, 0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0);
  first = __builtin_shufflevector(first, b, 0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15);
  second = __builtin_shufflevector(second, b, 0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15);
  third = __builtin_shufflevector(third, b, 26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31);
  std::memcpy(out, &first, kPiece);
  std::memcpy(out + kPiece, &second, kPiece);
  std::memcpy(out + 2 * kPiece, &third, kPiece);
}

// Converts YCbCr to RGB with libjpeg's fixed-point numbers. Inputs and `out` have room for whole pieces.
NUDGE_CLONES void toRgb(const uint8_t* luma, const uint8_t* cb, const uint8_t* cr, int count, uint8_t* out) {
  for (int from = 0; from < count; from += kPiece, out += 3 * kPiece) {
    uint8_t red[kPiece], green[kPiece], blue[kPiece];
#pragma omp simd
    for (int i = 0; i < kPiece; i++) {
      int32_t y = luma[from + i], b = cb[from + i] - 128, r = cr[from + i] - 128;
      red[i] = clip(y + ((91881 * r + 32768) >> 16));
      green[i] = clip(y + ((-22554 * b - 46802 * r + 32768) >> 16));
      blue[i] = clip(y + ((116130 * b + 32768) >> 16));
    }
    interleave(red, green, blue, out);
  }
}

// Returns the orientation in the EXIF data, 1 if there is none, or 0 if the data are damaged.
int orientationOf(const uint8_t* exif, size_t size) {
  if (size < 14) return 0;
  bool little = exif[0] == 'I';
  auto number = [&](size_t at, int bytes) {
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) value |= static_cast<uint32_t>(exif[at + i]) << 8 * (little ? i : bytes - 1 - i);
    return value;
  };
  size_t at = number(4, 4);
  if (at + 2 > size) return 0;
  size_t entries = number(at, 2);
  for (at += 2; entries > 0; entries--, at += 12) {
    if (at + 12 > size) return 0;
    if (number(at, 2) == 0x0112) return static_cast<int>(number(at + 8, 2));
  }
  return 1;
}

// The buffers of one thread, which are reused for all pictures except after a huge one.
struct JpegScratch {
  static constexpr size_t kMost = 32 << 20;
  std::vector<uint8_t> planes, line;
  std::vector<int16_t> sums;
};

class Decoder {
 public:
  Decoder(const uint8_t* data, size_t size, const DecodeLimits& limits, JpegScratch& scratch) : at_(data), end_(data + size), limits_(limits), scratch_(scratch) {}

  void decode(RgbPicture& out) {
    readHeader();
    makePlanes();
    readScan();
    require(scan_.at[1] == 0xd9);  // for example, another scan
    require(out.resize(width_, height_));
    writePixels(out.pixels, static_cast<size_t>(width_) * 3);
  }

 private:
  // The content of a segment, with bounds checks.
  struct Segment {
    const uint8_t* at;
    size_t size;

    void take(size_t bytes) {
      require(bytes <= size);
      at += bytes;
      size -= bytes;
    }
    bool startsWith(const char* text, size_t length) const { return size >= length && std::memcmp(at, text, length) == 0; }
  };

  Segment segment() {
    require(end_ - at_ >= 2);
    size_t size = static_cast<size_t>(at_[0]) << 8 | at_[1];
    require(size >= 2 && size <= static_cast<size_t>(end_ - at_));
    Segment found{at_ + 2, size - 2};
    at_ += size;
    return found;
  }

  void readHeader() {
    require(end_ - at_ > 4 && at_[0] == 0xff && at_[1] == 0xd8);
    at_ += 2;
    for (;;) {
      require(end_ - at_ >= 2 && at_[0] == 0xff);
      int marker = at_[1];
      at_ += marker == 0xff ? 1 : 2;
      if (marker == 0xff) continue;  // a fill byte
      if (marker == 0xc0 || marker == 0xc1) {
        readFrame(segment());
      } else if (marker == 0xc4) {
        readTables(segment());
      } else if (marker == 0xdb) {
        readQuantisation(segment());
      } else if (marker == 0xdd) {
        Segment content = segment();
        require(content.size == 2);
        restart_ = content.at[0] << 8 | content.at[1];
      } else if (marker == 0xda) {
        return readScanHeader(segment());
      } else {
        require(marker == 0xfe || (marker >= 0xe0 && marker <= 0xef));
        readApplication(marker, segment());
      }
    }
  }

  void readApplication(int marker, Segment content) {
    if (marker == 0xe0 && content.size >= 14 && content.startsWith("JFIF", 5)) jfif_ = true;
    if (marker == 0xee && content.size >= 12 && content.startsWith("Adobe", 5)) adobe_ = content.at[11];
    if (marker == 0xe1 && limits_.upright && content.startsWith("Exif\0", 6)) {
      content.take(6);
      require(orientationOf(content.at, content.size) == 1);
    }
  }

  void readQuantisation(Segment content) {
    while (content.size > 0) {
      int table = content.at[0];
      require(table < 4 && content.size >= 65);  // 8-bit tables only
      for (int k = 0; k < 64; k++) quantisation_[table][k] = content.at[1 + k];
      known_[table] = true;
      content.take(65);
    }
  }

  void readTables(Segment content) {
    while (content.size > 0) {
      require(content.size >= 17);
      int kind = content.at[0] >> 4, place = content.at[0] & 15, total = 0;
      require(kind < 2 && place < 4);
      const uint8_t* counts = content.at + 1;
      for (int i = 0; i < 16; i++) total += counts[i];
      content.take(17);
      require(total <= 256 && static_cast<size_t>(total) <= content.size);
      huffman_[kind][place].read(counts, content.at, total, kind == 1);
      content.take(static_cast<size_t>(total));
    }
  }

  void readFrame(Segment content) {
    require(count_ == 0 && content.size >= 6 && content.at[0] == 8);
    height_ = content.at[1] << 8 | content.at[2];
    width_ = content.at[3] << 8 | content.at[4];
    count_ = content.at[5];
    require((count_ == 1 || count_ == 3) && content.size == 6 + 3 * static_cast<size_t>(count_));
    require(width_ > 0 && height_ > 0 && static_cast<int64_t>(width_) * height_ <= limits_.pixels);
    require(limits_.shortSide == 0 || std::min(width_, height_) <= limits_.shortSide);
    for (int i = 0; i < count_; i++) {
      const uint8_t* from = content.at + 6 + 3 * i;
      components_[i].id = from[0];
      components_[i].across = count_ == 1 ? 1 : from[1] >> 4;  // they have no meaning for a single component
      components_[i].down = count_ == 1 ? 1 : from[1] & 15;
      components_[i].quantisation = from[2];
      require(from[1] >> 4 >= 1 && (from[1] & 15) >= 1 && from[2] < 4);
    }
    const Component &first = components_[0], &second = components_[1], &third = components_[2];
    if (count_ == 3) require(second.across == 1 && second.down == 1 && third.across == 1 && third.down == 1);
    require(first.across <= 2 && first.down <= first.across);
  }

  // Returns whether the three components are YCbCr, with the same heuristic as libjpeg.
  bool isYcc() const {
    if (jfif_) return true;
    if (adobe_ >= 0) return adobe_ == 1;
    return components_[0].id == 1 && components_[1].id == 2 && components_[2].id == 3;
  }

  void readScanHeader(Segment content) {
    require(count_ > 0 && content.size == 4 + 2 * static_cast<size_t>(count_) && content.at[0] == count_);
    require(count_ == 1 || isYcc());
    for (int i = 0; i < count_; i++) {
      int id = content.at[1 + 2 * i], tables = content.at[2 + 2 * i];
      Component& component = components_[i];
      require(id == component.id && tables >> 4 < 4 && (tables & 15) < 4);
      component.dc = &huffman_[0][tables >> 4];
      component.ac = &huffman_[1][tables & 15];
      require(component.dc->defined && component.ac->defined && known_[component.quantisation]);
    }
    const uint8_t* last = content.at + 1 + 2 * count_;
    require(last[0] == 0 && last[1] == 63 && last[2] == 0);
  }

  void makePlanes() {
    const Component& first = components_[0];
    across_ = (width_ + 8 * first.across - 1) / (8 * first.across);
    down_ = (height_ + 8 * first.down - 1) / (8 * first.down);
    size_t total = kPiece, starts[3] = {}, blocks = 0;
    for (int i = 0; i < count_; i++) {
      Component& component = components_[i];
      component.width = (width_ * component.across + first.across - 1) / first.across;
      component.height = (height_ * component.down + first.down - 1) / first.down;
      component.stride = static_cast<size_t>(across_) * component.across * 8;
      starts[i] = total;
      size_t rows = static_cast<size_t>(down_) * component.down * 8;
      total += component.stride * rows + kPiece;
      blocks += component.stride * rows / 64;
      // Narrower components are not interpolated with their neighbours.
      if (component.across < first.across) require(component.width > 2);
    }
    require(blocks / 4 <= static_cast<size_t>(end_ - at_));  // at least two bits per block
    scratch_.planes.resize(total);
    for (int i = 0; i < count_; i++) components_[i].plane = scratch_.planes.data() + starts[i];
  }

  void readScan() {
    scan_.at = at_;
    scan_.end = end_;
    int left = restart_, next = 0;
    for (int y = 0; y < down_; y++) {
      for (int x = 0; x < across_; x++) {
        if (restart_ > 0 && left-- == 0) {
          scan_.finish();
          require(scan_.at[1] == 0xd0 + next);
          scan_.at += 2;
          next = (next + 1) & 7;
          left = restart_ - 1;
          for (auto& component : components_) component.last = 0;
        }
        for (int i = 0; i < count_; i++) decodeUnit(components_[i], x, y);
      }
    }
    scan_.finish();
  }

  void decodeUnit(Component& component, int x, int y) {
    const uint16_t* quantisation = quantisation_[component.quantisation];
    for (int v = 0; v < component.down; v++) {
      uint8_t* row = component.plane + static_cast<size_t>(y * component.down + v) * 8 * component.stride;
      for (int h = 0; h < component.across; h++) decodeBlock(scan_, component, quantisation, row + static_cast<size_t>(x * component.across + h) * 8);
    }
  }

  void writePixels(uint8_t* pixels, size_t stride) {
    size_t room = (static_cast<size_t>(width_) + 2 * kPiece) & ~static_cast<size_t>(kPiece - 1);
    scratch_.line.resize(room * 5);
    scratch_.sums.resize(room);
    uint8_t *wideCb = scratch_.line.data(), *wideCr = wideCb + room, *line = wideCr + room;
    std::vector<uint8_t> neutral(count_ == 1 ? room : 0, uint8_t{128});
    for (int y = 0; y < height_; y++) {
      const uint8_t* luma = components_[0].plane + static_cast<size_t>(y) * components_[0].stride;
      const uint8_t* cb = count_ == 1 ? neutral.data() : colourRow(components_[1], y, wideCb);
      const uint8_t* cr = count_ == 1 ? neutral.data() : colourRow(components_[2], y, wideCr);
      toRgb(luma, cb, cr, width_, line);
      std::memcpy(pixels + static_cast<size_t>(y) * stride, line, stride);
    }
  }

  const uint8_t* colourRow(const Component& colour, int y, uint8_t* wide) {
    const Component& luma = components_[0];
    if (luma.across == 1) return colour.plane + static_cast<size_t>(y) * colour.stride;
    int own = y / luma.down, beside = std::clamp(own + (y % 2 == 0 ? -1 : 1), 0, colour.height - 1);
    const uint8_t* near = colour.plane + static_cast<size_t>(own) * colour.stride;
    if (luma.down == 1) {
      widenRow(near, colour.width, wide);
    } else {
      widenRows(near, colour.plane + static_cast<size_t>(beside) * colour.stride, colour.width, scratch_.sums.data(), wide);
    }
    return wide;
  }

  const uint8_t *at_, *end_;
  const DecodeLimits& limits_;
  JpegScratch& scratch_;
  Bits scan_;
  Huffman huffman_[2][4];
  uint16_t quantisation_[4][64];
  bool known_[4] = {};
  Component components_[3];
  int count_ = 0, width_ = 0, height_ = 0, restart_ = 0, adobe_ = -1, across_ = 0, down_ = 0;
  bool jfif_ = false;
};

}  // namespace

bool decodeJpeg(const uint8_t* data, size_t size, const DecodeLimits& limits, RgbPicture& out) {
  thread_local JpegScratch scratch;
  bool done = true;
  try {
    Decoder(data, size, limits, scratch).decode(out);
  } catch (const Odd&) {
    done = false;
  }
  if (scratch.planes.capacity() > JpegScratch::kMost) scratch = {};
  return done;
}

}  // namespace nudge
