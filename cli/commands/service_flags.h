// How a server is asked: how long for an answer, with how many requests at once, and whether it may
// be loaded at all. Flags of slo, tune and doctor.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/flags.h"

namespace ocrtune {

struct ServiceFlags {
  std::string request_timeout, start_timeout;  // as typed
  int max_in_flight = 0;                       // 0: as many as bring more
  bool yes = false;
};

// `title` is the group in the help; empty: none.
void declare_service_flags(Flags& cli, ServiceFlags& flags, const char* title);

struct ServicePatience {
  double request_seconds = 0, start_seconds = 0;  // 0: not said
};
Result<ServicePatience> read_patience(const ServiceFlags& flags);

// usage: the address of `url` is a public one and nobody said yes. On a terminal it is asked.
Status check_may_load(const std::string& url, const ServiceFlags& flags);

}  // namespace ocrtune
