#pragma once
// Which words is every ledger keyed by? The one header that all folders share; it includes nothing
// of ours.
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardmark {

enum class DType : std::uint8_t { f64, f32, bf16, f16, i32, u8 };

// What a byte is for. The first five are the model states of the ZeRO paper (Rajbhandari et al.
// 2020, section 3.1).
enum class Tag : std::uint8_t {
  parameter,
  gradient,
  master,
  first_moment,
  second_moment,
  bucket,      // a whole gradient on its way to be reduced
  gathered,    // whole weights that a sharded strategy holds for a while
  staging,     // a copy in the type that travels
  activation,  // kept from forward for backward
  workspace,   // everything else: scratch, tokens, scalars
};

enum class Verb : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast, barrier };

enum class Phase : std::uint8_t { forward, recompute, backward, clip, update, reduce, gather };

inline constexpr int tags = 10, phases = 7;

constexpr bool is_model_state(Tag t) { return t <= Tag::second_moment; }
// What comes and goes within a step.
constexpr bool is_passing(Tag t) {
  return t == Tag::bucket || t == Tag::gathered || t == Tag::staging || t == Tag::activation;
}
constexpr bool is_communication(Phase p) { return p == Phase::reduce || p == Phase::gather; }

constexpr std::size_t size_of(DType t) {
  switch (t) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

constexpr std::string_view name(DType t) {
  constexpr std::string_view names[] = {"f64", "f32", "bf16", "f16", "i32", "u8"};
  return names[static_cast<int>(t)];
}
constexpr std::string_view name(Tag t) {
  constexpr std::string_view names[] = {"parameter",     "gradient", "master",   "first_moment",
                                        "second_moment", "bucket",   "gathered", "staging",
                                        "activation",    "workspace"};
  return names[static_cast<int>(t)];
}
constexpr std::string_view name(Verb v) {
  constexpr std::string_view names[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                        "barrier"};
  return names[static_cast<int>(v)];
}
constexpr std::string_view name(Phase p) {
  constexpr std::string_view names[] = {"forward", "recompute", "backward", "clip",
                                        "update",  "reduce",    "gather"};
  return names[static_cast<int>(p)];
}

}  // namespace shardmark
