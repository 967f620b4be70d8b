// How a program is started on another host: by mpirun, srun or ssh, never by a protocol of ours.
//
// One launcher process for each host. A single mpirun or srun for all would end with the first host
// that cannot be reached, mix the hosts' output, and give its input to rank 0 alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"

namespace ocrtune {

enum class Launcher { ssh, mpirun, srun };

const char* launcher_name(Launcher launcher);

// `wanted` is a launcher's name, or "auto": srun within an allocation of Slurm, else ssh, else
// mpirun, the first that `installed` says is here. missing: it is not installed, none is.
Result<Launcher> choose_launcher(const std::string& wanted, const Environment& environment,
                                 const std::function<bool(const std::string&)>& installed);

// argv that runs `program` with `arguments` on the host, with its input and output. The program is
// looked for under the same path, then in PATH there.
std::vector<std::string> remote_command(Launcher launcher, const std::string& host,
                                        const std::string& program,
                                        const std::vector<std::string>& arguments);

}  // namespace ocrtune
