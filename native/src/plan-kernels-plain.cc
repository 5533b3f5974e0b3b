// The kernels of a network plan for any processor.
#include "plan-kernels.h"

#define VECTOR 4
#define TILE_ROWS 4
#define TABLE kPlain
#include "plan-kernels-body.h"
