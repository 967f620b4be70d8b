#include "base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

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

// --max_token=25 and --sort-key=true are settings.
bool plain_setting(std::string_view name, std::string_view value) {
  for (const char* sure : {"pass", "secret", "credential"}) {
    if (lower(name).find(sure) != std::string::npos) return false;
  }
  const std::string text = lower(value);
  const bool number = text.size() <= 6 && std::all_of(text.begin(), text.end(), is_digit);
  return number || text == "true" || text == "false" || text == "none" || text == "null";
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
  constexpr std::array<const char*, 6> kWords = {"token",     "key",        "apikey",
                                                 "accesskey", "privatekey", "secretkey"};
  constexpr std::array<const char*, 5> kPlaces = {"file", "path", "dir", "folder", "name"};
  const std::vector<std::string> all = name_words(name);
  if (all.empty() || is_one_of(all.back(), kPlaces)) return false;
  return std::any_of(all.begin(), all.end(), [&](const std::string& word) {
    for (const char* part : {"password", "passwd", "passphrase", "secret", "credential"}) {
      if (word.find(part) != std::string::npos) return true;
    }
    return is_one_of(word, kWords) || ends_with(word, "token");
  });
}

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
    out += name;
    at = end;
    if (!looks_secret(name)) continue;
    const std::size_t begin = value_after(text, end, starts_with(name, "--"));
    if (begin == std::string_view::npos) continue;
    for (end = begin; end < text.size() && !ends_value(text[end]);) ++end;
    const std::string_view value = text.substr(begin, end - begin);
    const bool shown = value.empty() || value[0] == '$' || value[0] == '{';
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

std::vector<std::string> masked_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> masked;
  std::string flag;  // that looks secret and waits for its value
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const bool one_name = std::all_of(name.begin(), name.end(), is_name);
    const bool value_of_flag = !flag.empty() && !starts_with(argument, "-") &&
                               !starts_with(argument, "{") && !plain_setting(flag, argument);
    if (value_of_flag) {
      masked.emplace_back(kMask);
    } else if (equals != std::string::npos && equals + 1 < argument.size() && one_name &&
               looks_secret(name) && argument[equals + 1] != '{' &&
               !plain_setting(name, argument.substr(equals + 1))) {
      masked.push_back(name + "=" + kMask);
    } else {
      masked.push_back(masked_text(argument));
    }
    const bool waits = starts_with(argument, "-") && equals == std::string::npos && one_name;
    flag = waits && looks_secret(argument) ? argument : "";
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

}  // namespace ocrtune
