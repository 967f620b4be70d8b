// A load target behind an HTTP address: a GET, or a POST of one body for each kind, by libcurl.
//
// An answer of 200 to 299 that holds what is wanted is a kept request; any other, a refused or a
// reset connection is a failed one. Connections are kept and used again; the answer's body is
// dropped, unless something is wanted of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "trial/workloads/service/load_target.h"
#include "trial/workloads/service/request_file.h"

namespace ocrtune {

// Every answer with a good status passes through this, once, with its kind and the number of
// requests in flight. Gives what is wrong with it; empty: nothing.
using AnswerCheck = std::function<std::string(int kind, const std::string& body, int in_flight)>;

struct HttpTargetOptions {
  std::string url;               // http:// or https://
  std::vector<HttpBody> bodies;  // what kind k posts; empty: GET
  double timeout_seconds = 0;    // of a request, then it has failed; 0: by the first answer
  int max_connections = 1024;    // further requests wait, and their waiting counts
  double start_seconds = 30;     // a first answer is waited for; `timeout_seconds` may be less
  AnswerCheck check{};           // beside what the bodies want of an answer; may be empty
  // Asked while a first answer is waited for; an error of it ends the waiting.
  std::function<Status()> go_on{};
};

// Of a request, where the first was answered in this time: ten times it, at least 30 s.
double learned_timeout(double first_answer_seconds);

// usage: not an HTTP address; unsupported: a build without libcurl; failed: it does not answer a
// first request (with the reason). `may_still_start` (may be null) gets whether that may yet come:
// nobody listens, nothing is answered, or it is a 502, 503 or 504.
Result<std::unique_ptr<LoadTarget>> make_http_target(const HttpTargetOptions& options,
                                                     bool* may_still_start = nullptr);

// What a GET of `url` answers. failed: with the reason, also where it is not 200 to 299.
Result<std::string> get_text(const std::string& url, double timeout_seconds);

}  // namespace ocrtune
