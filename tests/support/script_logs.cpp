#include "tests/support/script_logs.h"

#include <cmath>

#include <fmt/format.h>

namespace ocrtune {
namespace {

constexpr double kStart = 3;  // seconds until the first step

// One step after the other, a little uneven; `line` gives what is printed after a step, or nothing.
template <class Line>
std::vector<ScriptLine> steps(const ScriptJob& job, std::vector<ScriptLine> lines,
                              const Line& line) {
  double now = kStart;
  for (int step = 0; now < kStart + job.seconds; ++step) {
    const double took = job.step_seconds * (1 + 0.05 * std::sin(1.7 * step));
    now += took;
    const std::string text = line(step, took, now - kStart);
    if (!text.empty()) lines.emplace_back(now, text);
  }
  return lines;
}

std::string clock_text(double seconds) {
  const int whole = static_cast<int>(seconds);
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

double loss_after(int step) { return 8.0 / (1 + 0.1 * step); }

std::vector<ScriptLine> paddleocr(const ScriptJob& job) {
  return steps(job, {{1, "[2024/05/01 10:00:01] ppocr INFO: train dataloader has 312 iters"}},
               [&](int step, double took, double) -> std::string {
                 if ((step + 1) % 10 != 0) return "";
                 return fmt::format(
                     "[2024/05/01 10:00:{:02}] ppocr INFO: epoch: [1/100], global_step: {}, lr: "
                     "0.000500, acc: 0.0, norm_edit_dis: 0.0, loss: {:.6f}, avg_reader_cost: "
                     "0.00110 s, avg_batch_cost: {:.5f} s, avg_samples: {:.1f}, ips: {:.5f} "
                     "samples/s, eta: 1:02:11",
                     step % 60, step + 1, loss_after(step), took, 1.0 * job.batch,
                     job.batch / took);
               });
}

std::vector<ScriptLine> open_ocr(const ScriptJob& job) {
  return steps(job, {{1, "[2024/05/01 10:00:01] openrec INFO: number worker: 4"}},
               [&](int step, double took, double) -> std::string {
                 if ((step + 1) % 10 != 0) return "";
                 return fmt::format(
                     "[2024/05/01 10:00:{:02}] openrec INFO: epoch: [1/20], global_step: {}, lr: "
                     "0.000650, loss: {:.6f}, acc: 0.0, norm_edit_dis: 0.0, avg_reader_cost: "
                     "0.00210 s, avg_batch_cost: {:.5f} s, avg_samples: {:.1f}, ips: {:.5f} "
                     "samples/s, eta: 0:52:01",
                     step % 60, step + 1, loss_after(step), took, 1.0 * job.batch,
                     job.batch / took);
               });
}

std::vector<ScriptLine> mmocr(const ScriptJob& job) {
  return steps(job, {{1, "05/01 10:00:01 - mmengine - INFO - Checkpoints will be saved to work"}},
               [&](int step, double took, double) -> std::string {
                 if ((step + 1) % 20 != 0) return "";
                 return fmt::format(
                     "05/01 10:00:{:02} - mmengine - INFO - Epoch(train)  [1][{:>4}/4000]  lr: "
                     "1.0000e-03  eta: 1:10:00  time: {:.4f}  data_time: 0.0041  memory: 1204  "
                     "loss: {:.4f}  loss_ctc: {:.4f}",
                     step % 60, step + 1, took, loss_after(step), loss_after(step));
               });
}

std::vector<ScriptLine> doctr(const ScriptJob& job) {
  return steps(job,
               {{1, "Namespace(train_path='lines', arch='crnn_vgg16_bn', epochs=10)"},
                {2, "Train set loaded in 0.41s (9984 samples in 156 batches)"}},
               [&](int step, double took, double past) {
                 const int done = step + 1;
                 return fmt::format(
                     "Training loss: {:.6}: {:>3}%|{:<10}| {}/156 [{}<{}, {:5.2f}it/s]",
                     loss_after(step), 100 * done / 156, std::string(10 * done / 156 % 11, '#'),
                     done % 157, clock_text(past), clock_text(39 - std::fmod(past, 39)), 1 / took);
               });
}

// Prints at each validation.
std::vector<ScriptLine> deep_text_recognition(const ScriptJob& job) {
  return steps(
      job, {{1, "dataset_root: data_lmdb_train"}, {1.2, "num total samples of MJ: 7224612 x 0.5"}},
      [&](int step, double, double past) -> std::string {
        if ((step + 1) % 15 != 0) return "";
        return fmt::format(
            "[{}/300000] Train loss: {:.5f}, Valid loss: {:.5f}, Elapsed_time: {:.5f}", step + 1,
            loss_after(step), loss_after(step), past);
      });
}

std::vector<ScriptLine> crnn_pytorch(const ScriptJob& job) {
  return steps(job, {{1, "Namespace(adadelta=False, batchSize=64, displayInterval=5)"}},
               [&](int step, double, double) -> std::string {
                 if ((step + 1) % 5 != 0) return "";
                 return fmt::format("[0/25][{}/2250] Loss: {:.6f}", step + 1, loss_after(step));
               });
}

std::vector<ScriptLine> trocr_trainer(const ScriptJob& job) {
  std::vector<ScriptLine> lines = {
      {0.5, "Map: 100%|##########| 2000/2000 [00:00<00:00, 10893.21 examples/s]"}};
  return steps(job, std::move(lines), [&](int step, double took, double past) {
    if (step % 50 == 49) {
      return fmt::format(
          "{{'loss': {:.4f}, 'grad_norm': 3.1, 'learning_rate': 4.9e-05, 'epoch': {:.2f}}}",
          loss_after(step), step / 400.0);
    }
    return fmt::format("{:>3}%|{:<10}| {}/1200 [{}<05:00, {:5.2f}it/s]", step / 12, "##", step + 1,
                       clock_text(past), 1 / took);
  });
}

std::vector<ScriptLine> imagenet(const ScriptJob& job) {
  return steps(job, {{1, "=> creating model 'resnet18'"}},
               [&](int step, double took, double) -> std::string {
                 if (step % 10 != 0) return "";
                 return fmt::format(
                     "Epoch: [0][{:>4}/5005]\tTime {:6.3f} ({:6.3f})\tData  0.004 ( 0.021)\tLoss "
                     "{:.4e} ({:.4e})\tAcc@1   0.00 (  0.31)\tAcc@5   0.39 (  1.25)",
                     step + 1, took, job.step_seconds, loss_after(step), loss_after(step));
               });
}

std::vector<ScriptLine> timm(const ScriptJob& job) {
  return steps(job, {{1, "Model mobilenetv3_large_100 created, param count:5483032"}},
               [&](int step, double took, double) -> std::string {
                 if (step % 10 != 0) return "";
                 const double rate = job.nproc * job.batch / took;  // of all ranks
                 return fmt::format(
                     "Train: 0 [{:>4}/1251 ({:>3.0f}%)]  Loss: {:#.3g} ({:#.3g})  Time: {:.3f}s, "
                     "{:>7.2f}/s  ({:.3f}s, {:>7.2f}/s)  LR: 1.000e-04  Data: 0.010 (0.020)",
                     step, step / 12.51, loss_after(step), loss_after(step), took, rate,
                     job.step_seconds, job.nproc * job.batch / job.step_seconds);
               });
}

std::vector<ScriptLine> torchvision(const ScriptJob& job) {
  return steps(job, {{1, "Creating data loaders"}, {2, "Start training"}},
               [&](int step, double took, double) -> std::string {
                 if (step % 10 != 0) return "";
                 return fmt::format(
                     "Epoch: [0]  [{:>4}/5005]  eta: 0:20:51  lr: 0.1  img/s: {:.3f} ({:.3f})  "
                     "loss: {:.4f} ({:.4f})  acc1: 0.0000 (0.1)  time: {:.4f}  data: 0.0040",
                     step, job.batch / took, job.batch / job.step_seconds, loss_after(step),
                     loss_after(step), took);
               });
}

std::vector<ScriptLine> mnist(const ScriptJob& job) {
  return steps(job, {}, [&](int step, double, double) -> std::string {
    if (step % 10 != 0) return "";
    return fmt::format("Train Epoch: 1 [{}/60000 ({:.0f}%)]\tLoss: {:.6f}", step * job.batch,
                       100.0 * step * job.batch / 60000, loss_after(step));
  });
}

std::vector<ScriptLine> page_latency(const ScriptJob& job) {
  return steps(job, {{0.4, "Initializing OCR model"}, {2.9, "OCR model initialized successfully!"}},
               [&](int, double took, double) {
                 return fmt::format("OCR prediction latency: {:.4f} seconds ({:.2f} ms)", took,
                                    1000 * took);
               });
}

std::vector<ScriptLine> nano_gpt(const ScriptJob& job) {
  return steps(job, {{1, "number of parameters: 10.65M"}}, [&](int step, double took, double) {
    return fmt::format("iter {}: loss {:.4f}, time {:.2f}ms, mfu 1.12%", step, loss_after(step),
                       1000 * took);
  });
}

std::vector<ScriptLine> megatron(const ScriptJob& job) {
  return steps(job, {{1, "> building train, validation, and test datasets ..."}},
               [&](int step, double took, double) -> std::string {
                 if ((step + 1) % 5 != 0) return "";
                 return fmt::format(
                     " iteration {:8}/{:8} | consumed samples: {:12} | elapsed time per iteration "
                     "(ms): {:.1f} | throughput per GPU (TFLOP/s/GPU): 12.3 | learning rate: "
                     "1.5E-04 | global batch size: {:5} | lm loss: {:.6E} | loss scale: 1.0 |",
                     step + 1, 5000, (step + 1) * job.batch * job.nproc, 1000 * took,
                     job.batch * job.nproc, loss_after(step));
               });
}

std::vector<ScriptLine> deep_speed(const ScriptJob& job) {
  return steps(job, {{1, "[2024-05-01 10:00:01,101] [INFO] [engine.py:96:log_dist] ready"}},
               [&](int step, double took, double) -> std::string {
                 if ((step + 1) % 10 != 0) return "";
                 const double rate = job.nproc * job.batch / took;
                 return fmt::format(
                     "[2024-05-01 10:00:{:02},{}] [INFO] [timer.py:260:stop] epoch=0/micro_step={}/"
                     "global_step={}, RunningAvgSamplesPerSec={}, CurrSamplesPerSec={}, "
                     "MemAllocated=4.32GB, MaxMemAllocated=38.49GB",
                     step % 60, 100 + step, step + 1, step + 1, rate, rate);
               });
}

std::vector<ScriptLine> keras(const ScriptJob& job) {
  return steps(job, {{1, "Epoch 1/10"}}, [&](int step, double took, double past) {
    return fmt::format("{:>4}/1875 [{:.>30}] - ETA: {:.0f}s - loss: {:.4f} - {:.0f}ms/step",
                       step + 1, "=>", 469 - past, loss_after(step), 1000 * took);
  });
}

}  // namespace

const std::vector<Script>& public_scripts() {
  static const std::vector<Script> kScripts = {
      {"PaddleOCR", true, paddleocr},
      {"OpenOCR", true, open_ocr},
      {"MMOCR", true, mmocr},
      {"docTR", true, doctr},
      {"deep-text-recognition-benchmark", true, deep_text_recognition},
      {"crnn.pytorch", true, crnn_pytorch},
      {"TrOCR by Trainer", true, trocr_trainer},
      {"ImageNet example", true, imagenet},
      {"timm", true, timm},
      {"torchvision", true, torchvision},
      {"MNIST example", true, mnist},
      {"page latency", false, page_latency},
      {"nanoGPT", true, nano_gpt},
      {"Megatron-LM", true, megatron},
      {"DeepSpeed", true, deep_speed},
      {"Keras", true, keras},
  };
  return kScripts;
}

}  // namespace ocrtune
