// Converts pictures to batches on the CPU: crop, resize, flip, colour jitter, grayscale and normalization, with a
// separate draw for each sample, one pass per picture and threads over the batch. Also reads cached pixels from files.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numeric>

#include "convert.h"
#include "functions.h"
#include "picture.h"

namespace nudge {

namespace {

NUDGE_CLONES void normaliseRow(const uint8_t* row, int size, bool flip, const float* table, float* out) {
  if (flip) {
#pragma omp simd
    for (int x = 0; x < size; x++) out[x] = table[row[size - 1 - x]];
  } else {
#pragma omp simd
    for (int x = 0; x < size; x++) out[x] = table[row[x]];
  }
}

// Writes a finished 8-bit picture to its place in the batch, flipped and normalized with a table of 256 values per
// channel.
void store(const uint8_t* planes, int size, bool flip, const float (*table)[256], float* out, bool channelsLast) {
  size_t plane = static_cast<size_t>(size) * size;
  if (!channelsLast) {
    for (int c = 0; c < 3; c++) {
      for (size_t at = 0; at < plane; at += size) normaliseRow(planes + c * plane + at, size, flip, table[c], out + c * plane + at);
    }
    return;
  }
  for (int y = 0; y < size; y++) {
    const uint8_t* row = planes + static_cast<size_t>(y) * size;
    for (int x = 0; x < size; x++, out += 3) {
      const uint8_t* p = row + (flip ? size - 1 - x : x);
      out[0] = table[0][p[0]];
      out[1] = table[1][p[plane]];
      out[2] = table[2][p[2 * plane]];
    }
  }
}

void readPixels(int descriptor, int64_t offset, size_t bytes, uint8_t* target) {
  for (size_t done = 0; done < bytes;) {
    ssize_t got = pread(descriptor, target + done, std::min<size_t>(bytes - done, 1 << 30), offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Failure(std::string("reading cached pixels: ") + std::strerror(errno));
    if (got == 0) throw Failure("reading cached pixels: the file ends early");
    done += static_cast<size_t>(got);
  }
}

template <typename T>
const T* viewOf(napi_env env, napi_value value, size_t count, const char* what) {
  Bytes bytes = toBytes(env, value, what);
  if (bytes.size != count * sizeof(T) || reinterpret_cast<uintptr_t>(bytes.data) % alignof(T) != 0) {
    throw Failure(std::string(what) + ": got " + std::to_string(bytes.size) + " bytes, expected " + std::to_string(count * sizeof(T)));
  }
  return reinterpret_cast<const T*>(bytes.data);
}

// Returns the bytes of the pictures in an array.
std::vector<Bytes> partsOf(napi_env env, napi_value array, size_t count) {
  uint32_t length = 0;
  check(env, napi_get_array_length(env, array, &length), "augment: source");
  if (length != count) throw Failure("augment: source: got " + std::to_string(length) + " pictures, expected " + std::to_string(count));
  std::vector<Bytes> parts(count);
  for (uint32_t i = 0; i < length; i++) {
    napi_value part = nullptr;
    check(env, napi_get_element(env, array, i, &part), "augment: source");
    parts[i] = toBytes(env, part, "augment: source");
  }
  return parts;
}

// Returns the target of a draw's crop.
Target targetOf(const Draw& d, int size, Interpolation interpolation) {
  int wide = d.wide == 0 ? size : static_cast<int>(d.wide), high = d.high == 0 ? size : static_cast<int>(d.high);
  return {wide, high, static_cast<int>(d.x), static_cast<int>(d.y), size, interpolation};
}

// The longest side of a resized crop. Only size × size pixels of it are computed. A picture of 3000 × 10 pixels whose short side is
// resized to 256 is 76800 pixels wide.
constexpr float kLongestResized = 1 << 30;

// Returns whether the crop is inside the picture and the result inside the resized crop. NaN is never inside.
bool fits(const Draw& d, int32_t width, int32_t height, int size) {
  if (width < 1 || height < 1 || width > kLongestSide || height > kLongestSide) return false;
  for (float each : {d.wide, d.high, d.x, d.y}) {
    if (!(each >= 0 && each <= kLongestResized)) return false;
  }
  Target target = targetOf(d, size, Interpolation::kBilinear);
  if (target.x + size > target.wide || target.y + size > target.high) return false;
  bool begins = d.left >= 0 && d.top >= 0 && d.width >= 1 && d.height >= 1;
  return begins && std::floor(d.left) + std::floor(d.width) <= static_cast<float>(width) &&
         std::floor(d.top) + std::floor(d.height) <= static_cast<float>(height);
}

// augment(source, offsets, sizes, draws, size, mean, std, channelsLast, files, bicubic) → float32 [n, 3, size, size]
//
// source: a uint8 tensor of concatenated RGB pictures; or an array with the bytes of each; or null, in which case `files`
// has the file descriptor of each sample.
napi_value augment(Call& call) {
  napi_env env = call.env;
  int size = static_cast<int>(std::clamp<int64_t>(toInt(env, call.at(4), "size"), 0, 4097));
  if (size < 1 || size > 4096) throw Failure("augment: size: expected 1 to 4096");
  bool channelsLast = toBool(env, call.at(7), "channelsLast");
  Interpolation interpolation = toBool(env, call.at(9), "bicubic") ? Interpolation::kBicubic : Interpolation::kBilinear;
  bool fromFile = isNothing(env, call.at(0)), fromParts = false;
  check(env, napi_is_array(env, call.at(0), &fromParts), "augment: source");
  at::Tensor source;
  if (!fromFile && !fromParts) {
    source = toTensor(*call.state, env, call.at(0), "source");
    if (source.scalar_type() != at::kByte || !source.is_contiguous() || !source.device().is_cpu()) {
      throw Failure("augment: source: expected a contiguous uint8 tensor on the CPU, got " + describeTensor(source));
    }
  }
  size_t n = toBytes(env, call.at(2), "sizes").size / (2 * sizeof(int32_t));
  const int32_t* sizes = viewOf<int32_t>(env, call.at(2), n * 2, "augment: sizes");
  const double* offsets = viewOf<double>(env, call.at(1), n, "augment: offsets");
  const Draw* draws = reinterpret_cast<const Draw*>(viewOf<float>(env, call.at(3), n * kDrawFloats, "augment: draws"));
  const float* mean = viewOf<float>(env, call.at(5), 3, "augment: mean");
  const float* deviation = viewOf<float>(env, call.at(6), 3, "augment: std");
  const int32_t* files = fromFile ? viewOf<int32_t>(env, call.at(8), n, "augment: files") : nullptr;
  std::vector<Bytes> parts = fromParts ? partsOf(env, call.at(0), n) : std::vector<Bytes>();
  for (size_t i = 0; i < n; i++) {
    double end = offsets[i] + static_cast<double>(sizes[2 * i]) * sizes[2 * i + 1] * 3;
    double most = fromFile ? 9e15 : fromParts ? static_cast<double>(parts[i].size) : static_cast<double>(source.numel());
    if (!fits(draws[i], sizes[2 * i], sizes[2 * i + 1], size) || !(offsets[i] >= 0 && end <= most)) {
      throw Failure("augment: sample " + std::to_string(i) + ": its crop or its pixels lie outside the picture (" + std::to_string(sizes[2 * i]) + "×" +
                    std::to_string(sizes[2 * i + 1]) + ")");
    }
  }
  float table[3][256];
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < 256; i++) table[c][i] = (static_cast<float>(i) / 255.0f - mean[c]) / deviation[c];
  }
  auto format = channelsLast ? c10::MemoryFormat::ChannelsLast : c10::MemoryFormat::Contiguous;
  at::Tensor out = at::empty({static_cast<int64_t>(n), 3, size, size}, at::TensorOptions().dtype(at::kFloat).memory_format(format));
  float* target = static_cast<float*>(out.data_ptr());
  const uint8_t* base = fromFile || fromParts ? nullptr : static_cast<const uint8_t*>(source.data_ptr());
  at::parallel_for(0, static_cast<int64_t>(n), 1, [&](int64_t from, int64_t to) {
    thread_local Scratch scratch;
    for (int64_t i = from; i < to; i++) {
      const Draw& draw = draws[i];
      size_t stride = static_cast<size_t>(sizes[2 * i]);
      int width = static_cast<int>(draw.width), height = static_cast<int>(draw.height);
      int64_t start = static_cast<int64_t>(offsets[i]) + static_cast<int64_t>(stride) * 3 * static_cast<int>(draw.top);
      const uint8_t* rows = fromFile ? nullptr : (fromParts ? parts[i].data : base) + start;
      if (fromFile) {  // only the rows of the crop
        scratch.source.resize(stride * height * 3);
        readPixels(files[i], start, scratch.source.size(), scratch.source.data());
        rows = scratch.source.data();
      }
      resize(rows + static_cast<size_t>(draw.left) * 3, static_cast<int>(stride), width, height, targetOf(draw, size, interpolation), scratch);
      jitter(scratch.planes.data(), static_cast<size_t>(size) * size, draw);
      store(scratch.planes.data(), size, draw.flip != 0, table, target + i * 3 * size * size, channelsLast);
    }
  });
  return fromTensor(*call.state, env, std::move(out));
}

// Parts of files.
struct Pieces {
  size_t count;
  const int32_t* files;
  const double *offsets, *lengths;

