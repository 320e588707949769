// Kernels of a training step of the recurrent network, and those that both networks use.
//
// Sums over many rows that no product gives are taken in fixed point, by 64-bit additions: these give the
// same bits in any order, so that a run that was stopped ends in the same weights as one that was not.

// What marks that a state speaks up to a code that is present.
#define PRESENT 0x80000000u
#define TERMS 4
#define PLACES 8

// The functions of the number of each visit.
extern "C" __global__ void places(float* to, const word* visits, int rows) {
  EACH(row, rows) {
    word visit = visits[row];
    float t = (float)visit;
    float* out = to + row * PLACES;
    out[0] = log1pf(t) / 3.0f;
    out[1] = t / 100.0f;
    out[2] = visit == 0 ? 1.0f : 0.0f;
    out[3] = visit == 1 ? 1.0f : 0.0f;
    out[4] = 1.0f / (1.0f + t);
    out[5] = sqrtf(t) / 7.0f;
    out[6] = expf(-t / 10.0f);
    out[7] = expf(-t / 40.0f);
  }
}

// Adds to each row the rows of a table that its list names.
extern "C" __global__ void add_gathered(float* to, const float* table, const word* items,
                                        const word* ends, int rows, int width) {
  int row = warp_row(), lane = threadIdx.x % WARP;
  if (row >= rows) return;
  int start = start_of(ends, row), end = ends[row];
  for (int at = lane; at < width; at += WARP) {
    float total = to[(size_t)row * width + at];
    for (int item = start; item < end; item++) total += table[(size_t)items[item] * width + at];
    to[(size_t)row * width + at] = total;
  }
}

extern "C" __global__ void scatter_rows(sum* table, const float* from, const word* items,
                                        const word* ends, int rows, int width, float unit) {
  int row = warp_row(), lane = threadIdx.x % WARP;
  if (row >= rows) return;
  int start = start_of(ends, row), end = ends[row];
  for (int at = lane; at < width; at += WARP) {
    float value = from[(size_t)row * width + at];
    for (int item = start; item < end; item++)
      add_fixed(table + (size_t)items[item] * width + at, value, unit);
  }
}

// Normalises rows; with `curved`, GELU follows. `normals` takes means and one over deviations.
extern "C" __global__ void layer_norm(float* to, float2* normals, const float* from,
                                      const float* weight, const float* bias, int rows, int width,
                                      float epsilon, int curved) {
  int row = warp_row(), lane = threadIdx.x % WARP;
  if (row >= rows) return;
  const float* x = from + (size_t)row * width;
  float total = 0.0f;
  for (int at = lane; at < width; at += WARP) total += x[at];
  float mean = over_warp(total) / width;
  float squares = 0.0f;
  for (int at = lane; at < width; at += WARP) squares += (x[at] - mean) * (x[at] - mean);
  float scale = 1.0f / sqrtf(over_warp(squares) / width + epsilon);
  for (int at = lane; at < width; at += WARP) {
    float normed = (x[at] - mean) * scale * weight[at] + bias[at];
    to[(size_t)row * width + at] = curved ? gelu(normed) : normed;
  }
  if (lane == 0) normals[row] = make_float2(mean, scale);
}

// The gradient of what was normalised is added to `to`. With `curved`, that of the result, `dy`, is
// first taken through GELU and put back.
extern "C" __global__ void layer_norm_backward(float* to, float* dy, const float* from,
                                               const float2* normals, const float* weight,
                                               const float* bias, int rows, int width, int curved) {
  int row = warp_row(), lane = threadIdx.x % WARP;
  if (row >= rows) return;
  const float* x = from + (size_t)row * width;
  float* change = dy + (size_t)row * width;
  float2 normal = normals[row];
  float plain = 0.0f, along = 0.0f;
  for (int at = lane; at < width; at += WARP) {
    float hat = (x[at] - normal.x) * normal.y;
    float d = change[at];
    if (curved) {
      d *= gelu_slope(hat * weight[at] + bias[at]);
      change[at] = d;
    }
    plain += d * weight[at];
    along += d * weight[at] * hat;
  }
  plain = over_warp(plain) / width;
  along = over_warp(along) / width;
  for (int at = lane; at < width; at += WARP) {
    float hat = (x[at] - normal.x) * normal.y;
    to[(size_t)row * width + at] += normal.y * (change[at] * weight[at] - plain - hat * along);
  }
}

