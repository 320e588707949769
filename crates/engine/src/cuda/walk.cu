// Sequences that are drawn, one in each slot of a deck, by a warp.
//
// A round decides codes in order under the state of its beginning: the first that comes on changes the state, and
// the rest wait for the logits of the next round. What is absent changes nothing, so all codes before it are
// decided at once. Conjunctions force codes and keep them off as they are on the CPU: one is looked at when a bit that it is
// filed under is set, and again at its output.
//
// Only slots with work to do have it done: they are listed, and a kernel is given a part of the list, a row for each slot of
// it. Rows are what products multiply; what is known of a slot stays with the slot.
//
// What holds throughout:
// - Row 0 of a slot's bits are the codes of the visit at hand; each window has a row after it.
// - Lists of a slot never outgrow their room: a sequence that would is marked, handed back, and drawn elsewhere.
// - The lanes of a warp agree on everything but the items that they look at.

#define TERMS 4
#define NONE 0xffffffffu

// Purposes of draws.
#define OF_CODE 0u
#define OF_RULE 1u

// Phases of a slot.
#define IDLE 0u
#define SEE 1u
#define WALK 2u
#define TRIED 3u
#define DONE 4u

// Marks of a sequence.
#define NEW 1u
#define TRUNCATED 2u
#define NO_ROOM 4u
#define NO_PROBABILITY 8u
#define WAS_DRAWN 16u

#define MET 0x80000000u

struct Conjunctions {
  const word *starts, *conditions, *visits, *ends, *items;
};

struct Slot {
  double days, gap, base, absent;
  sum number;
  word phase, visit, marks;
  word cursor, first, count, held;
  word pending, due, standing, overruled;
  word at, draw;
};

struct Deck {
  // Sizes.
  long long slots, codes, width, head, stride, statics, end, last_visit, copies;
  long long row_bits, bit_words, windows, cells, key_low, key_high;
  long long codes_room, visits_room, held_room, pending_room, due_room, headers_room, out_room, ring;
  double temperature;
  // What is known of each slot.
  Slot* slot;
  word *bits, *written, *ends, *held, *pending, *due;
  float *averages, *sums, *kept, *gates;
  // Slots with work to do, listed from the middle: backwards those that closed a visit, forwards those whose visit goes on.
  word *listed, *seen;
  // What is to be drawn, and what was.
  const sum* numbers;
  word *counters, *headers, *out;
  // Conjunctions.
  Conjunctions demands, bars, waits, tests;
  const word *outputs, *softs, *soft_rules;
  const double* soft_probabilities;
  const word *wait_ends, *wait_codes, *test_ends, *test_codes;
  const word *standing, *standing_waits, *standing_ends;
  const word *asked, *window_ends, *window_visits;
  // What moves the end.
  const double *days, *cell_days, *cell_levels, *cell_paces;
};

// Counters: numbers that were taken, of how many so far, which stand in a ring; headers and words that were handed back since
// they were read; slots that closed a visit, and those whose visit goes on.
#define TAKEN 0
#define LOADED 1
#define HEADERS 2
#define WORDS 3
#define CLOSED 4
#define GOING 5

struct Walker {
  const Deck* deck;
  Slot* own;
  word* bits;
  float* logits;
  const float* bias;
  word *written, *held, *pending, *due;
  int lane, last;
};

__device__ __forceinline__ bool bit_of(const word* bits, word at) {
  return bits[at >> 5] >> (at & 31) & 1;
}

__device__ bool holds(const Conjunctions& of, word id, const word* bits, word visit) {
  word range = of.visits[id];
  if (visit < (range & 0xffff) || visit > range >> 16) return false;
  for (word at = of.starts[id]; at < of.starts[id + 1]; at++) {
    word one = of.conditions[at];
    if (bit_of(bits, one >> 1) != (one & 1)) return false;
  }
  return true;
}

// Whether it may hold once more codes are decided.
__device__ bool may_hold(const Conjunctions& of, word id, const word* bits, word visit,
                         word row_bits) {
  word range = of.visits[id];
  if (visit < (range & 0xffff) || visit > range >> 16) return false;
  for (word at = of.starts[id]; at < of.starts[id + 1]; at++) {
    word one = of.conditions[at];
    bool undecided = (one >> 1) < row_bits && (one & 1);
    if (bit_of(bits, one >> 1) != (one & 1) && !undecided) return false;
  }
  return true;
}

// Whether it holds by what is decided before a position: later codes may still come on.
__device__ bool holds_already(const Conjunctions& of, word id, const word* bits, word visit,
                              word row_bits, word position) {
  if (!holds(of, id, bits, visit)) return false;
  for (word at = of.starts[id]; at < of.starts[id + 1]; at++) {
    word one = of.conditions[at];
    if (!(one & 1) && (one >> 1) < row_bits && (one >> 1) >= position) return false;
  }
  return true;
}

