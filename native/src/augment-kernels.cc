// Converts pictures to a batch on a GPU: nudge::augment gives byte for byte the same result as augment.cc on the CPU.
// The arithmetic is that of resample.cc and jitter.cc, which explain its details.
//
// There are four kernels: they resize the rows of the crops, resize the columns, sum the luma for the contrast's mean,
// and apply all colour changes and the normalization in one pass. Weights are computed where they are used, which a GPU
// has time for.
#include "cuda-kernels.h"

#include <torch/library.h>

#include <algorithm>

#include "picture.h"

namespace nudge {

#ifdef NUDGE_KERNELS

const char* const kernels::AUGMENT_SOURCE = R"cuda(
typedef unsigned char u8;

// The data of a sample, in the layout of augment-device.ts: the offset of its crop in bytes, the number of pixels in a row of its
// picture, and then the numbers of a draw, starting with the width.
struct Sample { double start, stride, width, height, flip, brightness, contrast, saturation, hue, order[4], gray, wide, high, x, y; };

// Filter::set for one target position: the first source position, the number of positions, and the sum of their exact weights.
struct Taps { double centre, stretch, total; int from, count, cubic; };
__device__ double exact(const Taps& taps, int k) {
  const double distance = fabs((taps.from + k + 0.5 - taps.centre) / taps.stretch);
  if (!taps.cubic) return distance < 1 ? 1 - distance : 0;
  if (distance < 1) return (1.5 * distance - 2.5) * distance * distance + 1;
  return distance < 2 ? (((distance - 5) * distance + 8) * distance - 4) * -0.5 : 0;
}
__device__ Taps taps_at(int place, int source, int target, int cubic) {
  Taps taps;
  const double scale = (double)source / target;
  taps.stretch = fmax(scale, 1.0);
  taps.cubic = cubic;
  const double support = taps.stretch * (cubic ? 2 : 1);
  taps.centre = (place + 0.5) * scale;
  taps.from = max(0, (int)(taps.centre - support + 0.5));
  taps.count = min(source, (int)(taps.centre + support + 0.5)) - taps.from;
  taps.total = 0;
  for (int k = 0; k < taps.count; k++) taps.total += exact(taps, k);
  return taps;
}
__device__ int weight(const Taps& taps, int k) {
  const double share = exact(taps, k) / taps.total * (1 << 22);
  return (int)(share < 0 ? share - 0.5 : share + 0.5);
}
__device__ u8 byte_of(int sum) { return min(max(sum >> 22, 0), 255); }

// rows [n, tallest, size, 3]
extern "C" __global__ void resize_rows(const u8* source, const Sample* samples, u8* rows, int tallest, int size, int cubic) {
  const Sample& sample = samples[blockIdx.y];
  const int height = (int)sample.height, width = (int)sample.width;
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < height * size; at += gridDim.x * blockDim.x) {
    const int y = at / size, x = at % size;
    const Taps taps = taps_at(x + (int)sample.x, width, sample.wide == 0 ? size : (int)sample.wide, cubic);
    const u8* pixel = source + (long long)sample.start + ((long long)y * (int)sample.stride + taps.from) * 3;
    int r = 1 << 21, g = 1 << 21, b = 1 << 21;
    for (int k = 0; k < taps.count; k++, pixel += 3) {
      const int w = weight(taps, k);
      r += w * pixel[0]; g += w * pixel[1]; b += w * pixel[2];
    }
    u8* out = rows + (((long long)blockIdx.y * tallest + y) * size + x) * 3;
    out[0] = byte_of(r); out[1] = byte_of(g); out[2] = byte_of(b);
  }
}

// pictures [n, size, size, 3]
extern "C" __global__ void resize_columns(const u8* rows, const Sample* samples, u8* pictures, int tallest, int size, int cubic) {
  const Sample& sample = samples[blockIdx.y];
  const int height = (int)sample.height;
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < size * size; at += gridDim.x * blockDim.x) {
    const int y = at / size, x = at % size;
    const Taps taps = taps_at(y + (int)sample.y, height, sample.high == 0 ? size : (int)sample.high, cubic);
    const u8* pixel = rows + (((long long)blockIdx.y * tallest + taps.from) * size + x) * 3;
    int r = 1 << 21, g = 1 << 21, b = 1 << 21;
    for (int k = 0; k < taps.count; k++, pixel += size * 3) {
      const int w = weight(taps, k);
      r += w * pixel[0]; g += w * pixel[1]; b += w * pixel[2];
    }
    u8* out = pictures + ((long long)blockIdx.y * size * size + at) * 3;
    out[0] = byte_of(r); out[1] = byte_of(g); out[2] = byte_of(b);
  }
}

