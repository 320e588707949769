// Logits as a matrix of visits and codes, for who scores them elsewhere: each code under the state that
// speaks for it.

#define PRESENT 0x80000000u

// The codes of a piece that a state speaks for, counted from the first of the piece.
__device__ __forceinline__ bool speaks(const word* from, const word* until, int state, int first,
                                       int at) {
  return at >= (int)from[state] - first && at <= (int)(until[state] & ~PRESENT) - first;
}

// The logits of each visit, with their biases.
extern "C" __global__ void own_logits(float* to, const float* logits, const float* bias,
                                      const word* ends, const word* from, const word* until,
                                      int first_visit, int visits, int first_state, int states,
                                      int first, int count, int stride) {
  int row = warp_row(), lane = threadIdx.x % WARP;
  if (row >= visits) return;
  float* own = to + (size_t)row * count;
  int start = max(start_of(ends, row + first_visit), first_state);
  int end = min((int)ends[row + first_visit], first_state + states);
  for (int state = start; state < end; state++) {
    const float* said = logits + (size_t)(state - first_state) * stride;
    int begin = max((int)from[state] - first, 0);
    int stop = min((int)(until[state] & ~PRESENT) - first, count - 1);
    for (int at = begin + lane; at <= stop; at += WARP) own[at] = said[at] + bias[first + at];
  }
}

// Puts gradients in place of the logits that they are of, and zeros in place of all others.
extern "C" __global__ void own_gradients(float* logits, const float* from_each, const word* ends,
                                         const word* from, const word* until, int first_visit,
                                         int visits, int first_state, int states, int first,
                                         int count, int stride) {
  int row = warp_row(), lane = threadIdx.x % WARP;
  if (row >= visits) return;
  const float* own = from_each + (size_t)row * count;
  int start = max(start_of(ends, row + first_visit), first_state);
  int end = min((int)ends[row + first_visit], first_state + states);
  for (int state = start; state < end; state++) {
    float* to = logits + (size_t)(state - first_state) * stride;
    for (int at = lane; at < count; at += WARP)
      to[at] = speaks(from, until, state, first, at) ? own[at] : 0.0f;
  }
}
