#pragma once
// Which exercises does the course set, and how does each come to its answer? A small experiment on
// this machine, a suite that the program carries under the exercise's name; then numbers, formula
// and verdict. One file an exercise.
#include <span>

#include "bench/exercises/page.hpp"
#include "bench/exercises/trial.hpp"

namespace shardmark {

struct Exercise {
  int number;
  const char *title, *question;
  void (*answer)(const Trial&, Page&);  // appends numbers, formula, verdict
  bool timed;                           // its numbers are times, among others
  const char* further;                  // what to type to go on
  std::string suite() const { return "exercise" + std::to_string(number); }
};
std::span<const Exercise> exercises();

// The whole page: title, question, what answer() adds, and how to go on.
Page page_of(const Exercise&, const Trial&);

void answer_zeroing(const Trial&, Page&);         // 1
void answer_bytes(const Trial&, Page&);           // 2
void answer_step_time(const Trial&, Page&);       // 3
void answer_clipping(const Trial&, Page&);        // 4
void answer_reduce_scatter(const Trial&, Page&);  // 5

}  // namespace shardmark
