#pragma once
// Which segments, in the order in which they were named? Stored as stretches of consecutive
// numbers, since a model of 1e12 parameters in small buckets has millions of them.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace shardmark {

class Segments {
 public:
  struct Stretch {
    int first = 0, last = -1;
    bool operator==(const Stretch&) const = default;
  };

  class Iterator {
   public:
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    using reference = int;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;
    Iterator() = default;
    explicit Iterator(const Stretch* at) : at_(at) {}
    int operator*() const { return at_->first + past_; }
    Iterator& operator++() {
      if (at_->first + ++past_ > at_->last) ++at_, past_ = 0;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Stretch* at_ = nullptr;
    int past_ = 0;  // how many of the stretch lie behind
  };

  void add(Stretch s) {
    if (s.last < s.first) return;
    size_ += static_cast<std::size_t>(s.last - s.first + 1);
    if (!stretches_.empty() && stretches_.back().last + 1 == s.first)
      stretches_.back().last = s.last;
    else
      stretches_.push_back(s);
  }
  Iterator begin() const { return Iterator(stretches_.data()); }
  Iterator end() const { return Iterator(stretches_.data() + stretches_.size()); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const std::vector<Stretch>& stretches() const { return stretches_; }

 private:
  std::vector<Stretch> stretches_;
  std::size_t size_ = 0;
};

}  // namespace shardmark
