#pragma once
// Which keys do the outlined families share, and who reads what each has of its own? Where a key is
// absent that its config class has a default for, that is taken, and noted if it changes the model.
#include "impl/models/config_keys.hpp"
#include "impl/models/outline.hpp"

namespace shardmark {

// As most families name their sizes: hidden_size, num_hidden_layers and so on.
TransformerOutline usual_sizes(const ConfigKeys&);
// One head's features are an equal part of the width, which must divide.
void equal_heads(const ConfigKeys&, const std::string& width_key, const std::string& heads_key,
                 TransformerOutline&);
void kv_heads_divide(const ConfigKeys&, const std::string& key, const TransformerOutline&);
void read_tied(const ConfigKeys&, bool otherwise, const char* because, TransformerOutline&);

// With gated MLPs, RMSNorm and rotary positions, as Llama.
TransformerOutline mixtral_outline(const ConfigKeys&);
TransformerOutline qwen3_outline(const ConfigKeys&);
TransformerOutline gemma_outline(const ConfigKeys&);
TransformerOutline gemma2_outline(const ConfigKeys&);
TransformerOutline gemma3_outline(const ConfigKeys&);
TransformerOutline phi3_outline(const ConfigKeys&);

// The same, with keys and values through a low rank and fine experts.
TransformerOutline deepseek_v2_outline(const ConfigKeys&);
TransformerOutline deepseek_v3_outline(const ConfigKeys&);

// With LayerNorm and MLPs of two maps, as GPT.
TransformerOutline bert_outline(const ConfigKeys&);
TransformerOutline bloom_outline(const ConfigKeys&);
TransformerOutline falcon_outline(const ConfigKeys&);
TransformerOutline gpt_neox_outline(const ConfigKeys&);
TransformerOutline gptj_outline(const ConfigKeys&);
TransformerOutline opt_outline(const ConfigKeys&);
TransformerOutline phi_outline(const ConfigKeys&);
TransformerOutline starcoder2_outline(const ConfigKeys&);

}  // namespace shardmark