  explicit Pieces(Call& call) : count(toBytes(call.env, call.at(0), "files").size / sizeof(int32_t)) {
    files = viewOf<int32_t>(call.env, call.at(0), count, "files");
    offsets = viewOf<double>(call.env, call.at(1), count, "offsets");
    lengths = viewOf<double>(call.env, call.at(2), count, "lengths");
    for (size_t i = 0; i < count; i++) {
      if (!(offsets[i] >= 0 && offsets[i] <= 9e15 && lengths[i] >= 0 && lengths[i] <= 9e15)) throw Failure("pieces of files: piece " + std::to_string(i) + " lies nowhere");
    }
  }
};

// gather(files, offsets, lengths, pinned) → uint8 [sum of lengths]: concatenated parts of files, read with threads.
napi_value gather(Call& call) {
  Pieces pieces(call);
  bool pinned = toBool(call.env, call.at(3), "pinned");
  std::vector<double> ends(pieces.count);
  std::partial_sum(pieces.lengths, pieces.lengths + pieces.count, ends.begin());
  int64_t total = pieces.count == 0 ? 0 : static_cast<int64_t>(ends.back());
  at::Tensor out = at::empty({total}, at::TensorOptions().dtype(at::kByte).pinned_memory(pinned));
  auto* target = static_cast<uint8_t*>(out.data_ptr());
  at::parallel_for(0, static_cast<int64_t>(pieces.count), 1, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
      size_t length = static_cast<size_t>(pieces.lengths[i]);
      readPixels(pieces.files[i], static_cast<int64_t>(pieces.offsets[i]), length, target + static_cast<size_t>(ends[i]) - length);
    }
  });
  return fromTensor(*call.state, call.env, std::move(out));
}

