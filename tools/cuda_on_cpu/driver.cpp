// Stands for the CUDA driver: memory of the host, and kernels that run when they are launched.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <dlfcn.h>

#define API extern "C" __attribute__((visibility("default")))

namespace {

typedef uint64_t Pointer;
constexpr int DONE = 0, INVALID = 1, OUT_OF_MEMORY = 2, UNAVAILABLE = 46, NO_MODULE = 200, NOT_FOUND = 500, IN_CAPTURE = 900;
constexpr unsigned MOST_SHARED = 232448;

std::mutex memory_lock, launch_lock;
std::map<Pointer, size_t> sizes;
size_t used = 0;
int contexts[64];
thread_local void* current = nullptr;

size_t number_of(const char* variable, size_t usual) {
  const char* given = getenv(variable);
  return given ? strtoull(given, nullptr, 10) : usual;
}

size_t memory() { return number_of("EMULATED_MEMORY", (size_t)8 << 30); }

struct Launches {
  std::atomic<long> count{0};
  ~Launches() {
    if (count && getenv("EMULATED_COUNT")) fprintf(stderr, "emulated GPU: %ld launches\n", count.load());
  }
} launches;

// Whether a launch is the one that fails: counted from the first of a kernel on, if one is named.
bool fails(const std::string& name) {
  static const long number = (long)number_of("EMULATED_FAILS", 0);
  static const char* from = getenv("EMULATED_FAILS_AFTER");
  static std::atomic<bool> counts{!from};
  static std::atomic<long> counted{0};
  if (!number) return false;
  if (!counts && name == from) counts = true;
  return counts && ++counted == number;
}

// Work that a stream captures rather than does.
typedef std::vector<std::function<int()>> Graph;

struct Stream {
  Graph* captured = nullptr;
};

Stream* stream_of(void* stream) {
  static Stream first;
  return (uintptr_t)stream > 16 ? (Stream*)stream : &first;
}

int queue(void* stream, std::function<int()> work) {
  Graph* captured = stream_of(stream)->captured;
  if (!captured) return work();
  captured->push_back(std::move(work));
  return DONE;
}

struct Event {
  std::chrono::steady_clock::time_point at;
};

struct Module {
  void* library;
};

struct Function {
  int (*launch)(void**, const unsigned*, const unsigned*, unsigned);
  std::string name;
};

int take(Pointer* pointer, size_t size) {
  std::lock_guard<std::mutex> lock(memory_lock);
  void* found = nullptr;
  if (used + size > memory() || posix_memalign(&found, 256, size ? size : 1)) return OUT_OF_MEMORY;
  memset(found, 0xFF, size);
  *pointer = (Pointer)found;
  sizes[*pointer] = size;
  used += size;
  return DONE;
}

int give_back(Pointer pointer) {
  std::lock_guard<std::mutex> lock(memory_lock);
  auto found = sizes.find(pointer);
  if (found == sizes.end()) return pointer ? INVALID : DONE;
  used -= found->second;
  sizes.erase(found);
  free((void*)pointer);
  return DONE;
}

int within(Pointer pointer, size_t size) {
  std::lock_guard<std::mutex> lock(memory_lock);
  auto after = sizes.upper_bound(pointer);
  bool holds = size == 0 || (after != sizes.begin() && (--after, pointer + size <= after->first + after->second));
  if (!holds) fprintf(stderr, "emulated GPU: %zu bytes reach beyond what was allocated\n", size);
  return holds;
}

int write(Pointer to, const void* from, size_t size) {
  if (!within(to, size)) return INVALID;
  memcpy((void*)to, from, size);
  return DONE;
}

int read(void* to, Pointer from, size_t size) {
  if (!within(from, size)) return INVALID;
  memcpy(to, (void*)from, size);
  return DONE;
}

int copy(Pointer to, Pointer from, size_t size) {
  if (!within(to, size) || !within(from, size)) return INVALID;
  memmove((void*)to, (void*)from, size);
  return DONE;
}

template <class T>
int fill(Pointer to, T value, size_t count) {
  if (!within(to, count * sizeof(T))) return INVALID;
  for (size_t at = 0; at < count; at++) ((T*)to)[at] = value;
  return DONE;
}

}  // namespace

