// One pass from left to right over names and the value that belongs to each by its syntax. That is
// NAME=VALUE, a quoted key, a flag, a header or a URL's password. Without such a name only a value
// of the shape of a well-known key is masked. Numbers and words of settings beside a name such as
// max_token stay, for a recommendation without them would be of no use.
#include "base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace ocrtune {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; }

// "dbPassword" and "DB_PASSWORD" are the words db and password, in lower case.
std::vector<std::string> name_words(std::string_view name) {
  std::vector<std::string> found(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool hump = i > 0 && is_upper(name[i]) && !is_upper(name[i - 1]);
    const bool parts = !is_letter(name[i]) && !is_digit(name[i]);
    if ((hump || parts) && !found.back().empty()) found.emplace_back();
    if (!parts) found.back() += lower(name.substr(i, 1));
  }
  if (found.back().empty()) found.pop_back();
  return found;
}

template <std::size_t N>
bool is_one_of(const std::string& word, const std::array<const char*, N>& list) {
  return std::any_of(list.begin(), list.end(), [&](const char* one) { return word == one; });
}

// --max_token=25, --sort-key=true and --two_pass=1 are settings.
bool plain_setting(std::string_view name, std::string_view value) {
  for (const char* sure : {"password", "passwd", "passphrase", "secret", "credential"}) {
    if (lower(name).find(sure) != std::string::npos) return false;
  }
  const std::vector<std::string> all = name_words(name);
  // A PIN has four digits or more, so only shorter numbers are settings beside such a name.
  const bool pin = std::any_of(all.begin(), all.end(), [](const std::string& word) {
    return word == "pass" || word == "pwd";
  });
  const std::string text = lower(value);
  const bool number =
      text.size() <= (pin ? 3U : 6U) && std::all_of(text.begin(), text.end(), is_digit);
  return number || text == "true" || text == "false" || text == "none" || text == "null";
}

// How keys begin that their makers made to be found, and what follows.
struct KeyShape {
  std::string_view prefix;
  std::size_t min_rest;     // characters behind it
  std::string_view beside;  // beside letters and digits
};
// OpenAI, Hugging Face, GitHub, GitLab, Slack, AWS, Google, JSON web tokens, NVIDIA, npm, PyPI,
// Alibaba Cloud, Tencent Cloud.
constexpr KeyShape kKeyShapes[] = {
    {"sk-", 20, "-_"},   {"hf_", 30, ""},    {"ghp_", 30, ""},     {"gho_", 30, ""},
    {"ghs_", 30, ""},    {"ghu_", 30, ""},   {"glpat-", 20, "-_"}, {"github_pat_", 30, "_"},
    {"xoxb-", 20, "-"},  {"xoxp-", 20, "-"}, {"AKIA", 16, ""},     {"ASIA", 16, ""},
    {"AIza", 35, "-_"},  {"eyJ", 30, "-_."}, {"nvapi-", 40, "-_"}, {"npm_", 30, ""},
    {"pypi-", 40, "-_"}, {"LTAI", 12, ""},   {"AKID", 28, ""},
};

// sk-proj-..., hf_..., AKIA...: a key whatever it is called. Words of a path have no digits among
// capitals, or are shorter.
bool looks_like_key(std::string_view text) {
  return std::any_of(std::begin(kKeyShapes), std::end(kKeyShapes), [&](const KeyShape& shape) {
    if (!starts_with(text, shape.prefix)) return false;
    const std::string_view rest = text.substr(shape.prefix.size());
    const auto count = [&](auto is) {
      return static_cast<std::size_t>(std::count_if(rest.begin(), rest.end(), is));
    };
    const bool fits = std::all_of(rest.begin(), rest.end(), [&](char c) {
      return is_letter(c) || is_digit(c) || shape.beside.find(c) != std::string_view::npos;
    });
    // A long key of lower-case hexadecimal digits has no capitals; a shorter one may be a word.
    constexpr std::size_t kHexKey = 32;
    const bool mixed = count(is_digit) > 0 && (count(is_upper) > 0 || rest.size() >= kHexKey);
    return fits && mixed && rest.size() >= shape.min_rest;
  });
}

bool ends_value(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\'' || c == '"' || c == ',' ||
         c == ';' || c == '&' || c == '}' || c == ')' || c == '\\';
}

