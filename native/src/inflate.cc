// The stream is decoded with a table of the next 11 bits; longer codes, which are rare, bit by bit. Files are untrusted:
// reads after the end of the input give zeros and are counted, and every write is checked.
#include "inflate.h"

#include <algorithm>
#include <cstring>

#include "decoders.h"
#include "picture.h"

namespace nudge {

namespace {

// The bits of a stream, least significant first.
class Bits {
 public:
  Bits(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  // Ensures that at least 48 bits are available: those of a length and a distance.
  inline void fill() {
    if (count_ >= 48) return;
    if (end_ - at_ >= 8) {
      uint64_t next;
      std::memcpy(&next, at_, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
      next = __builtin_bswap64(next);
#endif
      // Bits beyond the count are those of the next byte, so setting them twice is correct.
      buffer_ |= next << count_;
      at_ += (63 - count_) >> 3;
      count_ |= 56;
      return;
    }
    for (; count_ < 56; count_ += 8) {
      if (at_ < end_) {
        buffer_ |= static_cast<uint64_t>(*at_++) << count_;
      } else {
        missing_ += 8;
      }
    }
  }

  inline uint32_t peek(int bits) const { return static_cast<uint32_t>(buffer_ & ((uint64_t{1} << bits) - 1)); }
  inline void skip(int bits) {
    buffer_ >>= bits;
    count_ -= bits;
  }
  inline uint32_t take(int bits) {
    uint32_t value = peek(bits);
    skip(bits);
    return value;
  }

  // Checks that no bit after the end of the input was used.
  void check() const { require(missing_ <= count_); }

  // Skips the rest of a byte, and returns the position of the next one.
  const uint8_t* nextByte() {
    check();
    const uint8_t* at = at_ - (count_ - missing_) / 8;
    *this = Bits(at, static_cast<size_t>(end_ - at));
    return at;
  }

  size_t left() const { return static_cast<size_t>(end_ - at_); }
  void skipBytes(size_t bytes) { at_ += bytes; }

 private:
  const uint8_t *at_, *end_;
  uint64_t buffer_ = 0;
  int count_ = 0;
  int64_t missing_ = 0;
};

// The meaning of a code: its number of bits, its kind, the number of extra bits after it, and its value.
struct Code {
  enum Kind : uint8_t { kNone, kLiteral, kMatch, kEnd };
  uint8_t length = 0;
  Kind kind = kNone;
  uint8_t extra = 0;
  uint16_t value = 0;
};

constexpr int kLiterals = 288, kDistances = 32;

// What the symbols of lengths (from 257 on) and distances stand for.
constexpr uint16_t kLengthBase[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t kLengthExtra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t kDistanceBase[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
                                      193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t kDistanceExtra[] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

Code literalOrLength(int symbol) {
  if (symbol < 256) return {0, Code::kLiteral, 0, static_cast<uint16_t>(symbol)};
  if (symbol == 256) return {0, Code::kEnd, 0, 0};
  if (symbol > 285) return {};
  return {0, Code::kMatch, kLengthExtra[symbol - 257], kLengthBase[symbol - 257]};
}

Code distance(int symbol) {
  if (symbol >= 30) return {};
  return {0, Code::kMatch, kDistanceExtra[symbol], kDistanceBase[symbol]};
}

Code codeLength(int symbol) { return {0, Code::kLiteral, 0, static_cast<uint16_t>(symbol)}; }

class Huffman {
 public:
  static constexpr int kFast = 11, kMost = 15;

  // Reads the number of bits of each symbol. All codes together must use all sequences of bits; only a single code may
  // be of one bit.
  void set(const uint8_t* lengths, int symbols, Code (*meaning)(int)) {
    meaning_ = meaning;
    std::fill(std::begin(counts_), std::end(counts_), 0);
    for (int i = 0; i < symbols; i++) counts_[lengths[i]]++;
    int used = symbols - counts_[0], left = 1;
    counts_[0] = 0;
    int starts[kMost + 2] = {}, next[kMost + 2] = {}, code = 0;
    for (int length = 1; length <= kMost; length++) {
      left = left * 2 - counts_[length];
      require(left >= 0);
      next[length] = code;
      code = (code + counts_[length]) << 1;
      starts[length + 1] = starts[length] + counts_[length];
    }
    require(left == 0 || used == 0 || (used == 1 && counts_[1] == 1));
    std::fill(std::begin(fast_), std::end(fast_), Code{});
    for (int symbol = 0; symbol < symbols; symbol++) {
      int length = lengths[symbol];
      if (length == 0) continue;
      symbols_[starts[length]++] = static_cast<uint16_t>(symbol);
      int bits = next[length]++;
      if (length > kFast) continue;
      Code entry = meaning(symbol);
      entry.length = static_cast<uint8_t>(length);
      int reversed = 0;
      for (int i = 0; i < length; i++) reversed |= (bits >> i & 1) << (length - 1 - i);
      for (int place = reversed; place < 1 << kFast; place += 1 << length) fast_[place] = entry;
    }
  }

  // Returns the next code and skips it. At least 15 bits must be available.
  inline Code read(Bits& bits) const {
    Code code = fast_[bits.peek(kFast)];
    if (code.length == 0) return readLong(bits);
    bits.skip(code.length);
    return code;
  }

 private:
  Code readLong(Bits& bits) const {
    uint32_t next = bits.peek(kMost);
    int code = 0, first = 0, index = 0;
    for (int length = 1; length <= kMost; length++) {
      code |= next & 1;
      next >>= 1;
      if (code - counts_[length] < first) {
        bits.skip(length);
        return meaning_(symbols_[index + code - first]);
      }
      index += counts_[length];
      first = (first + counts_[length]) << 1;
      code <<= 1;
    }
    throw Odd{};
  }

  Code fast_[1 << kFast];
  uint16_t symbols_[kLiterals];
  int counts_[kMost + 1];
  Code (*meaning_)(int) = nullptr;
};

class Inflater {
 public:
  Inflater(const uint8_t* data, size_t size, uint8_t* out, size_t wanted) : bits_(data, size), begin_(out), at_(out), end_(out + wanted) {}

  // Returns the position after the stream.
  const uint8_t* run() {
    for (bool last = false; !last;) {
      bits_.fill();
      last = bits_.take(1) != 0;
      uint32_t kind = bits_.take(2);
      require(kind != 3);
      if (kind == 0) {
        copyStored();
      } else {
        kind == 1 ? setFixedCodes() : readCodes();
        decodeBlock();
      }
      bits_.check();
    }
    require(at_ == end_);
    return bits_.nextByte();
  }

 private:
  void copyStored() {
    const uint8_t* from = bits_.nextByte();
    require(bits_.left() >= 4);
    size_t length = from[0] | from[1] << 8, inverse = from[2] | from[3] << 8;
    require((length ^ inverse) == 0xffff && length <= bits_.left() - 4 && length <= static_cast<size_t>(end_ - at_));
    std::memcpy(at_, from + 4, length);
    at_ += length;
    bits_.skipBytes(length + 4);
  }

  void setFixedCodes() {
    uint8_t lengths[kLiterals];
    std::fill(lengths, lengths + 144, uint8_t{8});
    std::fill(lengths + 144, lengths + 256, uint8_t{9});
    std::fill(lengths + 256, lengths + 280, uint8_t{7});
    std::fill(lengths + 280, lengths + kLiterals, uint8_t{8});
    literals_.set(lengths, kLiterals, literalOrLength);
    std::fill(lengths, lengths + kDistances, uint8_t{5});
    distances_.set(lengths, kDistances, distance);
  }

  void readCodes() {
    constexpr uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    int literals = static_cast<int>(bits_.take(5)) + 257, distances = static_cast<int>(bits_.take(5)) + 1, count = static_cast<int>(bits_.take(4)) + 4;
    require(literals <= 286 && distances <= 30);
    uint8_t lengths[kLiterals + kDistances] = {};
    for (int i = 0; i < count; i++) {
      bits_.fill();
      lengths[order[i]] = static_cast<uint8_t>(bits_.take(3));
    }
    distances_.set(lengths, 19, codeLength);
    std::fill(std::begin(lengths), std::end(lengths), uint8_t{0});
    for (int i = 0; i < literals + distances;) {
      bits_.fill();
      Code code = distances_.read(bits_);
      require(code.kind == Code::kLiteral);
      if (code.value < 16) {
        lengths[i++] = static_cast<uint8_t>(code.value);
        continue;
      }
      require(code.value != 16 || i > 0);
      uint8_t repeated = code.value == 16 ? lengths[i - 1] : uint8_t{0};
      int times = static_cast<int>(code.value == 16 ? 3 + bits_.take(2) : code.value == 17 ? 3 + bits_.take(3) : 11 + bits_.take(7));
      require(i + times <= literals + distances);
      std::fill(lengths + i, lengths + i + times, repeated);
      i += times;
    }
    require(lengths[256] != 0);
    literals_.set(lengths, literals, literalOrLength);
    distances_.set(lengths + literals, distances, distance);
  }

  void decodeBlock() {
    Bits bits = bits_;  // kept in registers
    uint8_t* at = at_;
    for (;;) {
      bits.fill();
      Code code = literals_.read(bits);
      if (code.kind == Code::kLiteral) {
        require(at < end_);
        *at++ = static_cast<uint8_t>(code.value);
        continue;
      }
      if (code.kind == Code::kEnd) break;
      require(code.kind == Code::kMatch);
      size_t length = code.value + bits.take(code.extra);
      Code far = distances_.read(bits);
      require(far.kind == Code::kMatch);
      size_t back = far.value + bits.take(far.extra);
      require(back <= static_cast<size_t>(at - begin_) && length <= static_cast<size_t>(end_ - at));
      copyMatch(at, back, length);
      at += length;
    }
    bits_ = bits;
    at_ = at;
  }

  // Repeats what is `back` bytes before. It may write up to kInflateSlack bytes too many.
  static inline void copyMatch(uint8_t* at, size_t back, size_t length) {
    const uint8_t* from = at - back;
    uint8_t* end = at + length;
    if (back == 1) {
      std::memset(at, *from, length);
      return;
    }
    // The first `back` bytes of a piece are right. Once copied, they can be copied together with their source.
    for (; back < sizeof(Piece) && at < end; at += back, back *= 2) copyPiece(at, from);
    for (; at < end; at += sizeof(Piece), from += sizeof(Piece)) copyPiece(at, from);
  }

  struct Piece {
    uint64_t halves[2];
  };

  static inline void copyPiece(uint8_t* at, const uint8_t* from) {
    Piece piece;
    std::memcpy(&piece, from, sizeof piece);
    std::memcpy(at, &piece, sizeof piece);
  }

  Bits bits_;
  uint8_t *begin_, *at_, *end_;
  Huffman literals_, distances_;
};

constexpr int kPiece = 256;

// Adler's checksum, of whole pieces with the weights 256, 255, … 1.
NUDGE_CLONES uint32_t checksum(const uint8_t* bytes, size_t size) {
  uint32_t a = 1, b = 0;
  while (size > 0) {
    int count = static_cast<int>(std::min<size_t>(size, kPiece));
    int32_t sum = 0, weighted = 0;
#pragma omp simd reduction(+ : sum, weighted)
    for (int i = 0; i < count; i++) {
      sum += bytes[i];
      weighted += static_cast<int16_t>(count - i) * static_cast<int16_t>(bytes[i]);
    }
    b = (b + static_cast<uint32_t>(count) * a + static_cast<uint32_t>(weighted)) % 65521;
    a = (a + static_cast<uint32_t>(sum)) % 65521;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
  return b << 16 | a;
}

}  // namespace

void inflate(const uint8_t* data, size_t size, uint8_t* out, size_t wanted) {
  require(size >= 6 && (data[0] & 15) == 8 && data[0] >> 4 <= 7 && (data[0] << 8 | data[1]) % 31 == 0 && (data[1] & 32) == 0);
  const uint8_t* end = Inflater(data + 2, size - 2, out, wanted).run();
  require(data + size - end == 4);
  require((static_cast<uint32_t>(end[0]) << 24 | end[1] << 16 | end[2] << 8 | end[3]) == checksum(out, wanted));
}

}  // namespace nudge
