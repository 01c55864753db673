// What does a process do that a launcher started as one rank? See rank_process.hpp.
#include "bench/rank_process.hpp"

#include <unistd.h>

#include <atomic>
#include <new>

#include "bench/last_words.hpp"
#include "bench/process.hpp"

namespace shardmark {

using nlohmann::json;

void print_line(const json& line) {
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (n <= 0) return;  // nobody listens any more
    done += static_cast<std::size_t>(n);
  }
}

std::string RankJob::shared(const std::function<std::string()>& on_rank_0) const {
  if (session.rank() != 0) return session.listen();
  std::string text = on_rank_0();
  session.tell(text);
  return text;
}

int rank_process(const std::function<json(const RankJob&)>& body) {
  die_with_parent();
  RankWatch watch;
  mpi::Session session;
  std::atomic<bool> said{false};
  const RankJob job{session,
                    [&](const Failure& f) {
                      said = true;
                      print_line(failure_line(f));
                    },
                    watch, print_line};
  std::string failure;
  int code = 1;
  try {
    const json answer = body(job);
    if (session.rank() == 0) print_line(answer);
    return 0;
  } catch (const InputError& e) {
    failure = e.what();
    code = 2;
  } catch (const std::bad_alloc&) {
    failure = "memory ran out";
  } catch (const std::exception& e) {
    failure = e.what();
  }
  if (!said) print_line({{"failure", failure}, {"rank", session.rank()}});
  session.abort(code);
}

}  // namespace shardmark
