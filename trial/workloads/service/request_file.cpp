// Bodies are made once and sent many times. Only a number within them changes, at a place that is
// found by a marker of fixed length, so that a body's length never changes. A request file is
// checked when it is read; the answer's paths are checked with each answer.
#include "trial/workloads/service/request_file.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "trial/workloads/command/toml_reader.h"
#include "trial/workloads/service/server_address.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::map<std::string, std::string>;

struct RequestFile {
  std::string file, json;
  std::vector<std::pair<std::string, std::string>> form;
  std::vector<std::string> answer, same;
  JobForm job;  // without `submit`: none
  bool repeats = false;
  double timeout_seconds = 0;
  int max_in_flight = 0;
};

constexpr const char* kEnding = ".request.toml";
constexpr std::size_t kQuoted = 200;  // characters of an answer
// 18 bytes: 24 of base64, whatever precedes.
constexpr std::string_view kVariant = "\n%000000000000000\n";
constexpr const char* kFile = "{file}";
constexpr const char* kJob = "{job}";

std::string base64(const std::string& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const unsigned char byte =
          at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0;
      three = three << 8 | byte;
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool there = i == 0 || at + i - 1 < bytes.size();
      text += there ? kDigits[three >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::string variant_of(std::uint64_t number) {
  return fmt::format("\n%{:015}\n", number % 1'000'000'000'000'000);
}

// What readers of pictures and PDFs pass over at a file's end.
bool takes_variants(const std::string& bytes) {
  using namespace std::string_view_literals;
  constexpr std::string_view kBegins[] = {"\x89PNG"sv, "\xff\xd8\xff"sv, "%PDF-"sv,
                                          "GIF8"sv,    "II\x2a\x00"sv,   "MM\x00\x2a"sv,
                                          "P5\n"sv,    "P6\n"sv,         "\0\0\0\x0cjP  "sv};
  const auto has = [&](std::size_t at, std::string_view part) {
    return bytes.size() >= at && bytes.compare(at, part.size(), part) == 0;
  };
  if (has(0, "BM") && has(6, "\0\0\0\0"sv)) return true;
  if (has(0, "RIFF") && has(8, "WEBP")) return true;
  return std::any_of(std::begin(kBegins), std::end(kBegins),
                     [&](std::string_view begin) { return starts_with(bytes, begin); });
}

std::string with_variant(std::string bytes) {
  // Filled up to a multiple of three bytes, so that base64 of the marker does not depend on what
  // stands before it.
  bytes.append((3 - bytes.size() % 3) % 3, '\n');
  return bytes.append(kVariant);
}

std::vector<VariantPlace> variant_places(const std::string& body) {
  std::vector<VariantPlace> places;
  // Plain in a form or a bare file, encoded within JSON.
  for (const bool encoded : {false, true}) {
    const std::string wanted = encoded ? base64(std::string(kVariant)) : std::string(kVariant);
    for (std::size_t at = body.find(wanted); at != std::string::npos;
         at = body.find(wanted, at + wanted.size())) {
      places.push_back({at, encoded});
    }
  }
  return places;
}

std::string media_type(const std::string& path) {
  const std::string name = lower(path);
  for (const char* type : {"png", "jpeg", "gif", "bmp", "webp", "tiff"}) {
    if (ends_with(name, std::string(".") + type)) return std::string("image/") + type;
  }
  if (ends_with(name, ".jpg")) return "image/jpeg";
  if (ends_with(name, ".tif")) return "image/tiff";
  if (ends_with(name, ".json")) return "application/json";
  if (ends_with(name, ".pdf")) return "application/pdf";
  return "application/octet-stream";
}

// Values that need no escape within JSON.
Values values_of(const std::string& path, const std::string& bytes) {
  Values values;
  values["media_type"] = media_type(path);
  values["base64"] = base64(bytes);
  values["data_uri"] = "data:" + values["media_type"] + ";base64," + values["base64"];
  const std::string quoted =
      Json(base_name(path)).dump(-1, ' ', false, Json::error_handler_t::replace);
  values["file_name"] = quoted.substr(1, quoted.size() - 2);
  return values;
}

// Not as in a command: "}}" is common in JSON, and stands for itself.
Result<std::string> fill(const std::string& text, const Values& values) {
  constexpr const char* kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find_first_not_of(kNameCharacters, at + 1);
    const bool name =
        text[at] == '{' && end != std::string::npos && end > at + 1 && text[end] == '}';
    if (!name) {
      filled += text[at++];
      continue;
    }
    const std::string word = text.substr(at + 1, end - at - 1);
    const auto found = values.find(word);
    if (found == values.end()) {
      std::vector<std::string> names;
      for (const auto& [known, value] : values) names.push_back(known);
      return Error{ErrorKind::usage, fmt::format("unknown placeholder {{{}}}; there are {{{}}}",
                                                 word, join(names, "}, {"))};
    }
    filled += found->second;
    at = end + 1;
  }
  return filled;
}

Result<HttpBody> json_body(const RequestFile& request, const Values& values) {
  auto bytes = OCRTUNE_TRY(fill(request.json, values));
  HttpBody body;
  body.content_type = "application/json";
  body.bytes = std::move(bytes);
  return body;
}

Result<HttpBody> form_body(const RequestFile& request, const Values& values,
                           const std::string& bytes) {
  std::string boundary = "ocrtune";
  // File and texts may hold any bytes, so the boundary is made longer until it is not among them.
  const auto in_a_text = [&](const auto& field) {
    return field.second.find("--" + boundary) != std::string::npos;
  };
  while (bytes.find("--" + boundary) != std::string::npos ||
         std::ranges::any_of(request.form, in_a_text)) {
    boundary += "-";
  }
  HttpBody body;
  body.content_type = "multipart/form-data; boundary=" + boundary;
  for (const auto& [name, text] : request.form) {
    const bool is_file = text == kFile;
    body.bytes +=
        fmt::format("--{}\r\nContent-Disposition: form-data; name=\"{}\"", boundary, name);
    if (is_file) {
      body.bytes += fmt::format("; filename=\"{}\"\r\nContent-Type: {}", values.at("file_name"),
                                values.at("media_type"));
    }
    body.bytes += "\r\n\r\n";
    body.bytes += is_file ? bytes : OCRTUNE_TRY(fill(text, values));
    body.bytes += "\r\n";
  }
  body.bytes += "--" + boundary + "--\r\n";
  return body;
}

// The value at a dotted path; null: it is not there.
const Json* find_value(const Json& document, const std::string& path) {
  const Json* at = &document;
  for (const std::string& name : split(path, '.')) {
    const auto index = parse_integer(name);
    if (at->is_array() && index && *index >= 0 && *index < static_cast<std::int64_t>(at->size())) {
      at = &(*at)[static_cast<std::size_t>(*index)];
    } else if (at->is_object() && at->contains(name)) {
      at = &(*at)[name];
    } else {
      return nullptr;
    }
  }
  return at;
}

bool holds(const Json& document, const std::string& wanted) {
  const std::size_t equals = wanted.find('=');
  const Json* value = find_value(document, wanted.substr(0, equals));
  if (value == nullptr) return false;
  if (equals != std::string::npos) {
    const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
    return text == wanted.substr(equals + 1);
  }
  const bool blank = value->is_null() || *value == false || *value == "" ||
                     (value->is_structured() && value->empty());
  return !blank;
}

// That the placeholders are known, and that a JSON body is JSON.
void check_texts(TomlReader& reader, const toml::table& document, const RequestFile& request) {
  const Values sample = values_of("a.png", "");
  const auto json = fill(request.json, sample);
  if (!json) return reader.wrong(*document.get("json"), "json", json.error().what);
  if (!json->empty() && Json::parse(*json, nullptr, false).is_discarded()) {
    return reader.wrong(*document.get("json"), "json",
                        "with its placeholders filled it is no JSON");
  }
  for (const auto& [name, value] : request.form) {
    const auto text = value == kFile ? Result<std::string>("") : fill(value, sample);
    if (!text) return reader.wrong(*document.get("form"), "form." + name, text.error().what);
  }
}

void read_seconds(TomlReader& reader, const toml::table& document, const char* key,
                  double& seconds) {
  std::string text;
  reader.text(document, "", key, text);
  if (text.empty()) return;
  const auto read = parse_duration(text);
  if (!read || *read <= 0) {
    return reader.wrong(*document.get(key), key, "needs a time such as \"500ms\"");
  }
  seconds = *read;
}

void read_limits(TomlReader& reader, const toml::table& document, RequestFile& request) {
  read_seconds(reader, document, "timeout", request.timeout_seconds);
  std::string repeat;
  reader.text(document, "", "repeat", repeat);
  request.repeats = repeat == "yes";
  if (!repeat.empty() && repeat != "yes" && repeat != "no") {
    reader.wrong(*document.get("repeat"), "repeat", "needs \"yes\" or \"no\"");
  }
  std::string most;
  reader.text(document, "", "max_in_flight", most);
  if (most.empty()) return;
  const auto number = parse_integer(most);
  if (!number || *number < 1 || *number > 1024) {
    return reader.wrong(*document.get("max_in_flight"), "max_in_flight",
                        "needs a number from 1 to 1024, such as \"8\"");
  }
  request.max_in_flight = static_cast<int>(*number);
}

// That a job can be followed to its end.
void read_job(TomlReader& reader, const toml::table& document, JobForm& job) {
  reader.text(document, "", "submit", job.submit);
  reader.text(document, "", "poll", job.poll);
  reader.text(document, "", "result", job.result);
  reader.texts(document, "done", job.done);
  reader.texts(document, "failed", job.failed);
  reader.texts(document, "started", job.started);
  read_seconds(reader, document, "poll_every", job.poll_seconds);
  if (job.submit.empty()) {
    if (!job.poll.empty()) {
      reader.wrong(*document.get("poll"), "submit",
                   "is missing: name where the answer has the job's id, such as \"task_id\"");
    }
    return;
  }
  if (job.poll.find(kJob) == std::string::npos) {
    return reader.wrong(*document.get("submit"), "poll",
                        "is missing: write poll = \"/v1/status/{job}\"");
  }
  if (job.done.empty()) {
    reader.wrong(*document.get("submit"), "done", "is missing: write done = [\"status=success\"]");
  }
}

Result<RequestFile> parse_request(const std::string& text, const std::string& path) {
  const auto document = OCRTUNE_TRY(parse_toml(text, path));
  TomlReader reader(path);
  RequestFile request;
  reader.allow(document, "",
               {"file", "json", "form", "answer", "same", "submit", "poll", "done", "failed",
                "started", "result", "poll_every", "timeout", "max_in_flight", "repeat"});
  reader.text(document, "", "file", request.file);
  reader.text(document, "", "json", request.json);
  reader.pairs(document, "", "form", request.form);
  reader.texts(document, "answer", request.answer);
  reader.texts(document, "same", request.same);
  if (request.file.empty()) reader.wrong(document, "file", "is missing: write file = \"page.png\"");
  if (request.json.empty() == request.form.empty()) {
    reader.wrong(document, "json", "needs either this or form: a request has one body");
  }
  check_texts(reader, document, request);
  read_job(reader, document, request.job);
  read_limits(reader, document, request);
  if (!reader.status()) return reader.status().error();
  return request;
}

Result<HttpBody> body_of(const RequestFile& request, const std::string& file,
                         const std::string& bytes) {
  const Values values = values_of(file, bytes);
  return request.form.empty() ? json_body(request, values) : form_body(request, values, bytes);
}

}  // namespace

std::size_t copy_variant(const HttpBody& body, std::uint64_t number, std::size_t begin, char* into,
                         std::size_t size) {
  const std::size_t count = std::min(size, body.bytes.size() - std::min(begin, body.bytes.size()));
  std::copy_n(body.bytes.data() + begin, count, into);
  for (const VariantPlace& place : body.variants) {
    // Twice the length covers the base64 form.
    if (place.begin >= begin + count || place.begin + 2 * kVariant.size() <= begin) continue;
    const std::string plain = variant_of(number);
    const std::string text = place.base64 ? base64(plain) : plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::size_t at = place.begin + i;
      if (at >= begin && at < begin + count) into[at - begin] = text[i];
    }
  }
  return count;
}

