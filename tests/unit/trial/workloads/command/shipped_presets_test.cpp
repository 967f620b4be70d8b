// The files of presets/ as they are shipped: the line that each makes of a command as one types it.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_template.h"
#include "trial/workloads/command/preset_apply.h"

namespace ocrtune {
namespace {

struct ShippedPreset {
  const char* name;
  const char* knobs;
  const char* command;
  const char* launch;     // what is recommended
  const char* trial;      // what is started in a trial; empty: the same
  const char* reader;     // log reader
  const char* variables;  // of a trial
  const char* kept = "";  // of these, in the line that is recommended
  bool trains = true;     // told of the learning rate
};

const std::vector<ShippedPreset>& shipped_presets() {
  static const std::vector<ShippedPreset> kTable = {
      {"docling", "threads", "docling convert --num-threads 4 scan.pdf",
       "docling convert --num-threads {threads} scan.pdf",
       "docling convert --num-threads {threads} scan.pdf --output={trial_dir}/out", "runs", "", "",
       false},
      {"ketos", "threads batch workers", "ketos --device cpu train -B 4 -o model lines.arrow",
       "ketos --workers={workers} --threads={threads} --device cpu train -B {batch} -o model "
       "lines.arrow",
       "ketos --workers={workers} --threads={threads} --device cpu train -B {batch} -o "
       "{trial_dir}/model lines.arrow",
       "progress", "COLUMNS=200 FORCE_COLOR=1 TERM=xterm"},
      {"kraken", "threads batch workers", "kraken -i a.png a.txt segment -bl ocr -m m.safetensors",
       "kraken --threads={threads} -i a.png a.txt segment -bl ocr --num-line-workers={workers} "
       "--batch-size={batch} -m m.safetensors",
       "", "runs", "", "", false},
      {"ocrmypdf", "nproc threads", "ocrmypdf -j 2 in.pdf out.pdf",
       "ocrmypdf -j {nproc} in.pdf out.pdf",
       "ocrmypdf -j {nproc} in.pdf out.pdf --sidecar={trial_dir}/text", "runs",
       "OMP_THREAD_LIMIT={threads}", "OMP_THREAD_LIMIT={threads}", false},
      {"openocr", "threads batch workers", "python tools/train_rec.py -c rec.yml",
       "python tools/train_rec.py -c rec.yml -o Train.loader.num_workers={workers} "
       "Train.sampler.first_bs={batch}",
       "python tools/train_rec.py -c rec.yml -o Global.save_epoch_step=[1000000000,1] "
       "Global.print_batch_step=1 Global.output_dir={trial_dir}/out "
       "Global.eval_epoch_step=[1000000000,1] Global.eval_batch_step=[1000000000,1] "
       "Train.loader.num_workers={workers} Train.sampler.first_bs={batch}",
       "paddleocr", "OMP_NUM_THREADS={threads}", "OMP_NUM_THREADS={threads}"},
      {"paddleocr-cli", "threads batch", "paddleocr ocr -i pages --cpu_threads 4",
       "paddleocr ocr -i pages --cpu_threads {threads} --text_recognition_batch_size={batch}", "",
       "paddleocr-infer", "", "", false},
      {"paddlex", "threads", "paddlex --serve --pipeline OCR --port 808{copy}",
       "paddlex --serve --pipeline OCR --port 808{copy}", "", "", "", "", false},
      {"rapidocr", "threads batch", "rapidocr_onnxruntime -img a.png",
       "rapidocr_onnxruntime -img a.png --rec_batch_num={batch} --intra_op_num_threads={threads}",
       "", "", "", "", false},
      {"sglang", "max_running_requests", "python -m sglang.launch_server --model-path m",
       "python -m sglang.launch_server --model-path m "
       "{max_running_requests?--max-running-requests=} --port={port}",
       "python -m sglang.launch_server --model-path m "
       "{max_running_requests?--max-running-requests=} --port={port} --disable-radix-cache",
       "", "", "", false},
      {"tesseract", "threads", "tesseract a.png -", "tesseract a.png -", "", "",
       "OMP_THREAD_LIMIT={threads}", "OMP_THREAD_LIMIT={threads}", false},
      {"torchrun", "nproc", "torchrun --nproc-per-node 4 t.py",
       "torchrun --nproc-per-node {nproc} t.py",
       "torchrun --master_port={master_port} --nproc-per-node {nproc} t.py", "", ""},
      {"vllm", "gpu_memory_utilization", "vllm serve m --port 8000",
       "vllm serve m --port {port} --gpu-memory-utilization={gpu_memory_utilization}",
       "vllm serve m --port {port} --gpu-memory-utilization={gpu_memory_utilization} "
       "--no-enable-prefix-caching",
       "", "", "", false},
  };
  return kTable;
}

std::string variables_text(const CommandWorkload& workload) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : workload.environment) texts.push_back(name + "=" + value);
  return join(texts, " ");
}

TEST(ShippedPresets, MakeTheLineThatTheirProgramTakes) {
  for (const ShippedPreset& row : shipped_presets()) {
    const std::string path = OCRTUNE_SOURCE_DIR + "/presets/" + row.name + ".toml";
    const auto text = read_file(path, 1 << 20);
    ASSERT_TRUE(text.ok()) << path;
    const auto preset = parse_preset(*text, path);
    ASSERT_TRUE(preset.ok()) << preset.error().what;
    PreparedCommand command;
    command.workload.command = words(row.command);
    command.workload.knobs = words(row.knobs);
    const Status applied = apply_preset_file(command, *preset);
    ASSERT_TRUE(applied.ok()) << row.name << ": " << applied.error().what;
    const CommandWorkload launch = launch_workload(command);
    EXPECT_EQ(join(launch.command, " "), row.launch);
    EXPECT_EQ(join(command.workload.command, " "), *row.trial == '\0' ? row.launch : row.trial);
    EXPECT_EQ(command.workload.log_reader, row.reader) << row.name;
    EXPECT_EQ(variables_text(command.workload), row.variables) << row.name;
    EXPECT_EQ(variables_text(launch), row.kept) << row.name;
    EXPECT_EQ(command.trains, row.trains) << row.name;
  }
}

TEST(ShippedPresets, EachHasARowHere) {
  std::vector<std::string> files;
  for (const ShippedPreset& row : shipped_presets())
    files.push_back(row.name + std::string(".toml"));
  EXPECT_THAT(list_directory(OCRTUNE_SOURCE_DIR + "/presets").value(),
              ::testing::UnorderedElementsAreArray(files));
}

}  // namespace
}  // namespace ocrtune
