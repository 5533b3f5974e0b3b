// The kernels of a network plan for processors with AVX-512.
#include "plan-kernels.h"

#ifdef NUDGE_PLAN_X86
#include <cstring>
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,prefer-vector-width=512")
#define VECTOR 16
#define TILE_ROWS 14
#define TABLE kAvx512
#include "plan-kernels-body.h"
#endif
