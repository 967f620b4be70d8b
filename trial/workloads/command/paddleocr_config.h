// The part of a PaddleOCR training config that a launch setting depends on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct PaddleOcrConfig {
  int batch = 1;             // Train.sampler.first_bs, else Train.loader.batch_size_per_card
  int workers = 0;           // Train.loader.num_workers
  bool has_sampler = false;  // Train.sampler is there: the batch changes from step to step
  bool use_gpu = true;       // Global.use_gpu; PaddleOCR's default is a GPU
  bool use_amp = false;
  bool shared_memory = true;        // Train.loader.use_shared_memory
  bool evaluates_by_epoch = false;  // Global.eval_batch_epoch, which outdoes eval_batch_step
  int evaluation_steps = 0;         // Global.eval_batch_step's interval; 0: unknown
  bool has_evaluation = false;      // an Eval section
  int epochs = 1;
  int height = 0, width = 0;  // of a training image; 0: unknown
  std::int64_t lines = 0;     // in all label files, after ratio_list; 0: unknown
  // As the config has them: relative to the folder in which the program runs.
  std::vector<std::string> label_files;  // Train.dataset.label_file_list
  std::string data_directory;            // Train.dataset.data_dir, of the images
  std::string dictionary;                // Global.character_dict_path; empty: the program's own
};

// -o KEY=VALUE, as dotted path and YAML text.
using ConfigOverrides = std::vector<std::pair<std::string, std::string>>;

// `directory`: where relative label files are looked for (empty: ours). `overrides` win over the
// file; values with a placeholder say nothing yet. missing: the config or one of its label files;
// invalid: not YAML (with the line), or no Train.loader; usage: an override of a section that the
// file has not, which PaddleOCR refuses too.
Result<PaddleOcrConfig> read_paddleocr_config(const std::string& path, const std::string& directory,
                                              const ConfigOverrides& overrides = {});

// Whether the dictionary and the images of the label files' first lines are there. missing: no
// dictionary or label file, without which nothing starts; invalid: some image is not there. Both
// name the first as the config does, with the key to mend.
Status look_for_paddleocr_files(const PaddleOcrConfig& config, const std::string& directory);

// Bytes of /dev/shm that the training loader of one process fills: its queue of 2 x workers batches
// of float32 images. 0 where it uses none, or where the image size is unknown.
double shm_need_bytes(const PaddleOcrConfig& config, int batch, int workers);

}  // namespace ocrtune