#define STRIP 32
#define LANES 8

// Adds the sums of columns over some rows; of `dy` times what was normalised to `weighed` if there are
// normals.
extern "C" __global__ void column_sums(sum* plain, sum* weighed, const float* dy, const float* from,
                                       const float2* normals, int rows, int width, int stride,
                                       int each, float unit) {
  __shared__ float kept[2][LANES][STRIP];
  int at = blockIdx.x * STRIP + threadIdx.x;
  int first = blockIdx.y * each, last = min(rows, first + each);
  float one = 0.0f, other = 0.0f;
  if (at < width) {
    for (int row = first + threadIdx.y; row < last; row += LANES) {
      float d = dy[(size_t)row * stride + at];
      one += d;
      if (normals) {
        float2 normal = normals[row];
        other += d * (from[(size_t)row * stride + at] - normal.x) * normal.y;
      }
    }
  }
  kept[0][threadIdx.y][threadIdx.x] = one;
  kept[1][threadIdx.y][threadIdx.x] = other;
  __syncthreads();
  if (threadIdx.y < 2 && at < width) {
    float total = 0.0f;
    for (int lane = 0; lane < LANES; lane++) total += kept[threadIdx.y][lane][threadIdx.x];
    if (threadIdx.y == 0) add_fixed(plain + at, total, unit);
    else if (normals) add_fixed(weighed + at, total, unit);
  }
}

// to = from + product + bias
extern "C" __global__ void add_linear(float* to, const float* from, const float* product,
                                      const float* bias, long long count, int width) {
  EACH(at, count) to[at] = from[at] + product[at] + bias[at % width];
}

extern "C" __global__ void add(float* to, const float* from, long long count) {
  EACH(at, count) to[at] += from[at];
}

extern "C" __global__ void gelu_linear(float* to, const float* from, const float* bias,
                                       long long count, int width) {
  EACH(at, count) to[at] = gelu(from[at] + bias[at % width]);
}

extern "C" __global__ void gelu_linear_backward(float* gradient, const float* from,
                                                const float* bias, long long count, int width) {
  EACH(at, count) gradient[at] *= gelu_slope(from[at] + bias[at % width]);
}

// The gated average after every row; one thread for each column of each sequence.
extern "C" __global__ void gated_average(float* __restrict__ averages,
                                         const float* __restrict__ mixed,
                                         const float* __restrict__ bias,
                                         const word* __restrict__ ends, int sequences, int width) {
  EACH(index, (long long)sequences * width) {
    int sequence = index / width, at = index % width;
    float average = 0.0f, gates = bias[at] - 1.0f, candidates = bias[width + at];
    size_t last = ends[sequence];
#pragma unroll 8
    for (size_t row = start_of(ends, sequence); row < last; row++) {
      float gate = sigmoid(mixed[row * 2 * width + at] + gates);
      average += gate * (mixed[row * 2 * width + width + at] + candidates - average);
      averages[row * width + at] = average;
    }
  }
}

