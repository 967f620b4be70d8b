#include "trial/workloads/service/http_target.h"

#include "base/text.h"

namespace ocrtune {

bool is_nearby_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const std::size_t user = url.rfind('@'); user != std::string_view::npos) {
    url.remove_prefix(user + 1);
  }
  if (starts_with(url, "[")) {  // IPv6: loopback, unique local, link local
    const std::string address = lower(url.substr(1, url.find(']') - 1));
    return address == "::1" || starts_with(address, "fc") || starts_with(address, "fd") ||
           starts_with(address, "fe80:");
  }
  const std::string host = lower(url.substr(0, url.find(':')));
  const std::vector<std::string> parts = split(host, '.');
  if (parts.size() == 1) return true;  // localhost, a service of this network
  for (const char* end : {".localhost", ".local", ".internal", ".lan"}) {
    if (ends_with(host, end)) return true;
  }
  std::vector<std::int64_t> bytes;
  for (const std::string& part : parts) {
    const auto number = parse_integer(part);
    if (!number) return false;
    bytes.push_back(*number);
  }
  return bytes.size() == 4 &&
         (bytes[0] == 127 || bytes[0] == 10 || (bytes[0] == 192 && bytes[1] == 168) ||
          (bytes[0] == 172 && bytes[1] >= 16 && bytes[1] < 32) ||
          (bytes[0] == 169 && bytes[1] == 254));
}

}  // namespace ocrtune

#ifndef OCRTUNE_HAS_CURL

namespace ocrtune {

Result<std::unique_ptr<LoadTarget>> make_http_target(const HttpTargetOptions&) {
  return Error{ErrorKind::unsupported,
               "this build has no HTTP client; install libcurl4-openssl-dev and build again"};
}

bool is_listened_at(const std::string&) { return false; }

Result<std::string> get_text(const std::string&, double) {
  return Error{ErrorKind::unsupported, "this build has no HTTP client"};
}

}  // namespace ocrtune

#else

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/clock.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kFirstRequest = UINT64_MAX;
constexpr long kConnectMilliseconds = 2000;
std::once_flag g_started;