// Four random words: Philox4x32-10.
__device__ uint4 random_words(const Deck* deck, const Slot* own, word number, word purpose) {
  word a = number, b = purpose << 16 | own->visit;
  word c = (word)own->number, d = (word)(own->number >> 32) << 16;
  word key_a = (word)deck->key_low, key_b = (word)deck->key_high;
  for (int round = 0; round < 10; round++) {
    word high_a = __umulhi(0xD2511F53u, a), low_a = 0xD2511F53u * a;
    word high_b = __umulhi(0xCD9E8D57u, c), low_b = 0xCD9E8D57u * c;
    a = high_b ^ b ^ key_a;
    b = low_b;
    c = high_a ^ d ^ key_b;
    d = low_a;
    key_a += 0x9E3779B9u;
    key_b += 0xBB67AE85u;
  }
  return make_uint4(a, b, c, d);
}

__device__ word random_word(const Deck* deck, const Slot* own, word index, word purpose) {
  uint4 all = random_words(deck, own, index / 4, purpose);
  word which = index % 4;
  return which == 0 ? all.x : which == 1 ? all.y : which == 2 ? all.z : all.w;
}

__device__ __forceinline__ bool below(word drawn, double probability) {
  return ((double)drawn + 0.5) / 4294967296.0 < probability;
}

// The probability of the end, moved by the days that have passed.
__device__ double moved(const Deck* deck, const Slot* own, double probability, double gap) {
  double days = own->days + (gap > 0.0 ? gap : 0.0);
  long long cell = 0;
  while (cell + 1 < deck->cells && deck->cell_days[cell + 1] <= days) cell++;
  double encounters = own->visit > 0 ? (double)(own->visit - 1) : 0.0;
  double pace = log((days + 7.0) / (encounters + 1.0));
  double shift = deck->cell_levels[cell] + deck->cell_paces[cell] * pace;
  double odds = exp(shift < -8.0 ? -8.0 : shift > 8.0 ? 8.0 : shift);
  return probability * odds / (1.0 - probability + probability * odds);
}

// The probability of a code as it is drawn, but for the end of what may not go on.
__device__ double probability_of(const Deck* deck, const Slot* own, int at, float logit,
                                 double gap) {
  double probability = 1.0 / (1.0 + exp(-(double)logit));
  if (at == deck->end && deck->cells > 0) probability = moved(deck, own, probability, gap);
  if (deck->temperature == 1.0) return probability;
  return 1.0 / (1.0 + pow((1.0 - probability) / probability, 1.0 / deck->temperature));
}

__device__ __forceinline__ bool must_end(const Walker& w, int at) {
  return at == w.deck->end && w.own->visit == w.deck->last_visit;
}

// The first code from the cursor on that is drawn; the end of the range if none is.
__device__ int first_drawn(const Walker& w) {
  int cursor = w.own->cursor;
  for (int block = cursor & ~127; block < w.last; block += 128) {
    int start = block + 4 * w.lane, found = w.last;
    bool bad = false;
    if (start < w.last && start + 4 > cursor) {
      uint4 all = random_words(w.deck, w.own, start / 4, OF_CODE);
      word drawn[4] = {all.x, all.y, all.z, all.w};
      for (int one = 0; one < 4 && found == w.last; one++) {
        int at = start + one;
        if (at < cursor || at >= w.last) continue;
        double probability =
            probability_of(w.deck, w.own, at, w.logits[at] + w.bias[at], w.own->gap);
        bad |= !(probability >= 0.0 && probability <= 1.0);
        if (below(drawn[one], probability) || must_end(w, at)) found = at;
      }
    }
    word any = __ballot_sync(ALL, found < w.last);
    if (__any_sync(ALL, bad)) {
      if (w.lane == 0) w.own->marks |= NO_PROBABILITY;
      __syncwarp();
      return w.last;
    }
    if (any) return __shfl_sync(ALL, found, __ffs(any) - 1);
  }
  return w.last;
}

// Adds items to a list where they are wanted, in order.
__device__ void append(const Walker& w, word* list, word* count, long long room, word item,
                       bool wanted) {
  word mask = __ballot_sync(ALL, wanted);
  word before = *count, more = __popc(mask);
  bool fits = before + more <= room;
  if (fits && wanted) list[before + __popc(mask & ((1u << w.lane) - 1))] = item;
  __syncwarp();
  if (w.lane == 0) {
    if (fits) *count = before + more;
    else w.own->marks |= NO_ROOM;
  }
  __syncwarp();
}

__device__ void wait_for(const Walker& w, word id, bool wanted) {
  word mask = __ballot_sync(ALL, wanted);
  word before = w.own->due, more = __popc(mask);
  bool fits = before + more <= w.deck->due_room;
  if (fits && wanted) {
    word* entry = w.due + 4 * (before + __popc(mask & ((1u << w.lane) - 1)));
    entry[0] = id;
    entry[1] = 0;
    entry[2] = NONE;
    entry[3] = 0;
  }
  __syncwarp();
  if (w.lane == 0) {
    if (fits) w.own->due = before + more;
    else w.own->marks |= NO_ROOM;
  }
  __syncwarp();
}

