#pragma once
// How is a cluster written down? A small JSON file, or one of the presets that the binary carries;
// every figure has its unit in its key and its source beside it.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "impl/cluster.hpp"

namespace shardmark {

std::vector<std::string> cluster_presets();

// A preset's name, or a file, whose name has a / or a dot. Throws InputError: neither, or what is
// wrong in the file.
Cluster cluster_of(const std::string& flag, const std::string& name_or_file);
// file: for the sentence that says what is wrong.
Cluster read_cluster(const std::string& text, const std::string& file);

nlohmann::ordered_json to_json(const Cluster&);

}  // namespace shardmark
