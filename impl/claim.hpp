#pragma once
// What does a strategy say its bytes and calls are? The same function gives the textbook figures
// (on layout.textbook()) and the exact ones. Nothing here runs a step: a wrong step would agree
// with itself.
#include <map>
#include <string>

#include "impl/comm/communicator.hpp"
#include "impl/layout.hpp"

namespace shardmark {

class Claim {
 public:
  struct Calls {
    double calls = 0, payload = 0, volume = 0;  // a step, this rank, bytes
    bool operator==(const Calls&) const = default;
  };
  std::map<Held, double> bytes;  // peak, this rank
  std::map<Called, Calls> calls;
  std::map<Tag, std::string>
      formula;  // of each model state in P (all) or T (trainable elements) and N

  explicit Claim(const Layout& l) : layout_(l) {}
  const Layout& layout() const { return layout_; }

  // term: what it adds to the formula of a model state, such as " + 4P/N".
  void hold(Tag, DType, double elements, const std::string& term = "");
  void hold(Tag, DType, Form, Which);  // a model state over the whole layout
  void adam(const Precision&, Form);
  void call(Verb, DType, double elements, double times = 1);
  void each(const Segments&, Verb, DType, double times = 1);
  void staging(const Precision&);  // the cast on the way, where the wire type is another
  void gathered(const Options&);   // ZeRO-3: weights that come and go
  // ZeRO-3: small parameters that are whole though the form is cut, W elements of them; gathered
  // once, behind their update.
  void resident(const Precision&);
  void buckets(const Options&);  // ZeRO-2/3: whole gradients on their way

 private:
  const Layout& layout_;
};

}  // namespace shardmark
