// Decodes ordinary JPEG and PNG files in Node's thread pool, one by one or as a batch in one buffer.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>

#include "convert.h"
#include "decoders.h"
#include "functions.h"

namespace nudge {

namespace {

// What is done with a picture.
struct Request {
  DecodeLimits limits;
  int shortSide = 0;  // scale down pictures whose shorter side is longer; 0 for none
  Reduction reduction = Reduction::kLanczos;
  bool plain = false;   // without vector instructions
  bool scaled = false;  // whether a picture that cannot be scaled down here needs another decoder; otherwise the caller scales it
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
  int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat about;
  bool good = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 4 && about.st_size <= INT32_MAX;
  if (good) bytes.resize(static_cast<size_t>(about.st_size));
  good = good && readExactly(descriptor, bytes.data(), kStart) && (isJpeg(bytes.data()) || isPng(bytes.data())) &&
         readExactly(descriptor, bytes.data() + kStart, bytes.size() - kStart);
  close(descriptor);
  return good;
}

// Scales a picture down to the shorter side. Returns false if this is not possible here.
bool scaleDown(const RgbPicture& picture, const Request& request, RgbPicture& out) {
  double scale = static_cast<double>(request.shortSide) / std::min(picture.width, picture.height);
  auto scaled = [&](int side) { return static_cast<int>(std::floor(side * scale + 0.5)); };
  return reduce(picture, scaled(picture.width), scaled(picture.height), request.reduction, request.plain, out);
}

// The buffers of a thread are kept from picture to picture, unless one is large.
constexpr size_t kKept = 8u << 20;

// Decodes the content of a file. Returns false if another decoder is needed. `out` only gets memory for the picture as it is in the
// end, because the pictures of a batch are all in memory.
bool decodeContent(const std::vector<uint8_t>& content, const Request& request, RgbPicture& out) {
  thread_local RgbPicture whole;
  if (content.size() < kStart) return false;
  auto decoder = isPng(content.data()) ? decodePng : decodeJpeg;
  bool done = decoder(content.data(), content.size(), request.limits, whole);
  if (done && request.shortSide > 0 && std::min(whole.width, whole.height) > request.shortSide) {
    done = scaleDown(whole, request, out) || (!request.scaled && whole.moveTo(out));
  } else if (done) {
    done = whole.moveTo(out);
  }
  if (whole.room() > kKept) whole.clear();
  return done;
}

bool decodeFile(const std::string& path, const Request& request, RgbPicture& out) {
  thread_local std::vector<uint8_t> content;
  bool done = readPictureFile(path, content) && decodeContent(content, request, out);
  if (content.capacity() > kKept) content = {};
  return done;
}

// longest, upright, mostPixels, shortSide, filter, plain, from the given position of the arguments. The last three are optional.
Request requestOf(Call& call, size_t from) {
  napi_env env = call.env;
  Request request;
  auto side = [&](size_t at, const char* what) { return static_cast<int>(std::clamp<int64_t>(toInt(env, call.at(at), what), 0, 65536)); };
  request.limits.shortSide = side(from, "longest");
  request.limits.upright = toBool(env, call.at(from + 1), "upright");
  request.limits.pixels = toInt(env, call.at(from + 2), "mostPixels");
  if (isNothing(env, call.at(from + 3))) return request;
  request.shortSide = side(from + 3, "shortSide");
  std::string filter = toString(env, call.at(from + 4), "filter");
  request.reduction = filter == "linear" ? Reduction::kLinear : filter == "cubic" ? Reduction::kCubic : Reduction::kLanczos;
  request.plain = !isNothing(env, call.at(from + 5)) && toBool(env, call.at(from + 5), "plain");
  return request;
}

std::string pathOf(napi_env env, napi_value value) {
  std::string path = toString(env, value, "picture");
  if (path.empty() || path.find('\0') != std::string::npos) throw Failure("decoding: picture: expected a path or bytes");
  return path;
}

void queue(napi_env env, napi_async_execute_callback execute, napi_async_complete_callback complete, void* data, napi_async_work* work) {
  check(env, napi_create_async_work(env, nullptr, fromString(env, "nudge:decode"), execute, complete, data, work), "decoding: no work");
  check(env, napi_queue_async_work(env, *work), "decoding: no thread");
}

// Resolves a promise with what `make` returns, or with null if the environment is shutting down or out of memory.
template <class Make>
void resolve(napi_env env, napi_deferred deferred, Make make) {
  napi_value result = nullptr;
  try {
    result = make();
  } catch (...) {
    napi_value error = nullptr;
    napi_get_and_clear_last_exception(env, &error);
    napi_get_null(env, &result);
  }
  napi_resolve_deferred(env, deferred, result);
}

struct Decoding {
  std::string path;            // the path of the file, or
  std::vector<uint8_t> bytes;  // its content
  Request request;
  RgbPicture picture;
  bool done = false;
  napi_deferred deferred = nullptr;
  napi_async_work work = nullptr;
};

void executeOne(napi_env, void* data) {
  auto* decoding = static_cast<Decoding*>(data);
  try {
    decoding->done = decoding->path.empty() ? decodeContent(decoding->bytes, decoding->request, decoding->picture)
                                            : decodeFile(decoding->path, decoding->request, decoding->picture);
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
  RgbPicture& picture = decoding.picture;
  auto release = [](napi_env, void* memory, void*) { std::free(memory); };
  check(env, napi_create_external_arraybuffer(env, picture.pixels, picture.bytes(), release, nullptr, &buffer), "decoding: no buffer for a picture");
  picture.release();
  check(env, napi_create_typedarray(env, napi_uint8_array, picture.bytes(), buffer, 0, &pixels), "decoding: no array for a picture");
  result = newObject(env);
  setProperty(env, result, "width", fromInt(env, picture.width));
  setProperty(env, result, "height", fromInt(env, picture.height));
  setProperty(env, result, "pixels", pixels);
  return result;
}

void completeOne(napi_env env, napi_status, void* data) {
  std::unique_ptr<Decoding> decoding(static_cast<Decoding*>(data));
  napi_delete_async_work(env, decoding->work);
  resolve(env, decoding->deferred, [&] { return resultOf(env, *decoding); });
}

// decodePicture(path or bytes, longest, upright, mostPixels, shortSide, filter, plain) → a promise of { width, height, pixels }, or of
// null if another decoder is needed. Bytes are copied.
napi_value decodePicture(Call& call) {
  napi_env env = call.env;
  auto decoding = std::make_unique<Decoding>();
  napi_valuetype type;
  check(env, napi_typeof(env, call.at(0), &type), "decodePicture: picture");
  if (type == napi_string) {
    decoding->path = pathOf(env, call.at(0));
  } else {
    Bytes bytes = toBytes(env, call.at(0), "picture");
    decoding->bytes.assign(bytes.data, bytes.data + bytes.size);
  }
  decoding->request = requestOf(call, 1);
  napi_value promise = nullptr;
  check(env, napi_create_promise(env, &decoding->deferred, &promise), "decodePicture: no promise");
  queue(env, executeOne, completeOne, decoding.get(), &decoding->work);
  decoding.release();
  return promise;
}

// The pictures of a batch. Several threads take the next one until none is left; the last thread copies all pixels into one buffer.
struct Batch {
  std::vector<std::string> paths;
  Request request;
  std::vector<std::unique_ptr<RgbPicture>> pictures;  // at least as many as paths; the memory is for the next batch too
  std::vector<char> done;
  std::atomic<size_t> next{0}, running{0};
  at::Tensor pixels;  // the buffer; in the end, undefined if there is not enough memory
  size_t completed = 0;
  std::vector<napi_async_work> works;
  napi_deferred deferred = nullptr;
  State* state = nullptr;
};

// The memory of a batch is kept for the next one, unless it is large.
constexpr size_t kKeptBatch = 128u << 20;

// Batches that are not in use.
class Unused {
 public:
  std::unique_ptr<Batch> take() {
    std::lock_guard<std::mutex> guard(lock_);
    if (batches_.empty()) return std::make_unique<Batch>();
    std::unique_ptr<Batch> batch = std::move(batches_.back());
    batches_.pop_back();
    return batch;
  }

  void put(std::unique_ptr<Batch> batch) {
    std::lock_guard<std::mutex> guard(lock_);
    if (batches_.size() < kMost) batches_.push_back(std::move(batch));
  }

 private:
  static constexpr size_t kMost = 4;
  std::mutex lock_;
  std::vector<std::unique_ptr<Batch>> batches_;
};

Unused& unused() {
  static auto* batches = new Unused();  // never destroyed: a thread may still use it
  return *batches;
}

// The largest total of a batch so far, and its number of pictures. Pinned memory for the next batch is allocated by the main thread
// before its size is known, because another thread that allocates it could disturb the capture of a CUDA graph. libtorch never gives
// pinned memory back to the system, so a huge batch has ordinary memory, and so has one that is much larger than all before it.
class Pinned {
 public:
  at::Tensor forBatchOf(int64_t count) {
    int64_t room = 0;
    {
      std::lock_guard<std::mutex> guard(lock_);
      if (count_ > 0) room = bytes_ / count_ * std::min(count, count_);
    }
    room += room / 4;
    if (room == 0 || room > kMost) return at::Tensor();
    return at::empty({room}, at::TensorOptions().dtype(at::kByte).pinned_memory(true));
  }

  void saw(int64_t count, int64_t bytes) {
    std::lock_guard<std::mutex> guard(lock_);
    if (bytes <= bytes_) return;
    bytes_ = bytes;
    count_ = count;
  }

 private:
  static constexpr int64_t kMost = 256 << 20;
  std::mutex lock_;
  int64_t count_ = 0, bytes_ = 0;
};

Pinned& pinned() {
  static auto* memory = new Pinned();  // never destroyed: a thread may still use it
  return *memory;
}

void join(Batch& batch) {
  int64_t total = 0;
  for (size_t i = 0; i < batch.paths.size(); i++) total += batch.done[i] ? static_cast<int64_t>(batch.pictures[i]->bytes()) : 0;
  bool fits = batch.pixels.defined() && total <= batch.pixels.numel();
  batch.pixels = fits ? batch.pixels.narrow(0, 0, total) : at::empty({total}, at::kByte);
  pinned().saw(static_cast<int64_t>(batch.paths.size()), total);
  size_t at = 0;
  auto* target = static_cast<uint8_t*>(batch.pixels.data_ptr());
  for (size_t i = 0; i < batch.paths.size(); i++) {
    if (!batch.done[i]) continue;
    std::memcpy(target + at, batch.pictures[i]->pixels, batch.pictures[i]->bytes());
    at += batch.pictures[i]->bytes();
  }
}

void executeSome(napi_env, void* data) {
  auto& batch = *static_cast<Batch*>(data);
  for (size_t i = batch.next++; i < batch.paths.size(); i = batch.next++) {
    try {
      batch.done[i] = decodeFile(batch.paths[i], batch.request, *batch.pictures[i]);
    } catch (const std::exception&) {
      // Out of memory: the other decoder reports it.
    }
  }
  if (--batch.running > 0) return;
  try {
    join(batch);
  } catch (const std::exception&) {
    batch.pixels = at::Tensor();
  }
}

// Returns { pixels, sizes }, or null.
napi_value resultOf(napi_env env, Batch& batch) {
  napi_value result = nullptr, buffer = nullptr, sizes = nullptr;
  if (!batch.pixels.defined()) {
    napi_get_null(env, &result);
    return result;
  }
  void* data = nullptr;
  size_t count = batch.paths.size();
  check(env, napi_create_arraybuffer(env, count * 2 * sizeof(int32_t), &data, &buffer), "decoding: no buffer for sizes");
  for (size_t i = 0; i < count; i++) {
    static_cast<int32_t*>(data)[2 * i] = batch.done[i] ? batch.pictures[i]->width : 0;
    static_cast<int32_t*>(data)[2 * i + 1] = batch.done[i] ? batch.pictures[i]->height : 0;
  }
  check(env, napi_create_typedarray(env, napi_int32_array, count * 2, buffer, 0, &sizes), "decoding: no array for sizes");
  result = newObject(env);
  setProperty(env, result, "sizes", sizes);
  setProperty(env, result, "pixels", fromTensor(*batch.state, env, batch.pixels));
  return result;
}

void completeSome(napi_env env, napi_status, void* data) {
  auto* running = static_cast<Batch*>(data);
  if (++running->completed < running->works.size()) return;
  std::unique_ptr<Batch> batch(running);
  for (napi_async_work work : batch->works) napi_delete_async_work(env, work);
  resolve(env, batch->deferred, [&] { return resultOf(env, *batch); });
  batch->pixels = at::Tensor();
  size_t room = 0;
  for (auto& picture : batch->pictures) room += picture->room();
  if (room <= kKeptBatch) unused().put(std::move(batch));
}

// decodePictures(paths, threads, pinned, longest, upright, mostPixels, shortSide, filter, plain) → a promise of { pixels, sizes }: the
// pixels of all pictures as one uint8 tensor, and the width and height of each. They are 0 for a picture that needs another decoder.
napi_value decodePictures(Call& call) {
  napi_env env = call.env;
  std::unique_ptr<Batch> batch = unused().take();
  uint32_t count = 0;
  check(env, napi_get_array_length(env, call.at(0), &count), "decodePictures: paths");
  batch->paths.resize(count);
  for (uint32_t i = 0; i < count; i++) {
    napi_value path = nullptr;
    check(env, napi_get_element(env, call.at(0), i, &path), "decodePictures: paths");
    batch->paths[i] = pathOf(env, path);
  }
  while (batch->pictures.size() < count) batch->pictures.push_back(std::make_unique<RgbPicture>());
  batch->done.assign(count, 0);
  batch->request = requestOf(call, 3);
  batch->request.scaled = true;
  batch->request.limits.pngShortSide = std::max(4 * batch->request.shortSide - 1, 0);  // the most that can be scaled down
  batch->pixels = toBool(env, call.at(2), "pinned") ? pinned().forBatchOf(count) : at::Tensor();
  batch->state = call.state;
  batch->next = batch->completed = 0;
  size_t threads = static_cast<size_t>(std::clamp<int64_t>(toInt(env, call.at(1), "threads"), 1, std::max<int64_t>(count, 1)));
  batch->running = threads;
  batch->works.assign(threads, nullptr);
  napi_value promise = nullptr;
  check(env, napi_create_promise(env, &batch->deferred, &promise), "decodePictures: no promise");
  Batch* owned = batch.release();  // by its threads from here on
  for (napi_async_work& work : owned->works) queue(env, executeSome, completeSome, owned, &work);
  return promise;
}

}  // namespace

void defineDecode(napi_env env, napi_value exports, State* state) {
  defineFunction(env, exports, state, "decodePicture", entry<decodePicture>);
  defineFunction(env, exports, state, "decodePictures", entry<decodePictures>);
}

}  // namespace nudge
