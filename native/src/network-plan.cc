// Prepares and runs the steps of a network plan. A chain is a row of convolutions, each of which only the next one reads. Its maps
// are computed a few rows at a time: a map inside a chain is a ring of as many rows as the next convolution needs.
#include "network-plan.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

namespace nudge::plan {

namespace {

const Kernels& kernelsHere([[maybe_unused]] const std::string& wanted) {
#ifdef NUDGE_PLAN_X86
  const bool hasAvx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  const bool hasAvx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (hasAvx512 && (wanted.empty() || wanted == "avx512")) return kAvx512;
  if (hasAvx2 && wanted != "plain") return kAvx2;
#endif
  return kPlain;
}

// The memory that the rows of a chain may take: about half of a core's cache.
constexpr int64_t kChainBytes = 384 << 10;
// The memory of the patches of an ordinary convolution.
constexpr int64_t kPatchBytes = 192 << 10;
constexpr int64_t kMostFloats = int64_t{1} << 31;

using Floats = std::vector<float>;

int64_t roundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument("network plan: " + why); }

enum class Way { kPointwise, kPatches, kDepthwise };

struct Value {
  Size size;
  int stride = 0;   // the floats of a pixel
  int uses = 0;
  bool isWhole = true;    // whether it has memory for all of its rows
  int64_t offset = 0;     // in the memory of a thread
  int rows = 0;           // the rows that are in memory
  int64_t rowFloats() const { return static_cast<int64_t>(size.width) * stride; }
};

struct Step {
  StepSpec spec;
  Way way = Way::kPointwise;
  int inner = 0;  // the length of the sums of a product
  Floats weights, bias;
};

// A chain of convolutions, or one other step.
struct Chain {
  int first, end;
  int rows = 0;  // rows of the last map at a time
};

// A map in memory. Row y is at y modulo the number of rows.
struct Rows {
  float* data;
  int rows;
  int64_t rowFloats;
  float* at(int y) const { return data + y % rows * rowFloats; }
};

}  // namespace

struct NetworkPlan::Impl {
  explicit Impl(const std::string& vectors) : kernels(kernelsHere(vectors)) {}

  const Kernels& kernels;
  std::vector<Value> values;
  std::vector<Step> steps;
  std::vector<Chain> chains;
  std::vector<int> outputs;
  int64_t memory = 0, patches = 0;
  std::mutex lock;
  std::vector<Floats> spare;  // memory of threads that have finished

  void prepare(const StepSpec& spec);
  void pack(Step& step);
  void makeChains();
  void sizeChain(Chain& chain);
  void placeValues();
  Floats takeMemory();

  Rows rowsOf(int value, Floats& memory) const {
    const Value& v = values[value];
    return {memory.data() + v.offset, v.rows, v.rowFloats()};
  }
  Rows inputRows(int value, const float* picture, Floats& memory) const {
    // The picture is only read.
    if (value == 0) return {const_cast<float*>(picture), values[0].size.height, values[0].rowFloats()};
    return rowsOf(value, memory);
  }
  int neededRows(const Step& step, int end) const {
    const int last = (end - 1) * step.spec.stride - step.spec.padding + step.spec.kernel;
    return std::clamp(last, 0, values[step.spec.from].size.height);
  }
  void runPicture(const float* picture, Floats& memory) const;
  void runChain(const Chain& chain, const float* picture, Floats& memory) const;
  void runConv(int index, int first, int end, const float* picture, Floats& memory) const;
  void runOther(int index, const float* picture, Floats& memory) const;
};