extern "C" __global__ void gated_average_backward(float* __restrict__ to,
                                                  const float* __restrict__ gradient,
                                                  const float* __restrict__ averages,
                                                  const float* __restrict__ mixed,
                                                  const float* __restrict__ bias,
                                                  const word* __restrict__ ends,
                                                  int sequences, int width) {
  EACH(index, (long long)sequences * width) {
    int sequence = index / width, at = index % width;
    float carried = 0.0f, gates = bias[at] - 1.0f, candidates = bias[width + at];
    long long first = start_of(ends, sequence);
#pragma unroll 4
    for (long long row = (long long)ends[sequence] - 1; row >= first; row--) {
      float total = carried + gradient[row * width + at];
      float gate = sigmoid(mixed[row * 2 * width + at] + gates);
      float before = row == first ? 0.0f : averages[(row - 1) * width + at];
      float candidate = mixed[row * 2 * width + width + at] + candidates;
      to[row * 2 * width + at] = total * (candidate - before) * gate * (1.0f - gate);
      to[row * 2 * width + width + at] = total * gate;
      carried = total * (1.0f - gate);
    }
  }
}

// The states of each visit, one after the other: each adds what its code brings to the one before.
extern "C" __global__ void states(float* sums, const float* base, const float* bias,
                                  const float* present, const word* rows, const word* ends,
                                  const word* until, int visits, int width) {
  int visit = blockIdx.x;
  int start = start_of(ends, visit), end = ends[visit];
  for (int at = threadIdx.x; at < width; at += blockDim.x) {
    float total = base[(size_t)rows[visit] * width + at] + bias[at];
    for (int state = start; state < end; state++) {
      if (state > start) total += present[(size_t)(until[state - 1] & ~PRESENT) * width + at];
      sums[(size_t)state * width + at] = total;
    }
  }
}

// A code that came on is in all later states of its visit.
extern "C" __global__ void states_backward(float* base, sum* present, const float* sums,
                                           const word* rows, const word* ends, const word* until,
                                           int visits, int width, float unit) {
  int visit = blockIdx.x;
  int start = start_of(ends, visit), end = ends[visit];
  for (int at = threadIdx.x; at < width; at += blockDim.x) {
    float total = 0.0f;
    for (int state = end - 1; state >= start; state--) {
      total += sums[(size_t)state * width + at];
      if (state > start)
        add_fixed(present + (size_t)(until[state - 1] & ~PRESENT) * width + at, total, unit);
    }
    base[(size_t)rows[visit] * width + at] = total;
  }
}

__device__ __forceinline__ void terms_of(float* terms, word times, word since) {
  terms[0] = since == 1 ? 1.0f : 0.0f;
  terms[1] = 1.0f;
  terms[2] = log1pf((float)times);
  terms[3] = 1.0f / (float)since;
}

// Adds what codes held before say to the logits of all states of their visits. The visits and states of
// a piece begin with `first_visit` and `first_state`, its codes with `first`.
extern "C" __global__ void copies(float* logits, const float* gates, const float* shared,
                                  const float* own, const word* rows, const word* ends,
                                  const word* held, const word* times, const word* since,
                                  const word* held_ends, int first_visit, int visits,
                                  int first_state, int states, int first, int stride, int codes) {
  int visit = warp_row(), lane = threadIdx.x % WARP;
  if (visit >= visits) return;
  visit += first_visit;
  int start = max(start_of(ends, visit) - first_state, 0);
  int end = min((int)ends[visit] - first_state, states);
  const float* gate = gates + (size_t)rows[visit] * TERMS;
  for (int one = start_of(held_ends, visit) + lane; one < held_ends[visit]; one += WARP) {
    if (held[one] - (word)first >= (word)stride) continue;
    float terms[TERMS], total = 0.0f;
    terms_of(terms, times[one], since[one]);
    for (int term = 0; term < TERMS; term++)
      total += terms[term] * (gate[term] + shared[term] + own[(size_t)term * codes + held[one]]);
    for (int state = start; state < end; state++)
      logits[(size_t)state * stride + held[one] - first] += total;
  }
}

