// A TCP port of this machine for a service that a trial starts.
#pragma once

namespace ocrtune {

int free_port();  // where nobody listens now, at any address; 0 when none can be had

}  // namespace ocrtune
