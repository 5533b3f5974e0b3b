// Memory on the host. It is counted to detect leaks, and limited, so that a request for a terabyte is an error and does
// not end the process. Large blocks are cached for the next request of the same size. malloc would return them to the
// kernel at every free, and the next step would pay for them again with a page fault for every 4 KB.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>
#include <torch/csrc/api/include/torch/version.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <unordered_map>

#include "convert.h"
#include "functions.h"

namespace nudge {

namespace {

std::atomic<int64_t> used{0}, peak{0}, limit{0};

std::string inGigabytes(int64_t bytes) {
  char text[32];
  snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

// Large free blocks, oldest first. The sum of used and cached memory never exceeds the peak of used memory plus some
// slack, so the cache does not increase the peak.
class KeptBlocks {
 public:
  static constexpr size_t kLarge = 256 << 10;

  // Returns a block of this size: a cached one, or a new one after making room for it.
  void* take(size_t size) {
    std::lock_guard<std::mutex> guard(lock_);
    auto found = bySize_.find(size);
    if (found != bySize_.end()) {
      void* pointer = *found->second;
      drop(found);
      return pointer;
    }
    while (!kept_.empty() && used + kept + static_cast<int64_t>(size) > peak + kSlack) evict();
    void* pointer = c10::alloc_cpu(size);
    try {
      sizes_[pointer] = size;
    } catch (...) {
      c10::free_cpu(pointer);
      throw;
    }
    return pointer;
  }

  // Caches a block for later use. Returns false if it was not allocated here. It must not throw, so if there is no
  // memory to cache a block, the block is freed.
  bool give(void* pointer) noexcept {
    std::lock_guard<std::mutex> guard(lock_);
    auto size = sizes_.find(pointer);
    if (size == sizes_.end()) return false;
    used -= static_cast<int64_t>(size->second);
    size_t before = kept_.size();
    try {
      kept_.push_back(pointer);
      bySize_.emplace(size->second, std::prev(kept_.end()));
      kept += static_cast<int64_t>(size->second);
    } catch (const std::bad_alloc&) {
      if (kept_.size() > before) kept_.pop_back();
      sizes_.erase(size);
      c10::free_cpu(pointer);
    }
    while (!kept_.empty() && used + kept > peak + kSlack) evict();
    return true;
  }

 private:
  static constexpr int64_t kSlack = 32 << 20;
  using BySize = std::unordered_multimap<size_t, std::list<void*>::iterator>;

  void drop(BySize::iterator entry) {
    kept -= static_cast<int64_t>(entry->first);
    kept_.erase(entry->second);
    bySize_.erase(entry);
  }

  void evict() {
    void* oldest = kept_.front();
    auto [from, to] = bySize_.equal_range(sizes_[oldest]);
    while (from != to && *from->second != oldest) ++from;
    drop(from);
    sizes_.erase(oldest);
    c10::free_cpu(oldest);
  }

  int64_t kept = 0;
  std::mutex lock_;
  std::list<void*> kept_;
  BySize bySize_;
  std::unordered_map<void*, size_t> sizes_;  // of every large block, used or cached
};

KeptBlocks& blocks() {
  static auto* all = new KeptBlocks();  // never destroyed, because tensors may be freed after static objects
  return *all;
}

void release(void* pointer) {
  if (pointer == nullptr) return;
  int64_t size = static_cast<int64_t>(malloc_usable_size(pointer));
  if (size >= static_cast<int64_t>(KeptBlocks::kLarge) && blocks().give(pointer)) return;
  used -= size;
  c10::free_cpu(pointer);
}

class CountedAllocator final : public c10::Allocator {
 public:
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  c10::DataPtr allocate(size_t size) override { return make(size); }
  void copy_data(void* target, const void* source, size_t count) const override { std::memcpy(target, source, count); }
#else
  c10::DataPtr allocate(size_t size) const override { return make(size); }
#endif
  c10::DeleterFnPtr raw_deleter() const override { return &release; }

 private:
  static c10::DataPtr make(size_t size) {
    int64_t wanted = static_cast<int64_t>(size), now = used.load(std::memory_order_relaxed);
    if (wanted < 0 || wanted > limit - now) {
      throw Failure("out of memory: " + inGigabytes(wanted) + " asked for, " + inGigabytes(now) + " in use, " + inGigabytes(limit) +
                    " allowed (NUDGE_MEMORY_GB raises it)");
    }
    bool large = size >= KeptBlocks::kLarge;
    size_t whole = large ? (size + 4095) & ~size_t{4095} : size;
    void* pointer = large ? blocks().take(whole) : c10::alloc_cpu(whole);
    if (pointer != nullptr) now = used += static_cast<int64_t>(large ? whole : malloc_usable_size(pointer));
    int64_t before = peak;
    while (now > before && !peak.compare_exchange_weak(before, now)) {
    }
    return {pointer, pointer, &release, c10::Device(c10::DeviceType::CPU)};
  }
};

// memory() → { used, peak, limit } in bytes, of tensors on the host.
napi_value memory(Call& call) {
  napi_value result = newObject(call.env);
  setProperty(call.env, result, "used", fromInt(call.env, used));
  setProperty(call.env, result, "peak", fromInt(call.env, peak));
  setProperty(call.env, result, "limit", fromInt(call.env, limit));
  return result;
}

napi_value resetPeak(Call& call) {
  peak = used.load();
  return nothing(call.env);
}

napi_value setMemoryLimit(Call& call) {
  int64_t bytes = toInt(call.env, call.at(0), "limit");
  if (bytes <= 0) throw Failure("memory limit: expected a positive number of bytes, got " + std::to_string(bytes));
  limit = bytes;
  return nothing(call.env);
}

}  // namespace

void defineMemory(napi_env env, napi_value exports, State* state) {
  static CountedAllocator allocator;
  static bool installed = [] {
    limit = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    c10::SetCPUAllocator(&allocator, /*priority=*/100);
#ifdef __GLIBC__
    // For the temporary memory of libraries, and for large blocks that fit no cached one: use the heap, which is kept,
    // and not mapped pages, which the kernel takes back at every free. (glibc would use mapped pages from 32 MB on in
    // any case.)
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    return true;
  }();
  (void)installed;
  defineFunction(env, exports, state, "memory", entry<memory>);
  defineFunction(env, exports, state, "resetPeak", entry<resetPeak>);
  defineFunction(env, exports, state, "setMemoryLimit", entry<setMemoryLimit>);
}

}  // namespace nudge
