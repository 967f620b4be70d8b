// Looks in this order: a known trainer by its start script, else scripts of the user's own, else
// labelled lines. The interpreter of the folder's own environment is judged by its files, since
// nothing of the folder is executed.
#include "tuner/project/project.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/plural.h"
#include "base/process.h"
#include "base/text.h"
#include "trial/workloads/command/paddleocr_config.h"
#include "tuner/project/scripts.h"

namespace ocrtune {
namespace {

using Kind = Project::Kind;

constexpr std::size_t kMaxConfigs = 400;  // looked at; a checkout of PaddleOCR has about 150

// Trainers are known by their start script and the package beside it.
struct Trainer {
  Kind kind;
  const char *name, *script, *package;
};
constexpr Trainer kTrainers[] = {{Kind::paddleocr, "PaddleOCR", "tools/train.py", "ppocr"},
                                 {Kind::openocr, "OpenOCR", "tools/train_rec.py", "openrec"}};

// Without control characters, which no config of a person's has in its name.
std::string plain_name(const std::string& name) {
  std::string plain = valid_utf8(name);
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  plain.erase(std::remove_if(plain.begin(), plain.end(), control), plain.end());
  return plain;
}

bool is_config_name(const std::string& name) {
  return ends_with(name, ".yml") || ends_with(name, ".yaml");
}

// YAML files below `folder`/`under`, by name; hidden folders are left out.
void collect_configs(const std::string& folder, const std::string& under, int depth,
                     std::vector<std::string>& configs) {
  const auto names = list_directory(join_path(folder, under));
  if (!names) return;
  for (const std::string& name : *names) {
    // A name that would change in a terminal or a TOML file is not offered.
    if (configs.size() == kMaxConfigs || name[0] == '.' || plain_name(name) != name) continue;
    const std::string path = under.empty() ? name : join_path(under, name);
    if (is_config_name(name)) {
      configs.push_back(path);
    } else if (depth > 0 && is_directory(join_path(folder, path))) {
      collect_configs(folder, path, depth - 1, configs);
    }
  }
}

// A config whose files are all there, labels among them, is worth more than one whose data is not.
int readiness(const Project& project, const std::string& config) {
  const auto read = read_paddleocr_config(join_path(project.folder, config), project.folder);
  if (!read) return read.error().kind == ErrorKind::missing ? 1 : 0;
  return look_for_paddleocr_files(*read, project.folder) && read->lines > 0 ? 3 : 2;
}

void find_config(Project& project) {
  std::vector<std::string> configs;
  collect_configs(project.folder, "", 0, configs);  // the user's own lie here
  // Recognition before detection and others, which the second look below adds.
  collect_configs(project.folder, "configs/rec", 3, configs);
  collect_configs(project.folder, "configs", 3, configs);
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& config : configs) {
    const bool seen = std::any_of(ranked.begin(), ranked.end(),
                                  [&](const auto& one) { return one.second == config; });
    const int ready = seen ? 0 : readiness(project, config);
    if (ready > 0) ranked.emplace_back(ready, config);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [ready, config] : ranked) project.other_configs.push_back(config);
  if (ranked.empty()) {
    project.missing.emplace_back(
        "no config with a Train section here or in configs/: name yours after -c in the command");
    return;
  }
  project.config = project.other_configs.front();
  project.other_configs.erase(project.other_configs.begin());
}

void look_at_config(Project& project) {
  if (project.config.empty()) return;
  const auto config =
      read_paddleocr_config(join_path(project.folder, project.config), project.folder);
  std::string line = "config " + project.config;
  if (!project.other_configs.empty()) {
    line += fmt::format(" (of {})", project.other_configs.size() + 1);
  }
  project.found.push_back(line);
  if (!config) {
    project.missing.push_back(project.config + ": " + config.error().what);
    return;
  }
  project.batch = config->batch;
  project.workers = config->workers;
  project.has_sampler = config->has_sampler;
  if (config->lines > 0) {
    project.found.push_back(fmt::format("data {}: {}", join(config->label_files, ", "),
                                        how_many(config->lines, "line")));
  }
  if (!config->dictionary.empty()) project.found.push_back("dictionary " + config->dictionary);
  const Status files = look_for_paddleocr_files(*config, project.folder);
  if (!files) project.missing.push_back(project.config + ": " + files.error().what);
}

bool find_trainer(Project& project) {
  for (const Trainer& trainer : kTrainers) {
    const bool here = path_exists(join_path(project.folder, trainer.script));
    const bool package = is_directory(join_path(project.folder, trainer.package));
    // PaddleOCR's script is also known alone, in trees that were cut down.
    if (!here || (!package && trainer.kind != Kind::paddleocr)) continue;
    project.kind = trainer.kind;
    project.script = trainer.script;
    project.found.push_back(fmt::format("{}: {}", trainer.name, trainer.script));
    return true;
  }
  return false;
}

bool find_script(Project& project) {
  const auto scripts = own_scripts(project.folder);
  if (scripts.empty()) return false;
  project.kind = Kind::script;
  project.script = scripts[0].file;
  project.serves = scripts[0].does == OwnScript::Does::serves;
  if (project.serves) {
    project.port_flag = scripts[0].port_flag;
    project.port = scripts[0].port;
    if (project.port_flag.empty() && project.port.empty()) {
      project.missing.push_back(
          fmt::format("the port of {}: put the one that it listens on in place of PORT in url",
                      project.script));
    }
  } else {
    project.batch_flag = scripts[0].batch_flag;
    project.workers_flag = scripts[0].workers_flag;
  }
  for (const OwnScript& script : scripts) {
    // Four lines are enough to read.
    if (project.found.size() == 4) break;
    if (script.does == OwnScript::Does::serves) {
      project.found.push_back(script.file + ": serves HTTP");
      continue;
    }
    project.found.push_back(
        fmt::format("{}: {}{}{}{}", script.file,
                    script.does == OwnScript::Does::trains ? "trains" : "reads pages",
                    script.library.empty() ? "" : " with " + script.library,
                    script.batch_flag.empty() ? "" : ", " + script.batch_flag,
                    script.workers_flag.empty() ? "" : ", " + script.workers_flag));
  }
  return true;
}

bool holds_lines(const std::string& folder) {
  return path_exists(join_path(folder, "labels.txt")) || path_exists(join_path(folder, "data.mdb"));
}

void find_lines(Project& project) {
  if (holds_lines(project.folder)) project.data = ".";
  for (const std::string& name :
       list_directory(project.folder).value_or(std::vector<std::string>())) {
    if (project.data.empty() && holds_lines(join_path(project.folder, name))) project.data = name;
  }
  if (project.data.empty()) return;
  if (project.kind == Kind::nothing) project.kind = Kind::lines;
  project.found.push_back("labelled lines: " + project.data);
}

// An interpreter of the folder's own comes first, then the active one, then those of PATH.
std::vector<std::string> interpreters(const std::string& folder, const Environment& environment) {
  std::vector<std::string> programs;
  for (const char* name : {".venv", "venv", "env"}) {
    const std::string program = join_path(join_path(folder, name), "bin/python");
    if (path_exists(program)) programs.push_back(program);
  }
  const std::string active = environment_value(environment, "VIRTUAL_ENV");
  if (!active.empty()) programs.push_back(join_path(active, "bin/python"));
  for (const char* name : {"python3", "python"}) programs.emplace_back(name);
  return programs;
}

// What an environment of the folder's own holds, by its files: nothing of the folder is executed.
Python python_by_files(const std::string& program) {
  Python python;
  python.program = program;
  const std::string lib = join_path(parent_path(parent_path(program)), "lib");
  for (const std::string& version : list_directory(lib).value_or({})) {
    if (!starts_with(version, "python3")) continue;
    const std::string packages = join_path(join_path(lib, version), "site-packages");
    for (const std::string& name : list_directory(packages).value_or({})) {
      if (!ends_with(name, ".dist-info")) continue;
      const std::size_t dash = name.find('-');  // paddlepaddle_gpu-3.2.2.dist-info
      const std::string number = name.substr(0, name.size() - 10).substr(dash + 1);
      if (starts_with(name, "paddlepaddle") && plain_name(name) == name) python.paddle = number;
      if (starts_with(name, "torch-") && plain_name(name) == name) python.torch = number;
    }
  }
  return python;
}

void find_python(Project& project, const Environment& environment, const AskPython& ask) {
  const std::string package = project.kind == Kind::paddleocr ? "paddle" : "torch";
  const std::string active = environment_value(environment, "VIRTUAL_ENV");
  const auto careful = [&](const std::string& program) -> Result<Python> {
    const bool own = starts_with(program, project.folder + "/");
    // The environment that the user has activated is theirs to run, be it inside the folder.
    const bool trusted = !active.empty() && program == join_path(active, "bin/python");
    return own && !trusted ? python_by_files(program) : ask(program);
  };
  project.python = python_with(package, project.folder, environment, careful);
  const Status imports = check_imports(project.python, package);
  if (imports) {
    project.found.push_back(
        fmt::format("{}: {} {}", project.python.program, package, project.python.version(package)));
  } else {
    project.missing.push_back(imports.error().what);
  }
}

}  // namespace

