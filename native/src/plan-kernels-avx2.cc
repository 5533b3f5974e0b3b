// The kernels of a network plan for processors with AVX2.
#include "plan-kernels.h"

#ifdef NUDGE_PLAN_X86
#include <cstring>
#pragma GCC target("avx2,fma")
#define VECTOR 8
#define TILE_ROWS 6
#define TABLE kAvx2
#include "plan-kernels-body.h"
#endif
