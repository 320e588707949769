// Stands for cuBLAS: products of matrices, as loops.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int FLOAT = 0, BRAIN = 14;
constexpr int ROUNDED_TO_TEN_BITS = 77;

float of_word(uint32_t word) {
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

uint32_t word_of(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return word;
}

// Rounds to the nearest with so many bits fewer, ties to even.
uint32_t rounded(float value, int fewer) {
  uint32_t word = word_of(value);
  if ((word & 0x7f800000u) == 0x7f800000u) return word;
  word += (1u << (fewer - 1)) - 1 + (word >> fewer & 1);
  return word & ~((1u << fewer) - 1);
}

float get(const void* from, size_t at, int type) {
  if (type == FLOAT) return ((const float*)from)[at];
  if (type == BRAIN) return of_word((uint32_t)((const uint16_t*)from)[at] << 16);
  fprintf(stderr, "emulated GPU: products of type %d are not emulated\n", type);
  abort();
}

void put(void* to, size_t at, int type, float value) {
  if (type == FLOAT) ((float*)to)[at] = value;
  else ((uint16_t*)to)[at] = rounded(value, 16) >> 16;
}

struct Matrix {
  const void* from;
  int type, stride;
};

// Sums are taken for so many rows and columns at a time.
constexpr int ROWS = 64, COLUMNS = 4;

int padded(int count, int block) { return (count + block - 1) / block * block; }

// The numbers of a matrix, those with the same inner index together, with zeros up to a whole block.
std::vector<float> laid_out(const Matrix& matrix, int count, int block, int inner, bool by_rows, bool ten_bits) {
  int wide = padded(count, block);
  std::vector<float> all((size_t)wide * inner);
  for (int row = 0; row < count; row++)
    for (int at = 0; at < inner; at++) {
      size_t place = by_rows ? (size_t)row * matrix.stride + at : (size_t)at * matrix.stride + row;
      float value = get(matrix.from, place, matrix.type);
      all[(size_t)at * wide + row] = ten_bits ? of_word(rounded(value, 13)) : value;
    }
  return all;
}

int product(int turned_a, int turned_b, int rows, int columns, int inner, float alpha, Matrix a, Matrix b, float beta,
            void* to, int type, int stride, int computed) {
  if (rows < 0 || columns < 0 || inner < 0 || stride < rows || a.stride < (turned_a ? inner : rows) ||
      b.stride < (turned_b ? columns : inner)) {
    fprintf(stderr, "emulated GPU: a product of %d x %d x %d does not fit its strides\n", rows, inner, columns);
    return 7;
  }
  bool ten_bits = computed == ROUNDED_TO_TEN_BITS;
  std::vector<float> left = laid_out(a, rows, ROWS, inner, turned_a, ten_bits);
  std::vector<float> right = laid_out(b, columns, COLUMNS, inner, !turned_b, ten_bits);
  int tall = padded(rows, ROWS), wide = padded(columns, COLUMNS);
  for (int column = 0; column < columns; column += COLUMNS)
    for (int row = 0; row < rows; row += ROWS) {
      float totals[COLUMNS][ROWS] = {};
      for (int at = 0; at < inner; at++)
        for (int across = 0; across < COLUMNS; across++) {
          float y = right[(size_t)at * wide + column + across];
          const float* x = &left[(size_t)at * tall + row];
          for (int down = 0; down < ROWS; down++) totals[across][down] += x[down] * y;
        }
      for (int across = 0; across < COLUMNS && column + across < columns; across++)
        for (int down = 0; down < ROWS && row + down < rows; down++) {
          size_t place = (size_t)(column + across) * stride + row + down;
          float kept = beta != 0.0f ? beta * get(to, place, type) : 0.0f;
          put(to, place, type, alpha * totals[across][down] + kept);
        }
    }
  return 0;
}

size_t bytes(int type) { return type == FLOAT ? 4 : 2; }

}  // namespace

API int cublasCreate_v2(void** handle) {
  *handle = new int;
  return 0;
}
API int cublasDestroy_v2(void* handle) {
  delete (int*)handle;
  return 0;
}
API int cublasSetStream_v2(void*, void*) { return 0; }
API int cublasSetWorkspace_v2(void*, void*, size_t) { return 0; }
API int cublasSetMathMode(void*, int) { return 0; }

API int cublasGemmEx(void*, int turned_a, int turned_b, int rows, int columns, int inner, const void* alpha,
                     const void* a, int type_a, int stride_a, const void* b, int type_b, int stride_b,
                     const void* beta, void* to, int type, int stride, int computed, int) {
  return product(turned_a, turned_b, rows, columns, inner, *(const float*)alpha, {a, type_a, stride_a},
                 {b, type_b, stride_b}, *(const float*)beta, to, type, stride, computed);
}

API int cublasGemmStridedBatchedEx(void*, int turned_a, int turned_b, int rows, int columns, int inner,
                                   const void* alpha, const void* a, int type_a, int stride_a, long long step_a,
                                   const void* b, int type_b, int stride_b, long long step_b, const void* beta,
                                   void* to, int type, int stride, long long step, int count, int computed, int) {
  for (int number = 0; number < count; number++) {
    Matrix left = {(const char*)a + number * step_a * bytes(type_a), type_a, stride_a};
    Matrix right = {(const char*)b + number * step_b * bytes(type_b), type_b, stride_b};
    void* into = (char*)to + number * step * bytes(type);
    int failed = product(turned_a, turned_b, rows, columns, inner, *(const float*)alpha, left, right,
                         *(const float*)beta, into, type, stride, computed);
    if (failed) return failed;
  }
  return 0;
}