// Has what is filed under a bit that was set looked at.
__device__ void prompt(const Walker& w, word bit) {
  const Deck* deck = w.deck;
  const Conjunctions& demands = deck->demands;
  word start = bit == 0 ? 0 : demands.ends[bit - 1], end = demands.ends[bit];
  for (word from = start; from < end; from += WARP) {
    bool there = from + w.lane < end;
    word id = there ? demands.items[from + w.lane] : 0;
    bool wanted = there && may_hold(demands, id, w.bits, w.own->visit, deck->row_bits);
    append(w, w.pending, &w.own->pending, deck->pending_room, id, wanted);
  }
  const Conjunctions& waits = deck->waits;
  start = bit == 0 ? 0 : waits.ends[bit - 1], end = waits.ends[bit];
  for (word from = start; from < end; from += WARP) {
    bool there = from + w.lane < end;
    word id = there ? waits.items[from + w.lane] : 0;
    bool wanted = there && may_hold(waits, id, w.bits, w.own->visit, deck->row_bits);
    wait_for(w, id, wanted);
  }
}

__device__ __forceinline__ word start_of_waits(const Deck* deck, word id) {
  return id == 0 ? 0 : deck->wait_ends[id - 1];
}

__device__ __forceinline__ word position_of(const Deck* deck, const word* entry) {
  return deck->wait_codes[start_of_waits(deck, entry[0]) + (entry[1] & ~MET)];
}

// Whether what waits asks for its code.
__device__ bool asks(const Walker& w, const word* entry) {
  return (entry[1] & MET) || holds(w.deck->waits, entry[0], w.bits, w.own->visit);
}

__device__ __forceinline__ double plus_over_warp(double value) {
  for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL, value, step);
  return value;
}

__device__ __forceinline__ int least_over_warp(int value) {
  for (int step = WARP / 2; step > 0; step /= 2)
    value = min(value, __shfl_xor_sync(ALL, value, step));
  return value;
}

__device__ __forceinline__ word most_over_warp(word value) {
  for (int step = WARP / 2; step > 0; step /= 2)
    value = max(value, __shfl_xor_sync(ALL, value, step));
  return value;
}

// What it costs in nats that none of some codes comes on.
__device__ double misses(const Walker& w, const word* codes, word count, word position, double gap,
                         bool certain) {
  const Deck* deck = w.deck;
  double total = 0.0;
  for (word one = w.lane; one < count; one += WARP) {
    word at = codes[one];
    double probability = probability_of(deck, w.own, at, w.logits[at] + w.bias[at], gap);
    if (certain) {
      word start = at == 0 ? 0 : deck->bars.ends[at - 1];
      for (word bar = start; bar < deck->bars.ends[at]; bar++)
        if (holds_already(deck->bars, deck->bars.items[bar], w.bits, w.own->visit, deck->row_bits,
                          position))
          probability = 0.0;
      if (must_end(w, at)) probability = 1.0;
    }
    total -= log1p(-probability);
  }
  return plus_over_warp(total);
}

// The probability that all that waits for the code at hand is met by later ones.
__device__ double met_later(const Walker& w, word at) {
  double met = 1.0;
  for (word one = 0; one < w.own->due; one++) {
    word* entry = w.due + 4 * one;
    if (position_of(w.deck, entry) != at || !asks(w, entry)) continue;
    word next = entry[1] & ~MET, seen = entry[2], seen_at = entry[3];
    __syncwarp();
    if (seen != w.own->count) {
      seen_at = at;
      if (w.lane == 0) entry[2] = w.own->count, entry[3] = at;
    }
    if (w.lane == 0) entry[1] = next | MET;
    __syncwarp();
    word start = start_of_waits(w.deck, entry[0]) + next + 1;
    word end = w.deck->wait_ends[entry[0]];
    double miss =
        misses(w, w.deck->wait_codes + start, end - start, seen_at, w.own->gap, true);
    met *= -expm1(-miss);
  }
  return met;
}

// Whether a code would make anything wait that is tested.
__device__ bool is_tested(const Walker& w, word at) {
  const Conjunctions& tests = w.deck->tests;
  word start = at == 0 ? 0 : tests.ends[at - 1];
  bool found = false;
  for (word one = start + w.lane; one < tests.ends[at]; one += WARP)
    found |= holds(tests, tests.items[one], w.bits, w.own->visit);
  return __any_sync(ALL, found);
}

