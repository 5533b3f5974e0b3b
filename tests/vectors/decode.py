"""Makes decode.safetensors: small picture files of every kind, and what PIL's Image.open(path).convert("RGB") makes of them.

`file/<name>` is a file's bytes, `pixels/<name>` PIL's pixels, uint8 [height, width, 3]. Run: python3 tests/vectors/decode.py
"""

import io
import pathlib
import struct
import zlib

import numpy as np
import torch
from PIL import Image, ImageFile
from safetensors_writer import save

ImageFile.LOAD_TRUNCATED_IMAGES = True
WIDTH, HEIGHT = 23, 17
y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
waves = [127 + 100 * np.sin(x / 7), 127 + 100 * np.cos(y / 5), (x * 9 + y * 5) % 256]
array = np.stack(waves, 2).clip(0, 255).astype(np.uint8)
rgb = Image.fromarray(array)
grey, bits, palette = rgb.convert("L"), rgb.convert("1"), rgb.quantize(16)
rgba = rgb.copy()
rgba.putalpha(Image.fromarray((x * 11 % 256).astype(np.uint8)))
stored = {}


def add(name, data):
    stored[f"file/{name}"] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    image = Image.open(io.BytesIO(data)).convert("RGB")
    stored[f"pixels/{name}"] = torch.from_numpy(np.array(image))


def written(image, format, **options):
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def png(depth, colour, rows):
    """A PNG by hand, of a kind that PIL does not write."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, colour, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


turned = Image.Exif()
turned[0x112] = 6
add("colour.jpg", written(rgb, "JPEG", quality=90))
add("subsampled.jpg", written(rgb, "JPEG", quality=75, subsampling=2))
add("progressive.jpg", written(rgb, "JPEG", progressive=True))
add("grey.jpg", written(grey, "JPEG"))
add("cmyk.jpg", written(rgb.convert("CMYK"), "JPEG", quality=95))
add("turned.jpg", written(rgb, "JPEG", exif=turned))
add("colour.png", written(rgb, "PNG"))
add("grey.png", written(grey, "PNG"))
add("bits.png", written(bits, "PNG"))
add("palette.png", written(palette, "PNG"))
add("palette-transparent.png", written(palette, "PNG", transparency=3))
add("alpha.png", written(rgba, "PNG"))
add("grey-alpha.png", written(rgba.convert("LA"), "PNG"))
wide = array.astype(">u2") * 251 + np.arange(WIDTH, dtype=">u2")[None, :, None]
add("colour-16.png", png(16, 2, [row.astype(">u2").tobytes() for row in wide]))
add("grey-2.png", png(2, 0, [bytes((i * 37 + j * 91) % 256 for j in range((WIDTH + 3) // 4)) for i in range(HEIGHT)]))
add("colour.gif", written(palette, "GIF"))
add("moving.gif", written(palette, "GIF", save_all=True, append_images=[Image.fromarray(255 - array).quantize(16)]))
add("colour.bmp", written(rgb, "BMP"))
add("grey.bmp", written(grey, "BMP"))
add("bits.bmp", written(bits, "BMP"))
add("palette.bmp", written(palette, "BMP"))
add("alpha.bmp", written(rgba, "BMP"))
add("colour.tif", written(rgb, "TIFF"))
add("compressed.tif", written(rgb, "TIFF", compression="tiff_lzw"))
add("cmyk.tif", written(rgb.convert("CMYK"), "TIFF"))
add("turned.tif", written(rgb, "TIFF", tiffinfo={274: 6}))
add("alpha.tif", written(rgba, "TIFF"))
add("lossless.webp", written(rgb, "WEBP", lossless=True))
add("lossy.webp", written(rgb, "WEBP"))
add("alpha.webp", written(rgba, "WEBP", lossless=True))
add("colour.ppm", written(rgb, "PPM"))
add("grey.pgm", written(grey, "PPM"))
add("plain.ppm", b"P3 # a comment\n2 1\n15\n0 7 15\n3 4 5\n")
save(pathlib.Path(__file__).with_name("decode.safetensors"), stored)