API int cuInit(unsigned) { return DONE; }
API int cuDriverGetVersion(int* version) { return *version = 13000, DONE; }
API int cuDeviceGetCount(int* count) { return *count = (int)number_of("EMULATED_GPUS", 1), DONE; }
API int cuDeviceGet(int* device, int number) { return *device = number, DONE; }
API int cuDeviceGetName(char* name, int room, int device) {
  bool other = device == (int)number_of("EMULATED_OTHER", 64);
  return snprintf(name, room, other ? "another emulated GPU" : "emulated GPU"), DONE;
}
API int cuDeviceTotalMem_v2(size_t* size, int) { return *size = memory(), DONE; }
API int cuDeviceGetAttribute(int* value, int attribute, int) {
  static const std::map<int, int> KNOWN = {
      {1, 1024},  // threads of a block
      {5, 2147483647}, {6, 65535}, {7, 65535},  // blocks of a grid
      {8, 49152}, {97, (int)MOST_SHARED},  // shared memory of a block, usual and most
      {10, 32},  // threads of a warp
      {16, 2},  // multiprocessors
      {38, 50 << 20},  // second cache
      {39, 2048},  // threads of a multiprocessor
      {75, 9}, {76, 0},  // compute capability
      {81, 233472},  // shared memory of a multiprocessor
      {115, 1},  // memory is given in the order of streams
  };
  auto found = KNOWN.find(attribute);
  return *value = found == KNOWN.end() ? 1 : found->second, DONE;
}

API int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (device == (int)number_of("EMULATED_BUSY", 64)) return UNAVAILABLE;
  return *context = &contexts[device], DONE;
}
API int cuDevicePrimaryCtxRelease_v2(int) { return DONE; }
API int cuCtxSetCurrent(void* context) { return current = context, DONE; }
API int cuCtxGetCurrent(void** context) { return *context = current, DONE; }
API int cuCtxSynchronize() { return DONE; }

API int cuStreamCreate(void** stream, unsigned) { return *stream = new Stream, DONE; }
API int cuStreamDestroy_v2(void* stream) { return delete (Stream*)stream, DONE; }
API int cuStreamSynchronize(void* stream) { return stream_of(stream)->captured ? IN_CAPTURE : DONE; }
API int cuStreamWaitEvent(void*, void*, unsigned) { return DONE; }
API int cuStreamBeginCapture_v2(void* stream, int) {
  if (stream_of(stream)->captured) return IN_CAPTURE;
  return stream_of(stream)->captured = new Graph, DONE;
}
API int cuStreamEndCapture(void* stream, void** graph) {
  *graph = stream_of(stream)->captured;
  return stream_of(stream)->captured = nullptr, DONE;
}
API int cuStreamIsCapturing(void* stream, int* is) { return *is = stream_of(stream)->captured != nullptr, DONE; }
API int cuGraphInstantiateWithFlags(void** ready, void* graph, unsigned long long) {
  return *ready = new Graph(*(Graph*)graph), DONE;
}
API int cuGraphUpload(void*, void*) { return DONE; }
API int cuGraphLaunch(void* ready, void*) {
  for (auto& work : *(Graph*)ready)
    if (int failed = work()) return failed;
  return DONE;
}
API int cuGraphDestroy(void* graph) { return delete (Graph*)graph, DONE; }
API int cuGraphExecDestroy(void* ready) { return delete (Graph*)ready, DONE; }

API int cuEventCreate(void** event, unsigned) { return *event = new Event, DONE; }
API int cuEventRecord(void* event, void*) { return ((Event*)event)->at = std::chrono::steady_clock::now(), DONE; }
API int cuEventSynchronize(void*) { return DONE; }
API int cuEventQuery(void*) { return DONE; }
API int cuEventDestroy_v2(void* event) { return delete (Event*)event, DONE; }
API int cuEventElapsedTime_v2(float* milliseconds, void* from, void* to) {
  auto taken = ((Event*)to)->at - ((Event*)from)->at;
  return *milliseconds = std::chrono::duration<float, std::milli>(taken).count(), DONE;
}
API int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  return cuEventElapsedTime_v2(milliseconds, from, to);
}