// Where the value of the name that ends at `at` begins: after "=", a quoted name's ":", or the
// blank after a flag. npos: no value follows.
std::size_t value_after(std::string_view text, std::size_t at, bool flag) {
  const bool quoted = at < text.size() && (text[at] == '"' || text[at] == '\'');
  std::size_t next = at + (quoted ? 1 : 0);
  const bool blank = next < text.size() && text[next] == ' ';
  while (next < text.size() && text[next] == ' ') ++next;
  const bool assigned = next < text.size() && (text[next] == '=' || (quoted && text[next] == ':'));
  if (assigned) {
    ++next;
    while (quoted && next < text.size() && text[next] == ' ') ++next;
  } else if (!flag || !blank || (next < text.size() && text[next] == '-')) {
    return std::string_view::npos;
  }
  if (next < text.size() && (text[next] == '"' || text[next] == '\'')) ++next;
  return next;
}

// The password's first byte of scheme://user:password@host that begins at `at`; npos: none.
std::size_t password_after(std::string_view text, std::size_t at, std::size_t& end) {
  const std::size_t host = at + 3;
  for (end = host; end < text.size() && text[end] != '@'; ++end) {
    if (text[end] == '/' || ends_value(text[end])) return std::string_view::npos;
  }
  const std::size_t colon = text.find(':', host);
  return end < text.size() && colon < end ? colon + 1 : std::string_view::npos;
}

}  // namespace

bool looks_secret(std::string_view name) {
  constexpr std::array<const char*, 13> kWords = {
      "token", "key",    "apikey", "accesskey",     "privatekey", "secretkey", "pass",
      "auth",  "bearer", "dsn",    "authorization", "cookie",     "cookies"};
  // Short words that stand for other things alone: PWD, --pat.
  constexpr std::array<const char*, 2> kLastWords = {"pwd", "pat"};
  // Names of where a secret lies, or of how it is used, not of the secret: TOKEN_FILE, AUTH_TYPE.
  constexpr std::array<const char*, 10> kPlaces = {"file", "path", "dir",    "folder", "name",
                                                   "type", "url",  "method", "mode",   "sock"};
  const std::vector<std::string> all = name_words(name);
  if (all.empty() || is_one_of(all.back(), kPlaces)) return false;
  if (all.size() > 1 && is_one_of(all.back(), kLastWords)) return true;
  return std::any_of(all.begin(), all.end(), [&](const std::string& word) {
    for (const char* part : {"password", "passwd", "passphrase", "secret", "credential"}) {
      if (word.find(part) != std::string::npos) return true;
    }
    return is_one_of(word, kWords) || ends_with(word, "token");
  });
}

namespace {

// The value of "Authorization: Bearer abc" or "X-Api-Key: abc", up to the quote that opened before
// the name; npos: no such header. In prose ("missing key: label") no quote stands before the name.
std::size_t header_value(std::string_view text, std::size_t name_at, std::size_t at,
                         std::size_t& end) {
  const bool opened = name_at > 0 && (text[name_at - 1] == '\'' || text[name_at - 1] == '"');
  if (!opened || text.substr(at, 2) != ": ") return std::string_view::npos;
  end = std::min(text.find(text[name_at - 1], at), text.size());
  return at + 2;
}

// "Bearer abc...", whatever stands before it.
std::size_t bearer_value(std::string_view text, std::string_view name, std::size_t at,
                         std::size_t& end) {
  // "bearer of" and the like are prose (a guess). A "$" or "{" begins a variable or a placeholder.
  constexpr std::size_t kMinToken = 8;
  if (lower(name) != "bearer" || at >= text.size() || text[at] != ' ') {
    return std::string_view::npos;
  }
  for (end = at + 1; end < text.size() && !ends_value(text[end]);) ++end;
  if (end - at <= kMinToken || text[at + 1] == '$' || text[at + 1] == '{') {
    return std::string_view::npos;
  }
  return at + 1;
}

// "?sig=", "&X-Amz-Signature=": who has such an address may read what it names.
bool signs_address(std::string_view text, std::size_t name_at, std::string_view name) {
  const bool of_query = name_at > 0 && (text[name_at - 1] == '?' || text[name_at - 1] == '&');
  return of_query && (lower(name) == "sig" || ends_with(lower(name), "signature"));
}

// The closing quote of the value that begins at `begin`; npos: no quote of its own opens it.
std::size_t quoted_end(std::string_view text, std::size_t name_at, std::size_t begin) {
  const char quote = text[begin - 1];
  const bool opened =
      (quote == '\'' || quote == '"') && (text[begin - 2] == '=' || text[begin - 2] == ' ');
  if (!opened || (name_at > 0 && text[name_at - 1] == quote)) return std::string_view::npos;
  return text.find(quote, begin);
}

// The value that belongs to the name that ends at `at`, or npos.
std::size_t secret_after(std::string_view text, std::size_t name_at, std::size_t at,
                         std::size_t& end) {
  const std::string_view name = text.substr(name_at, at - name_at);
  // The order matters: a header's value goes up to the quote, any other one up to the first blank.
  std::size_t begin = bearer_value(text, name, at, end);
  if (begin != std::string_view::npos) return begin;
  if (!looks_secret(name) && !signs_address(text, name_at, name)) return begin;
  begin = header_value(text, name_at, at, end);
  if (begin != std::string_view::npos) return begin;
  begin = value_after(text, at, starts_with(name, "--"));
  if (begin == std::string_view::npos) return begin;
  end = quoted_end(text, name_at, begin);
  if (end != std::string_view::npos) return begin;
  for (end = begin; end < text.size() && !ends_value(text[end]);) ++end;
  return begin;
}

}  // namespace