extern "C" __global__ void copies_backward(float* gates, sum* own, const float* gradient,
                                           const word* rows, const word* ends, const word* held,
                                           const word* times, const word* since,
                                           const word* held_ends, int first_visit, int visits,
                                           int first_state, int states, int first, int stride,
                                           int codes, float unit) {
  int visit = warp_row(), lane = threadIdx.x % WARP;
  if (visit >= visits) return;
  visit += first_visit;
  int start = max(start_of(ends, visit) - first_state, 0);
  int end = min((int)ends[visit] - first_state, states);
  float totals[TERMS] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int one = start_of(held_ends, visit) + lane; one < held_ends[visit]; one += WARP) {
    if (held[one] - (word)first >= (word)stride) continue;
    float terms[TERMS], change = 0.0f;
    terms_of(terms, times[one], since[one]);
    for (int state = start; state < end; state++)
      change += gradient[(size_t)state * stride + held[one] - first];
    for (int term = 0; term < TERMS; term++) {
      if (terms[term] == 0.0f) continue;
      add_fixed(own + (size_t)term * codes + held[one], change * terms[term], unit);
      totals[term] += change * terms[term];
    }
  }
  for (int term = 0; term < TERMS; term++) {
    float total = over_warp(totals[term]);
    if (lane == 0) gates[(size_t)rows[visit] * TERMS + term] = total;
  }
}

// Marks logits that something else decides: minus infinity under the state that speaks for the code.
extern "C" __global__ void settle(float* logits, const word* ends, const word* until,
                                  const word* settled, const word* settled_ends, int first_visit,
                                  int visits, int first_state, int states, int first,
                                  int stride) {
  int visit = warp_row(), lane = threadIdx.x % WARP;
  if (visit >= visits) return;
  visit += first_visit;
  int start = max(start_of(ends, visit), first_state);
  int end = min((int)ends[visit], first_state + states);
  if (start >= end) return;
  for (int one = start_of(settled_ends, visit) + lane; one < settled_ends[visit]; one += WARP) {
    word code = settled[one];
    if (code - (word)first >= (word)stride) continue;
    int low = start, high = end - 1;
    while (low < high) {
      int middle = (low + high) / 2;
      if ((until[middle] & ~PRESENT) < code) low = middle + 1;
      else high = middle;
    }
    logits[(size_t)(low - first_state) * stride + code - first] = __int_as_float(0xff800000);
  }
}

// Some logits, with their biases.
extern "C" __global__ void read_logits(float* to, const float* logits, const float* bias,
                                       const word* states, const word* codes, int count,
                                       int first_state, int first, int stride) {
  EACH(at, count) {
    word state = states[at] - first_state;
    if (states[at] < (word)first_state || codes[at] - (word)first >= (word)stride) continue;
    to[at] = logits[(size_t)state * stride + codes[at] - first] + bias[codes[at]];
  }
}

// Adds to some gradients, each named once.
extern "C" __global__ void add_at(float* gradient, const float* changes, const word* states,
                                  const word* codes, int count, int first_state, int first,
                                  int stride) {
  EACH(at, count) {
    word state = states[at] - first_state;
    if (states[at] < (word)first_state || codes[at] - (word)first >= (word)stride) continue;
    gradient[(size_t)state * stride + codes[at] - first] += changes[at];
  }
}

// Scores the codes that a state speaks for, by binary cross entropy; with `scale`, its logits are
// replaced by their gradients, and by zeros where it does not speak.
extern "C" __global__ void score(float* logits, double* nats, const float* bias, const word* from,
                                 const word* until, int first_state, int first, int count,
                                 int stride, float scale) {
  __shared__ double kept[WARP];
  int state = blockIdx.x + first_state;
  int start = max((int)from[state] - first, 0);
  int end = min((int)(until[state] & ~PRESENT) - first, count - 1);
  bool present = until[state] & PRESENT;
  float* own = logits + (size_t)blockIdx.x * stride;
  float cost = 0.0f;
  int begin = scale == 0.0f ? start : 0, stop = scale == 0.0f ? end + 1 : count;
  for (int at = begin + threadIdx.x; at < stop; at += blockDim.x) {
    float change = 0.0f;
    if (at >= start && at <= end && own[at] != __int_as_float(0xff800000)) {
      float logit = own[at] + bias[first + at];
      bool is = present && at == end;
      cost += (logit > -80.0f ? softplus(logit) : 0.0f) - (is ? logit : 0.0f);
      change = scale * (sigmoid(logit) - (is ? 1.0f : 0.0f));
    }
    if (scale != 0.0f) own[at] = change;
  }
  double total = cost;
  for (int step = WARP / 2; step > 0; step /= 2) total += __shfl_xor_sync(ALL, total, step);
  if (threadIdx.x % WARP == 0) kept[threadIdx.x / WARP] = total;
  __syncthreads();
  if (threadIdx.x == 0) {
    total = 0.0;
    for (int warp = 0; warp < blockDim.x / WARP; warp++) total += kept[warp];
    nats[state] = total;
  }
}

