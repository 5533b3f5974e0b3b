// Decompresses zlib streams, as in PNG files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nudge {

// The number of bytes after the result that may be overwritten.
constexpr size_t kInflateSlack = 32;

// Decompresses a zlib stream (RFC 1950 and 1951) to exactly `wanted` bytes. `out` has kInflateSlack more. Throws Odd if
// the stream is damaged, has another length or a wrong checksum, or is of a kind that zlib does not write.
void inflate(const uint8_t* data, size_t size, uint8_t* out, size_t wanted);

}  // namespace nudge
