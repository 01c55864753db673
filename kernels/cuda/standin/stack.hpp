#pragma once
// What must the address sanitizer be told of stacks? Which one is left, and which comes next;
// without it, nothing.
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace shardmark::standin {

#if defined(__SANITIZE_ADDRESS__)  // which puts gaps between what stands on a stack
constexpr std::size_t stack_bytes = 256 << 10;
#else
constexpr std::size_t stack_bytes = 64 << 10;
#endif

struct Stack {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fake = nullptr;  // where it keeps what may be used after return

#if defined(__SANITIZE_ADDRESS__)
  void leave_for(const Stack& next) {
    __sanitizer_start_switch_fiber(&fake, next.bottom, next.bytes);
  }
  static void leave_for_ever(const Stack& next) {
    __sanitizer_start_switch_fiber(nullptr, next.bottom, next.bytes);
  }
  void back_from(Stack& last) { __sanitizer_finish_switch_fiber(fake, &last.bottom, &last.bytes); }
#else
  void leave_for(const Stack&) {}
  static void leave_for_ever(const Stack&) {}
  void back_from(Stack&) {}
#endif
};

}  // namespace shardmark::standin
