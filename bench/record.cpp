// How does one executed cell become a line of records.jsonl, and how is such a file read back? See
// record.hpp.
#include "bench/record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "bench/embedded.hpp"
#include "bench/text.hpp"
#include "kernels/error.hpp"

namespace shardmark {

namespace {

using nlohmann::json;

// Empty where it is one; the version comes first, since another version explains whatever else is
// missing.
std::string why_no_record(const json& record, const json& required, const std::string& kind) {
  if (!record.is_object()) return "it is not a JSON object";
  const auto version = record.find("schema_version");
  if (version == record.end()) return "it lacks the key \"schema_version\"";
  if (*version != schema_version)
    return fmt::format(
        "its schema_version is {}, and this build reads {}; use the build that wrote it",
        version->dump(), schema_version);
  if (const json is = record.value("kind", json(training_kind)); is != kind)
    return fmt::format("its kind is {}, and records of kind {} are read here", is.dump(), kind);
  for (const json& key : required)
    if (!record.contains(key.get<std::string>()))
      return fmt::format("it lacks the key {}", key.dump());
  if (!record["cell"].is_object() || !record["cell"].contains("id")) return "its cell has no id";
  return "";
}

}  // namespace

Records read_records(const std::filesystem::path& folder, const std::string& kind) {
  const std::filesystem::path file = folder / "records.jsonl";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  return records_in(read_whole_file("records", file), file, kind);
}

Records records_in(const std::string& text, const std::filesystem::path& file,
                   const std::string& kind) {
  Records out;
  const json schema = json::parse(embedded("schema.json"));
  const json required = kind == training_kind
                            ? schema.at("required")
                            : schema.at("definitions").at(kind + "_record").at("required");
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    ++number;
    const std::size_t newline = text.find('\n', begin);
    const std::string line = text.substr(begin, newline == text.npos ? text.npos : newline - begin);
    begin = newline == text.npos ? text.size() : newline + 1;
    json record = json::parse(line, nullptr, false);
    // A line is written whole or not at all, newline last: only the very end of the file can be
    // torn.
    if (newline == text.npos || (record.is_discarded() && begin == text.size())) {
      out.warnings.push_back(
          fmt::format("{}: line {} is torn (the run ended while it was written) and is ignored.",
                      file.string(), number));
      return out;
    }
    const std::string why = record.is_discarded() ? std::string("it is not JSON")
                                                  : why_no_record(record, required, kind);
    if (!why.empty())
      throw InputError(fmt::format("{}: line {} is no record: {}.", file.string(), number, why));
    out.records.push_back(std::move(record));
    out.good_bytes = begin;
  }
  return out;
}

std::string model_at(const json& cell) {
  const std::string config = cell.value("config", "");
  if (config.empty()) return text_at(cell, "model");
  return config + (cell.value("vocab", "config") == "bytes" ? " on bytes" : "");
}

std::vector<json> latest(const std::vector<json>& records) {
  std::map<std::pair<std::string, std::int64_t>, std::size_t> last;
  for (std::size_t i = 0; i < records.size(); ++i)
    last[{id_at(records[i]), records[i]["round"]}] = i;
  std::vector<json> out;
  for (std::size_t i = 0; i < records.size(); ++i)
    if (last[{id_at(records[i]), records[i]["round"]}] == i) out.push_back(records[i]);
  return out;
}

const json* representative(const std::vector<json>& records, const std::string& id) {
  std::vector<const json*> ok;
  const json* other = nullptr;
  for (const json& r : records) {
    if (id_at(r) != id) continue;
    if (text_at(r, "status") == "ok") {
      ok.push_back(&r);
    } else if (!other || text_at(r, "status") == "failed") {
      other = &r;
    }
  }
  if (ok.empty()) return other;
  const auto step = [](const json* r) {
    return r->at("time").is_null() ? 0
                                   : r->at("time").at("median").at("step_ns").get<std::int64_t>();
  };
  std::stable_sort(ok.begin(), ok.end(),
                   [&](const json* a, const json* b) { return step(a) < step(b); });
  return ok[(ok.size() - 1) / 2];
}

std::vector<std::string> ids_in(const std::vector<json>& records) {
  std::vector<std::string> ids;
  for (const json& r : records)
    if (const std::string& id = id_at(r); std::find(ids.begin(), ids.end(), id) == ids.end())
      ids.push_back(id);
  return ids;
}

std::string named_cell(const std::string& flag, const std::string& cell,
                       const std::vector<std::string>& ids, const std::string& where) {
  if (std::find(ids.begin(), ids.end(), cell) != ids.end()) return cell;
  std::vector<std::string> begin, parts;  // parts: cell is whole parts of the id, zero1 not zero1_x
  for (const std::string& id : ids) {
    if (id.starts_with(cell)) begin.push_back(id);
    if (id.starts_with(cell + "/")) parts.push_back(id);
  }
  const auto& fitting = parts.empty() ? begin : parts;
  if (fitting.size() == 1) return fitting[0];
  if (!fitting.empty())
    throw InputError(
        fmt::format("{} \"{}\" is the beginning of {} cells of {}; give more of one of them:\n  {}",
                    flag, cell, fitting.size(), where, join(fitting, "\n  ")));
  throw InputError(fmt::format("{} \"{}\" is no cell of {}{} Its cells are:\n  {}", flag, cell,
                               where, suggestion(cell, ids), join(ids, "\n  ")));
}

RecordWriter::RecordWriter(const std::filesystem::path& folder, const std::string& kind)
    : file_(folder / "records.jsonl") {
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0)
    throw InputError(
        fmt::format("records cannot be written to {}: {}.", file_.string(), std::strerror(errno)));
  try {
    // Read under the lock only: what another run still writes would be taken for torn, and cut off.
    std::string why;
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      why = errno == EWOULDBLOCK ? "another run is writing to it" : std::strerror(errno);
    } else if (::ftruncate(descriptor_,
                           static_cast<off_t>(read_records(folder, kind).good_bytes)) != 0) {
      why = std::strerror(errno);
    }
    if (!why.empty())
      throw InputError(fmt::format("records cannot be written to {}: {}.", file_.string(), why));
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

RecordWriter::~RecordWriter() { ::close(descriptor_); }

void RecordWriter::append(const json& record) {
  const std::string line = record.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  struct stat before {};
  require(::fstat(descriptor_, &before) == 0, "the file of records is gone");
  int error = 0;
  for (std::size_t done = 0; done < line.size() && error == 0;) {
    const ssize_t n = ::write(descriptor_, line.data() + done, line.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0) {
      error = ENOSPC;
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  // A file system without fsync (EINVAL) is no reason to lose a record.
  if (error == 0 && ::fsync(descriptor_) != 0 && errno != EINVAL) error = errno;
  if (error == 0) return;
  const bool cut = ::ftruncate(descriptor_, before.st_size) == 0;
  throw Error(fmt::format(
      "a record could not be written to {}: {}; the records before it are whole{}.", file_.string(),
      std::strerror(error), cut ? "" : ", and its torn line is ignored when they are read"));
}

}  // namespace shardmark
