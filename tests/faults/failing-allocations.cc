// Put before everything else by LD_PRELOAD, this makes one allocation fail: `operator new` called from the addon, memory for a
// tensor's values (posix_memalign, called from libtorch's libc10), or a value of JavaScript's that the addon creates through
// Node-API. V8 and the rest of libtorch end the process where there is no memory, so theirs are left alone. What is to fail is said in
// a file that the test maps and writes: nothing of this is in the addon.
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

bool failsNow() {
  Orders* now = orders();
  if (now == nullptr || now->failing.load() < 0) return false;
  return ++now->count == now->failing.load();
}

// What creates values of JavaScript's, or makes room in them: each function of Node-API in front of the real one, which Node's own
// executable has, so that a library cannot come before it. The addon's table of addresses is changed instead.
constexpr int kGenericFailure = 9;  // napi_generic_failure
#define FAILING(name, parameters, arguments)      \
  int(*real_##name) parameters = nullptr;         \
  int failing_##name parameters {                 \
    if (failsNow()) return kGenericFailure;       \
    return real_##name arguments;                 \
  }
using P = void*;
FAILING(napi_create_array, (P env, P result), (env, result))
FAILING(napi_create_array_with_length, (P env, size_t length, P result), (env, length, result))
FAILING(napi_create_bigint_int64, (P env, int64_t value, P result), (env, value, result))
FAILING(napi_create_double, (P env, double value, P result), (env, value, result))
FAILING(napi_create_external_arraybuffer, (P env, P data, size_t size, P finalize, P hint, P result), (env, data, size, finalize, hint, result))
FAILING(napi_create_int32, (P env, int32_t value, P result), (env, value, result))
FAILING(napi_create_int64, (P env, int64_t value, P result), (env, value, result))
FAILING(napi_create_object, (P env, P result), (env, result))
FAILING(napi_create_string_utf8, (P env, P text, size_t length, P result), (env, text, length, result))
FAILING(napi_create_typedarray, (P env, int type, size_t length, P buffer, size_t offset, P result), (env, type, length, buffer, offset, result))
FAILING(napi_set_element, (P env, P object, uint32_t index, P value), (env, object, index, value))
FAILING(napi_set_named_property, (P env, P object, P name, P value), (env, object, name, value))

struct Replaced {
  const char* name;
  void** real;
  void* failing;
};
#define REPLACED(name) {#name, reinterpret_cast<void**>(&real_##name), reinterpret_cast<void*>(failing_##name)}
const Replaced kReplaced[] = {
    REPLACED(napi_create_array),         REPLACED(napi_create_array_with_length), REPLACED(napi_create_bigint_int64),
    REPLACED(napi_create_double),        REPLACED(napi_create_external_arraybuffer), REPLACED(napi_create_int32),
    REPLACED(napi_create_int64),         REPLACED(napi_create_object),            REPLACED(napi_create_string_utf8),
    REPLACED(napi_create_typedarray),    REPLACED(napi_set_element),              REPLACED(napi_set_named_property),
};

// Puts the functions above into the addon's table of addresses.
int replaceIn(dl_phdr_info* info, size_t, void*) {
  if (info->dlpi_name == nullptr || strstr(info->dlpi_name, addon.library) == nullptr) return 0;
  const ElfW(Rela)* entries = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  size_t size = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    for (auto* part = reinterpret_cast<ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); part->d_tag != DT_NULL; part++) {
      if (part->d_tag == DT_JMPREL) entries = reinterpret_cast<const ElfW(Rela)*>(part->d_un.d_ptr);
      if (part->d_tag == DT_PLTRELSZ) size = part->d_un.d_val;
      if (part->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(part->d_un.d_ptr);
      if (part->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(part->d_un.d_ptr);
    }
  }
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < size / sizeof(*entries); i++) {
    const char* name = names + symbols[ELF64_R_SYM(entries[i].r_info)].st_name;
    for (const auto& [wanted, real, failing] : kReplaced) {
      if (strcmp(name, wanted) != 0) continue;
      *real = dlsym(RTLD_DEFAULT, name);
      auto at = info->dlpi_addr + entries[i].r_offset;
      mprotect(reinterpret_cast<void*>(at & ~(page - 1)), page, PROT_READ | PROT_WRITE);
      *reinterpret_cast<void**>(at) = failing;
    }
  }
  return 1;
}

bool fails(void* caller, Code& code) {
  Orders* now = orders();
  if (now == nullptr || now->failing.load() < 0 || !code.has(caller)) return false;
  static int replaced = dl_iterate_phdr(replaceIn, nullptr);
  (void)replaced;
  return failsNow();
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