std::string masked_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    if (text.substr(at, 3) == "://") {
      const std::size_t password = password_after(text, at, end);
      if (password != std::string_view::npos) {
        out += text.substr(at, password - at);
        out += kMask;
        at = end;
        continue;
      }
    }
    end = at;
    while (end < text.size() && is_name(text[end])) ++end;
    if (end == at) {
      out += text[at++];
      continue;
    }
    const std::string_view name = text.substr(at, end - at);
    if (looks_like_key(name)) {
      out += kMask;
      at = end;
      continue;
    }
    out += name;
    const std::size_t name_at = std::exchange(at, end);
    const std::size_t begin = secret_after(text, name_at, at, end);
    if (begin == std::string_view::npos) continue;
    const std::string_view value = text.substr(begin, end - begin);
    // Variables, placeholders and masks tell nothing; a text that is masked twice stays as it is.
    const bool shown = value.empty() || value[0] == '$' || value[0] == '{' || value == kMask;
    out += text.substr(at, begin - at);
    if (shown || plain_setting(name, value)) {
      out += value;
    } else {
      out += kMask;
    }
    at = end;
  }
  return out;
}

namespace {

constexpr const char* kOfVariables =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_{}";

// Whether all behind the "=" is the secret; not where it is a variable's name or a placeholder.
bool is_secret_whole(const std::string& name, const std::string& value) {
  if (value.empty() || !std::all_of(name.begin(), name.end(), is_name) || !looks_secret(name)) {
    return false;
  }
  const bool variable =
      value[0] == '$' && value.find_first_not_of(kOfVariables, 1) == std::string::npos;
  return value[0] != '{' && !variable && !plain_setting(name, value);
}

// "-c" and "-lc": what follows is a script, in which a blank ends a value.
bool asks_for_script(const std::string& flag) {
  return flag.size() >= 2 && flag.size() <= 4 && flag[0] == '-' && flag[1] != '-' &&
         flag.back() == 'c';
}

}  // namespace

std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> masked;
  std::string flag;  // that looks secret and waits for its value
  bool script = false;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const bool one_name = std::all_of(name.begin(), name.end(), is_name);
    const bool value_of_flag = !flag.empty() && !starts_with(argument, "-") &&
                               !starts_with(argument, "{") && !plain_setting(flag, argument);
    if (value_of_flag) {
      masked.emplace_back(kMask);
    } else if (equals != std::string::npos && !script &&
               is_secret_whole(name, argument.substr(equals + 1))) {
      masked.push_back(name + "=" + kMask);
    } else if (equals != std::string::npos && one_name) {
      masked.push_back(masked_text(argument));
    } else {  // as a shell would quote it: a header's name stands behind the quote
      const std::string quoted = masked_text("\"" + argument);
      masked.push_back(quoted.substr(1));
    }
    const bool waits = starts_with(argument, "-") && equals == std::string::npos && one_name;
    flag = waits && looks_secret(argument) ? argument : "";
    script = asks_for_script(argument);
  }
  return masked;
}

std::vector<std::string> secret_values(const Environment& environment) {
  std::vector<std::string> values;
  for (const auto& [name, value] : environment) {
    if (value.size() >= 4 && looks_secret(name) && !plain_setting(name, value)) {
      values.push_back(value);
    }
  }
  return values;
}

std::string without_secrets(std::string_view text, const std::vector<std::string>& values) {
  std::string out(text);
  for (const std::string& value : values) {
    for (std::size_t at = out.find(value); at != std::string::npos; at = out.find(value, at)) {
      out.replace(at, value.size(), kMask);
      at += 3;
    }
  }
  return masked_text(out);
}

bool holds_mask(std::string_view text) {
  constexpr std::string_view kMasked = kMask;
  for (std::size_t at = text.find(kMasked); at != std::string_view::npos;
       at = text.find(kMasked, at + 1)) {
    std::string filled(text);
    // A value that is neither a number nor a word of settings. If it is masked again, the mask
    // stood for a value.
    filled.replace(at, kMasked.size(), "x1y2z3w4");
    if (masked_text(filled) == text) return true;
  }
  return text == kMasked;
}

}  // namespace ocrtune