API int cuMemAlloc_v2(Pointer* pointer, size_t size) { return take(pointer, size); }
API int cuMemAllocAsync(Pointer* pointer, size_t size, void*) { return take(pointer, size); }
API int cuMemFree_v2(Pointer pointer) { return give_back(pointer); }
API int cuMemFreeAsync(Pointer pointer, void*) { return give_back(pointer); }
API int cuMemGetInfo_v2(size_t* free, size_t* all) { return *all = memory(), *free = *all - used, DONE; }
API int cuMemHostAlloc(void** pointer, size_t size, unsigned) {
  return posix_memalign(pointer, 4096, size ? size : 1) ? OUT_OF_MEMORY : DONE;
}
API int cuMemFreeHost(void* pointer) { return free(pointer), DONE; }
API int cuMemcpyHtoD_v2(Pointer to, const void* from, size_t size) { return write(to, from, size); }
API int cuMemcpyDtoH_v2(void* to, Pointer from, size_t size) { return read(to, from, size); }
API int cuMemcpyDtoD_v2(Pointer to, Pointer from, size_t size) { return copy(to, from, size); }
API int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t size, void* stream) {
  return queue(stream, [=] { return write(to, from, size); });
}
API int cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t size, void* stream) {
  return queue(stream, [=] { return read(to, from, size); });
}
API int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t size, void* stream) {
  return queue(stream, [=] { return copy(to, from, size); });
}
API int cuMemsetD8_v2(Pointer to, unsigned char value, size_t count) { return fill(to, value, count); }
API int cuMemsetD8Async(Pointer to, unsigned char value, size_t count, void* stream) {
  return queue(stream, [=] { return fill(to, value, count); });
}
API int cuMemsetD32_v2(Pointer to, unsigned value, size_t count) { return fill(to, value, count); }
API int cuMemsetD32Async(Pointer to, unsigned value, size_t count, void* stream) {
  return queue(stream, [=] { return fill(to, value, count); });
}

API int cuModuleLoadData(Module** module, const void* image) {
  constexpr char OURS[] = "EMULATED:";
  if (strncmp((const char*)image, OURS, sizeof OURS - 1)) return NO_MODULE;
  void* library = dlopen((const char*)image + sizeof OURS - 1, RTLD_NOW | RTLD_LOCAL);
  if (!library) fprintf(stderr, "emulated GPU: %s\n", dlerror());
  return library ? (*module = new Module{library}, DONE) : NO_MODULE;
}
API int cuModuleUnload(Module* module) { return delete module, DONE; }
API int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  void* found = dlsym(module->library, (std::string("emulated_launch_") + name).c_str());
  if (!found) return NOT_FOUND;
  return *function = new Function{(decltype(Function::launch))found, name}, DONE;
}
API int cuFuncSetAttribute(Function*, int, int) { return DONE; }
API int cuFuncGetAttribute(int* value, int attribute, Function*) { return *value = attribute == 0 ? 1024 : 0, DONE; }
API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function*, int, size_t) { return *blocks = 2, DONE; }
API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Function*, int, size_t, unsigned) {
  return *blocks = 2, DONE;
}

API int cuLaunchKernel(Function* function, unsigned across, unsigned down, unsigned deep, unsigned wide, unsigned high,
                       unsigned thick, unsigned shared, void* stream, void** given, void**) {
  bool fits = across && down && deep && down <= 65535 && deep <= 65535 && shared <= MOST_SHARED;
  if (!fits) {
    fprintf(stderr, "emulated GPU: kernel %s: a grid of %u x %u x %u with %u bytes of shared memory\n",
            function->name.c_str(), across, down, deep, shared);
    return INVALID;
  }
  launches.count++;
  if (fails(function->name)) return OUT_OF_MEMORY;
  auto run = [=](void** arguments) {
    unsigned grid[] = {across, down, deep}, threads[] = {wide, high, thick};
    std::lock_guard<std::mutex> lock(launch_lock);
    return function->launch(arguments, grid, threads, shared) ? INVALID : DONE;
  };
  if (!stream_of(stream)->captured) return run(given);
  // Arguments have eight bytes each, and their list ends with none.
  std::vector<uint64_t> kept;
  for (int number = 0; given[number]; number++) kept.push_back(*(uint64_t*)given[number]);
  return queue(stream, [=]() mutable {
    std::vector<void*> pointers;
    for (uint64_t& argument : kept) pointers.push_back(&argument);
    return run(pointers.data());
  });
}
API int cuLaunchHostFunc(void* stream, void (*function)(void*), void* given) {
  return queue(stream, [=] { return function(given), DONE; });
}

API int cuGetErrorName(int code, const char** name) {
  return *name = code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "an error of the emulated GPU", DONE;
}
API int cuGetErrorString(int code, const char** text) { return cuGetErrorName(code, text); }
