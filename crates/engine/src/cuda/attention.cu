// Causal attention over sequences that lie end to end, forward and backward, without a matrix of all pairs.
//
// A warp takes a row of one head. Its lanes are four groups of eight: each group takes every fourth row that
// the own row has to do with, and each lane of it an eighth of the head's numbers, so that reads are of whole
// sectors and a sum over a head takes three shuffles. Softmax is taken as rows come, by what their largest
// score is so far; the groups are joined at the end. What the backward pass needs of it is one number for
// each row and head. Each sum has one order, and nothing is added by two warps.
//
// Biases of keys change no probability, so that nothing is to be read of them. Those of values are added at
// the end, for probabilities come to one.

#define SHARE 8
#define GROUPS (WARP / SHARE)
#define LEAST (-1e30f)

__device__ __forceinline__ float over_group(float value) {
  for (int step = SHARE / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL, value, step);
  return value;
}

__device__ __forceinline__ float over_groups(float value) {
  for (int step = WARP / 2; step >= SHARE; step /= 2) value += __shfl_xor_sync(ALL, value, step);
  return value;
}

// A lane's numbers of a row of one head: at most so many.
template <int MOST>
struct Share {
  float at[MOST];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int one = 0; one < MOST; one++) at[one] = 0.0f;
  }

  __device__ __forceinline__ void read(const float* from, int part, int wide) {
#pragma unroll
    for (int one = 0; one < MOST; one++) {
      int place = one * SHARE + part;
      at[one] = place < wide ? from[place] : 0.0f;
    }
  }

  // (from + bias) * factor
  __device__ __forceinline__ void read(const float* from, const float* bias, float factor, int part,
                                       int wide) {
#pragma unroll
    for (int one = 0; one < MOST; one++) {
      int place = one * SHARE + part;
      at[one] = place < wide ? (from[place] + bias[place]) * factor : 0.0f;
    }
  }

  __device__ __forceinline__ float times(const Share& other) const {
    float total = 0.0f;
#pragma unroll
    for (int one = 0; one < MOST; one++) total += at[one] * other.at[one];
    return over_group(total);
  }

  __device__ __forceinline__ void scale(float factor) {
#pragma unroll
    for (int one = 0; one < MOST; one++) at[one] *= factor;
  }

  // this = this * kept + other * factor
  __device__ __forceinline__ void add(float kept, const Share& other, float factor) {
#pragma unroll
    for (int one = 0; one < MOST; one++) at[one] = at[one] * kept + other.at[one] * factor;
  }

  // The sums over all groups, times a factor, with a bias if there is one. Groups take turns to write.
  __device__ __forceinline__ void write(float* to, float factor, const float* bias, int lane,
                                        int wide) const {
#pragma unroll
    for (int one = 0; one < MOST; one++) {
      float total = over_groups(at[one]) * factor;
      int place = one * SHARE + lane % SHARE;
      if (one % GROUPS == lane / SHARE && place < wide)
        to[place] = total + (bias ? bias[place] : 0.0f);
    }
  }
};

// What a row makes of the rows that it attends to, while they come.
template <int MOST>
struct Softmax {
  Share<MOST> query, sums;
  float peak, total;

  __device__ __forceinline__ void begin(const float* from, const float* bias, int part, int wide) {
    query.read(from, bias, rsqrtf((float)wide), part, wide);
    sums.clear();
    peak = LEAST;
    total = 0.0f;
  }

  // Takes in a row of each group, of those where there is one. Values lie so far behind keys.
  __device__ __forceinline__ void take(const float* keys, int values, bool is, int part, int wide) {
    Share<MOST> key, value;
    key.read(keys, part, wide);
    value.read(keys + values, part, wide);
    float score = query.times(key);
    float next = is ? fmaxf(peak, score) : peak;
    float kept = expf(peak - next), probability = is ? expf(score - next) : 0.0f;
    total = total * kept + probability;
    sums.add(kept, value, probability);
    peak = next;
  }

  // Joins the groups and writes the result; gives what the gradient needs.
  __device__ __forceinline__ float end(float* to, const float* bias, int lane, int wide) {
    float most = peak;
    for (int step = WARP / 2; step >= SHARE; step /= 2)
      most = fmaxf(most, __shfl_xor_sync(ALL, most, step));
    float kept = expf(peak - most);
    total = over_groups(total * kept);
    sums.scale(kept);
    sums.write(to, 1.0f / total, bias, lane, wide);
    return most + logf(total);
  }
};