std::vector<std::string> tuned_flags(const Project& project) {
  std::vector<std::string> words;
  for (const auto& [flag, value] :
       {std::pair(project.batch_flag, "{batch}"), std::pair(project.workers_flag, "{workers}"),
        std::pair(project.port_flag, "{port}")}) {
    if (!flag.empty()) words.insert(words.end(), {flag, value});
  }
  return words;
}

Result<Python> ask_python(const std::string& program) {
  ProcessOptions options;
  // What lies in the current folder is not imported.
  options.arguments = {program, "-c",
                       "import sys\n"
                       "sys.path[:] = [one for one in sys.path if one not in ('', '.')]\n"
                       "for name in ('paddle', 'torch'):\n"
                       "    try:\n"
                       "        print('\\nocrtune:', name, __import__(name).__version__)\n"
                       "    except ModuleNotFoundError as error:\n"
                       "        if error.name != name: print('\\nocrtune: why', error)\n"
                       "    except Exception as error:\n"
                       "        print('\\nocrtune: why', str(error).split('\\n')[0])\n"};
  auto process = OCRTUNE_TRY(Process::start(options));
  // An import of paddle or torch from a cold disk takes long (guess).
  const auto exit = process.wait(60);
  if (!exit || !exit->clean()) {
    return Error{ErrorKind::invalid, program + ": " + (exit ? exit->text() : "no answer in 60 s")};
  }
  Python python;
  python.program = program;
  for (const std::string& line : split(process.output().contents(), '\n')) {
    const auto said = [&line](const char* key) {
      const std::string head = std::string("ocrtune: ") + key + " ";
      return starts_with(line, head) ? line.substr(head.size()) : "";
    };
    if (const std::string version = said("paddle"); !version.empty()) python.paddle = version;
    if (const std::string version = said("torch"); !version.empty()) python.torch = version;
    if (const std::string why = said("why"); !why.empty()) python.why = why;
  }
  return python;
}

