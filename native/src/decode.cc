// Decodes ordinary JPEG and PNG files in Node's thread pool. One task reads and decodes each file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "convert.h"
#include "decoders.h"
#include "functions.h"

namespace nudge {

namespace {

struct Decoding {
  std::string path;            // the path of the file, or
  std::vector<uint8_t> bytes;  // its content
  DecodeLimits limits;
  RgbPicture picture;
  bool done = false;
  napi_deferred deferred = nullptr;
  napi_async_work work = nullptr;

  ~Decoding() { std::free(picture.pixels); }
};

// The number of bytes that tell JPEG and PNG files from others.
constexpr size_t kStart = 3;

bool isJpeg(const uint8_t* bytes) { return bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff; }

bool isPng(const uint8_t* bytes) { return bytes[0] == 0x89 && bytes[1] == 'P' && bytes[2] == 'N'; }

// Fills a buffer from a file. Returns false if the file is too short or cannot be read.
bool readExactly(int descriptor, uint8_t* bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = read(descriptor, bytes + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

// Reads a whole JPEG or PNG file. Returns false if it is not one or cannot be read; the caller reports the error.
bool readPictureFile(const std::string& path, std::vector<uint8_t>& bytes) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat about;
  bool good = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 4 && about.st_size <= INT32_MAX;
  if (good) bytes.resize(static_cast<size_t>(about.st_size));
  good = good && readExactly(descriptor, bytes.data(), kStart) && (isJpeg(bytes.data()) || isPng(bytes.data())) &&
         readExactly(descriptor, bytes.data() + kStart, bytes.size() - kStart);
  close(descriptor);
  return good;
}

void execute(napi_env, void* data) {
  auto* decoding = static_cast<Decoding*>(data);
  try {
    thread_local std::vector<uint8_t> content;
    if (decoding->path.empty()) content.swap(decoding->bytes);
    if (!decoding->path.empty() && !readPictureFile(decoding->path, content)) return;
    if (content.size() < kStart) return;
    auto decoder = isPng(content.data()) ? decodePng : decodeJpeg;
    decoding->done = decoder(content.data(), content.size(), decoding->limits, decoding->picture);
    if (content.capacity() > (8u << 20)) content = {};
  } catch (const std::exception&) {
    // Out of memory: the other decoder reports it.
  }
}

// Returns { width, height, pixels }, or null.
napi_value resultOf(napi_env env, Decoding& decoding) {
  napi_value result = nullptr, buffer = nullptr, pixels = nullptr;
  if (!decoding.done) {
    napi_get_null(env, &result);
    return result;
  }
  auto [width, height, data] = decoding.picture;
  size_t size = static_cast<size_t>(width) * height * 3;
  auto release = [](napi_env, void* memory, void*) { std::free(memory); };
  check(env, napi_create_external_arraybuffer(env, data, size, release, nullptr, &buffer), "decoding: no buffer for a picture");
  decoding.picture.pixels = nullptr;
  check(env, napi_create_typedarray(env, napi_uint8_array, size, buffer, 0, &pixels), "decoding: no array for a picture");
  result = newObject(env);
  setProperty(env, result, "width", fromInt(env, width));
  setProperty(env, result, "height", fromInt(env, height));
  setProperty(env, result, "pixels", pixels);
  return result;
}

void complete(napi_env env, napi_status, void* data) {
  std::unique_ptr<Decoding> decoding(static_cast<Decoding*>(data));
  napi_delete_async_work(env, decoding->work);
  napi_value result = nullptr;
  try {
    result = resultOf(env, *decoding);
  } catch (...) {  // the environment is shutting down, or out of memory
    napi_value error = nullptr;
    napi_get_and_clear_last_exception(env, &error);
    napi_get_null(env, &result);
  }
  napi_resolve_deferred(env, decoding->deferred, result);
}

// decodePicture(path or bytes, shortSide, upright, mostPixels) → a promise of { width, height, pixels }, or of null if
// another decoder is needed. Bytes are copied.
napi_value decode(Call& call) {
  napi_env env = call.env;
  auto decoding = std::make_unique<Decoding>();
  napi_valuetype type;
  check(env, napi_typeof(env, call.at(0), &type), "decodePicture: picture");
  if (type == napi_string) {
    decoding->path = toString(env, call.at(0), "picture");
    if (decoding->path.empty() || decoding->path.find('\0') != std::string::npos) throw Failure("decodePicture: picture: expected a path or bytes");
  } else {
    Bytes bytes = toBytes(env, call.at(0), "picture");
    decoding->bytes.assign(bytes.data, bytes.data + bytes.size);
  }
  decoding->limits.shortSide = static_cast<int>(std::clamp<int64_t>(toInt(env, call.at(1), "shortSide"), 0, 65536));
  decoding->limits.upright = toBool(env, call.at(2), "upright");
  decoding->limits.pixels = toInt(env, call.at(3), "mostPixels");
  napi_value promise = nullptr;
  check(env, napi_create_promise(env, &decoding->deferred, &promise), "decodePicture: no promise");
  check(env, napi_create_async_work(env, nullptr, fromString(env, "nudge:decode"), execute, complete, decoding.get(), &decoding->work), "decodePicture: no work");
  check(env, napi_queue_async_work(env, decoding->work), "decodePicture: no thread");
  decoding.release();
  return promise;
}

}  // namespace

void defineDecode(napi_env env, napi_value exports, State* state) { defineFunction(env, exports, state, "decodePicture", entry<decode>); }

}  // namespace nudge
