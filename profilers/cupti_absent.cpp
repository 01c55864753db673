// What stands in for CUPTI where shardmark was built without its header? A recorder that says so.
#include "profilers/cupti.hpp"

namespace shardmark::cupti {

bool built() { return false; }
std::string library() {
  return "built without cupti.h: install the CUDA Toolkit (12.4 or newer), or configure with "
         "-DSHARDMARK_CUPTI_INCLUDE=DIR, then build again";
}

struct Recorder::State {};
Recorder::Recorder(const std::string&) : why_not_("CUPTI records nothing: " + library() + ".") {}
Recorder::~Recorder() = default;
std::shared_ptr<const Activities> Recorder::activities() { return std::make_shared<Activities>(); }
void Recorder::push(std::uint64_t) {}
void Recorder::pop() {}

}  // namespace shardmark::cupti