template <int MOST>
__device__ __forceinline__ void attend(float* to, float* peaks, const float* mixed,
                                       const float* bias, const word* ends, const word* owners,
                                       int rows, int heads, int wide) {
  int row = warp_row(), lane = threadIdx.x % WARP, head = blockIdx.y;
  if (row >= rows) return;
  int width = heads * wide, group = lane / SHARE, part = lane % SHARE;
  const float* own = mixed + head * wide;
  size_t stride = 3 * (size_t)width;
  Softmax<MOST> softmax;
  softmax.begin(own + row * stride, bias + head * wide, part, wide);
  for (int base = start_of(ends, owners[row]); base <= row; base += GROUPS) {
    bool is = base + group <= row;
    softmax.take(own + (is ? base + group : row) * stride + width, width, is, part, wide);
  }
  float peak = softmax.end(to + (size_t)row * width + head * wide,
                           bias + 2 * width + head * wide, lane, wide);
  if (lane == 0) peaks[(size_t)row * heads + head] = peak;
}

// One more row for each of some sequences, which attends to those that are cached and to itself, and is cached. Rows are
// taken in the order of `attend`. `slots` tells where what is cached of each sequence lies.
template <int MOST>
__device__ __forceinline__ void attend_step(float* to, float* cache, const float* mixed,
                                            const float* bias, const word* slots,
                                            const word* lengths, int rows, int all, int room,
                                            int heads, int wide) {
  int row = warp_row(), lane = threadIdx.x % WARP, head = blockIdx.y;
  if (row >= rows || slots[row] >= (word)all) return;
  int width = heads * wide, group = lane / SHARE, part = lane % SHARE;
  int length = min((int)lengths[row], room - 1);
  const float* own = mixed + row * 3 * (size_t)width + head * wide;
  float* cached = cache + (size_t)slots[row] * room * 2 * width + head * wide;
  Softmax<MOST> softmax;
  softmax.begin(own, bias + head * wide, part, wide);
  for (int base = 0; base <= length; base += GROUPS) {
    int other = base + group;
    const float* keys = other < length ? cached + (size_t)other * 2 * width : own + width;
    softmax.take(keys, width, other <= length, part, wide);
  }
  softmax.end(to + (size_t)row * width + head * wide, bias + 2 * width + head * wide, lane, wide);
  float* last = cached + (size_t)length * 2 * width;
  for (int at = lane; at < wide; at += WARP) {
    last[at] = own[width + at];
    last[width + at] = own[2 * width + at];
  }
}

// The gradients of the queries; `deltas` takes what the other gradients need of each row and head.
template <int MOST>
__device__ __forceinline__ void attend_backward_rows(float* to, float* deltas, const float* dy,
                                                     const float* y, const float* peaks,
                                                     const float* mixed, const float* bias,
                                                     const word* ends, const word* owners, int rows,
                                                     int heads, int wide) {
  int row = warp_row(), lane = threadIdx.x % WARP, head = blockIdx.y;
  if (row >= rows) return;
  int width = heads * wide, group = lane / SHARE, part = lane % SHARE;
  const float* own = mixed + head * wide;
  size_t stride = 3 * (size_t)width, at = (size_t)row * width + head * wide;
  float factor = rsqrtf((float)wide);
  Share<MOST> query, change, key, value, sums;
  query.read(own + row * stride, bias + head * wide, factor, part, wide);
  change.read(dy + at, part, wide);
  value.read(bias + 2 * width + head * wide, part, wide);
  key.read(y + at, part, wide);
  key.add(1.0f, value, -1.0f);
  float delta = change.times(key), peak = peaks[(size_t)row * heads + head];
  sums.clear();
  for (int base = start_of(ends, owners[row]); base <= row; base += GROUPS) {
    bool is = base + group <= row;
    const float* other = own + (is ? base + group : row) * stride + width;
    key.read(other, part, wide);
    value.read(other + width, part, wide);
    float probability = expf(query.times(key) - peak);
    float slope = probability * (change.times(value) - delta);
    sums.add(1.0f, key, is ? slope : 0.0f);
  }
  sums.write(to + row * stride + head * wide, factor, nullptr, lane, wide);
  if (lane == 0) deltas[(size_t)row * heads + head] = delta;
}

