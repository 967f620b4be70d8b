// The frame of every page: head, banner with language and theme switches, jump marks, scripts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ocrtune {

struct PageFrame {
  std::string language = "auto";  // auto: the reader's browser decides; en | zh
  std::string title;              // of the window, plain text
  std::string heading_html, line_html;
  int refresh_seconds = 0;  // until the script reads the file again; 0: never
  // Section id -> phrase of its jump mark; a mark without its section is left out.
  std::vector<std::pair<const char*, const char*>> marks;
};

// `data_json` is for `script`, which runs after the frame's own; both may be empty.
std::string framed(const PageFrame& frame, const std::string& sections_html,
                   const std::string& data_json = "", std::string_view script = "");

}  // namespace ocrtune
