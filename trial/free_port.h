// A TCP port of this machine for a service that a trial starts.
#pragma once

namespace ocrtune {

int free_port();  // that nobody listens on now; 0 when none can be had

}  // namespace ocrtune