// join(parts, pinned) → uint8 [sum of lengths]: concatenated arrays, copied with threads.
napi_value join(Call& call) {
  uint32_t count = 0;
  check(call.env, napi_get_array_length(call.env, call.at(0), &count), "join: parts");
  std::vector<Bytes> parts = partsOf(call.env, call.at(0), count);
  bool pinned = toBool(call.env, call.at(1), "pinned");
  std::vector<int64_t> ends(parts.size());
  int64_t total = 0;
  for (size_t i = 0; i < parts.size(); i++) ends[i] = total += static_cast<int64_t>(parts[i].size);
  at::Tensor out = at::empty({total}, at::TensorOptions().dtype(at::kByte).pinned_memory(pinned));
  auto* target = static_cast<uint8_t*>(out.data_ptr());
  at::parallel_for(0, static_cast<int64_t>(parts.size()), 8, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) std::memcpy(target + ends[i] - parts[i].size, parts[i].data, parts[i].size);
  });
  return fromTensor(*call.state, call.env, std::move(out));
}

// willNeed(files, offsets, lengths): tells the system that these parts will be read. It is a hint, so failures are
// ignored.
napi_value willNeed(Call& call) {
  Pieces pieces(call);
#ifdef POSIX_FADV_WILLNEED
  for (size_t i = 0; i < pieces.count; i++) {
    posix_fadvise(pieces.files[i], static_cast<off_t>(pieces.offsets[i]), static_cast<off_t>(pieces.lengths[i]), POSIX_FADV_WILLNEED);
  }
#endif
  return nothing(call.env);
}

}  // namespace

void defineAugment(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "augment", entry<augment>);
  defineFunction(env, exports, state, "gather", entry<gather>);
  defineFunction(env, exports, state, "join", entry<join>);
  defineFunction(env, exports, state, "willNeed", entry<willNeed>);
}

}  // namespace nudge