// The probability that what a code makes wait is met after it, by logits that have it in them.
__device__ double met_after(const Walker& w, word at) {
  const Deck* deck = w.deck;
  const Conjunctions& tests = deck->tests;
  double gap = w.own->gap, met = 1.0;
  if (gap < 0.0 && deck->cells > 0) gap = deck->days[at];
  for (word one = at == 0 ? 0 : tests.ends[at - 1]; one < tests.ends[at]; one++) {
    word id = tests.items[one];
    if (!holds(tests, id, w.bits, w.own->visit)) continue;
    word start = id == 0 ? 0 : deck->test_ends[id - 1];
    double miss =
        misses(w, deck->test_codes + start, deck->test_ends[id] - start, at, gap, false);
    met *= -expm1(-miss);
  }
  return met;
}

__device__ __forceinline__ double weighed(double probability, double on, double off) {
  double total = probability * on + (1.0 - probability) * off;
  return on == off || total <= 0.0 ? probability : probability * on / total;
}

// What waited for the code at hand goes on to its next code if that is absent, and is met if it is there.
__device__ void pass_waiting(const Walker& w, word at, bool present) {
  word kept = 0, count = w.own->due;
  for (word from = 0; from < count; from += WARP) {
    word* entry = w.due + 4 * (from + w.lane);
    bool there = from + w.lane < count;
    word id = 0, next = 0, seen = 0, seen_at = 0;
    bool keep = false;
    if (there) {
      id = entry[0], next = entry[1], seen = entry[2], seen_at = entry[3];
      keep = true;
      if (position_of(w.deck, entry) == at) {
        bool asked = (next & MET) || holds(w.deck->waits, id, w.bits, w.own->visit);
        next = ((next & ~MET) + 1) | MET;
        word left = w.deck->wait_ends[id] - start_of_waits(w.deck, id) - (next & ~MET);
        keep = asked && !present && left > 1;
      }
    }
    __syncwarp();
    word mask = __ballot_sync(ALL, keep);
    if (keep) {
      word* to = w.due + 4 * (kept + __popc(mask & ((1u << w.lane) - 1)));
      to[0] = id, to[1] = next, to[2] = seen, to[3] = seen_at;
    }
    kept += __popc(mask);
    __syncwarp();
  }
  if (w.lane == 0) w.own->due = kept;
  __syncwarp();
}

// Forgets demands whose outputs are decided.
__device__ void pass_demands(const Walker& w, word at) {
  word kept = 0, count = w.own->pending;
  for (word from = 0; from < count; from += WARP) {
    bool there = from + w.lane < count;
    word id = there ? w.pending[from + w.lane] : 0;
    bool keep = there && w.deck->outputs[id] > at;
    __syncwarp();
    word mask = __ballot_sync(ALL, keep);
    if (keep) w.pending[kept + __popc(mask & ((1u << w.lane) - 1))] = id;
    kept += __popc(mask);
    __syncwarp();
  }
  if (w.lane == 0) w.own->pending = kept;
  __syncwarp();
}

// Decides a code; `drawn` tells how it was drawn. A code that comes on is in the state from now on.
__device__ void place(const Walker& w, const float* present_table, word at, bool present,
                      bool drawn, bool in_state) {
  const Deck* deck = w.deck;
  Slot* own = w.own;
  pass_waiting(w, at, present);
  bool fits = own->first + own->count < deck->codes_room;
  if (w.lane == 0) {
    own->overruled += present != drawn;
    own->cursor = at + 1;
    if (present) {
      w.bits[at >> 5] |= 1u << (at & 31);
      if (fits) w.written[own->first + own->count] = at;
      else own->marks |= NO_ROOM;
      own->count += fits;
      if (deck->cells > 0 && own->gap < 0.0 && at < deck->end) own->gap = deck->days[at];
    }
  }
  __syncwarp();
  if (!present) return;
  pass_demands(w, at);
  prompt(w, at);
  if (in_state) return;
  float* sums = deck->sums + (size_t)(own - deck->slot) * deck->head;
  for (int one = w.lane; one < deck->head; one += WARP)
    sums[one] += present_table[(size_t)at * deck->head + one];
}

// The nearest code, not after a limit, that a demand which stands puts on or has drawn.
__device__ int nearest_standing(const Walker& w, int limit) {
  const Deck* deck = w.deck;
  word kind = w.own->visit > 0, start = kind ? deck->standing_ends[0] : 0;
  word end = deck->standing_ends[kind], at = start + w.own->standing;
  while (at < end) {
    bool there = at + w.lane < end;
    word id = there ? deck->standing[at + w.lane] : 0;
    int output = there ? (int)deck->outputs[id] : deck->codes;
    bool found = there && output >= (int)w.own->cursor && output <= limit &&
                 holds(deck->demands, id, w.bits, w.own->visit);
    word any = __ballot_sync(ALL, found);
    // Those that are behind need no second look.
    word behind = __popc(__ballot_sync(ALL, there && output < (int)w.own->cursor));
    if (w.lane == 0 && at == start + w.own->standing) w.own->standing += behind;
    __syncwarp();
    if (any) return __shfl_sync(ALL, output, __ffs(any) - 1);
    if (__any_sync(ALL, output > limit)) break;
    at += behind > 0 ? behind : WARP;
  }
  return limit;
}