// The gradients of keys and values: a row gathers them from the rows that attend to it.
template <int MOST>
__device__ __forceinline__ void attend_backward_keys(float* to, const float* deltas,
                                                     const float* dy, const float* peaks,
                                                     const float* mixed, const float* bias,
                                                     const word* ends, const word* owners, int rows,
                                                     int heads, int wide) {
  int row = warp_row(), lane = threadIdx.x % WARP, head = blockIdx.y;
  if (row >= rows) return;
  int width = heads * wide, group = lane / SHARE, part = lane % SHARE, end = ends[owners[row]];
  const float* own = mixed + head * wide;
  size_t stride = 3 * (size_t)width;
  float factor = rsqrtf((float)wide);
  Share<MOST> query, change, key, value, keys, values;
  key.read(own + row * stride + width, part, wide);
  value.read(own + row * stride + 2 * width, part, wide);
  keys.clear();
  values.clear();
  for (int base = row; base < end; base += GROUPS) {
    bool is = base + group < end;
    size_t other = is ? base + group : row;
    query.read(own + other * stride, bias + head * wide, factor, part, wide);
    change.read(dy + other * width + head * wide, part, wide);
    float probability = expf(query.times(key) - peaks[other * heads + head]);
    float slope = probability * (change.times(value) - deltas[other * heads + head]);
    keys.add(1.0f, query, is ? slope : 0.0f);
    values.add(1.0f, change, is ? probability : 0.0f);
  }
  float* own_to = to + row * stride + width + head * wide;
  keys.write(own_to, 1.0f, nullptr, lane, wide);
  values.write(own_to + width, 1.0f, nullptr, lane, wide);
}

// Each for heads of at most 64 numbers, and of at most 256: a lane has room for its share in registers.

extern "C" __global__ void attend_64(float* to, float* peaks, const float* mixed, const float* bias,
                                     const word* ends, const word* owners, int rows, int heads,
                                     int wide) {
  attend<64 / SHARE>(to, peaks, mixed, bias, ends, owners, rows, heads, wide);
}

extern "C" __global__ void attend_step_64(float* to, float* cache, const float* mixed,
                                          const float* bias, const word* slots,
                                          const word* lengths, int rows, int all, int room,
                                          int heads, int wide) {
  attend_step<64 / SHARE>(to, cache, mixed, bias, slots, lengths, rows, all, room, heads, wide);
}

extern "C" __global__ void attend_rows_64(float* to, float* deltas, const float* dy, const float* y,
                                          const float* peaks, const float* mixed, const float* bias,
                                          const word* ends, const word* owners, int rows, int heads,
                                          int wide) {
  attend_backward_rows<64 / SHARE>(to, deltas, dy, y, peaks, mixed, bias, ends, owners, rows, heads,
                                   wide);
}

extern "C" __global__ void attend_keys_64(float* to, const float* deltas, const float* dy,
                                          const float* peaks, const float* mixed, const float* bias,
                                          const word* ends, const word* owners, int rows, int heads,
                                          int wide) {
  attend_backward_keys<64 / SHARE>(to, deltas, dy, peaks, mixed, bias, ends, owners, rows, heads,
                                   wide);
}

extern "C" __global__ void attend_256(float* to, float* peaks, const float* mixed, const float* bias,
                                     const word* ends, const word* owners, int rows, int heads,
                                     int wide) {
  attend<256 / SHARE>(to, peaks, mixed, bias, ends, owners, rows, heads, wide);
}

extern "C" __global__ void attend_step_256(float* to, float* cache, const float* mixed,
                                           const float* bias, const word* slots,
                                           const word* lengths, int rows, int all, int room,
                                           int heads, int wide) {
  attend_step<256 / SHARE>(to, cache, mixed, bias, slots, lengths, rows, all, room, heads, wide);
}

extern "C" __global__ void attend_rows_256(float* to, float* deltas, const float* dy, const float* y,
                                          const float* peaks, const float* mixed, const float* bias,
                                          const word* ends, const word* owners, int rows, int heads,
                                          int wide) {
  attend_backward_rows<256 / SHARE>(to, deltas, dy, y, peaks, mixed, bias, ends, owners, rows, heads,
                                   wide);
}

extern "C" __global__ void attend_keys_256(float* to, const float* deltas, const float* dy,
                                          const float* peaks, const float* mixed, const float* bias,
                                          const word* ends, const word* owners, int rows, int heads,
                                          int wide) {
  attend_backward_keys<256 / SHARE>(to, deltas, dy, peaks, mixed, bias, ends, owners, rows, heads,
                                   wide);
}
