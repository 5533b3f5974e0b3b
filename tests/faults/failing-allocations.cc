// Put before everything else by LD_PRELOAD, this makes one allocation fail: `operator new` called from the addon, or memory for a
// tensor's values (posix_memalign, called from libtorch's libc10). V8 and the rest of libtorch end the process where there is no
// memory, so theirs are left alone. What is to fail is said in a file that the test maps and writes: nothing of this is in the addon.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Orders {
  std::atomic<int64_t> count;   // allocations seen since the test set it to 0
  std::atomic<int64_t> failing; // the number of the one that fails; 0 for none
};

Orders* orders() {
  static Orders* mapped = [] {
    const char* path = getenv("NUDGE_FAILING_ALLOCATIONS");
    int fd = path == nullptr ? -1 : open(path, O_RDWR);
    if (fd < 0) return static_cast<Orders*>(nullptr);
    void* memory = mmap(nullptr, sizeof(Orders), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? nullptr : static_cast<Orders*>(memory);
  }();
  return mapped;
}

// Where a library's code is; looked for until it is loaded, since dladdr() would take milliseconds for each call of Node's own.
struct Code {
  const char* library;
  uintptr_t begin = 0, end = 0;

  bool has(void* caller) {
    if (end == 0) dl_iterate_phdr(&Code::look, this);
    auto at = reinterpret_cast<uintptr_t>(caller);
    return at >= begin && at < end;
  }

  static int look(dl_phdr_info* info, size_t, void* data) {
    auto* code = static_cast<Code*>(data);
    if (info->dlpi_name == nullptr || strstr(info->dlpi_name, code->library) == nullptr) return 0;
    code->begin = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
      const auto& part = info->dlpi_phdr[i];
      if (part.p_type == PT_LOAD) code->end = std::max(code->end, info->dlpi_addr + part.p_vaddr + part.p_memsz);
    }
    return 1;
  }
};

Code addon{"nudge.node"}, core{"libc10.so"};

bool fails(void* caller, Code& code) {
  Orders* now = orders();
  if (now == nullptr || now->failing.load() < 0 || !code.has(caller)) return false;
  return ++now->count == now->failing.load();
}

}  // namespace

void* operator new(size_t size) {
  if (fails(__builtin_return_address(0), addon)) throw std::bad_alloc();
  void* pointer = malloc(size == 0 ? 1 : size);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

extern "C" int posix_memalign(void** pointer, size_t alignment, size_t size) noexcept {
  static auto* real = reinterpret_cast<int (*)(void**, size_t, size_t)>(dlsym(RTLD_NEXT, "posix_memalign"));
  if (fails(__builtin_return_address(0), core)) return ENOMEM;
  return real(pointer, alignment, size);
}