Result<HttpBody> read_request(const std::string& path) {
  auto text = OCRTUNE_TRY(read_file(path));
  HttpBody body;
  if (!ends_with(path, kEnding)) {
    body.content_type = media_type(path);
    if (takes_variants(text)) body.exact = text;
    body.bytes = body.exact.empty() ? std::move(text) : with_variant(std::move(text));
    if (!body.exact.empty()) body.variants = variant_places(body.bytes);
    return body;
  }
  const RequestFile request = OCRTUNE_TRY(parse_request(text, path));
  const std::string file =
      request.file[0] == '/' ? request.file : join_path(parent_path(path), request.file);
  const std::string bytes = OCRTUNE_TRY(read_file(file));
  body = OCRTUNE_TRY(body_of(request, file, bytes));
  if (!request.repeats && takes_variants(bytes)) {
    HttpBody varied = OCRTUNE_TRY(body_of(request, file, with_variant(bytes)));
    varied.exact = std::move(body.bytes);
    varied.variants = variant_places(varied.bytes);
    body = std::move(varied);
  }
  body.answer = request.answer;
  body.same = request.same;
  body.file = file;
  body.timeout_seconds = request.timeout_seconds;
  body.max_in_flight = request.max_in_flight;
  if (!request.job.submit.empty()) body.job = request.job;
  return body;
}

