// A network whose weights no longer change, as a list of steps for the CPU. Each thread takes whole pictures through all steps, so
// threads never wait for each other, and rows of maps pass from one convolution to the next while they are in the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plan-kernels.h"

namespace nudge::plan {

enum class Kind { kConv, kPool, kMean, kScale };

// A step before it is prepared. Value 0 is the input; step i computes value i + 1.
struct StepSpec {
  Kind kind = Kind::kConv;
  int from = 0;
  int other = -1;  // the residual of a convolution, or the factors of a scale; −1 if there is none
  const float* weight = nullptr;  // [outputs, inputs / groups, kernel, kernel]
  const float* bias = nullptr;    // [outputs]
  int inputs = 0, outputs = 0, kernel = 1, stride = 1, padding = 0, groups = 1;
  After after;
};

struct Size {
  int channels, height, width;
};

class NetworkPlan {
 public:
  // Throws std::invalid_argument for steps that do not fit together. `vectors` is "avx512", "avx2" or "plain" to use these kernels
  // where the processor has them; otherwise the best ones are used.
  NetworkPlan(Size input, const std::vector<StepSpec>& steps, const std::vector<int>& outputs, const std::string& vectors = "");
  ~NetworkPlan();

  Size input() const;
  size_t outputCount() const;
  // The numbers of an output of one picture.
  int64_t outputSize(size_t i) const;
  // Computes the outputs, [count, outputSize(i)], of pictures [count, height, width, channels].
  void run(const float* pictures, int64_t count, int threads, const std::vector<float*>& outputs);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

}  // namespace nudge::plan
