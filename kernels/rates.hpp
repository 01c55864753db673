#pragma once
// How fast could this machine be? Ceilings, measured when asked for, that times are held against: a
// copy past the caches, memcpy, and matrix products.
#include "op.hpp"

namespace shardmark {

// Bytes per second read and written by so many threads at once that copy past the caches, on
// buffers that no cache holds (256 MiB and more are rotated through); the median of several rounds,
// in about 0.3 s.
double streaming_rate(int threads);
// Bytes per second that one thread's memcpy of so many bytes copies, from and to buffers that the
// caches may hold.
double memcpy_rate(std::size_t bytes);
// Nanoseconds that this product takes, the best of several runs on operands of its own; only shape,
// transposes, adds, the type of a and whether there are a bias and a residual count.
double product_ns(const Matmul& shape, int threads);
// Floating-point operations per second of a large product.
double matrix_rate(int threads, DType = DType::f32);

}  // namespace shardmark
