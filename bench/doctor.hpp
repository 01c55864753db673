#pragma once
// What does this machine offer, and what should be changed before it is measured?
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shardmark {

struct MeasuredRates {
  double streaming_one = 0, streaming_all = 0;  // bytes/s, read + written
  double memcpy_one = 0;                        // bytes/s copied, in the cache
  struct Products {
    std::string precision, by;  // fp32, bf16 or fp16; and what multiplies them
    double one = 0, all = 0;    // FLOP/s
  };
  std::vector<Products> products;
  struct OnGpu {
    std::string name;
    double copy = 0;                                       // bytes/s, read + written
    std::vector<std::pair<std::string, double>> products;  // by precision, FLOP/s
  };
  std::vector<OnGpu> gpus{};
};

// One line each; empty where nothing is wrong.
std::vector<std::string> advice(const nlohmann::json& machine);
std::string doctor_text(const nlohmann::json& machine, const MeasuredRates&);

struct DoctorArguments {
  std::string output;  // a cluster file of this machine; empty: none
};
CLI::App* add_doctor(CLI::App&, DoctorArguments&);
std::vector<std::string> doctor_flag_names();

// The command: measures for about two seconds, prints to standard output, returns the exit code.
int doctor(const DoctorArguments&);

}  // namespace shardmark
