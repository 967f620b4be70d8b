// One thread drives all transfers by curl_multi. A request may be a job of several transfers
// (submit, poll, result), which counts as one. The first answer is waited for in
// make_http_target(), so that a measurement starts with a server that is known to answer.
#include "trial/workloads/service/http_target.h"

#include <algorithm>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kLeastTimeout = 30;  // seconds
constexpr double kFirstAnswers = 10;  // a request under load takes so many first answers' time

}  // namespace

double learned_timeout(double first_answer_seconds) {
  return std::max(kLeastTimeout, kFirstAnswers * first_answer_seconds);
}

}  // namespace ocrtune

#ifndef OCRTUNE_HAS_CURL

namespace ocrtune {

Result<std::unique_ptr<LoadTarget>> make_http_target(const HttpTargetOptions&, bool*) {
  return Error{ErrorKind::unsupported,
               "this build has no HTTP client; install libcurl4-openssl-dev and build again"};
}

Result<std::string> get_text(const std::string&, double) {
  return Error{ErrorKind::unsupported, "this build has no HTTP client"};
}

}  // namespace ocrtune

#else

#include <dlfcn.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <random>
#include <unordered_map>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>

#include "base/clock.h"
#include "trial/workloads/service/server_address.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kFirstRequest = UINT64_MAX;
constexpr double kHttpLookSeconds = 0.2;  // between two looks at whether to go on waiting

// libcurl is loaded when the first request is to be sent: most commands send none, and it brings
// two dozen libraries with it.
#define OCRTUNE_CURL_FUNCTIONS(X) \
  X(easy_cleanup)                 \
  X(easy_getinfo)                 \
  X(easy_init)                    \
  X(easy_perform)                 \
  X(easy_setopt)                  \
  X(easy_strerror)                \
  X(global_init)                  \
  X(multi_add_handle)             \
  X(multi_cleanup)                \
  X(multi_info_read)              \
  X(multi_init)                   \
  X(multi_perform)                \
  X(multi_poll)                   \
  X(multi_remove_handle)          \
  X(multi_setopt)                 \
  X(slist_append)                 \
  X(slist_free_all)
struct CurlLibrary {
#define OCRTUNE_DECLARE(name) \
  decltype(&curl_##name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a member
  OCRTUNE_CURL_FUNCTIONS(OCRTUNE_DECLARE)
#undef OCRTUNE_DECLARE
};
CurlLibrary g_curl;

template <typename Function>
bool find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

bool load_curl(void* library, CurlLibrary& curl) {
#define OCRTUNE_FIND(name) find_function(library, "curl_" #name, curl.name)&&
  return OCRTUNE_CURL_FUNCTIONS(OCRTUNE_FIND) true;
#undef OCRTUNE_FIND
}
#undef OCRTUNE_CURL_FUNCTIONS

// missing: the library is not here.
Status start_curl() {
  static const bool loaded = [] {
    // OpenSSL's build first; Debian's GnuTLS build has the same functions.
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
      void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr || !load_curl(library, g_curl)) continue;
      g_curl.global_init(CURL_GLOBAL_DEFAULT);
      return true;
    }
    return false;
  }();
  if (loaded) return Status();
  return Error{ErrorKind::missing,
               "requests are sent by libcurl.so.4, which is not here: apt-get install libcurl4, or "
               "pip install ocrtune-engine, which has it"};
}

constexpr std::size_t kQuotedBytes = 200;  // of an answer that nothing is wanted of
constexpr const char* kWithoutBody = " to a GET; --input FILE posts a file instead";
constexpr const char* kPlainBody =
    "; what is posted for a file, a .request.toml says: JSON or a form";

std::size_t keep_begin(char* bytes, std::size_t size, std::size_t count, void* answer) {
  auto* text = static_cast<std::string*>(answer);
  text->append(bytes, std::min(size * count, kQuotedBytes - std::min(kQuotedBytes, text->size())));
  return size * count;
}

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
      return g_curl.easy_strerror(code);
  }
}

