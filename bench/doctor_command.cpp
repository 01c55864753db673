// What does `shardmark doctor` do with what is typed? See doctor.hpp.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/calibration.hpp"
#include "bench/cell.hpp"
#include "bench/cluster_file.hpp"
#include "bench/doctor.hpp"
#include "bench/machine.hpp"
#include "bench/text.hpp"
#include "kernels/cpu/math.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/device_rates.hpp"
#include "kernels/rates.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// The first line of `mpirun --version`; null where there is no mpirun.
json mpirun_version() {
  std::string text;
  if (FILE* out = ::popen("mpirun --version 2>/dev/null", "r")) {
    char buffer[256];
    if (std::fgets(buffer, sizeof buffer, out)) text = buffer;
    while (std::fgets(buffer, sizeof buffer, out)) {
    }
    ::pclose(out);
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text.empty() ? json(nullptr) : json(text);
}

// Ceilings of one GPU; a small one has less to do.
MeasuredRates::OnGpu rates_of(const cuda::Gpu& gpu, int number) {
  const bool small = gpu.multiprocessors < 16;
  const auto device = [&](bool tf32) {
    cuda::Options o;
    o.gpu = number;
    o.overlap = false;
    o.tf32 = tf32;
    return cuda::make_device(std::move(o));
  };
  const auto plain = device(false), rounding = device(true);
  MeasuredRates::OnGpu rates{gpu.name, copy_rate(*plain, small ? 1'000'000 : 1'000'000'000), {}};
  const std::size_t rows = small ? 128 : 8192;
  for (const auto& [precision, on] : {std::pair("fp32", plain.get()),
                                      {"tf32", rounding.get()},
                                      {"bf16", plain.get()},
                                      {"fp16", plain.get()}})
    rates.products.emplace_back(precision, matrix_rate(*on, dtype_named(precision), rows));
  return rates;
}

// Ceilings of one core and of all, and of each GPU.
MeasuredRates measured_rates(int cores) {
  MeasuredRates rates;
  rates.streaming_one = streaming_rate(1);
  rates.memcpy_one = memcpy_rate(1'000'000);
  rates.streaming_all = cores > 1 ? streaming_rate(cores) : rates.streaming_one;
  for (const char* precision : {"fp32", "bf16", "fp16"}) {
    const DType type = dtype_named(precision);
    const double one = matrix_rate(1, type);
    rates.products.push_back(
        {precision, cpu::product_path(type), one, cores > 1 ? matrix_rate(cores, type) : one});
  }
  if (cuda::why_none().empty())
    for (const cuda::Gpu& gpu : cuda::gpus())
      rates.gpus.push_back(rates_of(gpu, static_cast<int>(rates.gpus.size())));
  return rates;
}

// So much is not measured for a file that cannot be.
void check_output(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
    throw InputError(fmt::format("--output {} is no regular file, but must become one.", file));
  const std::string probe = fmt::format("{}.{}", file, ::getpid());
  errno = 0;
  if (!std::ofstream(probe))
    throw InputError(fmt::format("--output {} cannot be written: {}.", file, std::strerror(errno)));
  fs::remove(probe, ignored);
}

int write_cluster(const std::string& file) {
  check_output(file);
  const Cluster c = calibrated([](const std::string& what) {
    fmt::print(stderr, "shardmark doctor: measuring {}\n", what);
  });
  write_whole_file("--output", file, to_json(c).dump(1) + "\n");
  fmt::print("{}: this machine, for `shardmark predict --cluster {}`\n", file, file);
  return 0;
}

}  // namespace

CLI::App* add_doctor(CLI::App& app, DoctorArguments& a) {
  CLI::App* command =
      app.add_subcommand("doctor", "What this machine offers, and what should be changed");
  command
      ->add_option("-o,--output", a.output,
                   "measure this machine for `predict --cluster` and write it here (some 15 s)")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::Join);
  return command;
}

std::vector<std::string> doctor_flag_names() { return {"-o", "--output", "--help"}; }

int doctor(const DoctorArguments& a) {
  if (!a.output.empty()) return write_cluster(a.output);
  json m = machine();
  m["mpirun"] = mpirun_version();
  if (m["mpirun"].is_null()) m["mpirun_reason"] = "not found";
  fmt::print("{}", doctor_text(m, measured_rates(m["cores_usable"])));
  return 0;
}

}  // namespace shardmark