// The nearest code, not after a limit, that any demand puts on or has drawn, or that something waits for.
__device__ int nearest(const Walker& w, int limit) {
  const Deck* deck = w.deck;
  int found = limit;
  for (word one = w.lane; one < w.own->pending; one += WARP) {
    word id = w.pending[one];
    int output = deck->outputs[id];
    if (output < found && output >= (int)w.own->cursor &&
        holds(deck->demands, id, w.bits, w.own->visit))
      found = output;
  }
  for (word one = w.lane; one < w.own->due; one += WARP) {
    const word* entry = w.due + 4 * one;
    int position = position_of(deck, entry);
    if (position < found && position >= (int)w.own->cursor && asks(w, entry)) found = position;
  }
  found = least_over_warp(found);
  return nearest_standing(w, found);
}

// What demands say of a code: NONE for nothing, the number of a soft rule, or more than all of these if it is put on.
__device__ word demanded(const Walker& w, word at) {
  const Deck* deck = w.deck;
  // Numbers of soft rules are taken from one on, so that the last is the largest.
  word found = 0;
  for (word one = w.lane; one < w.own->pending; one += WARP) {
    word id = w.pending[one];
    if (deck->outputs[id] == at && holds(deck->demands, id, w.bits, w.own->visit))
      found = max(found, deck->softs[id] == NONE ? NONE : deck->softs[id] + 1);
  }
  word kind = w.own->visit > 0, start = kind ? deck->standing_ends[0] : 0;
  for (word from = start + w.own->standing; from < deck->standing_ends[kind]; from += WARP) {
    bool there = from + w.lane < deck->standing_ends[kind];
    word id = there ? deck->standing[from + w.lane] : 0;
    word output = there ? deck->outputs[id] : NONE;
    if (output == at && holds(deck->demands, id, w.bits, w.own->visit))
      found = max(found, deck->softs[id] == NONE ? NONE : deck->softs[id] + 1);
    if (__any_sync(ALL, output > at)) break;
  }
  return most_over_warp(found);
}

__device__ bool is_barred(const Walker& w, word at) {
  const Conjunctions& bars = w.deck->bars;
  bool found = false;
  for (word one = (at == 0 ? 0 : bars.ends[at - 1]) + w.lane; one < bars.ends[at]; one += WARP)
    found |= holds(bars, bars.items[one], w.bits, w.own->visit);
  return __any_sync(ALL, found);
}

// Adds what codes held before say to the logits from the cursor on.
__device__ void add_held(const Walker& w, const float* copy_own) {
  const Deck* deck = w.deck;
  const float* gates = deck->gates + (size_t)(w.own - deck->slot) * TERMS;
  for (word one = w.lane; one < w.own->held; one += WARP) {
    const word* held = w.held + 3 * one;
    word code = held[0];
    if (code < w.own->cursor) continue;
    word since = w.own->visit - held[2];
    float terms[TERMS] = {since == 1 ? 1.0f : 0.0f, 1.0f, log1pf((float)held[1]),
                          1.0f / (float)since};
    float total = 0.0f;
    for (int term = 0; term < TERMS; term++)
      total += terms[term] * (gates[term] + copy_own[(size_t)term * deck->codes + code]);
    w.logits[code] += total;
  }
  __syncwarp();
}

// Ends the visit.
__device__ void close(const Walker& w) {
  const Deck* deck = w.deck;
  Slot* own = w.own;
  __syncwarp();
  bool ended = own->visit > 0 && bit_of(w.bits, deck->end);
  bool fits = own->visit < deck->visits_room;
  if (w.lane == 0) {
    // The end is the mark of a record, and no code of its visit.
    word kept = 0;
    for (word one = 0; one < own->count; one++) {
      word code = w.written[own->first + one];
      if (code != deck->end) w.written[own->first + kept++] = code;
      else w.bits[code >> 5] &= ~(1u << (code & 31));
    }
    own->count = kept;
    if (fits) deck->ends[(own - deck->slot) * deck->visits_room + own->visit] = own->first + kept;
    else own->marks |= NO_ROOM;
    own->phase = ended || own->marks & (NO_ROOM | NO_PROBABILITY) ? DONE : SEE;
  }
  __syncwarp();
}

