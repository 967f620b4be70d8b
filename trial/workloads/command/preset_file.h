// Presets as data: what a program's command line looks like, in a TOML file (presets/*.toml).
//
//   help = "one line"
//   words = ["predict.py"]           # recognised by: last part of a path in the command, a word
//                                    # of a shell line, or of a script that the command names
//   notes = ["said before the first trial"]
//   files = ["--image_dir"]          # flags that name what must be there
//   behind = ["torchrun"]            # a flag that the command lacks is put behind this word of it
//   trains = false                   # it reads or serves: nothing is said of learning rates
//   [[tried]]                        # with which versions of the program, and when
//   version = "1.4.4"
//   date = 2026-11-22
//   [read]                           # how it tells its speed; as the flags of tune
//   log_reader = "torch"
//   metric = "page_time:s/page"
//   metric_of = "rank"
//   log_file = "{trial_dir}/log"
//   answers = ["lines"]              # where its texts are: trial/answers/answer_places.h
//   [knobs.batch]                    # what ocrtune turns, by its knob's name or an own one
//   flags = { "--rec_batch_num" = "{batch}" }    # "--jobs|-j": one flag, two spellings; a name
//                                    # without a dash is a key, written "Train.batch={batch}"
//   behind = ["ocr"]                 # of these flags; the command's word that they belong to, or
//                                    # -o for keys, which is added where the command lacks it
//   environment = { BATCH = "{batch}" }
//   usual = 6                        # its value where the command has no flag
//   values = ["none", "a", "b"]      # of an own knob that is tried without being asked for; with
//                                    # "none" its flags are left out
//   needs = ["gpus", "numa_nodes", "help", "numactl"]  # else it is not: GPUs, several NUMA nodes,
//                                    # a --help that names its flags, this program. A knob of
//                                    # ocrtune's whose needs are not met is left as it is
//   [service]                        # of a server, tuned with --mode infer
//   url = "http://127.0.0.1:{port}/v1/chat/completions"
//   flags = { "--port" = "{port}" }  # so that it listens there, in trials and for good
//   metrics = "/metrics#running"     # as --server-metrics
//   [trial]                          # what only a short trial needs
//   flags = { "--out" = "{trial_dir}/out" }   # "--quiet" = "": a switch
//   behind = ["-o"]
//   environment = { FORCE_COLOR = "1" }
//
// The file's name is the preset's. Folders, the first that has a name wins: the user's own,
// $XDG_CONFIG_HOME/ocrtune/presets, then share/ocrtune/presets beside the program's folder.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ocrtune {

using NameValues = std::vector<std::pair<std::string, std::string>>;  // values hold placeholders

struct PresetKnob {
  NameValues flags, environment;
  int usual = 0;                                   // 0: not told
  std::vector<std::string> values, needs, behind;  // behind: empty where the preset's own holds
};

struct PresetService {
  std::string url, metrics;
  NameValues flags;
};

struct PresetFile {
  std::string name, path;
  std::string help;
  std::vector<std::string> words, notes, files, behind;
  bool trains = true;
  std::vector<std::pair<std::string, std::string>> tried;  // version, date
  std::string log_reader, metric, metric_of, log_file;
  std::vector<std::string> answers;
  std::map<std::string, PresetKnob> knobs;
  NameValues trial_flags, trial_environment;
  std::vector<std::string> trial_behind;
  PresetService service;
};

// invalid: not TOML, or a key that there is not, that is lacking, or of the wrong kind: names file,
// line and key, and says what is wanted.
Result<PresetFile> parse_preset(const std::string& text, const std::string& path);

// All preset files, by name. Errors: those of the first one that is wrong.
Result<std::vector<PresetFile>> preset_files();

}  // namespace ocrtune
