#pragma once
// Which model does a Hugging Face config.json describe? Read for the four families that are here;
// whatever would change the number of parameters or what a layer computes is refused, not guessed.
// But for dropout, which is not applied: its keys are passed over.
#include <string>
#include <vector>

namespace shardmark {

bool is_config(const std::string& model);  // the name of a file, not of a model

// The free form (registry.hpp) of what the text describes; bytes: with a vocabulary of 256 instead
// of its own. file: for the sentence where something is wrong (InputError), which names file and
// key. notes: gets a sentence for each default that was taken.
std::string form_of_config(const std::string& json_text, const std::string& file, bool bytes,
                           std::vector<std::string>* notes = nullptr);

}  // namespace shardmark
