#include "bench/exercises/exercise.hpp"

#include <fmt/format.h>

namespace shardmark {

namespace {

constexpr Exercise all[] = {
    {1, "ZeRO-2 by zeroing, and for real",
     "ZeRO-1 is extended to ZeRO-2 by keeping only the rank's own N-th of the gradient. How much "
     "memory does it save to set the rest to zero after backward, and how much to free it?",
     answer_zeroing, false, "shardmark run --suite exercise1 --model gpt-micro --ranks 2,4,8"},
    {2, "Actual fp32 bytes on rank 0",
     "How many bytes of fp32 model states does rank 0 hold, counted where they are allocated, "
     "beside what the formula says?",
     answer_bytes, false, "shardmark run --suite exercise2 --ranks 3,5,8 --model gpt-micro"},
    {3, "The step of DDP and of ZeRO-1",
     "Where does a step spend its time, forward, backward or communication, under DDP and under "
     "ZeRO-1?",
     answer_step_time, true, "shardmark run --suite exercise3 --link 1gbit,10gbit --batch 1,4"},
    {4, "Clipping under ZeRO-1",
     "Each rank holds only its own N-th of the mean gradient. By which norm must it clip, and what "
     "happens to a rank that takes the norm of what it holds?",
     answer_clipping, false, "shardmark run --suite exercise4 --ranks 2,4,8 --clip 0.5,1"},
    {5, "An all-reduce in place of a reduce-scatter",
     "A rank needs its own N-th of the mean gradient alone. What does it cost on the wire to "
     "all-reduce the whole of it instead?",
     answer_reduce_scatter, true, "shardmark run --suite exercise5 --link 100mbit,1gbit,10gbit"}};

constexpr const char* crowded =
    " Rows with * have more compute and communication threads than cores: ranks with cores of "
    "their "
    "own are faster.";

}  // namespace

std::span<const Exercise> exercises() { return all; }

Page page_of(const Exercise& e, const Trial& trial) {
  Page page;
  page.title(fmt::format("Exercise {}: {}", e.number, e.title));
  page.paragraph("Question", e.question);
  e.answer(trial, page);
  page.paragraph("Measured", trial.about() + (e.timed && trial.crowded() ? crowded : ""));
  page.paragraph("Further", "the same for other sizes:");
  page.command(e.further);
  return page;
}

}  // namespace shardmark
