"""Makes tests/vectors/safetensors/all-dtypes.safetensors by hand, after the published format, with nothing but Python's own library.

8 bytes little-endian length of the header, the header as JSON (padded with spaces to a multiple of 8), then the data. The format's own
writer orders tensors by type, the last of its list first, then by name, and so does this script: what it writes is,
byte for byte, what safetensors 0.8.0 wrote for the same tensors.

Element i of every tensor has the bytes i, i, …, and names are given out of order, so that the file also shows the
order its writer puts them in. Run: python3 tests/vectors/make_safetensors.py
"""

import json
import math
import pathlib
import struct

# The types of the format, each with its name in the file and the bytes of an element, in the order of the format's own list.
TYPES = {
    "bool": ("BOOL", 1), "uint8": ("U8", 1), "int8": ("I8", 1), "float8_e5m2": ("F8_E5M2", 1),
    "float8_e4m3fn": ("F8_E4M3", 1), "float8_e8m0fnu": ("F8_E8M0", 1), "float8_e4m3fnuz": ("F8_E4M3FNUZ", 1),
    "float8_e5m2fnuz": ("F8_E5M2FNUZ", 1), "int16": ("I16", 2), "uint16": ("U16", 2), "float16": ("F16", 2),
    "bfloat16": ("BF16", 2), "int32": ("I32", 4), "uint32": ("U32", 4), "float32": ("F32", 4),
    "complex64": ("C64", 8), "float64": ("F64", 8), "int64": ("I64", 8), "uint64": ("U64", 8),
}  # fmt: skip

SHAPES = (("z", [2, 1]), ("a", [3]), ("\U0001f600", []), ("ﬀ\n\"\\", [0, 2]))

tensors = []
for rank, (dtype, (written, size)) in enumerate(TYPES.items()):
    for name, shape in SHAPES:
        data = b"".join(bytes([i]) * size for i in range(math.prod(shape)))
        tensors.append((-rank, f"{name} {dtype}".encode(), {"dtype": written, "shape": shape}, data))
tensors.sort(key=lambda tensor: tensor[:2])

header = {"__metadata__": {"note": "é\u0001"}}
place = 0
for _, name, about, data in tensors:
    header[name.decode()] = {**about, "data_offsets": [place, place + len(data)]}
    place += len(data)
text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)

folder = pathlib.Path(__file__).parent / "safetensors"
folder.mkdir(exist_ok=True)
body = struct.pack("<Q", len(text)) + text + b"".join(data for *_, data in tensors)
(folder / "all-dtypes.safetensors").write_bytes(body)
