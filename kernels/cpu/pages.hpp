#pragma once
// Where does the CPU's memory come from? Whole pages from the system, on huge ones where it has
// them; small pieces from the heap, on cache lines.
#include <cstddef>
#include <cstdint>

namespace shardmark::cpu {

// What take() really takes for so many bytes.
std::size_t rounded(std::size_t bytes);
// bytes as rounded() gives them; throws std::bad_alloc. Pages come as zeros, pieces as they are.
std::uintptr_t take(std::size_t bytes);
void give(std::uintptr_t address, std::size_t bytes);

}  // namespace shardmark::cpu
