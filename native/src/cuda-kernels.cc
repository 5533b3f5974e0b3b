// Custom CUDA kernels. NVRTC, which is part of every libtorch with CUDA, compiles them on first use, so no CUDA
// compiler is needed. NVRTC and the driver are opened by name, as libtorch does. The compiled code is cached next to
// the addon, so that the next process starts a second or two earlier.
#include "cuda-kernels.h"

#ifdef NUDGE_KERNELS
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>
#endif

namespace nudge::kernels {

#ifdef NUDGE_KERNELS

namespace {

// The functions of a library that is opened here and never closed.
class Library {
 public:
  Library(const std::string& what, const std::vector<std::string>& paths) : what(what) {
    for (const std::string& path : paths)
      if ((library = dlopen(path.c_str(), RTLD_LAZY))) return;
    TORCH_CHECK(false, what, " was not found: ", dlerror());
  }
  template <typename Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    TORCH_CHECK(function, what, " has no ", name);
  }

 private:
  std::string what;
  void* library = nullptr;
};

// The possible locations of NVRTC: the loader's search path, next to libtorch, and the packages of a Python torch.
std::vector<std::string> nvrtcPaths() {
  std::string major = std::to_string(CUDART_VERSION / 1000);
  std::string name = "libnvrtc.so." + (CUDART_VERSION < 12000 ? "11.2" : major);
  std::vector<std::string> paths = {name};
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&c10::cuda::device_count), &info) && info.dli_fname) {
    std::string file = info.dli_fname;
    std::string folder = file.substr(0, file.rfind('/'));
    for (const std::string& place : {std::string("/"), "/../../nvidia/cu" + major + "/lib/", std::string("/../../nvidia/cuda_nvrtc/lib/")})
      paths.push_back(folder + place + name);
  }
  paths.push_back("/usr/local/cuda/lib64/" + name);
  return paths;
}

struct Driver {
  decltype(cuModuleLoadData)* loadData;
  decltype(cuModuleGetFunction)* getFunction;
  decltype(cuLaunchKernel)* launch;
  Driver() {
    Library library("the CUDA driver", {"libcuda.so.1"});
    library.find(loadData, "cuModuleLoadData");
    library.find(getFunction, "cuModuleGetFunction");
    library.find(launch, "cuLaunchKernel");
  }
};

const Driver& driver() {
  static const Driver found;
  return found;
}

std::string kernelSource() {
  return std::string(FUSED_SOURCE) + DEPTHWISE_SOURCE + AUGMENT_SOURCE + LAYER_NORM_SOURCE + CHANNEL_FACTORS_SOURCE +
         GROUPED_CONV_SOURCE + MAX_POOL_SOURCE + WIDE_DEPTHWISE_SOURCE + FOLD_NORMS_SOURCE + LINEAR_SOURCE + ADAM_SOURCE +
         RELU_NORM_SOURCE;
}

// Products and sums are rounded separately, as on the CPU, so that augmentation gives the same bytes.
constexpr const char* ROUNDING = "--fmad=false";

// FNV-1a as hexadecimal digits.
std::string hashOf(const std::string& text) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned char byte : text) hash = (hash ^ byte) * 1099511628211u;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

// Reads compiled code from a file. It starts with the hash of the rest, so that incomplete code is never loaded.
std::string readCode(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (all.size() <= 16 || hashOf(all.substr(16)) != all.substr(0, 16)) return "";
  return all.substr(16);
}

// If the file cannot be written, the next process compiles again.
void writeCode(const std::string& path, const std::string& code) {
  std::string temporary = path + "." + std::to_string(getpid());
  {
    std::ofstream file(temporary, std::ios::binary);
    file << hashOf(code) << code;
    if (!file.flush()) {
      file.close();
      std::remove(temporary.c_str());
      return;
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) std::remove(temporary.c_str());
}

// Returns the path next to the addon, or "" if its location is unknown.
std::string codePath(const std::string& arch) {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&kernelSource), &info) || !info.dli_fname) return "";
  std::string file = info.dli_fname;
  std::string key = hashOf(kernelSource() + arch + ROUNDING + std::to_string(CUDART_VERSION));
  return file.substr(0, file.rfind('/') + 1) + "kernels-" + key + ".cubin";
}

