// nudge::adam_host: one step of Adam on the CPU for many tensors at once, in place. The learning rate and the second moment are
// corrected by the caller: step = lr/(1 − β₁ᵗ) and root = √(1 − β₂ᵗ).
//
//  θ ← shrink·θ,  g ← g + λθ,  m ← β₁m + (1 − β₁)g,  v ← β₂v + (1 − β₂)g²,  θ ← θ − step · m / (√v/root + ε)
//
// The operators of ATen, one after the other, pass nine times over the values of each parameter. The kernel passes once, on all
// threads, and rounds where those of libtorch 1.13 do, so that the numbers are the same. It is used for dense tensors of float32 on
// processors with AVX2 and FMA.
#include "adam-lists.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addcdiv.h>
#include <ATen/ops/addcmul.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace nudge {
namespace {

using at::Tensor;

struct Rates {
  double step, root, beta1, beta2, decay, shrink, eps;
};

void updateByOperators(Tensor parameter, Tensor gradient, Tensor mean, Tensor square, const Rates& rates) {
  if (rates.shrink != 1) parameter.mul_(rates.shrink);
  if (rates.decay != 0) gradient = gradient.add(parameter, rates.decay);
  mean.mul_(rates.beta1).add_(gradient, 1 - rates.beta1);
  square.mul_(rates.beta2).addcmul_(gradient, gradient, 1 - rates.beta2);
  parameter.addcdiv_(mean, square.sqrt().div_(rates.root).add_(rates.eps), -rates.step);
}

#ifdef __x86_64__

// A part of a tensor that one thread updates: 64 KB of each of the four arrays.
constexpr int64_t PART = 16384;
struct Part {
  float *parameter, *mean, *square;
  const float* gradient;
  int64_t length;
};

// GCC may otherwise contract a product and a sum that are rounded separately here.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((target("avx2,fma"), optimize("fp-contract=off")))
#else
__attribute__((target("avx2,fma")))
#endif
void updatePart(const Part& part, const Rates& rates) {
  const float shrink = static_cast<float>(rates.shrink), decay = static_cast<float>(rates.decay);
  const float beta1 = static_cast<float>(rates.beta1), rest1 = static_cast<float>(1 - rates.beta1);
  const float beta2 = static_cast<float>(rates.beta2), rest2 = static_cast<float>(1 - rates.beta2);
  const float root = static_cast<float>(rates.root), eps = static_cast<float>(rates.eps), step = static_cast<float>(-rates.step);
  const bool shrinks = rates.shrink != 1, decays = rates.decay != 0;
  int64_t i = 0;
  for (; i + 8 <= part.length; i += 8) {
    __m256 value = _mm256_loadu_ps(part.parameter + i), gradient = _mm256_loadu_ps(part.gradient + i);
    if (shrinks) value = _mm256_mul_ps(value, _mm256_set1_ps(shrink));
    if (decays) gradient = _mm256_fmadd_ps(value, _mm256_set1_ps(decay), gradient);
    __m256 mean = _mm256_mul_ps(_mm256_loadu_ps(part.mean + i), _mm256_set1_ps(beta1));
    mean = _mm256_fmadd_ps(gradient, _mm256_set1_ps(rest1), mean);
    __m256 square = _mm256_mul_ps(_mm256_loadu_ps(part.square + i), _mm256_set1_ps(beta2));
    square = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_set1_ps(rest2), gradient), gradient, square);
    const __m256 below = _mm256_add_ps(_mm256_div_ps(_mm256_sqrt_ps(square), _mm256_set1_ps(root)), _mm256_set1_ps(eps));
    value = _mm256_add_ps(value, _mm256_div_ps(_mm256_mul_ps(_mm256_set1_ps(step), mean), below));
    _mm256_storeu_ps(part.mean + i, mean);
    _mm256_storeu_ps(part.square + i, square);
    _mm256_storeu_ps(part.parameter + i, value);
  }
  for (; i < part.length; i++) {
    float value = part.parameter[i], gradient = part.gradient[i];
    if (shrinks) value *= shrink;
    if (decays) gradient = std::fma(value, decay, gradient);
    const float mean = std::fma(gradient, rest1, part.mean[i] * beta1);
    const float square = std::fma(rest2 * gradient, gradient, part.square[i] * beta2);
    part.mean[i] = mean;
    part.square[i] = square;
    part.parameter[i] = value + step * mean / (std::sqrt(square) / root + eps);
  }
}

bool hasKernel(const Tensor& parameter, std::initializer_list<Tensor> others) {
  static const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  auto isPlain = [](const Tensor& each) { return each.is_cpu() && each.scalar_type() == at::kFloat && each.layout() == at::kStrided; };
  if (!supported || !isPlain(parameter) || !parameter.is_non_overlapping_and_dense()) return false;
  return std::all_of(others.begin(), others.end(),
                     [&](const Tensor& each) { return isPlain(each) && sameLayout(each, parameter); });
}

#endif

void adamHost(at::TensorList parameters, at::TensorList gradients, at::TensorList means, at::TensorList squares, double step,
              double root, double beta1, double beta2, double decay, double shrink, double eps) {
  checkAdamLists("adam_host", parameters, {gradients, means, squares});
  at::NoGradGuard guard;
  const Rates rates = {step, root, beta1, beta2, decay, shrink, eps};
#ifdef __x86_64__
  std::vector<Part> parts;
#endif
  for (size_t i = 0; i < parameters.size(); i++) {
#ifdef __x86_64__
    if (hasKernel(parameters[i], {gradients[i], means[i], squares[i]})) {
      float *parameter = parameters[i].data_ptr<float>(), *mean = means[i].data_ptr<float>(), *square = squares[i].data_ptr<float>();
      const float* gradient = gradients[i].data_ptr<float>();
      for (int64_t begin = 0, length = parameters[i].numel(); begin < length; begin += PART)
        parts.push_back({parameter + begin, mean + begin, square + begin, gradient + begin, std::min(PART, length - begin)});
      // As an operation in place does, so that autograd notices the change.
      for (const Tensor& each : {parameters[i], means[i], squares[i]}) each.unsafeGetTensorImpl()->bump_version();
      continue;
    }
#endif
    updateByOperators(parameters[i], gradients[i], means[i], squares[i], rates);
  }
#ifdef __x86_64__
  at::parallel_for(0, static_cast<int64_t>(parts.size()), 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) updatePart(parts[i], rates);
  });
#endif
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) {
  library.def(
      "adam_host(Tensor(a!)[] parameters, Tensor[] gradients, Tensor(b!)[] means, Tensor(c!)[] squares, float step, float root, "
      "float beta1, float beta2, float decay, float shrink, float eps) -> ()",
      adamHost);
}

}  // namespace nudge