struct Pixel { int r, g, b; };
__device__ int luma(const Pixel& p) { return (p.r * 19595 + p.g * 38470 + p.b * 7471 + 0x8000) >> 16; }
__device__ int blend(float between, float value, float factor) {
  float mixed = between + factor * (value - between);
  return (int)fminf(fmaxf(mixed, 0.0f), 255.0f);
}
__device__ Pixel blended(float between, const Pixel& p, float factor) {
  return {blend(between, p.r, factor), blend(between, p.g, factor), blend(between, p.b, factor)};
}
__device__ Pixel hue_shifted(const Pixel& p, float shift) {
  const int high = max(p.r, max(p.g, p.b)), range = high - min(p.r, min(p.g, p.b));
  const bool red = p.r == high, green = p.g == high;
  const int start = red ? 0 : green ? 2 : 4;
  const int plus = high - (red ? p.b : green ? p.r : p.g), minus = high - (red ? p.g : green ? p.b : p.r);
  const float divisor = range == 0 ? 1 : range, of_high = high == 0 ? 1 : high;
  const double turn = start + (double)((float)plus / divisor) - (double)((float)minus / divisor);
  const double circle = (float)turn / 6.0 + 1.0;
  const float share = (float)(circle - (int)circle);
  const int hue = (int)(share * 255.0);
  const double place = ((hue + (int)(shift * 255)) & 255) * 6.0 / 255.0;
  const int which = (int)place, sector = which % 6;
  const float f = (float)(place - which);
  const float s = (float)((int)((float)range / of_high * 255.0) / 255.0);
  const float value = high;
  const int p_ = (int)(value * (1.0 - s) + 0.5), q = (int)(value * (1.0 - s * f) + 0.5), t = (int)(value * (1.0 - s * (1.0 - f)) + 0.5);
  switch (sector) {
    case 0: return {high, t, p_};
    case 1: return {q, high, p_};
    case 2: return {p_, high, t};
    case 3: return {p_, q, high};
    case 4: return {t, p_, high};
    default: return {high, p_, q};
  }
}

// Applies the colour changes in the sample's order. If `mean` is negative, it stops before the contrast.
__device__ Pixel jittered(Pixel p, const Sample& sample, float mean) {
  for (int turn = 0; turn < 4; turn++) {
    const int which = (int)sample.order[turn];
    if (which == 0 && sample.brightness != 1) p = blended(0, p, (float)sample.brightness);
    if (which == 1) {
      if (mean < 0) return p;
      if (sample.contrast != 1) p = blended(mean, p, (float)sample.contrast);
    }
    if (which == 2 && sample.saturation != 1) p = blended((float)luma(p), p, (float)sample.saturation);
    if (which == 3 && sample.hue != 0) p = hue_shifted(p, (float)sample.hue);
  }
  return p;
}

extern "C" __global__ void sum_luma(const u8* pictures, const Sample* samples, unsigned* sums, int pixels) {
  const Sample& sample = samples[blockIdx.y];
  if (sample.contrast == 1) return;
  __shared__ unsigned all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  unsigned own = 0;
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < pixels; at += gridDim.x * blockDim.x) {
    const u8* from = pictures + ((long long)blockIdx.y * pixels + at) * 3;
    own += luma(jittered({from[0], from[1], from[2]}, sample, -1));
  }
  atomicAdd(&all, own);  // integers, so the order does not matter
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sums + blockIdx.y, all);
}

