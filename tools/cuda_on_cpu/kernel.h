// What kernels find declared: the functions and types of CUDA that ours use, and how a block is run.
//
// Each thread of a block is a fiber with a stack of its own. They take turns; one that waits, for a barrier or for
// the other lanes of its warp, gives its turn back until what it waits for has come.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <sys/mman.h>

#define __CUDA_ARCH__ 900
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

#define VECTORS(type, name, aligned)                                                    \
  struct alignas(2 * sizeof(type)) name##2 { type x, y; };                              \
  struct name##3 { type x, y, z; };                                                     \
  struct alignas(aligned) name##4 { type x, y, z, w; };                                 \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }                      \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }           \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
VECTORS(float, float, 16)
VECTORS(int, int, 16)
VECTORS(unsigned, uint, 16)
VECTORS(double, double, 16)
VECTORS(unsigned short, ushort, 8)
VECTORS(unsigned long long, ulonglong, 16)
#undef VECTORS

namespace emulated {

struct Warp {
  uint64_t given[32], taken[32], rounds[32];
  unsigned mask[32];
  unsigned arrived;
};

struct Thread {
  uint3 index;
  unsigned lane;
  Warp* warp;
  void* stack;
  bool lives;
};

struct Block {
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  unsigned live = 0, arrived = 0, counted = 0, counted_before = 0;
  uint64_t barriers = 0, progress = 0;
};

static Block* block;
static Thread* self;
static void* scheduler;
static uint3 block_index, block_size, grid_size;
static char* dynamic_shared;
static const char* kernel;
static void (*body)(void**);
static void** arguments;

[[noreturn]] inline void fail(const char* what) {
  fprintf(stderr, "emulated GPU: kernel %s: %s\n", kernel, what);
  abort();
}

// Keeps where this fiber is in `from`, and goes on with another.
extern "C" void emulated_switch(void** from, void* to);
asm(R"(
.text
.type emulated_switch,@function
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

inline void give_turn() { emulated_switch(&self->stack, scheduler); }

inline void open_barrier() {
  block->arrived = 0;
  block->counted_before = block->counted;
  block->counted = 0;
  block->barriers++;
  block->progress++;
}

inline void barrier() {
  uint64_t before = block->barriers;
  if (++block->arrived == block->live) open_barrier();
  else while (block->barriers == before) give_turn();
}

inline void fiber() {
  body(arguments);
  self->lives = false;
  block->live--;
  block->progress++;
  if (block->live && block->arrived == block->live) open_barrier();
  for (;;) give_turn();
}

// Lets the lanes of a mask see what each of them gives: afterwards it is in `taken`.
inline void exchange(unsigned mask, uint64_t given) {
  Warp& warp = *self->warp;
  unsigned lane = self->lane;
  if (!(mask >> lane & 1)) fail("a lane calls a warp function with a mask that lacks it");
  warp.given[lane] = given;
  warp.mask[lane] = mask;
  warp.arrived |= 1u << lane;
  uint64_t before = warp.rounds[lane];
  if ((warp.arrived & mask) != mask) {
    while (warp.rounds[lane] == before) give_turn();
    return;
  }
  for (int other = 0; other < 32; other++) {
    if (!(mask >> other & 1)) continue;
    if (warp.mask[other] != mask) fail("lanes of a warp meet with different masks");
    warp.taken[other] = warp.given[other];
    warp.rounds[other]++;
  }
  warp.arrived &= ~mask;
  block->progress++;
}

template <class T>
inline uint64_t bits(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "what is shuffled has eight bytes at most");
  uint64_t all = 0;
  memcpy(&all, &value, sizeof(T));
  return all;
}

template <class T>
inline T of_bits(uint64_t all) {
  T value;
  memcpy(&value, &all, sizeof(T));
  return value;
}

template <class T>
inline T shuffle(unsigned mask, T value, int lane) {
  exchange(mask, bits(value));
  return of_bits<T>(self->warp->taken[lane & 31]);
}

template <class T, class Join>
inline T reduce(unsigned mask, T value, Join join) {
  exchange(mask, bits(value));
  T all = value;
  for (int lane = 0; lane < 32; lane++)
    if ((mask >> lane & 1) && lane != (int)self->lane) all = join(all, of_bits<T>(self->warp->taken[lane]));
  return all;
}

template <class... A, size_t... I>
inline void spread(void (*function)(A...), void** given, std::index_sequence<I...>) {
  function(*(typename std::remove_reference<A>::type*)given[I]...);
}

template <class... A>
inline void call(void (*function)(A...), void** given) {
  spread(function, given, std::index_sequence_for<A...>{});
}

inline void run_block(const std::vector<unsigned>& order, char* stacks, size_t stack) {
  Block own;
  block = &own;
  own.threads.resize(order.size());
  own.warps.resize((order.size() + 31) / 32);
  for (Warp& warp : own.warps) memset(&warp, 0, sizeof warp);
  own.live = order.size();
  for (unsigned number = 0; number < order.size(); number++) {
    Thread& thread = own.threads[number];
    unsigned across = number % block_size.x, rest = number / block_size.x;
    thread = {{across, rest % block_size.y, rest / block_size.y}, number % 32, &own.warps[number / 32], 0, true};
    // A stack as a call of `fiber` would leave it, below what the switch takes off.
    void** top = (void**)(stacks + (number + 1) * stack) - 1;
    *top = nullptr;
    *--top = (void*)fiber;
    for (int kept = 0; kept < 6; kept++) *--top = nullptr;
    thread.stack = top;
  }
  for (int idle = 0; own.live;) {
    uint64_t before = own.progress;
    for (unsigned number : order) {
      if (!own.threads[number].lives) continue;
      self = &own.threads[number];
      emulated_switch(&scheduler, self->stack);
    }
    idle = own.progress == before ? idle + 1 : 0;
    if (idle > 2) fail("threads wait for what not all of them reach");
  }
}

inline int launch(const char* name, void (*wrapped)(void**), void** given, const unsigned* grid,
                  const unsigned* threads, unsigned shared) {
  constexpr size_t STACK = 1 << 17;
  constexpr unsigned MOST = 1024;
  static char* stacks = (char*)mmap(nullptr, MOST * STACK, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  kernel = name;
  body = wrapped;
  arguments = given;
  grid_size = {grid[0], grid[1], grid[2]};
  block_size = {threads[0], threads[1], threads[2]};
  unsigned count = threads[0] * threads[1] * threads[2];
  if (count == 0 || count > MOST) return 1;
  std::vector<double> room(shared / sizeof(double) + 8);
  dynamic_shared = (char*)(((uintptr_t)room.data() + 63) & ~(uintptr_t)63);
  std::vector<unsigned> order(count);
  for (unsigned number = 0; number < count; number++) order[number] = number;
  const char* wanted = getenv("EMULATED_ORDER");
  if (wanted && !strcmp(wanted, "reverse")) std::reverse(order.begin(), order.end());
  static std::mt19937 random(1);
  for (unsigned z = 0; z < grid[2]; z++)
    for (unsigned y = 0; y < grid[1]; y++)
      for (unsigned x = 0; x < grid[0]; x++) {
        block_index = {x, y, z};
        memset(dynamic_shared, 0xFF, shared);
        if (wanted && !strcmp(wanted, "random")) std::shuffle(order.begin(), order.end(), random);
        run_block(order, stacks, STACK);
      }
  return 0;
}

}  // namespace emulated

#define threadIdx (emulated::self->index)
#define blockIdx (emulated::block_index)
#define blockDim (emulated::block_size)
#define gridDim (emulated::grid_size)
#define warpSize 32

inline void __syncthreads() { emulated::barrier(); }
inline int __syncthreads_count(int holds) {
  emulated::block->counted += holds != 0;
  emulated::barrier();
  int count = emulated::block->counted_before;
  emulated::barrier();
  return count;
}
inline int __syncthreads_or(int holds) { return __syncthreads_count(holds) > 0; }
inline int __syncthreads_and(int holds) { return __syncthreads_count(!holds) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { emulated::exchange(mask, 0); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  int lane = emulated::self->lane;
  return emulated::shuffle(mask, value, lane / width * width + (from % width + width) % width);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32) {
  int lane = emulated::self->lane, from = lane ^ with;
  return emulated::shuffle(mask, value, from / width == lane / width ? from : lane);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  int lane = emulated::self->lane, from = lane - (int)by;
  return emulated::shuffle(mask, value, from >= lane / width * width ? from : lane);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  int lane = emulated::self->lane, from = lane + (int)by;
  return emulated::shuffle(mask, value, from < (lane / width + 1) * width ? from : lane);
}
inline unsigned __ballot_sync(unsigned mask, int holds) {
  emulated::exchange(mask, holds != 0);
  unsigned found = 0;
  for (int lane = 0; lane < 32; lane++)
    if ((mask >> lane & 1) && emulated::self->warp->taken[lane]) found |= 1u << lane;
  return found;
}
inline int __any_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) != 0; }
inline int __all_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) == mask; }
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value) {
  emulated::exchange(mask, emulated::bits(value));
  unsigned found = 0;
  for (int lane = 0; lane < 32; lane++)
    if ((mask >> lane & 1) && emulated::self->warp->taken[lane] == emulated::bits(value)) found |= 1u << lane;
  return found;
}
template <class T>
inline T __reduce_add_sync(unsigned mask, T value) {
  return emulated::reduce(mask, value, [](T a, T b) { return a + b; });
}
template <class T>
inline T __reduce_min_sync(unsigned mask, T value) {
  return emulated::reduce(mask, value, [](T a, T b) { return std::min(a, b); });
}
template <class T>
inline T __reduce_max_sync(unsigned mask, T value) {
  return emulated::reduce(mask, value, [](T a, T b) { return std::max(a, b); });
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return emulated::reduce(mask, value, [](unsigned a, unsigned b) { return a | b; });
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return emulated::reduce(mask, value, [](unsigned a, unsigned b) { return a & b; });
}