RequestLimits request_limits(const std::vector<std::string>& paths) {
  RequestLimits limits;
  for (const std::string& path : paths) {
    const auto body = ends_with(path, kEnding) ? read_request(path) : Result<HttpBody>(HttpBody());
    if (!body) continue;
    limits.timeout_seconds = std::max(limits.timeout_seconds, body->timeout_seconds);
    const int most = body->max_in_flight;
    if (most > 0 && (limits.max_in_flight == 0 || most < limits.max_in_flight)) {
      limits.max_in_flight = most;
    }
  }
  return limits;
}

std::string answer_fault(const std::vector<std::string>& wanted, const std::string& body) {
  if (wanted.empty()) return "";
  const Json document = Json::parse(body, nullptr, false);
  const std::string begin = valid_utf8(body.substr(0, kQuoted));
  if (document.is_discarded()) return "is not JSON: " + begin;
  for (const std::string& one : wanted) {
    if (!holds(document, one)) return "lacks " + one + ": " + begin;
  }
  return "";
}

Result<std::string> job_id(const JobForm& form, const std::string& body) {
  const Json document = Json::parse(body, nullptr, false);
  const Json* id = document.is_discarded() ? nullptr : find_value(document, form.submit);
  if (id == nullptr || id->is_null() || id->is_structured()) {
    return Error{ErrorKind::invalid,
                 "has no job's id at " + form.submit + ": " + valid_utf8(body.substr(0, kQuoted))};
  }
  return id->is_string() ? id->get<std::string>() : id->dump();
}

JobState job_state(const JobForm& form, const std::string& body) {
  const Json document = Json::parse(body, nullptr, false);
  if (document.is_discarded()) return JobState::queued;
  const auto any = [&](const std::vector<std::string>& wanted) {
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const std::string& one) { return holds(document, one); });
  };
  // An answer may hold both words; a failure must not count as done.
  if (any(form.failed)) return JobState::failed;
  if (any(form.done)) return JobState::done;
  return any(form.started) ? JobState::started : JobState::queued;
}

std::string job_url(const std::string& path, const std::string& id, const std::string& server_url) {
  std::string url = path;
  const std::string name = kJob;
  for (std::size_t at = 0; (at = url.find(name, at)) != std::string::npos; at += id.size()) {
    url.replace(at, name.size(), id);
  }
  return at_server(url, server_url);
}

}  // namespace ocrtune