extern "C" __global__ void finish_pictures(const u8* pictures, const Sample* samples, const unsigned* sums, float* out, int size,
                                           const float* mean, const float* deviation, int channels_last) {
  const Sample& sample = samples[blockIdx.y];
  const int pixels = size * size;
  const float average = (float)floor((double)sums[blockIdx.y] / (double)pixels + 0.5);
  for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < pixels; at += gridDim.x * blockDim.x) {
    const u8* from = pictures + ((long long)blockIdx.y * pixels + at) * 3;
    Pixel p = jittered({from[0], from[1], from[2]}, sample, average);
    if (sample.gray != 0) p.r = p.g = p.b = luma(p);
    const int place = sample.flip != 0 ? at - at % size + size - 1 - at % size : at;
    float* to = out + (long long)blockIdx.y * pixels * 3 + (channels_last ? 3 * place : place);
    const int next = channels_last ? 1 : pixels;
    to[0] = ((float)p.r / 255.0f - mean[0]) / deviation[0];
    to[next] = ((float)p.g / 255.0f - mean[1]) / deviation[1];
    to[2 * next] = ((float)p.b / 255.0f - mean[2]) / deviation[2];
  }
}
)cuda";

#endif

namespace {

using at::Tensor;

// samples: float64 [n, 18], checked by augment-device.ts; mean and deviation: float32 [3]. → float32 [n, 3, size, size]
Tensor augment(const Tensor& source, const Tensor& samples, int64_t size, int64_t tallest, const Tensor& mean,
               const Tensor& deviation, bool channelsLast, bool bicubic) {
  TORCH_CHECK(source.is_cuda(), "nudge::augment: expected pictures on a GPU");
#ifdef NUDGE_KERNELS
  TORCH_CHECK(source.scalar_type() == at::kByte && source.is_contiguous() && samples.scalar_type() == at::kDouble &&
                  samples.dim() == 2 && samples.size(1) == static_cast<int64_t>(kDrawFloats) && samples.is_contiguous() &&
                  samples.device() == source.device() && size >= 1 && size <= 4096 && tallest >= 1,
              "nudge::augment: expected bytes, and what is known of the samples, on one device");
  int64_t n = samples.size(0);
  Tensor m = mean.to(source.device(), at::kFloat).contiguous(), d = deviation.to(source.device(), at::kFloat).contiguous();
  auto format = channelsLast ? c10::MemoryFormat::ChannelsLast : c10::MemoryFormat::Contiguous;
  Tensor out = at::empty({n, 3, size, size}, source.options().dtype(at::kFloat).memory_format(format));
  if (n == 0) return out;
  Tensor rows = at::empty({n, tallest, size, 3}, source.options());
  Tensor pictures = at::empty({n, size, size, 3}, source.options());
  Tensor sums = at::zeros({n}, source.options().dtype(at::kInt));
  auto pixels = static_cast<int>(size * size), side = static_cast<int>(size), tall = static_cast<int>(tallest);
  auto count = static_cast<unsigned>(n);
  auto blocks = [&](int64_t items) { return kernels::Shape{static_cast<unsigned>(std::min<int64_t>((items + 255) / 256, 256)), count}; };
  kernels::launch("resize_rows", source, blocks(tallest * size), source.data_ptr(), samples.data_ptr(), rows.data_ptr(), tall, side,
                  static_cast<int>(bicubic));
  kernels::launch("resize_columns", source, blocks(pixels), rows.data_ptr(), samples.data_ptr(), pictures.data_ptr(), tall, side,
                  static_cast<int>(bicubic));
  kernels::launch("sum_luma", source, blocks(pixels), pictures.data_ptr(), samples.data_ptr(), sums.data_ptr(), pixels);
  kernels::launch("finish_pictures", source, blocks(pixels), pictures.data_ptr(), samples.data_ptr(), sums.data_ptr(),
                  out.data_ptr(), side, m.data_ptr(), d.data_ptr(), static_cast<int>(channelsLast));
  return out;
#else
  (void)samples, (void)size, (void)tallest, (void)mean, (void)deviation, (void)channelsLast, (void)bicubic;
  TORCH_CHECK(false, "nudge::augment: ", kernels::problem(0));
#endif
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def(
      "augment(Tensor source, Tensor samples, int size, int tallest, Tensor mean, Tensor deviation, bool channels_last, bool bicubic) -> Tensor",
      augment);
}

}  // namespace nudge
