/** Element types with PyTorch's names and enumeration codes, their sizes, and their names in safetensors files. */

/** The element types that the engine knows. The last ones exist only in files or in newer versions of libtorch. */
export const DTYPES = {
  uint8: { code: 0, bytes: 1, safetensors: "U8" },
  int8: { code: 1, bytes: 1, safetensors: "I8" },
  int16: { code: 2, bytes: 2, safetensors: "I16" },
  int32: { code: 3, bytes: 4, safetensors: "I32" },
  int64: { code: 4, bytes: 8, safetensors: "I64" },
  float16: { code: 5, bytes: 2, safetensors: "F16" },
  float32: { code: 6, bytes: 4, safetensors: "F32" },
  float64: { code: 7, bytes: 8, safetensors: "F64" },
  complex64: { code: 9, bytes: 8, safetensors: "C64" },
  bool: { code: 11, bytes: 1, safetensors: "BOOL" },
  bfloat16: { code: 15, bytes: 2, safetensors: "BF16" },
  float8_e5m2: { code: 23, bytes: 1, safetensors: "F8_E5M2" },
  float8_e4m3fn: { code: 24, bytes: 1, safetensors: "F8_E4M3" },
  float8_e5m2fnuz: { code: 25, bytes: 1, safetensors: "F8_E5M2FNUZ" },
  float8_e4m3fnuz: { code: 26, bytes: 1, safetensors: "F8_E4M3FNUZ" },
  uint16: { code: 27, bytes: 2, safetensors: "U16" },
  uint32: { code: 28, bytes: 4, safetensors: "U32" },
  uint64: { code: 29, bytes: 8, safetensors: "U64" },
  float8_e8m0fnu: { code: 44, bytes: 1, safetensors: "F8_E8M0" },
} as const;

/** An element type by name, such as `float32`. */
export type DType = keyof typeof DTYPES;
