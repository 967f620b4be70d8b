// The user's own service as a load target: an HTTP address, with or without the command that serves
// it, or a command that answers JSON lines (trial/workloads/service/command_target.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

inline constexpr double kStartSeconds = 60;  // for a first answer, of a server that is idle ...
inline constexpr double kBusyStartSeconds = 600;  // ... and of one that works: it loads a model

struct ServedTargetOptions {
  std::vector<std::string> command;  // empty: the server that answers at `url` runs already
  // Empty: the command reads and answers JSON lines. With {copy} there are several servers, and
  // each request goes to one with the fewest under way.
  std::string url;
  std::vector<std::string> inputs;       // files to send, one kind each
  double start_seconds = kStartSeconds;  // start_patience.h
  int copies = 1;
  double busy_start_seconds = kBusyStartSeconds;
  double request_seconds = 0;  // for an answer of a server; 0: by the first one (http_target.h)
  int max_in_flight = 1024;    // connections; further requests wait
  AnswerCheck check{};         // of a server's answers
};

// Errors: as of http_target.h and command_target.h; failed: another program listens at the URL
// before the command is started, or the server ended or did not answer in time, with its last line
// and with the ports on which it listens instead.
// Where there is a command it ends with the target, and all that it has started.
Result<std::unique_ptr<LoadTarget>> make_served_target(const ServedTargetOptions& options);

// Of a server that runs already: whether it answers. Errors: as of http_target.h.
Status check_server_answers(const std::string& url, const std::vector<std::string>& inputs);

// failed: a command is given with a URL at which another program listens already.
Status check_address_is_free(const std::vector<std::string>& command, const std::string& url);

}  // namespace ocrtune
