#pragma once
// Which shape do the figures of a free form stand for, and which form has a shape? Each family's
// figures, with what they are where they are not named, stand in one list that both directions
// read: what form_of() writes, with the sequence and the batch, is read back as the same shape.
#include "impl/models/gpt.hpp"
#include "impl/models/llama.hpp"
#include "impl/models/mlp.hpp"

namespace shardmark {

inline constexpr std::size_t vocabulary = 256;  // models read and predict bytes where not told else

// model: what the user wrote, for the sentence where it is wrong (InputError); text: the figures,
// "layers=4,width=256".
GptShape gpt_shape(const std::string& model, std::string_view text, std::size_t sequence,
                   std::size_t batch);
LlamaShape llama_shape(const std::string& model, std::string_view text, std::size_t sequence,
                       std::size_t batch);
MlpShape mlp_shape(const std::string& model, std::string_view text, std::size_t sequence,
                   std::size_t batch);

// About how many, before anything is built.
double parameters_of(const GptShape&);
double parameters_of(const LlamaShape&);

// The family and the figures that have to be named.
std::string form_of(const GptShape&);
std::string form_of(const LlamaShape&);
std::string form_of(const MlpShape&);

}  // namespace shardmark