// The server is not there yet, or says that it is not ready.
bool may_still_start(CURLcode code, long status) {
  if (code == CURLE_OK) return status >= 502 && status <= 504;
  return code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT ||
         code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_GOT_NOTHING;
}

// Turned away because of the load; it is no fault of the request.
bool is_refusal(CURL* easy, CURLcode code, long status) {
  if (code == CURLE_COULDNT_CONNECT || status == 429) return true;
  curl_off_t again = 0;
  g_curl.easy_getinfo(easy, CURLINFO_RETRY_AFTER, &again);
  return status == 503 && again > 0;
}

// Where this process begins to number variants: a server that runs on has seen those of earlier
// trials.
std::uint64_t first_variant() {
  static const std::uint64_t kFirst = std::random_device()();
  return kFirst << 24;
}

class HttpTarget final : public LoadTarget {
 public:
  explicit HttpTarget(HttpTargetOptions options)
      : options_(std::move(options)),
        multi_(g_curl.multi_init()),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    g_curl.multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, long{options_.max_connections});
    // Idle connections beyond curl's own limit would be closed and made anew within a measurement.
    g_curl.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, long{options_.max_connections});
    for (const HttpBody& body : options_.bodies) {
      const std::string type = "Content-Type: " + body.content_type;
      curl_slist* list = g_curl.slist_append(nullptr, type.c_str());
      headers_.push_back(g_curl.slist_append(list, "Expect:"));  // no waiting for 100-continue
      if (body.job) times_.poll_seconds = body.job->poll_seconds;
    }
  }

  ~HttpTarget() override {
    for (const auto& [easy, request] : running_) {
      g_curl.multi_remove_handle(multi_, easy);
      g_curl.easy_cleanup(easy);
    }
    for (CURL* easy : idle_) g_curl.easy_cleanup(easy);
    g_curl.multi_cleanup(multi_);
    for (curl_slist* list : headers_) g_curl.slist_free_all(list);
    ::close(timer_);
  }
  HttpTarget(const HttpTarget&) = delete;
  HttpTarget& operator=(const HttpTarget&) = delete;

  void start(std::uint64_t request, int kind) override {
    Request asked;
    asked.id = request;
    asked.kind = kind;
    asked.began = steady_clock().now_seconds();
    ++in_flight_;
    send(std::move(asked));
  }

  void collect(double until_seconds, std::vector<Completion>& finished) override {
    const std::size_t before = finished.size();
    while (true) {
      send_due();
      int running = 0;
      g_curl.multi_perform(multi_, &running);
      take_finished(finished);
      double until = until_seconds;
      if (!due_.empty()) until = std::min(until, due_.begin()->first);
      const double now = steady_clock().now_seconds();
      if (finished.size() > before || now >= until_seconds) return;
      if (until > now) wait(until - now);
    }
  }

  std::string failure() const override { return failure_; }
  JobTimes job_times() const override { return times_; }

  void set_timeout(double seconds) {
    options_.timeout_seconds = seconds;
    // New handles get the new limit.
    for (CURL* easy : idle_) g_curl.easy_cleanup(easy);
    idle_.clear();
  }
  bool may_still_start() const { return may_still_start_; }

 private:
  enum class Stage { submit, poll, result };  // a request that is no job is its submit alone

  struct Request {
    std::uint64_t id = 0;
    int kind = 0;
    Stage stage = Stage::submit;
    double began = 0;
    double queued = 0;  // until its job was seen started; 0: it was not seen
    std::string job;
    std::string answer;
    std::string fault;  // of its job
    const HttpBody* body = nullptr;
    std::size_t sent = 0;  // bytes of it
  };

  static std::size_t give_body(char* into, std::size_t size, std::size_t count, void* request) {
    auto* asked = static_cast<Request*>(request);
    const std::size_t copied =
        copy_variant(*asked->body, first_variant() + asked->id, asked->sent, into, size * count);
    asked->sent += copied;
    return copied;
  }
  // A connection that the server had closed is opened anew, and the body sent again.
  static int rewind_body(void* request, curl_off_t offset, int origin) {
    if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    static_cast<Request*>(request)->sent = static_cast<std::size_t>(offset);
    return CURL_SEEKFUNC_OK;
  }

  const HttpBody* body_of(int kind) const {
    if (options_.bodies.empty()) return nullptr;
    return &options_.bodies[at(kind)];
  }
  std::size_t at(int kind) const {
    return std::min(static_cast<std::size_t>(std::max(kind, 0)), options_.bodies.size() - 1);
  }

  CURL* take_handle() {
    if (!idle_.empty()) {
      CURL* easy = idle_.back();
      idle_.pop_back();
      return easy;
    }
    CURL* easy = g_curl.easy_init();
    // A server beside this one is asked itself, whatever http_proxy says.
    if (is_nearby_url(options_.url)) g_curl.easy_setopt(easy, CURLOPT_PROXY, "");
    // Without it the resolver's time-out uses SIGALRM.
    g_curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    g_curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                       static_cast<long>(std::ceil(options_.timeout_seconds * 1000)));
    g_curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    return easy;
  }

  void send(Request asked) {
    CURL* easy = take_handle();
    const HttpBody* body = body_of(asked.kind);
    const bool posts = body != nullptr && asked.stage == Stage::submit;
    if (posts) {
      g_curl.easy_setopt(easy, CURLOPT_URL, options_.url.c_str());
      g_curl.easy_setopt(easy, CURLOPT_POST, 1L);
      // Null: the body comes from give_body(), which puts the variant's number in.
      g_curl.easy_setopt(easy, CURLOPT_POSTFIELDS, nullptr);
      g_curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                         static_cast<curl_off_t>(body->bytes.size()));
      g_curl.easy_setopt(easy, CURLOPT_HTTPHEADER, headers_[at(asked.kind)]);
      asked.body = body;
      asked.sent = 0;
    } else {
      g_curl.easy_setopt(easy, CURLOPT_HTTPGET, 1L);
      g_curl.easy_setopt(easy, CURLOPT_HTTPHEADER, nullptr);
      g_curl.easy_setopt(easy, CURLOPT_URL, url_of(asked).c_str());
    }
    const bool whole = options_.check || (body != nullptr && (!body->answer.empty() || body->job));
    asked.answer.clear();
    // The map's nodes never move, so curl may keep pointers into them.
    Request& running = running_[easy] = std::move(asked);
    g_curl.easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
    g_curl.easy_setopt(easy, CURLOPT_READDATA, &running);
    g_curl.easy_setopt(easy, CURLOPT_SEEKFUNCTION, rewind_body);
    g_curl.easy_setopt(easy, CURLOPT_SEEKDATA, &running);
    g_curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, whole ? keep : keep_begin);
    g_curl.easy_setopt(easy, CURLOPT_WRITEDATA, &running.answer);
    g_curl.multi_add_handle(multi_, easy);
  }

  std::string url_of(const Request& asked) const {
    if (asked.stage == Stage::submit) return options_.url;
    const JobForm& job = *body_of(asked.kind)->job;
    return job_url(asked.stage == Stage::poll ? job.poll : job.result, asked.job, options_.url);
  }

  void send_due() {
    const double now = steady_clock().now_seconds();
    while (!due_.empty() && due_.begin()->first <= now) {
      Request asked = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      send(std::move(asked));
    }
  }

  void take_finished(std::vector<Completion>& finished) {
    int left = 0;
    while (CURLMsg* message = g_curl.multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode code = message->data.result;
      const auto found = running_.find(easy);
      Request asked = std::move(found->second);
      running_.erase(found);
      long status = 0;
      g_curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      const bool refused = is_refusal(easy, code, status);
      g_curl.multi_remove_handle(multi_, easy);
      idle_.push_back(easy);
      const double now = steady_clock().now_seconds();
      Completion one{asked.id, now, false, refused};
      if (code != CURLE_OK || status < 200 || status >= 300) {
        may_still_start_ = ocrtune::may_still_start(code, status);
        failure_ = refusal_words(asked, code, status);
      } else if (goes_on(asked, now)) {
        continue;
      } else {
        may_still_start_ = false;
        const std::string fault = fault_of(asked);
        if (!fault.empty()) failure_ = fmt::format("the answer of {} {}", options_.url, fault);
        one.ok = fault.empty();
      }
      --in_flight_;
      finished.push_back(one);
    }
  }

  std::string refusal_words(const Request& asked, CURLcode code, long status) const {
    if (code != CURLE_OK) return fmt::format("{}: {}", options_.url, plain_words(code));
    std::string text = fmt::format("{} answers HTTP {}", url_of(asked), status);
    if (options_.bodies.empty()) return text + kWithoutBody;
    const std::string begin(trim(valid_utf8(asked.answer.substr(0, kQuotedBytes))));
    if (!begin.empty()) text += ": " + begin;
    const bool unread = status == 400 || status == 415 || status == 422;
    return unread && !starts_with(body_of(asked.kind)->content_type, "multipart") &&
                   body_of(asked.kind)->content_type != "application/json"
               ? text + kPlainBody
               : text;
  }

  // The one place at which an answer is judged.
  std::string fault_of(const Request& asked) const {
    if (!asked.fault.empty()) return asked.fault;
    const HttpBody* body = body_of(asked.kind);
    std::string fault = body == nullptr ? "" : answer_fault(body->answer, asked.answer);
    if (fault.empty() && options_.check) {
      fault = options_.check(asked.kind, asked.answer, in_flight_);
    }
    return fault;
  }

  // Whether a job is asked for again. Else `asked` holds its result or its fault.
  bool goes_on(Request& asked, double now) {
    const HttpBody* body = body_of(asked.kind);
    if (body == nullptr || !body->job || asked.stage == Stage::result) {
      if (body != nullptr && body->job) note_job(asked, now);
      return false;
    }
    const JobForm& job = *body->job;
    if (asked.stage == Stage::submit) {
      const auto id = job_id(job, asked.answer);
      if (!id) {
        asked.fault = id.error().what;
        return false;
      }
      asked.job = *id;
      asked.stage = Stage::poll;
    } else {
      const JobState state = job_state(job, asked.answer);
      if (state == JobState::failed) {
        asked.fault =
            "is of a job that failed: " + valid_utf8(asked.answer.substr(0, kQuotedBytes));
        return false;
      }
      if (state != JobState::queued && asked.queued <= 0) asked.queued = now - asked.began;
      if (state == JobState::done && job.result.empty()) {
        note_job(asked, now);
        return false;
      }
      if (state == JobState::done) {
        asked.stage = Stage::result;
        send(std::move(asked));
        return true;
      }
    }
    if (now - asked.began > options_.timeout_seconds) {
      asked.fault = fmt::format("is of a job without a result after {}",
                                format_duration(options_.timeout_seconds));
      return false;
    }
    due_.emplace(now + job.poll_seconds, std::move(asked));
    return true;
  }

  void note_job(const Request& asked, double now) {
    ++times_.jobs;
    times_.total_seconds += now - asked.began;
    times_.queue_seconds += asked.queued;
  }

  // curl_multi_poll counts in milliseconds; the timer wakes it to the microsecond.
  void wait(double seconds) {
    itimerspec time{};
    const double held = std::clamp(seconds, 1e-6, 3600.0);
    time.it_value.tv_sec = static_cast<time_t>(held);
    time.it_value.tv_nsec = static_cast<long>((held - std::floor(held)) * 1e9);
    ::timerfd_settime(timer_, 0, &time, nullptr);
    curl_waitfd timer{timer_, CURL_WAIT_POLLIN, 0};
    g_curl.multi_poll(multi_, &timer, 1, static_cast<int>(held * 1000) + 1, nullptr);
    std::uint64_t ticks = 0;
    [[maybe_unused]] const ssize_t got = ::read(timer_, &ticks, sizeof ticks);
  }

  HttpTargetOptions options_;
  CURLM* multi_;
  int timer_;
  std::vector<curl_slist*> headers_;  // by kind
  std::unordered_map<CURL*, Request> running_;
  std::multimap<double, Request> due_;  // polls by their time
  std::vector<CURL*> idle_;
  int in_flight_ = 0;  // jobs between two polls included
  JobTimes times_;
  std::string failure_;
  bool may_still_start_ = false;  // of the last failed request
};

}  // namespace