void NetworkPlan::Impl::prepare(const StepSpec& spec) {
  const int count = static_cast<int>(values.size());
  auto known = [&](int value) { return value >= 0 && value < count; };
  if (!known(spec.from)) refuse("a step reads a value that comes later");
  const Size from = values[spec.from].size;
  Step step;
  step.spec = spec;
  Size to = from;
  auto sideOf = [&](int side) { return (side + 2 * spec.padding - spec.kernel) / spec.stride + 1; };
  if (spec.kind == Kind::kConv || spec.kind == Kind::kPool) {
    if (spec.kernel < 1 || spec.kernel > 64 || spec.stride < 1 || spec.stride > 64 || spec.padding < 0 || spec.padding >= spec.kernel) refuse("kernel, stride or padding is out of range");
    if (from.height + 2 * spec.padding < spec.kernel || from.width + 2 * spec.padding < spec.kernel) refuse("a map is smaller than the kernel");
    to.height = sideOf(from.height);
    to.width = sideOf(from.width);
  }
  if (spec.kind == Kind::kConv) {
    if (spec.inputs != from.channels) refuse("a weight for another number of channels");
    if (spec.outputs < 1 || spec.weight == nullptr || spec.bias == nullptr) refuse("a convolution has no weight or bias");
    to.channels = spec.outputs;
    const bool isDepthwise = spec.groups > 1;
    if (isDepthwise && (spec.groups != from.channels || spec.outputs != from.channels || (spec.kernel != 3 && spec.kernel != 5) || spec.stride > 2)) refuse("groups of this kind");
    if (isDepthwise && spec.from == 0) refuse("a depthwise convolution of the input");
    step.way = isDepthwise ? Way::kDepthwise : spec.kernel == 1 && spec.stride == 1 ? Way::kPointwise : Way::kPatches;
    step.inner = spec.kernel * spec.kernel * from.channels;
    if (spec.other >= 0) {
      if (!known(spec.other) || spec.other == 0) refuse("a residual that comes later");
      const Size other = values[spec.other].size;
      if (other.channels != to.channels || other.height != to.height || other.width != to.width) refuse("a residual of another size");
      values[spec.other].uses++;
    }
    pack(step);
  }
  if (spec.kind == Kind::kMean) to.height = to.width = 1;
  if (spec.kind == Kind::kScale) {
    if (!known(spec.other) || spec.other == 0) refuse("factors that come later");
    const Size by = values[spec.other].size;
    if (by.channels != from.channels || by.height != 1 || by.width != 1) refuse("factors of another size");
    values[spec.other].uses++;
  }
  if (spec.kind != Kind::kConv && spec.from == 0) refuse("the first step must be a convolution");
  values[spec.from].uses++;
  Value value;
  value.size = to;
  value.stride = static_cast<int>(roundUp(to.channels, kernels.vector));
  if (value.rowFloats() * to.height > kMostFloats) refuse("a map is too large");
  values.push_back(value);
  step.spec.weight = step.spec.bias = nullptr;
  steps.push_back(std::move(step));
}

// Arranges weight and bias as the kernels read them.
void NetworkPlan::Impl::pack(Step& step) {
  const StepSpec& spec = step.spec;
  const int vector = kernels.vector, area = spec.kernel * spec.kernel;
  const int columns = static_cast<int>(roundUp(spec.outputs, vector));
  step.bias.assign(columns, 0);
  std::copy(spec.bias, spec.bias + spec.outputs, step.bias.begin());
  if (step.way == Way::kDepthwise) {
    step.weights.assign(static_cast<size_t>(columns) * area, 0);
    for (int channel = 0; channel < spec.outputs; channel++)
      for (int tap = 0; tap < area; tap++)
        step.weights[static_cast<size_t>(channel / vector) * area * vector + tap * vector + channel % vector] = spec.weight[static_cast<size_t>(channel) * area + tap];
    return;
  }
  const int inputs = step.inner / area;
  step.weights.assign(static_cast<size_t>(columns) * step.inner, 0);
  for (int output = 0; output < spec.outputs; output++) {
    const int panel = output / (2 * vector) * 2 * vector, wide = std::min(2 * vector, columns - panel);
    float* to = step.weights.data() + static_cast<size_t>(panel) * step.inner + (output - panel);
    for (int tap = 0; tap < area; tap++)
      for (int channel = 0; channel < inputs; channel++)
        to[static_cast<size_t>(tap * inputs + channel) * wide] = spec.weight[(static_cast<size_t>(output) * inputs + channel) * area + tap];
  }
}

