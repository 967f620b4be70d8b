// The flags are kept as typed and read when all are known. The question on a public address is
// asked on a terminal only, on stderr, so that no script hangs at it.
#include "cli/commands/service_flags.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/text.h"
#include "trial/workloads/service/server_address.h"

namespace ocrtune {
namespace {

Status read_seconds(const char* flag, const std::string& text, double& seconds) {
  if (text.empty()) return Status();
  const auto read = parse_duration(text);
  if (!read || *read <= 0) {
    return Error{ErrorKind::usage, std::string(flag) + ": '" + text + "' is no time; write 90s"};
  }
  seconds = *read;
  return Status();
}

bool asked_and_allowed(const std::string& host) {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) return false;
  std::fputs((host + " is a public address. Put it under load? [y/N] ").c_str(), stderr);
  std::string answer;
  std::getline(std::cin, answer);
  return lower(std::string(trim(answer))).substr(0, 1) == "y";
}

}  // namespace

void declare_service_flags(Flags& cli, ServiceFlags& flags, const char* title) {
  cli.option("--request-timeout", flags.request_timeout, "DURATION",
             "Give a request up after this time, its job included")
      .default_text("ten first answers, at least 30s")
      .under(title);
  cli.option("--start-timeout", flags.start_timeout, "DURATION",
             "Wait this time for the first answer of a server or command")
      .default_text("1m of idleness, 10m of work")
      .under(title);
  cli.option("--max-in-flight", flags.max_in_flight, "N", "Most requests under way at once")
      .default_text("as many as bring more")
      .range(1, 1024)
      .under(title);
  cli.toggle("--yes", flags.yes, "Load a server at a public address without being asked")
      .under(title);
}

Result<ServicePatience> read_patience(const ServiceFlags& flags) {
  ServicePatience patience;
  OCRTUNE_TRY(read_seconds("--request-timeout", flags.request_timeout, patience.request_seconds));
  OCRTUNE_TRY(read_seconds("--start-timeout", flags.start_timeout, patience.start_seconds));
  return patience;
}

Status check_may_load(const std::string& url, const ServiceFlags& flags) {
  if (url.empty() || flags.yes || is_private_url(url)) return Status();
  const std::string host = url_place(url).host;
  if (asked_and_allowed(host)) return Status();
  return Error{ErrorKind::usage, host +
                                     " is a public address, which a load could disturb: --yes "
                                     "loads it all the same, --max-in-flight N bounds the load"};
}

}  // namespace ocrtune