__device__ Walker walker(const Deck* deck, int slot) {
  Walker w;
  w.deck = deck;
  w.own = deck->slot + slot;
  w.bits = deck->bits + (size_t)slot * deck->bit_words;
  w.logits = nullptr;
  w.bias = nullptr;
  w.written = deck->written + (size_t)slot * deck->codes_room;
  w.held = deck->held + (size_t)slot * 3 * deck->held_room;
  w.pending = deck->pending + (size_t)slot * deck->pending_room;
  w.due = deck->due + (size_t)slot * 4 * deck->due_room;
  w.lane = threadIdx.x % WARP;
  w.last = w.own->visit == 0 ? deck->statics : deck->codes;
  return w;
}

// How many threads of the block before this one it is so for, and how many of all. Every thread takes part.
__device__ word before_this(bool is, word* kept, word* all) {
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
  word own = __ballot_sync(ALL, is);
  if (lane == 0) kept[warp] = __popc(own);
  __syncthreads();
  word before = __popc(own & ((1u << lane) - 1)), total = 0;
  for (int one = 0; one < warps; one++) {
    if (one < warp) before += kept[one];
    total += kept[one];
  }
  __syncthreads();
  *all = total;
  return before;
}

// Gives empty slots the next numbers, and lists the slots with work to do. One block does it, so that no number is passed
// over; it begins with another slot each time, so that none waits for long.
extern "C" __global__ void list_slots(const Deck* deck, int from) {
  __shared__ word kept[WARP];
  word closed = 0, going = 0, slots = deck->slots, all;
  word taken = deck->counters[TAKEN], loaded = deck->counters[LOADED];
  for (word base = 0; base < slots; base += blockDim.x) {
    bool there = base + threadIdx.x < slots;
    word slot = (base + threadIdx.x + from) % slots;
    Slot* own = deck->slot + slot;
    word phase = there ? own->phase : DONE;
    word index = taken + before_this(phase == IDLE, kept, &all);
    if (phase == IDLE && index < loaded) {
      own->number = deck->numbers[index % (word)deck->ring];
      own->phase = phase = SEE;
      own->marks = NEW;
      own->visit = own->first = own->count = own->held = own->overruled = 0;
      own->days = 0.0;
    }
    taken = min(taken + all, loaded);
    word at = closed + before_this(phase == SEE, kept, &all);
    if (phase == SEE) deck->listed[slots - 1 - at] = slot;
    closed += all;
    bool goes = phase == WALK || phase == TRIED;
    at = going + before_this(goes, kept, &all);
    if (goes) deck->listed[slots + at] = slot;
    going += all;
  }
  if (threadIdx.x == 0) {
    deck->counters[TAKEN] = taken;
    deck->counters[CLOSED] = closed;
    deck->counters[GOING] = going;
  }
}

// Rows of the states of slots.
extern "C" __global__ void take_states(const Deck* deck, int first, int count, float* to) {
  int row = warp_row();
  if (row >= count) return;
  const float* sums = deck->sums + (size_t)deck->listed[first + row] * deck->head;
  for (int at = threadIdx.x % WARP; at < deck->head; at += WARP)
    to[(size_t)row * deck->head + at] = sums[at];
}

// One round of some slots, by the logits of their states.
extern "C" __global__ void walk(const Deck* deck, int first, int count, float* logits,
                                const float* bias, const float* present_table,
                                const float* copy_own) {
  int row = warp_row();
  if (row >= count) return;
  word slot = deck->listed[first + row];
  Walker w = walker(deck, slot);
  w.logits = logits + (size_t)row * deck->stride;
  w.bias = bias;
  Slot* own = w.own;
  if (own->phase != WALK && own->phase != TRIED) return;
  if (deck->copies) add_held(w, copy_own);
  float* sums = deck->sums + (size_t)slot * deck->head;
  float* kept = deck->kept + (size_t)slot * deck->head;
  if (own->phase == TRIED) {
    // Its logits have the code that was tried in them.
    word at = own->at;
    bool drawn = own->marks & WAS_DRAWN;
    double probability = weighed(own->base, met_after(w, at), own->absent);
    bool present = below(own->draw, probability);
    __syncwarp();
    if (w.lane == 0) own->phase = WALK;
    if (!present)
      for (int one = w.lane; one < deck->head; one += WARP) sums[one] = kept[one];
    place(w, present_table, at, present, drawn, true);
    // These are not the logits of the state that is left.
    if (!present) {
      if (own->cursor >= w.last) close(w);
      return;
    }
  }
  int drawn_at = -1;
  while (!(own->marks & (NO_ROOM | NO_PROBABILITY))) {
    // What is absent leaves the probabilities of later codes as they are.
    if (drawn_at < (int)own->cursor) drawn_at = first_drawn(w);
    int at = nearest(w, drawn_at);
    if (at >= w.last) break;
    bool drawn = at == drawn_at;
    word draw = random_word(deck, own, at, OF_CODE);
    double base = probability_of(deck, own, at, w.logits[at] + w.bias[at], own->gap);
    if (must_end(w, at)) {
      if (w.lane == 0 && !below(draw, base)) own->marks |= TRUNCATED;
      __syncwarp();
      base = 1.0;
    }
    word demand = demanded(w, at);
    bool present = demand == NONE;
    if (!present && !is_barred(w, at)) {
      if (demand > 0) {
        base = deck->soft_probabilities[demand - 1];
        draw = random_word(deck, own, deck->soft_rules[demand - 1], OF_RULE);
      }
      double absent = met_later(w, at);
      present = below(draw, weighed(base, 1.0, absent));
      if (present && is_tested(w, at)) {
        for (int one = w.lane; one < deck->head; one += WARP) {
          kept[one] = sums[one];
          sums[one] += present_table[(size_t)at * deck->head + one];
        }
        __syncwarp();
        if (w.lane == 0) {
          own->phase = TRIED;
          own->at = at;
          own->base = base;
          own->absent = absent;
          own->draw = draw;
          own->cursor = at;
          own->marks = drawn ? own->marks | WAS_DRAWN : own->marks & ~WAS_DRAWN;
        }
        return;
      }
    }
    place(w, present_table, at, present, drawn, false);
    if (own->cursor >= w.last || own->marks & (NO_ROOM | NO_PROBABILITY)) break;
    if (present) return;
  }
  close(w);
}

