// How does CUPTI come to know what a stand-in GPU does? The machine names a libcupti of the tests'
// (profilers/cupti_standin.cpp), which is told of each call when it is made, and of its work when
// the stream has done it.
#include <dlfcn.h>

#include "machine.hpp"
#include "profilers/timeline.hpp"
#include "runtime.hpp"

namespace shardmark::standin {
namespace {

CuptiStandin* find() {
  const std::string& file = machine().cupti;
  if (file.empty()) return nullptr;
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* get = library ? ::dlsym(library, cupti_standin_symbol) : nullptr;
  if (get) return reinterpret_cast<GetCuptiStandin>(get)();
  fail(file + " is no libcupti of the tests'");
  return nullptr;
}

CuptiStandin* cupti() {
  static CuptiStandin* const one = find();
  return one;
}

}  // namespace

void enqueue(cudaStream_t stream, const CuptiStandin::Work& what, std::function<void()> task) {
  CuptiStandin* const told = cupti();
  if (!told) return enqueue(stream, std::move(task));
  enqueue(stream, [told, call = told->call(what.what), work = what, task = std::move(task)] {
    CuptiStandin::Work done = work;
    done.begin_ns = now_ns();
    task();
    done.end_ns = now_ns();
    told->ran(call, done);
  });
}

}  // namespace shardmark::standin
