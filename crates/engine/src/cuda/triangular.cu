// The head of the published network: two triangular layers over the history and the codes of a visit.
//
// A row is a visit, or a visit of which only some codes are known. Products skip most of what is empty, block
// by block; what is here is added to them row by row.

#define CHUNK 1024

// Rows of a matrix, in some order.
extern "C" __global__ void take_rows(float* to, const float* from, const word* chosen, int rows,
                                     int width) {
  int row = warp_row(), lane = threadIdx.x % WARP;
  if (row >= rows) return;
  const float* own = from + (size_t)chosen[row] * width;
  for (int at = lane; at < width; at += WARP) to[(size_t)row * width + at] = own[at];
}

// Adds rows to those that they were taken from. The first rows are of one visit each; the others, which lie
// after them, are more rows of these visits, and `ends` says where those of each visit end.
extern "C" __global__ void give_rows(float* to, const float* from, const word* chosen,
                                     const word* ends, int visits, int width) {
  int visit = warp_row(), lane = threadIdx.x % WARP;
  if (visit >= visits) return;
  float* own = to + (size_t)chosen[visit] * width;
  int start = visits + start_of(ends, visit), end = visits + (int)ends[visit];
  for (int at = lane; at < width; at += WARP) {
    float total = own[at] + from[(size_t)visit * width + at];
    for (int row = start; row < end; row++) total += from[(size_t)row * width + at];
    own[at] = total;
  }
}

// Scrambles a number, as the CPU does to choose what is left out.
__device__ __forceinline__ word mix(word x) {
  x += 0x9e3779b9u;
  x = (x ^ (x >> 16)) * 0x21f0aaadu;
  x = (x ^ (x >> 15)) * 0x735a2d97u;
  return x ^ (x >> 15);
}

#define SPREAD_BITS 14

__device__ __forceinline__ bool stays(unsigned long long index, word key, word key_above,
                                      word limit) {
  word own = mix(key ^ mix((word)(index >> SPREAD_BITS) ^ key_above));
  return mix((word)(index & ((1u << SPREAD_BITS) - 1)) ^ own) >= limit;
}

// Units of the first layer: what the history says of them is there; codes that are known, the bias and the
// activation are added. `drawn` has the number by which a row chooses what is left out.
extern "C" __global__ void fire_units(float* units, const float* bias, const float* table,
                                      const word* codes, const word* ends, const word* drawn,
                                      int seen, int stride, int width, int each, int all,
                                      word limit, float scale, word key, word key_above) {
  int row = blockIdx.x, unit = blockIdx.y * blockDim.x + threadIdx.x;
  if (unit >= seen) return;
  float total = units[(size_t)row * stride + unit] + bias[unit];
  if (unit >= width) {
    for (int item = start_of(ends, row); item < ends[row]; item++) {
      long long code = codes[item];
      if (width + code * each <= unit) total += table[code * all + unit];
    }
  }
  if (total < 0.0f) total = 0.0f;
  if (limit) {
    unsigned long long index = (unsigned long long)drawn[row] * seen + unit;
    total = stays(index, key, key_above, limit) ? total * scale : 0.0f;
  }
  units[(size_t)row * stride + unit] = total;
}

// Units that are not yet through the activation: the first so many of each row, through it.
extern "C" __global__ void fire_sums(float* units, const float* sums, int rows, int seen,
                                     int stride, int all) {
  int row = warp_row(), lane = threadIdx.x % WARP;
  if (row >= rows) return;
  for (int at = lane; at < seen; at += WARP) {
    float total = sums[(size_t)row * all + at];
    units[(size_t)row * stride + at] = total < 0.0f ? 0.0f : total;
  }
}

// Marks units that fire in any row: those of the history, and those from one on.
extern "C" __global__ void note_fired(word* fired, const float* units, int rows, int seen,
                                      int stride, int width, int from, int each) {
  int unit = blockIdx.y * blockDim.x + threadIdx.x;
  if (unit >= seen || (unit >= width && unit < from)) return;
  int first = blockIdx.x * each, last = min(rows, first + each);
  for (int row = first; row < last; row++) {
    if (units[(size_t)row * stride + unit] > 0.0f) {
      // Whoever finds one writes the same.
      fired[unit] = 1;
      return;
    }
  }
}

// Units that did not fire pass no gradient on.
extern "C" __global__ void fire_units_backward(float* gradient, const float* units, float scale,
                                               long long count) {
  EACH(at, count) gradient[at] = units[at] > 0.0f ? gradient[at] * scale : 0.0f;
}