// Compiles the kernels for an architecture: `sm_90` is machine code, `compute_90` is compiled by the driver when
// loaded.
std::string compiled(const std::string& arch) {
  Library library("NVRTC", nvrtcPaths());
  decltype(nvrtcCreateProgram)* create;
  decltype(nvrtcCompileProgram)* compile;
  decltype(nvrtcDestroyProgram)* destroy;
  decltype(nvrtcGetProgramLogSize)* logSize;
  decltype(nvrtcGetProgramLog)* getLog;
  bool finished = arch.rfind("sm_", 0) == 0;
  decltype(nvrtcGetPTXSize)* codeSize;  // the functions for machine code have the same types
  decltype(nvrtcGetPTX)* getCode;
  decltype(nvrtcGetErrorString)* errorText;
  library.find(create, "nvrtcCreateProgram");
  library.find(compile, "nvrtcCompileProgram");
  library.find(destroy, "nvrtcDestroyProgram");
  library.find(logSize, "nvrtcGetProgramLogSize");
  library.find(getLog, "nvrtcGetProgramLog");
  library.find(codeSize, finished ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize");
  library.find(getCode, finished ? "nvrtcGetCUBIN" : "nvrtcGetPTX");
  library.find(errorText, "nvrtcGetErrorString");
  auto done = [&](nvrtcResult result, const char* what) {
    TORCH_CHECK(result == NVRTC_SUCCESS, "compiling the kernels: ", what, ": ", errorText(result));
  };
  std::string target = "--gpu-architecture=" + arch;
  std::array<const char*, 2> options = {target.c_str(), ROUNDING};
  nvrtcProgram program;
  std::string source = kernelSource();
  done(create(&program, source.c_str(), "kernels.cu", 0, nullptr, nullptr), "making a program");
  if (compile(program, static_cast<int>(options.size()), options.data()) != NVRTC_SUCCESS) {
    size_t length = 0;
    logSize(program, &length);
    std::string log(length, '\0');
    getLog(program, log.data());
    destroy(&program);
    TORCH_CHECK(false, "compiling the kernels: ", log);
  }
  size_t length = 0;
  done(codeSize(program, &length), "asking for the size of the code");
  TORCH_CHECK(length > 0, "compiling the kernels: there is no code for ", arch);
  std::string code(length, '\0');
  done(getCode(program, code.data()), "reading the code");
  destroy(&program);
  return code;
}

CUmodule load(c10::DeviceIndex device) {
  const auto* properties = at::cuda::getDeviceProperties(device);
  std::string capability = std::to_string(properties->major) + std::to_string(properties->minor);
  c10::cuda::CUDAGuard guard(device);
  cudaFree(nullptr);  // ensures that the device's context exists and is current
  CUmodule module;
  std::string path = codePath("sm_" + capability);
  std::string code = path.empty() ? "" : readCode(path);
  if (!code.empty() && driver().loadData(&module, code.data()) == CUDA_SUCCESS) return module;
  try {
    code = compiled("sm_" + capability);
    if (driver().loadData(&module, code.data()) == CUDA_SUCCESS) {
      if (!path.empty()) writeCode(path, code);
      return module;
    }
  } catch (const c10::Error&) {  // this NVRTC cannot produce machine code
  }
  code = compiled("compute_" + capability);
  CUresult loaded = driver().loadData(&module, code.data());
  TORCH_CHECK(loaded == CUDA_SUCCESS, "loading the kernels failed with CUDA error ", static_cast<int>(loaded));
  return module;
}

// The kernels of a device, or the reason why there are none.
struct Loaded {
  CUmodule module = nullptr;
  std::string problem;
  std::map<std::string, CUfunction> functions;
};

std::mutex mutex;

Loaded& kernelsOf(c10::DeviceIndex device) {
  static std::map<c10::DeviceIndex, Loaded> known;
  auto found = known.find(device);
  if (found != known.end()) return found->second;
  Loaded loaded;
  try {
    loaded.module = load(device);
  } catch (const c10::Error& error) {
    loaded.problem = error.what_without_backtrace();
  }
  return known.emplace(device, std::move(loaded)).first->second;
}

CUfunction functionOf(c10::DeviceIndex device, const char* name) {
  std::lock_guard<std::mutex> lock(mutex);
  Loaded& loaded = kernelsOf(device);
  TORCH_CHECK(loaded.problem.empty(), loaded.problem);
  auto found = loaded.functions.find(name);
  if (found != loaded.functions.end()) return found->second;
  CUfunction function;
  TORCH_CHECK(driver().getFunction(&function, loaded.module, name) == CUDA_SUCCESS, "there is no kernel ", name);
  loaded.functions.emplace(name, function);
  return function;
}

}  // namespace

std::string problem(c10::DeviceIndex device) {
  std::lock_guard<std::mutex> lock(mutex);
  return kernelsOf(device).problem;
}

void start(const char* name, const at::Tensor& where, Shape shape, void** arguments) {
  c10::DeviceIndex device = where.device().index();
  c10::cuda::CUDAGuard guard(device);
  // The driver needs a current context. A thread that has not used the runtime yet, such as one of autograd's, has
  // none.
  thread_local c10::DeviceIndex ready = -1;
  if (ready != device) cudaFree(nullptr);
  ready = device;
  CUresult result = driver().launch(functionOf(device, name), shape.x, shape.y, 1, shape.threadsX, shape.threadsY, 1, 0,
                                    at::cuda::getCurrentCUDAStream(device).stream(), arguments, nullptr);
  TORCH_CHECK(result == CUDA_SUCCESS, "starting the kernel ", name, " failed with CUDA error ", static_cast<int>(result));
}

#else

std::string problem(c10::DeviceIndex) { return "the addon was built without the headers of CUDA's run-time compiler, nvrtc.h"; }

#endif

}  // namespace nudge::kernels