void NetworkPlan::Impl::makeChains() {
  const int count = static_cast<int>(steps.size());
  for (int first = 0; first < count;) {
    int end = first + 1;
    while (steps[first].spec.kind == Kind::kConv && end < count && steps[end].spec.kind == Kind::kConv && steps[end].spec.from == end && values[end].uses == 1) {
      values[end].isWhole = false;
      end++;
    }
    chains.push_back({first, end});
    first = end;
  }
  for (Chain& chain : chains) sizeChain(chain);
}

// Chooses the number of rows that the chain computes at a time, and the rows that its maps keep.
void NetworkPlan::Impl::sizeChain(Chain& chain) {
  const int height = values[chain.end].size.height;
  for (chain.rows = height;; chain.rows = (chain.rows + 1) / 2) {
    std::vector<int> done(steps.size() + 1, 0);
    for (int i = chain.first; i < chain.end - 1; i++) values[i + 1].rows = 1;
    for (int end = std::min(chain.rows, height);; end = std::min(end + chain.rows, height)) {
      int needed = end;
      for (int i = chain.end - 1; i > chain.first; i--) {
        const StepSpec& spec = steps[i].spec;
        const int first = std::max(0, done[i + 1] * spec.stride - spec.padding);
        done[i + 1] = std::max(done[i + 1], needed);
        needed = std::max(neededRows(steps[i], needed), done[i]);
        values[i].rows = std::max(values[i].rows, needed - std::min(first, needed));
      }
      done[chain.first + 1] = needed;
      if (end == height) break;
    }
    int64_t floats = 0;
    for (int i = chain.first; i < chain.end - 1; i++) floats += values[i + 1].rows * values[i + 1].rowFloats();
    if (floats * 4 <= kChainBytes || chain.rows == 1) return;
  }
}

// Gives every value its place in the memory of a thread. Values that are never needed at the same time share it.
void NetworkPlan::Impl::placeValues() {
  const int count = static_cast<int>(values.size());
  std::vector<int> born(count, 0), last(count, 0);
  for (int c = 0; c < static_cast<int>(chains.size()); c++) {
    for (int i = chains[c].first; i < chains[c].end; i++) {
      born[i + 1] = last[i + 1] = c;
      last[steps[i].spec.from] = c;
      if (steps[i].spec.other >= 0) last[steps[i].spec.other] = c;
    }
  }
  for (int output : outputs) last[output] = static_cast<int>(chains.size());
  for (int v = 1; v < count; v++) {
    Value& value = values[v];
    if (value.isWhole) value.rows = value.size.height;
    const int64_t floats = roundUp(value.rows * value.rowFloats(), 16);
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (int w = 1; w < v; w++)
      if (last[w] >= born[v]) taken.push_back({values[w].offset, values[w].offset + roundUp(values[w].rows * values[w].rowFloats(), 16)});
    std::sort(taken.begin(), taken.end());
    value.offset = 0;
    for (auto [from, to] : taken)
      if (value.offset + floats > from) value.offset = std::max(value.offset, to);
    memory = std::max(memory, value.offset + floats);
  }
  for (const Step& step : steps) {
    if (step.spec.kind != Kind::kConv || step.way != Way::kPatches) continue;
    patches = std::max(patches, std::max<int64_t>(kPatchBytes / 4, static_cast<int64_t>(step.inner) * 14));
  }
}

Floats NetworkPlan::Impl::takeMemory() {
  {
    std::lock_guard<std::mutex> guard(lock);
    if (!spare.empty()) {
      Floats taken = std::move(spare.back());
      spare.pop_back();
      return taken;
    }
  }
  return Floats(static_cast<size_t>(memory + patches), 0.f);
}

void NetworkPlan::Impl::runPicture(const float* picture, Floats& memory) const {
  for (const Chain& chain : chains) {
    if (steps[chain.first].spec.kind == Kind::kConv) runChain(chain, picture, memory);
    else runOther(chain.first, picture, memory);
  }
}