#define ATOMIC(name, becomes)                       \
  template <class T, class U>                       \
  inline T name(T* at, U given) {                   \
    T before = *at, value = (T)given;               \
    *at = becomes;                                  \
    return before;                                  \
  }
ATOMIC(atomicAdd, before + value)
ATOMIC(atomicSub, before - value)
ATOMIC(atomicMin, std::min(before, value))
ATOMIC(atomicMax, std::max(before, value))
ATOMIC(atomicOr, before | value)
ATOMIC(atomicAnd, before& value)
ATOMIC(atomicXor, before ^ value)
ATOMIC(atomicExch, value)
#undef ATOMIC
template <class T, class U, class V>
inline T atomicCAS(T* at, U wanted, V value) {
  T before = *at;
  if (before == (T)wanted) *at = (T)value;
  return before;
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline unsigned __umulhi(unsigned a, unsigned b) { return (uint64_t)a * b >> 32; }
inline long long __float2ll_rn(float x) { return llrintf(x); }
inline long long __double2ll_rn(double x) { return llrint(x); }
inline int __float2int_rn(float x) { return (int)lrintf(x); }
inline int __float2int_rd(float x) { return (int)floorf(x); }
inline unsigned __float_as_uint(float x) { return emulated::of_bits<unsigned>(emulated::bits(x)); }
inline int __float_as_int(float x) { return emulated::of_bits<int>(emulated::bits(x)); }
inline float __int_as_float(int x) { return emulated::of_bits<float>(emulated::bits(x)); }
inline float __uint_as_float(unsigned x) { return emulated::of_bits<float>(emulated::bits(x)); }
inline long long __double_as_longlong(double x) { return emulated::of_bits<long long>(emulated::bits(x)); }
inline double __longlong_as_double(long long x) { return emulated::of_bits<double>(emulated::bits(x)); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
// These are not to be contracted.
#define ROUNDED(name, type, sign) \
  inline type name(type a, type b) { volatile type rounded = a sign b; return rounded; }
ROUNDED(__fadd_rn, float, +)
ROUNDED(__fsub_rn, float, -)
ROUNDED(__fmul_rn, float, *)
ROUNDED(__fdiv_rn, float, /)
ROUNDED(__dadd_rn, double, +)
ROUNDED(__dmul_rn, double, *)
#undef ROUNDED
template <class T>
inline T __ldg(const T* at) { return *at; }
template <class T>
inline T __ldcg(const T* at) { return *at; }
template <class T>
inline T __ldcs(const T* at) { return *at; }
template <class T>
inline void __stcs(T* at, T value) { *at = value; }
template <class T>
inline void __stcg(T* at, T value) { *at = value; }
template <class A, class B>
inline typename std::common_type<A, B>::type min(A a, B b) {
  typedef typename std::common_type<A, B>::type T;
  return std::min((T)a, (T)b);
}
template <class A, class B>
inline typename std::common_type<A, B>::type max(A a, B b) {
  typedef typename std::common_type<A, B>::type T;
  return std::max((T)a, (T)b);
}
using std::isfinite;
using std::isinf;
using std::isnan;
inline void __nanosleep(unsigned) {
  emulated::block->progress++;
  emulated::give_turn();
}
inline void __trap() { emulated::fail("it trapped"); }
