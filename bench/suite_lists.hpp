#pragma once
// Which of the cells that comma lists multiply into are meant? Not those that would be another one
// again, and not those that cannot be.
#include "bench/suite.hpp"

namespace shardmark {

// Of a list of what only strategies that gather by unit look at, others run the first value: with
// the next ones they would be the same cell again.
void keep_what_differs(std::vector<Draft>&);
// A loss scale beside several precisions is for those of them that have one.
void scale_what_is_scaled(std::vector<Draft>&);
// Lists of precisions and of types to travel in multiply into pairs, some of which cannot be; they
// are an error only where nothing else is left. notes: gets a sentence, where there is one.
void leave_out_misfits(std::vector<Cell>&, std::vector<std::string>* notes);

}  // namespace shardmark