void NetworkPlan::Impl::runChain(const Chain& chain, const float* picture, Floats& memory) const {
  const int height = values[chain.end].size.height, length = chain.end - chain.first;
  std::vector<int> done(length, 0), wanted(length, 0);
  for (int end = std::min(chain.rows, height);; end = std::min(end + chain.rows, height)) {
    wanted[length - 1] = end;
    for (int i = length - 1; i > 0; i--) wanted[i - 1] = std::max(neededRows(steps[chain.first + i], wanted[i]), done[i - 1]);
    for (int i = 0; i < length; i++) {
      if (wanted[i] > done[i]) runConv(chain.first + i, done[i], wanted[i], picture, memory);
      done[i] = wanted[i];
    }
    if (end == height) return;
  }
}

// Computes the rows [first, end) of a convolution.
void NetworkPlan::Impl::runConv(int index, int first, int end, const float* picture, Floats& memory) const {
  const Step& step = steps[index];
  const StepSpec& spec = step.spec;
  const Value &from = values[spec.from], &to = values[index + 1];
  const Rows in = inputRows(spec.from, picture, memory), out = rowsOf(index + 1, memory);
  const Rows residual = spec.other >= 0 ? rowsOf(spec.other, memory) : Rows{nullptr, 1, 0};
  auto residualAt = [&](int y) { return spec.other >= 0 ? residual.at(y) : nullptr; };
  Product product{nullptr, 0, 0, step.inner, to.stride, step.weights.data(), step.bias.data(), nullptr, nullptr, to.stride, spec.after};
  if (step.way == Way::kPointwise) {
    product.aStride = from.stride;
    for (int y = first; y < end;) {  // pieces that are contiguous in both maps; a residual is always whole
      const int rows = std::min({end - y, in.rows - y % in.rows, out.rows - y % out.rows});
      product.a = in.at(y);
      product.rows = rows * to.size.width;
      product.residual = residualAt(y);
      product.c = out.at(y);
      kernels.product(product);
      y += rows;
    }
    return;
  }
  if (step.way == Way::kDepthwise) {
    DepthwiseRow row{{}, 0, 0, spec.kernel, spec.stride, spec.padding, from.size.width, to.size.width, to.stride, step.weights.data(), step.bias.data(), nullptr, nullptr, spec.after};
    for (int y = first; y < end; y++) {
      const int top = y * spec.stride - spec.padding;
      row.firstRow = std::max(0, -top);
      row.endRow = std::min(spec.kernel, from.size.height - top);
      for (int ky = row.firstRow; ky < row.endRow; ky++) row.rows[ky] = in.at(top + ky);
      row.residual = residualAt(y);
      row.out = out.at(y);
      kernels.depthwise(row);
    }
    return;
  }
  // Patches of the map as rows of a matrix.
  float* const patch = memory.data() + this->memory;
  const int channels = from.size.channels;
  const int64_t most = std::max<int64_t>(1, patches / step.inner);
  product.a = patch;
  product.aStride = step.inner;
  for (int y = first; y < end; y++) {
    for (int x = 0; x < to.size.width;) {
      const int count = static_cast<int>(std::min<int64_t>(most, to.size.width - x));
      for (int i = 0; i < count; i++) {
        float* target = patch + static_cast<int64_t>(i) * step.inner;
        const int top = y * spec.stride - spec.padding, left = (x + i) * spec.stride - spec.padding;
        for (int ky = 0; ky < spec.kernel; ky++) {
          const bool isInside = top + ky >= 0 && top + ky < from.size.height;
          const float* source = isInside ? in.at(top + ky) : nullptr;
          if (isInside && from.stride == channels && left >= 0 && left + spec.kernel <= from.size.width) {
            std::memcpy(target, source + static_cast<int64_t>(left) * channels, static_cast<size_t>(spec.kernel) * channels * sizeof(float));
            target += spec.kernel * channels;
            continue;
          }
          for (int kx = 0; kx < spec.kernel; kx++, target += channels) {
            const int column = left + kx;
            if (isInside && column >= 0 && column < from.size.width) std::memcpy(target, source + static_cast<int64_t>(column) * from.stride, channels * sizeof(float));
            else std::memset(target, 0, channels * sizeof(float));
          }
        }
      }
      const int64_t at = static_cast<int64_t>(x) * to.stride;
      product.rows = count;
      product.residual = spec.other >= 0 ? residual.at(y) + at : nullptr;
      product.c = out.at(y) + at;
      kernels.product(product);
      x += count;
    }
  }
}

