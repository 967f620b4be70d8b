// What is posted to a server for an --input: the file as it is, or what a request file makes of
// one.
//
// A request file is TOML; its name ends in ".request.toml".
//   file = "page.png"                    # seen from the request file's folder
//   json = '{"file": "{base64}"}'        # a body, or:
//   form = { image = "{file}", lang = "en" }   # the parts of multipart/form-data; {file} is the
//   file answer = ["errorCode=0", "result.ocrResults"]
// In texts stand {base64}, {data_uri} ("data:image/png;base64,..."), {media_type} and {file_name}.
// `answer` is what the JSON answer must hold: a path whose value is not null, false or empty, or
// PATH=VALUE; items of lists by number, as in choices.0.message.content. `same` names the texts
// that must not change between settings, as in same = ["result.rec_texts"]; without it all do.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct HttpBody {
  std::string content_type;  // "image/png"
  std::string bytes;
  std::vector<std::string> answer = {};  // that is wanted; empty: any answer is good
  std::vector<std::string> same = {};    // paths of the texts that are compared; empty: all texts
  std::string file = {};                 // that is sent
};

// invalid: a wrong request file, with its line and key; errors of reading.
Result<HttpBody> read_request(const std::string& path);

// What an answer lacks, with its begin; empty: nothing.
std::string answer_fault(const std::vector<std::string>& wanted, const std::string& body);

}  // namespace ocrtune