Result<std::unique_ptr<LoadTarget>> make_http_target(const HttpTargetOptions& options,
                                                     bool* may_still_start) {
  const std::string begin = lower(options.url.substr(0, 8));
  if (!starts_with(begin, "http://") && !starts_with(begin, "https://")) {
    return Error{ErrorKind::usage,
                 "'" + options.url + "' is no HTTP address; it starts with http://"};
  }
  OCRTUNE_TRY(start_curl());
  HttpTargetOptions first = options;
  first.timeout_seconds = options.timeout_seconds > 0
                              ? std::min(options.timeout_seconds, options.start_seconds)
                              : options.start_seconds;
  auto target = std::make_unique<HttpTarget>(first);
  target->start(kFirstRequest, 0);
  std::vector<Completion> finished;
  const double began = steady_clock().now_seconds();
  const double end = began + first.timeout_seconds + 1;
  while (finished.empty() && steady_clock().now_seconds() < end) {
    target->collect(std::min(end, steady_clock().now_seconds() + kHttpLookSeconds), finished);
    if (finished.empty() && options.go_on) OCRTUNE_TRY(options.go_on());
  }
  if (may_still_start != nullptr) *may_still_start = finished.empty() || target->may_still_start();
  if (finished.empty()) return Error{ErrorKind::failed, options.url + " does not answer"};
  const bool varied = std::any_of(options.bodies.begin(), options.bodies.end(),
                                  [](const HttpBody& body) { return !body.variants.empty(); });
  if (!finished[0].ok && varied && !target->may_still_start()) {
    // Perhaps it takes the file as it is alone.
    HttpTargetOptions exact = options;
    for (HttpBody& body : exact.bodies) {
      if (!body.variants.empty()) body.bytes = std::move(body.exact);
      body.variants.clear();
    }
    return make_http_target(exact, may_still_start);
  }
  if (!finished[0].ok) return Error{ErrorKind::failed, target->failure()};
  target->set_timeout(options.timeout_seconds > 0
                          ? options.timeout_seconds
                          : learned_timeout(finished[0].finished_seconds - began));
  return std::unique_ptr<LoadTarget>(std::move(target));
}

