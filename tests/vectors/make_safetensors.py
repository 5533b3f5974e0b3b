"""Makes tests/vectors/safetensors/all-dtypes.safetensors with the format's own library (safetensors 0.8.0).

Element i of every tensor has the bytes i, i, …, and names are given out of order, so that the file also shows the
order its writer puts them in. Run: python3 tests/vectors/make_safetensors.py
"""

import ctypes
import pathlib

import safetensors

SIZES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "float8_e8m0fnu": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
}  # fmt: skip

tensors = {}
buffers = []  # the library is given addresses, so the bytes must stay alive
for dtype, size in SIZES.items():
    for name, shape in (("z", [2, 1]), ("a", [3]), ("\U0001f600", []), ("ﬀ\n\"\\", [0, 2])):
        count = 1
        for length in shape:
            count *= length
        data = b"".join(bytes([i]) * size for i in range(count))
        buffer = ctypes.create_string_buffer(data, max(len(data), 1))
        buffers.append(buffer)
        tensors[f"{name} {dtype}"] = safetensors.TensorSpec(
            dtype=dtype, shape=shape, data_ptr=ctypes.addressof(buffer), data_len=len(data)
        )

folder = pathlib.Path(__file__).parent / "safetensors"
folder.mkdir(exist_ok=True)
(folder / "all-dtypes.safetensors").write_bytes(safetensors.serialize(tensors, {"note": "é\u0001"}))
