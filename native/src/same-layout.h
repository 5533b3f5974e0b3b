// Whether the values of two dense tensors of one shape are in the same order in memory. The stride of a dimension of size 1 does
// not matter.
#pragma once
#include <ATen/core/Tensor.h>

namespace nudge {

inline bool sameLayout(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  for (int64_t i = 0; i < a.dim(); i++)
    if (a.size(i) > 1 && a.stride(i) != b.stride(i)) return false;
  return true;
}

}  // namespace nudge
