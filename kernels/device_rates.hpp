#pragma once
// How fast is a device whose work is only enqueued? As rates.hpp, by the device's own timeline.
#include "kernels/device.hpp"

namespace shardmark {

// Each on the compute queue of a device that records times and has nothing enqueued; memory comes
// from its arena and goes back.

// Nanoseconds that this product takes, the best of several runs; only shape, transposes, adds, the
// type of a and whether there are a bias and a residual count.
double product_ns(Device&, const Matmul& shape);
// Bytes per second read and written by copies between two arrays of so many bytes.
double copy_rate(Device&, std::size_t bytes);
// Floating-point operations per second of a square product of so many rows.
double matrix_rate(Device&, DType, std::size_t rows);

}  // namespace shardmark
