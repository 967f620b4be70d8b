// A load target behind an HTTP address: a GET, or a POST of one body for each kind, by libcurl.
//
// An answer of 200 to 299 that holds what is wanted is a kept request; any other, a refused or a
// reset connection is a failed one. Connections are kept and used again; the answer's body is
// dropped, unless something is wanted of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
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
  double timeout_seconds = 30;   // of one request, then it has failed
  int max_connections = 1024;    // further requests wait, and their waiting counts
  AnswerCheck check{};             // beside what the bodies want of an answer; may be empty
};

// Loopback, private and link-local addresses, names without a dot, .local, .internal and .lan: what
// http_proxy and https_proxy do not count for. Other hosts are asked through the proxy.
bool is_nearby_url(std::string_view url);

// usage: not an HTTP address; unsupported: a build without libcurl; failed: it does not answer a
// first request (with the reason).
Result<std::unique_ptr<LoadTarget>> make_http_target(const HttpTargetOptions& options);

// What a GET of `url` answers. failed: with the reason, also where it is not 200 to 299.
Result<std::string> get_text(const std::string& url, double timeout_seconds);

// Whether somebody takes connections at the address of `url`, HTTP or not.
bool is_listened_at(const std::string& url);

}  // namespace ocrtune