Python python_with(const std::string& package, const std::string& folder,
                   const Environment& environment, const AskPython& ask) {
  Python first;
  for (const std::string& program : interpreters(folder, environment)) {
    const auto python = ask(program);
    if (!python) continue;
    if (!python->version(package).empty()) return *python;
    if (first.program.empty()) first = *python;
  }
  return first;
}

Status check_imports(const Python& python, const std::string& package) {
  if (!python.version(package).empty()) return Status();
  if (python.program.empty()) return Error{ErrorKind::missing, "no Python here or in PATH"};
  // It is installed, and what it needs of the system is not.
  const bool lacks_library = python.why.find("cannot open shared object file") != std::string::npos;
  return Error{
      ErrorKind::missing,
      fmt::format("{} cannot import {}{}: {}", python.program, package,
                  python.why.empty() ? "" : " (" + python.why + ")",
                  lacks_library ? "install the package with that library (libgomp.so.1 is in "
                                  "Debian's libgomp1), and try again"
                                : "activate the environment that can, and try again")};
}

Result<Project> look_around(const std::string& folder, const Environment& environment,
                            const AskPython& ask) {
  Project project;
  project.folder = OCRTUNE_TRY(real_path(folder));
  const auto names = list_directory(project.folder);
  if (!names) return names.error();
  if (find_trainer(project)) {
    find_config(project);
    look_at_config(project);
    find_python(project, environment, ask);
    return project;
  }
  // A program of the user's own is what will be deployed; the built-in engine is another one.
  if (find_script(project)) {
    project.python.program = interpreters(project.folder, environment).front();
  }
  find_lines(project);
  return project;
}

}  // namespace ocrtune
