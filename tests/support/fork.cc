// fork(2) for a Node process, for tests that start hundreds of processes: a child has libtorch loaded and the program imported.
// Only the calling thread lives on in the child. That is enough if V8 runs on one thread (`node --single-threaded`): libuv starts
// its threads and its event loop again. The child must end with exit(), because Node's own end waits for threads.
#include <node_api.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

struct uv_loop_s;
extern "C" int uv_loop_fork(uv_loop_s* loop); // Node exports it; its header is not among ours

namespace {

// V8 asks the system not to copy its memory into children, since a child usually starts another program.
void copy_all_memory() {
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == nullptr) return;
  char line[8192];
  unsigned long begin, end;
  while (fgets(line, sizeof line, maps) != nullptr)
    if (sscanf(line, "%lx-%lx", &begin, &end) == 2) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DOFORK);
  fclose(maps);
}

int32_t argument(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value value;
  int32_t number = 0;
  napi_get_cb_info(env, info, &count, &value, nullptr, nullptr);
  napi_get_value_int32(env, value, &number);
  return number;
}

napi_value result(napi_env env, int32_t number) {
  napi_value value;
  napi_create_int32(env, number, &value);
  return value;
}

// fork(): the child's process id, 0 in the child, -1 on failure.
napi_value fork_process(napi_env env, napi_callback_info) {
  uv_loop_s* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  copy_all_memory();
  pid_t pid = fork();
  if (pid == 0 && uv_loop_fork(loop) != 0) _exit(70);
  return result(env, pid);
}

// wait(pid): the exit code, or minus the signal that ended the process.
napi_value wait_for(napi_env env, napi_callback_info info) {
  int status = 0;
  waitpid(argument(env, info), &status, 0);
  return result(env, WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
}

// exit(code): at once.
napi_value end_process(napi_env env, napi_callback_info info) { _exit(argument(env, info)); }

} // namespace

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {"fork", nullptr, fork_process, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"wait", nullptr, wait_for, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"exit", nullptr, end_process, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_define_properties(env, exports, 3, functions);
  return exports;
}