// Adds up values on one block: `to` grows by their sum and by what more there is.
extern "C" __global__ void add_up(double* to, const double* values, int count, double more) {
  __shared__ double kept[1024];
  double total = 0.0;
  for (int at = threadIdx.x; at < count; at += blockDim.x) total += values[at];
  kept[threadIdx.x] = total;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) kept[threadIdx.x] += kept[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *to += kept[0] + more;
}

// What a step does to a parameter, by the range that it lies in; ranges are in ascending order.
__device__ __forceinline__ int kind_of(const word* ranges, int count, long long at) {
  int low = 0, high = count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (at < ranges[3 * middle + 1]) high = middle;
    else low = middle + 1;
  }
  return low < count && at >= ranges[3 * low] ? ranges[3 * low + 2] : 0;
}

// Adds what was summed in fixed point to the gradient; the squares of what lies in ranges are added up, one
// sum for each block.
extern "C" __global__ void finish(float* gradient, const sum* sums, double* squares,
                                  const word* ranges, int range_count, long long count,
                                  float unit) {
  __shared__ double kept[256];
  double total = 0.0;
  EACH(at, count) {
    float value = gradient[at] + (float)((double)(long long)sums[at] / unit);
    gradient[at] = value;
    if (kind_of(ranges, range_count, at)) total += (double)value * value;
  }
  kept[threadIdx.x] = total;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) kept[threadIdx.x] += kept[threadIdx.x + half];
  }
  if (threadIdx.x == 0) squares[blockIdx.x] = kept[0];
}

// One step of Adam. A step whose loss or gradient is no number changes nothing, and is noted by its
// number; so is every step after it.
extern "C" __global__ void adam(float* weights, float* mean, float* square, float* average,
                                const float* gradient, const double* squares, int square_count,
                                const double* nats, word* fault, word number, const word* ranges,
                                int range_count, long long count, float clip, float beta1,
                                float beta2, float epsilon, float rate, float root, float kept,
                                float keep) {
  __shared__ double parts[256];
  double total = 0.0;
  for (int at = threadIdx.x; at < square_count; at += blockDim.x) total += squares[at];
  parts[threadIdx.x] = total;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  __syncthreads();
  float long_as = (float)sqrt(parts[0]);
  if (!isfinite(long_as) || !isfinite(*nats)) {
    if (blockIdx.x == 0 && threadIdx.x == 0) atomicMin(fault, number);
    return;
  }
  float scale = long_as > clip ? clip / long_as : 1.0f;
  EACH(at, count) {
    int kind = kind_of(ranges, range_count, at);
    if (kind == 0) continue;
    float change = gradient[at] * scale;
    float m = beta1 * mean[at] + (1.0f - beta1) * change;
    float s = beta2 * square[at] + (1.0f - beta2) * change * change;
    float w = (kind == 2 ? kept : 1.0f) * weights[at] - rate * m / (sqrtf(s) / root + epsilon);
    mean[at] = m;
    square[at] = s;
    weights[at] = w;
    average[at] += (1.0f - keep) * (w - average[at]);
  }
}
