// nudge::linear: x·Wᵀ + b, differentiable twice. It is ATen's operator except for the gradient of the bias: on a GPU, ATen's
// reduction of bfloat16 columns is far from the memory bandwidth, and a kernel of fused-kernels.cc adds them.
#include "fused-kernels.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace nudge {

using at::Tensor;

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

struct Linear : torch::autograd::Function<Linear> {
  static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight, const Variable& bias) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, weight});
    return at::linear(x, weight, bias);
  }

  // All operations can be differentiated again, except for the kernel, which is used when this is not needed.
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    variable_list saved = context->get_saved_variables();
    const Variable &x = saved[0], &weight = saved[1];
    Variable ofX, ofWeight, ofBias;
    Tensor rows = gradients[0].reshape({-1, weight.size(0)});
    if (context->needs_input_grad(0)) ofX = rows.mm(weight).view(x.sizes());
    if (context->needs_input_grad(1)) ofWeight = rows.t().mm(x.reshape({-1, weight.size(1)}));
    if (context->needs_input_grad(2)) {
      bool fast = !at::GradMode::is_enabled() && kernels::canSumRows(rows);
      ofBias = fast ? kernels::sumRows(rows).to(rows.scalar_type()) : rows.sum(0);
    }
    return {ofX, ofWeight, ofBias};
  }
};

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  TORCH_CHECK(x.dim() > 0 && weight.dim() == 2 && x.size(-1) == weight.size(1) && bias.dim() == 1 && bias.size(0) == weight.size(0),
              "linear: expected x [..., inputs], a weight [outputs, inputs] and a bias [outputs], got ", x.sizes(), ", ", weight.sizes(),
              " and ", bias.sizes());
  return Linear::apply(x, weight, bias);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(nudge, library) { library.def("linear(Tensor x, Tensor weight, Tensor bias) -> Tensor", linear); }

}  // namespace nudge
