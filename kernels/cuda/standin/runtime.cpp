// How do the stand-in's streams and events behave? A stream is a thread that does what it was given
// in order, late by a random moment at each boundary; an event is what a stream has reached. Both
// are of the GPU that was current when they were made, and held to it as CUDA does.
#include "runtime.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "machine.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using shardmark::standin::current_gpu;
using shardmark::standin::machine;

// One recording of an event.
struct Reached {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Clock::time_point at{};

  void now() {
    {
      const std::lock_guard lock(mutex);
      done = true;
      at = Clock::now();
    }
    changed.notify_all();
  }
  bool is_done() {
    const std::lock_guard lock(mutex);
    return done;
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return done; });
  }
};

}  // namespace

struct StandinEvent {
  std::shared_ptr<Reached> last;  // none: never recorded
  bool timed = true;
  int gpu = current_gpu();
};

struct StandinStream;
namespace {
struct Streams {
  std::mutex mutex;
  std::vector<StandinStream*> all;
};
Streams& streams() {
  static auto* const known = new Streams;
  return *known;
}
}  // namespace

struct StandinStream {
  explicit StandinStream(unsigned seed)
      : gpu(current_gpu()), random(seed), thread([this] { work(); }) {
    const std::lock_guard lock(streams().mutex);
    streams().all.push_back(this);
  }
  ~StandinStream() {
    {
      const std::lock_guard lock(streams().mutex);
      std::erase(streams().all, this);
    }
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    arrived.notify_one();
    thread.join();
  }

  void push(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex);
      tasks.push_back(std::move(task));
    }
    arrived.notify_one();
  }
  // As a GPU that has other things to do, at one boundary of four: to fall asleep and to wake up
  // takes longer than most kernels here.
  void dawdle() {
    if (const int most = machine().late_us; most > 0 && random() % 4 == 0)
      std::this_thread::sleep_for(
          std::chrono::microseconds(random() % static_cast<unsigned>(most)));
  }
  std::shared_ptr<Reached> here() {
    auto reached = std::make_shared<Reached>();
    push([reached] { reached->now(); });
    return reached;
  }
  const int gpu;

 private:
  void work() {
    while (true) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex);
        arrived.wait(lock, [this] { return stop || !tasks.empty(); });
        if (tasks.empty()) return;
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      try {
        task();
      } catch (const std::exception& e) {
        shardmark::standin::fail(e.what());
      }
    }
  }

  std::minstd_rand random;
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<std::function<void()>> tasks;
  bool stop = false;
  std::thread thread;
};

namespace shardmark::standin {

void enqueue(cudaStream_t stream, std::function<void()> task) {
  if (stream) {
    stream->push(std::move(task));
  } else {
    try {
      task();
    } catch (const std::exception& e) {
      fail(e.what());
    }
  }
}

void wait_for_all_gpus() {
  std::vector<std::shared_ptr<Reached>> all;
  {
    const std::lock_guard lock(streams().mutex);
    for (StandinStream* s : streams().all) all.push_back(s->here());
  }
  for (const auto& reached : all) reached->wait();
}

bool is_of(cudaStream_t stream, int gpu) { return !stream || stream->gpu == gpu; }
cudaError_t may_launch(cudaStream_t stream) {
  return is_of(stream, current_gpu()) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

}  // namespace shardmark::standin

const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorLaunchFailure:
      return machine().failure.c_str();
    default:
      return "invalid argument";
  }
}

cudaError_t cudaGetLastError() { return machine().sticky; }
cudaError_t cudaRuntimeGetVersion(int* v) { return *v = 13000, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* v) { return *v = machine().driver, cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* n) {
  *n = machine().error ? 0 : machine().gpus;
  return machine().error;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int gpu) {
  if (gpu < 0 || gpu >= machine().gpus) return cudaErrorInvalidDevice;
  std::strcpy(p->name, "stand-in");
  p->uuid = {{static_cast<char>(0x3b + machine().first + gpu)}};
  p->totalGlobalMem = machine().memory;
  p->major = machine().major;
  p->minor = 0;
  p->multiProcessorCount = 4;
  return cudaSuccess;
}

// The first one is the GPU that profilers/driver_standin.cpp knows.
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int gpu) {
  if (gpu < 0 || gpu >= machine().gpus) return cudaErrorInvalidDevice;
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0",
                0x3b + machine().first + gpu);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  static std::atomic<unsigned> seeds{0};
  *s = new StandinStream(++seeds);
  return machine().sticky;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) { return delete s, cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  if (s) s->here()->wait();
  return machine().sticky;
}

// What was recorded when the call was made, not what is recorded later.
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  if (!e->last) return machine().sticky;
  s->push([s, reached = e->last] {
    reached->wait();
    s->dawdle();
  });
  return machine().sticky;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned flags) {
  *e = new StandinEvent{.last = nullptr, .timed = (flags & cudaEventDisableTiming) == 0};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) { return delete e, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  if (e->gpu != s->gpu) return cudaErrorInvalidResourceHandle;
  s->push([s] { s->dawdle(); });
  e->last = s->here();
  return machine().sticky;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  if (machine().sticky) return machine().sticky;
  return !e->last || e->last->is_done() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  if (e->last) e->last->wait();
  return machine().sticky;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  if (begin->gpu != end->gpu) return cudaErrorInvalidResourceHandle;
  if (!begin->last || !end->last || !begin->timed || !end->timed) return cudaErrorInvalidValue;
  if (!begin->last->is_done() || !end->last->is_done()) return cudaErrorNotReady;
  const std::chrono::duration<double, std::milli> passed = end->last->at - begin->last->at;
  *ms = static_cast<float>(passed.count() * (1 + machine().drift_ppm * 1e-6));
  return machine().sticky;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int a, int b) {
  return *can = a != b && machine().peers, cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaLaunchHostFunc(cudaStream_t s, void (*f)(void*), void* with) {
  const auto gpu = static_cast<std::size_t>(s ? s->gpu : current_gpu());
  shardmark::standin::enqueue(s, [=] {
    const std::lock_guard turn(machine().host_functions[gpu]);
    f(with);
  });
  return machine().sticky;
}
