// Whether process ids here are those of the kernel log, and of everybody who shares /dev/shm.
#pragma once

namespace ocrtune {

// False in a container with process ids of its own. Source: PROC_PID_INIT_INO of the kernel.
bool in_initial_pid_namespace();

}  // namespace ocrtune