void start_curl() {
  std::call_once(g_started, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

constexpr std::size_t kMaxAnswerBytes = 64 << 20;
constexpr const char* kWithoutBody = " to a GET; --input FILE posts a file instead";

std::size_t drop(char*, std::size_t size, std::size_t count, void*) { return size * count; }

std::size_t keep(char* bytes, std::size_t size, std::size_t count, void* answer) {
  auto* text = static_cast<std::string*>(answer);
  if (text->size() + size * count > kMaxAnswerBytes) return 0;  // ends the transfer as an error
  text->append(bytes, size * count);
  return size * count;
}

std::string plain_words(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return "the connection is refused: no server listens there";
    case CURLE_COULDNT_RESOLVE_HOST:
      return "this host name is not known here";
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
      return "the server broke the connection off before its answer was whole";
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return "what answers there does not speak HTTP";
    case CURLE_OPERATION_TIMEDOUT:
      return "no answer in time";
    case CURLE_URL_MALFORMAT:
      return "this is no address; {port} and the like need the command after --";
    default:
      return curl_easy_strerror(code);
  }
}

class HttpTarget final : public LoadTarget {
 public:
  explicit HttpTarget(HttpTargetOptions options)
      : options_(std::move(options)),
        multi_(curl_multi_init()),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, long{options_.max_connections});
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, long{options_.max_connections});
    for (const HttpBody& body : options_.bodies) {
      const std::string type = "Content-Type: " + body.content_type;
      curl_slist* list = curl_slist_append(nullptr, type.c_str());
      headers_.push_back(curl_slist_append(list, "Expect:"));  // no waiting for 100-continue
    }
  }

  ~HttpTarget() override {
    for (const auto& [easy, request] : running_) {
      curl_multi_remove_handle(multi_, easy);
      curl_easy_cleanup(easy);
    }
    for (CURL* easy : idle_) curl_easy_cleanup(easy);
    curl_multi_cleanup(multi_);
    for (curl_slist* list : headers_) curl_slist_free_all(list);
    ::close(timer_);
  }
  HttpTarget(const HttpTarget&) = delete;
  HttpTarget& operator=(const HttpTarget&) = delete;

  void start(std::uint64_t request, int kind) override {
    CURL* easy = take_handle();
    const std::vector<std::string>* wanted = nullptr;
    if (!options_.bodies.empty()) {
      const auto at =
          std::min(static_cast<std::size_t>(std::max(kind, 0)), options_.bodies.size() - 1);
      const HttpBody& body = options_.bodies[at];
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.bytes.data());
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(body.bytes.size()));
      curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_[at]);
      if (!body.answer.empty()) wanted = &body.answer;
    }
    Request& running = running_[easy];
    running.id = request;
    running.wanted = wanted;
    running.kind = kind;
    const bool whole = wanted != nullptr || options_.check;
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, whole ? keep : drop);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &running.answer);
    curl_multi_add_handle(multi_, easy);
  }

  void collect(double until_seconds, std::vector<Completion>& finished) override {
    const std::size_t before = finished.size();
    while (true) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      take_finished(finished);
      const double left = until_seconds - steady_clock().now_seconds();
      if (finished.size() > before || left <= 0) return;
      wait(left);
    }
  }

  std::string failure() const override { return failure_; }

 private:
  CURL* take_handle() {
    if (!idle_.empty()) {
      CURL* easy = idle_.back();
      idle_.pop_back();
      return easy;
    }
    CURL* easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, options_.url.c_str());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
    // A server beside this one is asked itself, whatever http_proxy says.
    if (is_nearby_url(options_.url)) curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     static_cast<long>(std::ceil(options_.timeout_seconds * 1000)));
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    return easy;
  }

  void take_finished(std::vector<Completion>& finished) {
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode code = message->data.result;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      const double now = steady_clock().now_seconds();
      const bool taken = code == CURLE_OK && status >= 200 && status < 300;
      const auto found = running_.find(easy);
      const Request& asked = found->second;
      std::string fault =
          taken && asked.wanted != nullptr ? answer_fault(*asked.wanted, asked.answer) : "";
      if (taken && fault.empty() && options_.check) {
        fault = options_.check(asked.kind, asked.answer, static_cast<int>(running_.size()));
      }
      if (!taken) {
        failure_ = code == CURLE_OK ? fmt::format("{} answers HTTP {}{}", options_.url, status,
                                                  options_.bodies.empty() ? kWithoutBody : "")
                                    : fmt::format("{}: {}", options_.url, plain_words(code));
      } else if (!fault.empty()) {
        failure_ = fmt::format("the answer of {} {}", options_.url, fault);
      }
      finished.push_back({asked.id, now, taken && fault.empty()});
      running_.erase(found);
      curl_multi_remove_handle(multi_, easy);
      idle_.push_back(easy);
    }
  }

  // curl_multi_poll counts in milliseconds; the timer wakes it to the microsecond.
  void wait(double seconds) {
    itimerspec time{};
    const double held = std::clamp(seconds, 1e-6, 3600.0);
    time.it_value.tv_sec = static_cast<time_t>(held);
    time.it_value.tv_nsec = static_cast<long>((held - std::floor(held)) * 1e9);
    ::timerfd_settime(timer_, 0, &time, nullptr);
    curl_waitfd timer{timer_, CURL_WAIT_POLLIN, 0};
    curl_multi_poll(multi_, &timer, 1, static_cast<int>(held * 1000) + 1, nullptr);
    std::uint64_t ticks = 0;
    [[maybe_unused]] const ssize_t got = ::read(timer_, &ticks, sizeof ticks);
  }

  HttpTargetOptions options_;
  CURLM* multi_;
  int timer_;
  std::vector<curl_slist*> headers_;  // by kind
  struct Request {
    std::uint64_t id = 0;
    int kind = 0;
    const std::vector<std::string>* wanted = nullptr;  // of the answer; null: nothing
    std::string answer;
  };
  std::unordered_map<CURL*, Request> running_;
  std::vector<CURL*> idle_;
  std::string failure_;
};

}  // namespace

Result<std::unique_ptr<LoadTarget>> make_http_target(const HttpTargetOptions& options) {
  const std::string begin = lower(options.url.substr(0, 8));
  if (!starts_with(begin, "http://") && !starts_with(begin, "https://")) {
    return Error{ErrorKind::usage,
                 "'" + options.url + "' is no HTTP address; it starts with http://"};
  }
  start_curl();
  auto target = std::make_unique<HttpTarget>(options);
  target->start(kFirstRequest, 0);
  std::vector<Completion> finished;
  const double end = steady_clock().now_seconds() + options.timeout_seconds + 1;
  while (finished.empty() && steady_clock().now_seconds() < end) target->collect(end, finished);
  if (finished.empty()) return Error{ErrorKind::failed, options.url + " does not answer"};
  if (!finished[0].ok) return Error{ErrorKind::failed, target->failure()};
  return std::unique_ptr<LoadTarget>(std::move(target));
}

Result<std::string> get_text(const std::string& url, double timeout_seconds) {
  start_curl();
  std::string text;
  CURL* easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &text);
  if (is_nearby_url(url)) curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_seconds * 1000));
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  const CURLcode code = curl_easy_perform(easy);
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_cleanup(easy);
  if (code != CURLE_OK) return Error{ErrorKind::failed, url + ": " + plain_words(code)};
  if (status >= 200 && status < 300) return text;
  return Error{ErrorKind::failed, fmt::format("{} answers HTTP {}", url, status)};
}

bool is_listened_at(const std::string& url) {
  start_curl();
  CURL* easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, kConnectMilliseconds);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  const CURLcode code = curl_easy_perform(easy);
  curl_easy_cleanup(easy);
  return code == CURLE_OK;
}

}  // namespace ocrtune

#endif