// Takes visits that were closed into what is known, and makes the input of the history: a row for each, of its
// codes and of how many visits were seen before.
extern "C" __global__ void take_in(const Deck* deck, int first_row, int rows, float* input,
                                   const float* codes, const float* seen) {
  int at_row = warp_row();
  if (at_row >= rows) return;
  word slot = deck->listed[first_row + at_row];
  Walker w = walker(deck, slot);
  Slot* own = w.own;
  bool begins = own->marks & NEW;
  word visit = own->visit, first = own->first, count = own->count;
  float* row = input + (size_t)at_row * deck->width;
  // The mark that begins a sequence is the first that is seen.
  const float* before = seen + (size_t)(begins ? 0 : visit + 1) * deck->width;
  for (int at = w.lane; at < deck->width; at += WARP) {
    float total = before[at];
    if (begins) total += codes[(size_t)deck->codes * deck->width + at];
    for (word one = 0; one < count; one++)
      total += codes[(size_t)w.written[first + one] * deck->width + at];
    row[at] = total;
  }
  for (word word_at = w.lane; begins && word_at < deck->bit_words; word_at += WARP)
    w.bits[word_at] = 0;
  __syncwarp();
  if (!begins) {
    double gap = -1.0;
    for (word one = 0; one < count; one++) {
      word code = w.written[first + one];
      if (deck->cells > 0 && gap < 0.0) gap = deck->days[code];
      // Those that it has held before, and those that it has not.
      word there = NONE;
      for (word from = 0; deck->copies && from < own->held && there == NONE; from += WARP) {
        bool is = from + w.lane < own->held && w.held[3 * (from + w.lane)] == code;
        word any = __ballot_sync(ALL, is);
        if (any) there = from + __ffs(any) - 1;
      }
      __syncwarp();
      if (w.lane == 0) {
        w.bits[code >> 5] &= ~(1u << (code & 31));
        if (!deck->copies) {
          // Nobody asks for it.
        } else if (there != NONE) {
          w.held[3 * there + 1]++;
          w.held[3 * there + 2] = visit;
        } else if (own->held < deck->held_room) {
          word* held = w.held + 3 * own->held++;
          held[0] = code, held[1] = 1, held[2] = visit;
        } else {
          own->marks |= NO_ROOM;
        }
      }
      __syncwarp();
    }
    if (w.lane == 0 && visit > 0 && gap > 0.0) own->days += gap;
    // Rows of windows: those that only grow take the visit in, others begin anew.
    const word* ends = deck->ends + (size_t)slot * deck->visits_room;
    word row_words = deck->row_bits / 32;
    for (word window = 0; window < deck->windows; window++) {
      const word* from = deck->window_ends + 4 * window;
      word start = from[0], visits = from[1], distances = from[2];
      word* bits = w.bits + (window + 1) * row_words;
      bool moves = distances > visits;
      for (word at = w.lane; moves && at < row_words; at += WARP) bits[at] = 0;
      __syncwarp();
      bool grows = from[3];
      for (word one = start; one < visits; one++) grows |= deck->window_visits[one] == visit;
      word total = moves ? distances - start : grows ? 1 : 0;
      for (word one = 0; one < total; one++) {
        word chosen = visit;
        if (moves) {
          word number = deck->window_visits[start + one];
          if (start + one >= visits) {
            if (number > visit + 1) continue;
            chosen = visit + 1 - number;
          } else {
            if (number > visit) continue;
            chosen = number;
          }
        }
        word begin = chosen == 0 ? 0 : ends[chosen - 1];
        for (word at = begin + w.lane; at < ends[chosen]; at += WARP) {
          word code = w.written[at], bit = (window + 1) * (word)deck->row_bits + code;
          if (bit_of(deck->asked, bit)) atomicOr(bits + (code >> 5), 1u << (code & 31));
        }
        __syncwarp();
      }
    }
  }
  if (w.lane == 0) {
    own->visit = begins ? 0 : visit + 1;
    deck->seen[at_row] = own->visit;
    own->first = first + count;
    own->cursor = begins ? 0 : (word)deck->statics;
    own->marks &= ~NEW;
    own->count = own->pending = own->due = own->standing = 0;
    own->gap = -1.0;
  }
}

