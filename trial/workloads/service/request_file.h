// What is posted to a server for an --input: the file as it is, or what a request file makes of
// one.
//
// A request file is TOML; its name ends in ".request.toml".
//   file = "page.png"                    # seen from the request file's folder
//   json = '{"file": "{base64}"}'        # a body, or:
//   form = { image = "{file}", lang = "en" }   # parts of multipart/form-data; {file}: the file
//   answer = ["errorCode=0", "result.ocrResults"]
// In texts stand {base64}, {data_uri} ("data:image/png;base64,..."), {media_type} and {file_name}.
// `answer` is what the JSON answer must hold: a path whose value is not null, false or empty, or
// PATH=VALUE; items of lists by number, as in choices.0.message.content. `same` names the texts
// that must not change between settings, as in same = ["result.rec_texts"]; without it all do.
//
// A server that takes jobs answers the POST at once, and the work is asked for later:
//   submit = "task_id"                # where the POST's answer has the job's id: {job}
//   poll = "/v1/status/poll/{job}"    # asked with GET until ...
//   done = ["task_status=success"]    # ... its answer holds this
//   failed = ["task_status=failure"]  # or this: the job has failed
//   started = ["task_status=started"] # it no longer waits in the queue
//   result = "/v1/result/{job}"       # what is answered then; else the last poll's answer
//   poll_every = "500ms"
// A job counts when its result is there, and `answer` is wanted of the result.
//
// Any request file may say
//   timeout = "2m"                    # then it is given up; else by the first answer
//   max_in_flight = "8"               # so many at once at most
//   repeat = "yes"                    # every request is the same, as production's are
// Else each request sends the file in a variant of its own, so that no cache of results answers:
// pictures and PDFs end with a number that their readers pass over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// How a job is followed from the POST to its result. Paths begin with "/" or are whole URLs.
struct JobForm {
  std::string submit, poll, result;
  std::vector<std::string> done, failed, started;  // one of them is enough
  double poll_seconds = 0.5;
};

// A file's number within a body, which each request has anew.
struct VariantPlace {
  std::size_t begin = 0;
  bool base64 = false;
};

struct HttpBody {
  std::string content_type;  // "image/png"
  std::string bytes;
  std::vector<std::string> answer = {};  // that is wanted; empty: any answer is good
  std::vector<std::string> same = {};    // paths of the texts that are compared; empty: all texts
  std::string file = {};                 // that is sent
  std::optional<JobForm> job = {};       // none: the answer to the POST is the result
  double timeout_seconds = 0;            // 0: not said
  int max_in_flight = 0;                 // 0: not said
  std::vector<VariantPlace> variants = {};  // empty: all requests are alike
  std::string exact = {};  // where there are variants: the body of the file as it is
};

// The bytes of `body` from `begin` on, at most `size`, of the variant of this number. Returns how
// many.
std::size_t copy_variant(const HttpBody& body, std::uint64_t number, std::size_t begin, char* into,
                         std::size_t size);

// invalid: a wrong request file, with its line and key; errors of reading.
Result<HttpBody> read_request(const std::string& path);

// What request files say of all requests: the longest timeout and the fewest in flight; 0 where
// none says it. A file that cannot be read says nothing.
struct RequestLimits {
  double timeout_seconds = 0;
  int max_in_flight = 0;
};
RequestLimits request_limits(const std::vector<std::string>& paths);

// What an answer lacks, with its begin; empty: nothing.
std::string answer_fault(const std::vector<std::string>& wanted, const std::string& body);

// The job's id, by JobForm::submit. invalid: the answer has none.
Result<std::string> job_id(const JobForm& form, const std::string& body);

enum class JobState { queued, started, done, failed };
JobState job_state(const JobForm& form, const std::string& body);  // of a poll's answer

// The address of a poll or a result at the server of `server_url`.
std::string job_url(const std::string& path, const std::string& id, const std::string& server_url);

}  // namespace ocrtune
