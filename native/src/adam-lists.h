// What the two operators of Adam (adam.cc, adam-host.cc) expect of their lists of tensors.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <initializer_list>

namespace nudge {

// Gradients and moments are like their parameters. `name` is that of the operator, for errors.
inline void checkAdamLists(const char* name, at::TensorList parameters, std::initializer_list<at::TensorList> others) {
  for (at::TensorList list : others) {
    TORCH_CHECK(list.size() == parameters.size(), name, ": expected lists of ", parameters.size(), " tensors, got one of ", list.size());
    for (size_t i = 0; i < parameters.size(); i++)
      TORCH_CHECK(list[i].sizes() == parameters[i].sizes() && list[i].scalar_type() == parameters[i].scalar_type(), name,
                  ": expected gradients and moments like the parameter ", parameters[i].sizes(), ", got ", list[i].sizes());
  }
}

// Whether the values of two dense tensors of one shape are in the same order in memory. The stride of a dimension of size 1 does
// not matter.
inline bool sameLayout(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  for (int64_t i = 0; i < a.dim(); i++)
    if (a.size(i) > 1 && a.stride(i) != b.stride(i)) return false;
  return true;
}

}  // namespace nudge