// The gradient of what codes that are known add to units.
extern "C" __global__ void scatter_units(sum* table, const float* gradient, const word* codes,
                                         const word* ends, int seen, int stride, int width,
                                         int each, int all, float unit_of_sums) {
  int row = blockIdx.x, unit = width + blockIdx.y * blockDim.x + threadIdx.x;
  if (unit >= seen) return;
  float value = gradient[(size_t)row * stride + unit];
  if (value == 0.0f) return;
  for (int item = start_of(ends, row); item < ends[row]; item++) {
    long long code = codes[item];
    if (width + code * each <= unit) add_fixed(table + code * all + unit, value, unit_of_sums);
  }
}

// Sets what products of whole blocks put into the empty halves of the layers' gradients to zero.
extern "C" __global__ void empty_halves(float* first, float* second, int width, int codes, int each,
                                        int all, int block) {
  int row = warp_row(), lane = threadIdx.x % WARP;
  if (row < width) {
    for (int at = lane; at < row; at += WARP) first[(size_t)row * all + at] = 0.0f;
  } else if (row < width + codes) {
    int code = row - width;
    int start = width + code * each, end = width + min(code + block, codes) * each;
    for (int at = start + lane; at < end; at += WARP) second[(size_t)code * all + at] = 0.0f;
  }
}

// Scores the codes of a visit by binary cross entropy, but for those that something else decides; with
// `scale`, its logits are replaced by their gradients. Rows beyond the visits get none.
extern "C" __global__ void score_visit(float* logits, double* nats, const float* bias,
                                       const word* codes, const word* ends, const word* settled,
                                       const word* settled_ends, int visits, int first, int count,
                                       int stride, float scale) {
  __shared__ word present[CHUNK / WARP], closed[CHUNK / WARP];
  __shared__ double kept[WARP];
  int row = blockIdx.x;
  float* own = logits + (size_t)row * stride;
  if (row >= visits) {
    if (scale != 0.0f)
      for (int at = threadIdx.x; at < count; at += blockDim.x) own[at] = 0.0f;
    return;
  }
  float cost = 0.0f;
  for (int chunk = 0; chunk < count; chunk += CHUNK) {
    int size = min(CHUNK, count - chunk);
    __syncthreads();
    for (int at = threadIdx.x; at < CHUNK / WARP; at += blockDim.x) present[at] = closed[at] = 0;
    __syncthreads();
    for (int item = start_of(ends, row) + threadIdx.x; item < ends[row]; item += blockDim.x) {
      word at = codes[item] - (word)first - (word)chunk;
      if (at < (word)size) atomicOr(present + at / WARP, 1u << at % WARP);
    }
    int end = settled_ends[row];
    for (int item = start_of(settled_ends, row) + threadIdx.x; item < end; item += blockDim.x) {
      word at = settled[item] - (word)first - (word)chunk;
      if (at < (word)size) atomicOr(closed + at / WARP, 1u << at % WARP);
    }
    __syncthreads();
    for (int at = threadIdx.x; at < size; at += blockDim.x) {
      word flag = 1u << at % WARP;
      float change = 0.0f;
      if (!(closed[at / WARP] & flag)) {
        float logit = own[chunk + at] + bias[first + chunk + at];
        bool is = present[at / WARP] & flag;
        cost += (logit < -80.0f ? 0.0f : softplus(logit)) - (is ? logit : 0.0f);
        change = scale * (sigmoid(logit) - (is ? 1.0f : 0.0f));
      }
      if (scale != 0.0f) own[chunk + at] = change;
    }
  }
  double total = cost;
  for (int step = WARP / 2; step > 0; step /= 2) total += __shfl_xor_sync(ALL, total, step);
  if (threadIdx.x % WARP == 0) kept[threadIdx.x / WARP] = total;
  __syncthreads();
  if (threadIdx.x == 0) {
    total = 0.0;
    for (int warp = 0; warp < blockDim.x / WARP; warp++) total += kept[warp];
    nats[row] = total;
  }
}

// Logits of visits with their biases, without what is between rows.
extern "C" __global__ void narrow_rows(float* to, const float* logits, const float* bias, int first,
                                       int count, int stride, long long all) {
  EACH(at, all) to[at] = logits[at / count * stride + at % count] + bias[first + at % count];
}

// Puts gradients in place of the logits that they are of.
extern "C" __global__ void widen_rows(float* logits, const float* from, int count, int stride,
                                      long long all) {
  EACH(at, all) logits[at / count * stride + at % count] = from[at];
}