namespace {

struct Got {
  CURLcode code = CURLE_OK;
  long status = 0;
  std::string text;
};

Result<Got> get(const std::string& url, double timeout_seconds) {
  OCRTUNE_TRY(start_curl());
  Got got;
  CURL* easy = g_curl.easy_init();
  g_curl.easy_setopt(easy, CURLOPT_URL, url.c_str());
  g_curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep);
  g_curl.easy_setopt(easy, CURLOPT_WRITEDATA, &got.text);
  if (is_nearby_url(url)) g_curl.easy_setopt(easy, CURLOPT_PROXY, "");
  g_curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  g_curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_seconds * 1000));
  g_curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  got.code = g_curl.easy_perform(easy);
  g_curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &got.status);
  g_curl.easy_cleanup(easy);
  return got;
}

}  // namespace

Result<std::string> get_text(const std::string& url, double timeout_seconds) {
  Got got = OCRTUNE_TRY(get(url, timeout_seconds));
  if (got.code != CURLE_OK) return Error{ErrorKind::failed, url + ": " + plain_words(got.code)};
  if (got.status >= 200 && got.status < 300) return std::move(got.text);
  return Error{ErrorKind::failed, fmt::format("{} answers HTTP {}", url, got.status)};
}

}  // namespace ocrtune

#endif