// The gated averages of slots that have seen a visit go on; rows of them.
extern "C" __global__ void average_step(const Deck* deck, int first, int count, float* to,
                                        const float* mixed, const float* bias) {
  int at_row = warp_row(), lane = threadIdx.x % WARP;
  if (at_row >= count) return;
  word slot = deck->listed[first + at_row];
  float* average = deck->averages + (size_t)slot * deck->width;
  const float* row = mixed + (size_t)at_row * 2 * deck->width;
  // Before the first visit only the mark was seen.
  bool begins = deck->slot[slot].visit == 0;
  for (int at = lane; at < deck->width; at += WARP) {
    float gate = sigmoid(row[at] + bias[at] - 1.0f);
    if (begins) average[at] = 0.0f;
    average[at] += gate * (row[deck->width + at] + bias[deck->width + at] - average[at]);
    to[(size_t)at_row * deck->width + at] = average[at];
  }
}

// Begins the next visit of slots that have seen one: its first state, and what is known of it so far.
extern "C" __global__ void begin_visits(const Deck* deck, int first, int count, const float* base,
                                        const float* bias, const float* gate,
                                        const float* shared) {
  int row = warp_row();
  if (row >= count) return;
  word slot = deck->listed[first + row];
  Walker w = walker(deck, slot);
  Slot* own = w.own;
  for (int at = w.lane; at < deck->head; at += WARP)
    deck->sums[(size_t)slot * deck->head + at] = base[(size_t)row * deck->head + at] + bias[at];
  if (deck->copies && w.lane < TERMS)
    deck->gates[(size_t)slot * TERMS + w.lane] = gate[(size_t)row * TERMS + w.lane] + shared[w.lane];
  word row_words = deck->row_bits / 32;
  for (word from = row_words; from < deck->bit_words; from += WARP) {
    word mine = from + w.lane < deck->bit_words ? w.bits[from + w.lane] : 0;
    word any = __ballot_sync(ALL, mine != 0);
    while (any) {
      int lane = __ffs(any) - 1;
      any &= any - 1;
      word set = __shfl_sync(ALL, mine, lane);
      for (; set; set &= set - 1) prompt(w, (from + lane) * 32 + __ffs(set) - 1);
    }
  }
  word kind = own->visit > 0, start = kind ? deck->standing_ends[2] : 0;
  word end = deck->standing_ends[2 + kind];
  for (word from = start; from < end; from += WARP) {
    bool there = from + w.lane < end;
    word id = there ? deck->standing_waits[from + w.lane] : 0;
    wait_for(w, id, there && may_hold(deck->waits, id, w.bits, own->visit, deck->row_bits));
  }
  // All lanes have seen the phase by now.
  __syncwarp();
  if (w.lane == 0) own->phase = own->marks & NO_ROOM ? DONE : WALK;
}

// Hands sequences back that are done.
extern "C" __global__ void hand_on(const Deck* deck) {
  int slot = warp_row();
  if (slot >= deck->slots) return;
  Walker w = walker(deck, slot);
  Slot* own = w.own;
  if (own->phase == DONE) {
    bool whole = !(own->marks & (NO_ROOM | NO_PROBABILITY));
    word visits = whole ? own->visit + 1 : 0, codes = whole ? own->first + own->count : 0;
    word need = visits + codes, from = 0;
    if (w.lane == 0) from = atomicAdd(deck->counters + WORDS, need);
    from = __shfl_sync(ALL, from, 0);
    if (from + need > deck->out_room || from + need < from) return;
    word header = 0;
    if (w.lane == 0) header = atomicAdd(deck->counters + HEADERS, 1u);
    header = __shfl_sync(ALL, header, 0);
    if (header >= deck->headers_room) return;
    const word* ends = deck->ends + (size_t)slot * deck->visits_room;
    for (word at = w.lane; at < visits; at += WARP) deck->out[from + at] = ends[at];
    for (word at = w.lane; at < codes; at += WARP) deck->out[from + visits + at] = w.written[at];
    if (w.lane == 0) {
      word* to = deck->headers + 6 * header;
      to[0] = from, to[1] = visits, to[2] = own->overruled, to[3] = own->marks;
      to[4] = (word)own->number, to[5] = (word)(own->number >> 32);
      own->phase = IDLE;
    }
    __syncwarp();
  }
}
