// A training of 12 steps that saves its state every 3, in the way of one framework or another, file
// by file in place; the first time that it comes to byte BYTE of the save at step STEP it is
// killed.
//
//   torn_saver paddle|torch|folder|own FOLDER STEP BYTE [--resume PATH]
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kSteps = 12, kSaveEvery = 3;

struct Saver {
  std::string form, folder;
  int kill_step = 0, kill_byte = 0;
  int written = 0;  // bytes of this save
  int at_step = 0;

  void put(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) std::exit(5);
    std::setvbuf(file, nullptr, _IONBF, 0);
    for (const char c : text) {
      if (at_step == kill_step && written++ == kill_byte) {
        const std::string mark = folder + "/killed";
        struct stat facts {};
        if (::stat(mark.c_str(), &facts) != 0) {
          std::ofstream(mark) << "once";
          ::kill(::getpid(), SIGKILL);
        }
      }
      std::fputc(c, file);
    }
    std::fclose(file);
  }

  void save(int step, const std::string& state) {
    at_step = step;
    written = 0;
    const std::string number = std::to_string(step);
    const std::string pickle = std::string("\x80\x04", 2) + state + ".";
    const std::string zip = "PK\3\4" + state + "PK\5\6";
    if (form == "paddle") {
      put(folder + "/iter_" + number + ".pdopt", pickle);
      put(folder + "/iter_" + number + ".pdparams", pickle);
      put(folder + "/iter_" + number + ".states", pickle);
    } else if (form == "torch") {
      put(folder + "/epoch_" + number + ".pt", zip);
    } else if (form == "folder") {
      const std::string one = folder + "/checkpoint-" + number;
      ::mkdir(one.c_str(), 0777);
      put(one + "/pytorch_model.bin", zip);
      put(one + "/optimizer.pt", zip);
      put(one + "/trainer_state.json", "{\"global_step\": " + number + "}");
    } else {
      put(folder + "/" + number + ".ckpt", state + "|");
    }
  }

  // Gives the state's text, or ends as the framework would.
  std::string load(const std::string& path) const {
    std::string file = path;
    if (form == "paddle") file = path + ".pdparams";
    if (form == "folder") file = path + "/pytorch_model.bin";
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string all = text.str();
    const bool zip = form == "torch" || form == "folder";
    const std::size_t head = form == "own" ? 0 : zip ? 4 : 2, tail = zip ? 4 : 1;
    const std::string end = form == "own" ? "|" : zip ? "PK\5\6" : ".";
    const bool cut = all.size() < head + tail || all.substr(all.size() - tail) != end;
    if (form == "folder" && !std::ifstream(path + "/trainer_state.json")) {
      std::fprintf(stderr, "FileNotFoundError: [Errno 2] No such file or directory: '%s'\n",
                   (path + "/trainer_state.json").c_str());
      std::exit(1);
    }
    if (cut) {
      std::fprintf(stderr, "%s\n",
                   zip ? "RuntimeError: PytorchStreamReader failed reading zip archive: failed "
                         "finding central directory"
                       : "_pickle.UnpicklingError: pickle data was truncated");
      std::exit(1);
    }
    return all.substr(head, all.size() - head - tail);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  Saver saver;
  saver.form = argv[1];
  saver.folder = argv[2];
  saver.kill_step = std::atoi(argv[3]);
  saver.kill_byte = std::atoi(argv[4]);
  int begun = 0;
  double state = 1;
  if (argc == 7 && std::string(argv[5]) == "--resume") {
    if (std::sscanf(saver.load(argv[6]).c_str(), "%d %lf", &begun, &state) != 2) return 3;
  }
  for (int i = begun + 1; i <= kSteps; ++i) {
    state = state * 0.9 + 1.0 / i;
    std::printf("global_step: %d, loss: %.17g\n", i, state);
    std::fflush(stdout);
    if (i % kSaveEvery != 0) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%d %.17g", i, state);
    saver.save(i, text);
  }
  return 0;
}
