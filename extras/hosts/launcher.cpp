// Command lines that work without any set-up of ours: no password prompt, a bounded connect, no
// binding by the launcher, input and output passed through. The far side looks for the program in a
// shell script.
#include "extras/hosts/launcher.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {

const char* launcher_name(Launcher launcher) {
  switch (launcher) {
    case Launcher::ssh:
      return "ssh";
    case Launcher::mpirun:
      return "mpirun";
    case Launcher::srun:
      return "srun";
  }
  return "";
}

Result<Launcher> choose_launcher(const std::string& wanted, const Environment& environment,
                                 const std::function<bool(const std::string&)>& installed) {
  std::vector<Launcher> order{Launcher::ssh, Launcher::mpirun};
  if (!environment_value(environment, "SLURM_JOB_ID").empty()) {
    order.insert(order.begin(), Launcher::srun);
  }
  if (wanted != "auto") order = {Launcher::ssh, Launcher::mpirun, Launcher::srun};
  for (const Launcher launcher : order) {
    const std::string name = launcher_name(launcher);
    if (wanted != "auto" && wanted != name) continue;
    if (installed(name)) return launcher;
    if (wanted == name) {
      return Error{ErrorKind::missing, "--launcher " + name + ": '" + name + "' is not in PATH"};
    }
  }
  return Error{ErrorKind::missing, "--hosts: neither ssh nor mpirun is in PATH"};
}

std::vector<std::string> remote_command(Launcher launcher, const std::string& host,
                                        const std::string& program,
                                        const std::vector<std::string>& arguments) {
  const std::string path = shell_quote(program), rest = shell_join(arguments);
  const std::string script = fmt::format(
      "if [ -x {0} ]; then exec {0} {1}; elif command -v ocrtune >/dev/null; then exec ocrtune "
      "{1}; else echo 'no ocrtune there, neither '{0}' nor in PATH: unpack the archive of "
      "scripts/portable' >&2; exit 127; fi",
      path, rest);
  switch (launcher) {
    case Launcher::ssh:
      return {"ssh", "-T",
              "-o",  "BatchMode=yes",
              "-o",  "ConnectTimeout=10",
              host,  "exec sh -c " + shell_quote(script)};  // the login shell may be tcsh or fish
    case Launcher::mpirun: {
      std::vector<std::string> command{"mpirun", "--host", host, "-n", "1", "--bind-to", "none"};
      if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
      for (const char* word : {"sh", "-c"}) command.emplace_back(word);
      command.push_back(script);
      return command;
    }
    case Launcher::srun:
      // Beside other steps of the allocation (--overlap), without a memory limit of its own
      // (--mem=0).
      return {"srun",    "--nodelist=" + host, "--nodes=1",    "--ntasks=1", "--overlap",
              "--mem=0", "--cpu-bind=none",    "--unbuffered", "sh",         "-c",
              script};
  }
  return {};
}

}  // namespace ocrtune
