// How is the loss checked and shared among threads? Row by row.
#include "kernels/operands.hpp"
#include "parallel.hpp"
#include "run.hpp"
#include "table.hpp"

namespace shardmark::cpu {

namespace {

const std::int32_t* targets_in(const Operands& is, ConstView v, std::size_t rows,
                               std::size_t classes) {
  const std::int32_t* t = is.in<std::int32_t>("targets", v, rows);
  for (std::size_t r = 0; r < rows; ++r) {
    if (t[r] < 0 || static_cast<std::size_t>(t[r]) >= classes) {
      is.fail("targets[" + std::to_string(r) + "] is " + std::to_string(t[r]) +
              ", but it must be 0 to " + std::to_string(classes - 1));
    }
  }
  return t;
}

}  // namespace

void run_op(const CrossEntropy& o, int threads) {
  const Operands is("cross_entropy", Space::host);
  const std::size_t classes = o.classes, rows = is.rows("logits", o.logits, classes);
  with_type(is, "logits", o.logits, [&]<class T>() {
    const T* logits = is.in<T>("logits", o.logits, rows * classes);
    const std::int32_t* targets = targets_in(is, o.targets, rows, classes);
    float* lse = is.out<float>("lse", o.lse, rows);
    double* loss = is.out<double>("loss", o.loss, o.loss.size());
    is.need(o.at < o.loss.size(), "entry " + std::to_string(o.at) + " lies behind the end of loss");
    const double sum = sum_of_blocks(threads, rows, 64, [&](std::size_t r, std::size_t count) {
      return table().of<T>().cross_entropy(logits + r * classes, targets + r, lse + r, count,
                                           classes);
    });
    loss[o.at] += o.scale * sum / static_cast<double>(rows);
  });
}

void run_op(const CrossEntropyBackward& o, int threads) {
  const Operands is("cross_entropy_backward", Space::host);
  const std::size_t classes = o.classes, rows = is.rows("logits", o.logits, classes);
  const std::int32_t* targets = targets_in(is, o.targets, rows, classes);
  const float* lse = is.in<float>("lse", o.lse, rows);
  double scale = o.scale;
  if (o.control)
    scale *= static_cast<double>(is.in<float>(
        "control", o.control, control_slots)[static_cast<int>(ControlSlot::loss_scale)]);
  const float factor = static_cast<float>(scale / static_cast<double>(rows));
  with_type(is, "logits", o.logits, [&]<class T>() {
    T* logits = is.out<T>("logits", o.logits, rows * classes);
    parallel_for(threads, rows, 1, [&](std::size_t b, std::size_t e) {
      table().of<T>().cross_entropy_backward(logits + b * classes, lse + b, targets + b, e - b,
                                             classes, factor);
    });
  });
}

}  // namespace shardmark::cpu