void NetworkPlan::Impl::runOther(int index, const float* picture, Floats& memory) const {
  const StepSpec& spec = steps[index].spec;
  const Value &from = values[spec.from], &to = values[index + 1];
  const Rows in = inputRows(spec.from, picture, memory), out = rowsOf(index + 1, memory);
  const int64_t pixels = static_cast<int64_t>(from.size.height) * from.size.width;
  if (spec.kind == Kind::kMean) return kernels.mean(in.data, pixels, from.size.width, from.stride, out.data);
  if (spec.kind == Kind::kScale) return kernels.scale(in.data, rowsOf(spec.other, memory).data, pixels, from.stride, out.data);
  for (int y = 0; y < to.size.height; y++) {
    const int top = y * spec.stride - spec.padding;
    const int first = std::max(0, top), end = std::min(from.size.height, top + spec.kernel);
    const float* rows[64];
    for (int row = first; row < end; row++) rows[row - first] = in.at(row);
    kernels.pool({rows, end - first, spec.kernel, spec.stride, spec.padding, from.size.width, to.size.width, from.stride, out.at(y)});
  }
}

NetworkPlan::NetworkPlan(Size input, const std::vector<StepSpec>& steps, const std::vector<int>& outputs, const std::string& vectors) : impl(new Impl(vectors)) {
  Impl& own = *impl;
  if (input.channels < 1 || input.height < 1 || input.width < 1 || static_cast<int64_t>(input.channels) * input.height * input.width > kMostFloats) refuse("an input without a size");
  Value first;
  first.size = input;
  first.stride = input.channels;
  own.values.push_back(first);
  for (const StepSpec& step : steps) own.prepare(step);
  for (int output : outputs) {
    if (output < 1 || output >= static_cast<int>(own.values.size())) refuse("an output that does not exist");
    const Size size = own.values[output].size;
    if (size.height != 1 || size.width != 1) refuse("an output that is a map");
    own.values[output].uses++;
  }
  own.outputs = outputs;
  own.makeChains();
  own.placeValues();
}

NetworkPlan::~NetworkPlan() = default;

Size NetworkPlan::input() const { return impl->values[0].size; }

size_t NetworkPlan::outputCount() const { return impl->outputs.size(); }

int64_t NetworkPlan::outputSize(size_t i) const { return impl->values[impl->outputs[i]].size.channels; }

void NetworkPlan::run(const float* pictures, int64_t count, int threads, const std::vector<float*>& outputs) {
  Impl& own = *impl;
  const Size size = input();
  const int64_t length = static_cast<int64_t>(size.channels) * size.height * size.width;
  std::atomic<int64_t> next{0};
  std::exception_ptr problem;
  std::mutex problemLock;
  auto work = [&] {
    try {
      Floats memory = own.takeMemory();
      for (int64_t i = next++; i < count; i = next++) {
        own.runPicture(pictures + i * length, memory);
        for (size_t o = 0; o < outputs.size(); o++) {
          const int64_t width = outputSize(o);
          std::memcpy(outputs[o] + i * width, own.rowsOf(own.outputs[o], memory).data, static_cast<size_t>(width) * sizeof(float));
        }
      }
      std::lock_guard<std::mutex> guard(own.lock);
      own.spare.push_back(std::move(memory));
    } catch (...) {
      std::lock_guard<std::mutex> guard(problemLock);
      problem = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < std::min<int64_t>(threads, count); i++) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // no more threads: the others do the work
    }
  }
  work();
  for (std::thread& thread : others) thread.join();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace nudge::plan
