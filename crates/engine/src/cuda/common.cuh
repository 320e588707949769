// What all kernels share: it comes before the source of each module.
//
// Matrices are row-major floats; lists are words that lie end to end.

typedef unsigned int word;
typedef unsigned long long sum;

#define WARP 32
#define ALL 0xffffffffu

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__device__ __forceinline__ float softplus(float x) {
  return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

#define SCALE 1.595769f
#define CUBIC 0.044715f

__device__ __forceinline__ float gelu(float x) {
  return x * sigmoid(SCALE * (x + CUBIC * x * x * x));
}

__device__ __forceinline__ float gelu_slope(float x) {
  float s = sigmoid(SCALE * (x + CUBIC * x * x * x));
  return s + x * s * (1.0f - s) * SCALE * (1.0f + 3.0f * CUBIC * x * x);
}

__device__ __forceinline__ float over_warp(float value) {
  for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL, value, step);
  return value;
}

__device__ __forceinline__ void add_fixed(sum* to, float value, float unit) {
  atomicAdd(to, (sum)__float2ll_rn(value * unit));
}

__device__ __forceinline__ int start_of(const word* ends, int list) {
  return list == 0 ? 0 : (int)ends[list - 1];
}

__device__ __forceinline__ int warp_row() {
  return blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
}

#define EACH(index, count)                                                                    \
  for (long long index = (long long)blockIdx.x * blockDim.x + threadIdx.x; index < (count); \
       index += (long long)gridDim.x * blockDim.x)
