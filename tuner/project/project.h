// What a folder holds that ocrtune could tune: a checkout of an OCR trainer with its config, a
// script that trains, serves or reads pages, or labelled lines; and which Python would run it.
//
// A look at files and at one interpreter, the active one or that of PATH; nothing of the folder is
// executed, and nothing is trained or measured here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// One interpreter and what it can import.
struct Python {
  std::string program;        // as a command would name it; empty: none was found
  std::string paddle, torch;  // versions; empty: cannot be imported
  std::string why;            // why the wanted one cannot be imported: the exception's line

  const std::string& version(const std::string& package) const {
    return package == "paddle" ? paddle : torch;
  }
};

struct Project {
  enum class Kind { nothing, paddleocr, openocr, script, lines };

  Kind kind = Kind::nothing;
  std::string folder;                      // absolute
  std::string script;                      // "tools/train.py"; empty for lines
  std::string batch_flag;                  // of a script of the user's own: "--batch-size"
  std::string workers_flag, port_flag;     // likewise: "--num-workers", "--port"
  bool serves = false;                     // the script is an HTTP server
  std::string port;                        // where it listens without a port_flag; empty: unknown
  std::string config;                      // relative to `folder`; empty: none fits
  std::vector<std::string> other_configs;  // that could be trained as well, in order of preference
  int batch = 0, workers = 0;              // of the config; batch 0: it could not be read
  bool has_sampler = false;                // the config's batch is its sampler's
  std::string data;                        // of lines: folder or label file, relative to `folder`
  Python python;
  std::vector<std::string> found;    // what there is, a line each
  std::vector<std::string> missing;  // what tune would stumble over, each with the way out
};

// "--batch-size", "{batch}", ...: what a script's command line takes of the values of a trial.
std::vector<std::string> tuned_flags(const Project& project);

// What an interpreter can import of paddle and torch. Errors: as of Process::start; invalid, if it
// cannot be asked.
using AskPython = std::function<Result<Python>(const std::string& program)>;
Result<Python> ask_python(const std::string& program);

// The first that imports `package`, "paddle" or "torch": of the folder's own environments, the
// active one, and PATH. Else the first of all.
Python python_with(const std::string& package, const std::string& folder,
                   const Environment& environment, const AskPython& ask);
// missing: there is no such interpreter, or it cannot import `package`; says why.
Status check_imports(const Python& python, const std::string& package);

// Never fails for what is not there: that is what `missing` and Kind::nothing say. `environment`
// names an active virtual environment. Errors: missing (no such folder), denied.
Result<Project> look_around(const std::string& folder, const Environment& environment,
                            const AskPython& ask);

// Where the script answers: with {port} where its command line takes one, PORT where none is known.
std::string server_url(const Project& project);

// The settings file (`ocrtune tune --help` has the keys): what to run and how long, and as comments
// what could be set. The project is not Kind::nothing.
std::string settings_text(const Project& project, const Machine& machine);

}  // namespace ocrtune
