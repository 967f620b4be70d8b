// The file stays in memory as one text; lines point into it. Alphabet and labels are made when it
// is opened, so that a bad line is known before the first batch.
#include "core/data/label_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/files.h"
#include "core/data/image_file.h"

namespace ocrtune {

std::string LabelFile::place(int number) const { return file_name_ + ":" + std::to_string(number); }

void LabelFile::split_lines() {
  std::string_view rest = text_;
  if (rest.substr(0, 3) == "\xEF\xBB\xBF") rest.remove_prefix(3);
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) {
      unusable_.add(place(number) + ": no tab");
    } else if (tab == 0) {
      unusable_.add(place(number) + ": no path");
    } else if (tab + 1 == line.size()) {
      unusable_.add(place(number) + ": no text");
    } else {
      lines_.push_back(Line{line.substr(0, tab), line.substr(tab + 1), 0, 0, number});
    }
  }
}

Status LabelFile::make_alphabet(const std::string& alphabet_text) {
  std::string text = alphabet_text;
  if (text.empty()) {
    // UTF-8 sorts as its code points do.
    std::set<std::string> all;
    for (const Line& line : lines_) {
      auto characters = split_characters(line.text);
      if (characters) all.insert(characters->begin(), characters->end());
    }
    for (const std::string& character : all) text += character;
  }
  if (text.empty()) return Status();  // nothing usable: the caller sees an empty source
  alphabet_ = OCRTUNE_TRY(Alphabet::from_text(text));
  return Status();
}

// Drops the lines that the alphabet cannot spell.
void LabelFile::encode_labels() {
  std::vector<Line> usable;
  usable.reserve(lines_.size());
  for (Line& line : lines_) {
    const auto classes = alphabet_.encode(line.text);
    if (!classes) {
      unusable_.add(place(line.number) + ": " + classes.error().what);
      continue;
    }
    line.first = classes_.size();
    line.length = static_cast<int>(classes->size());
    classes_.insert(classes_.end(), classes->begin(), classes->end());
    usable.push_back(line);
  }
  lines_ = std::move(usable);
}

Result<std::unique_ptr<LabelFile>> LabelFile::open(const std::string& path) {
  if (is_directory(path)) {
    return Error{ErrorKind::usage, path + " is a folder, not a label file"};
  }
  auto text = OCRTUNE_TRY(read_file(path, 8ULL << 30));
  std::unique_ptr<LabelFile> file(new LabelFile);
  file->folder_ = parent_path(path);
  file->file_name_ = base_name(path);
  file->text_ = std::move(text);
  file->split_lines();
  return file;
}

Result<ImageSearch> LabelFile::look_for_images(const std::string& path) {
  // The value is a guess, enough to see that the files are no images at all.
  constexpr std::int64_t kToOpen = 8;
  const auto file = OCRTUNE_TRY(open(path));
  ImageSearch search;
  search.lines = file->size();
  const std::string start = join_path(file->folder_, file->file_name_) + ":";
  const std::int64_t step = std::max<std::int64_t>(search.lines / kToOpen, 1);
  for (std::int64_t line = 0; line < search.lines; ++line) {
    const std::string image = file->image_path(line);
    const int number = file->lines_[static_cast<std::size_t>(line)].number;
    const std::string place = start + std::to_string(number) + ": ";
    if (!path_exists(image)) {
      if (search.missing++ == 0) search.first_missing = place + image;
    } else if (line % step == 0) {
      ++search.opened;
      const auto decoded = read_image(image);
      if (!decoded && search.unreadable++ == 0) {
        search.first_unreadable = place + decoded.error().what;
      }
    }
  }
  return search;
}

Result<std::unique_ptr<LabelFile>> LabelFile::read(const std::string& path,
                                                   const std::string& alphabet_text) {
  auto opened = OCRTUNE_TRY(open(path));
  std::unique_ptr<LabelFile> file = std::move(opened);
  OCRTUNE_TRY(file->make_alphabet(alphabet_text));
  file->encode_labels();
  return file;
}

std::string LabelFile::image_path(std::int64_t line) const {
  const std::string_view path = lines_[static_cast<std::size_t>(line)].path;
  return path[0] == '/' ? std::string(path) : join_path(folder_, path);
}

Result<std::string> LabelFile::image_bytes(std::int64_t line) const {
  return read_image_bytes(image_path(line));
}

Result<std::string> LabelFile::image_head(std::int64_t line, std::uint64_t max_bytes) const {
  return read_image_head(image_path(line), max_bytes);
}

std::span<const int> LabelFile::label(std::int64_t line) const {
  const Line& at = lines_[static_cast<std::size_t>(line)];
  return std::span<const int>(classes_).subspan(at.first, static_cast<std::size_t>(at.length));
}

std::string LabelFile::name(std::int64_t line) const {
  return place(lines_[static_cast<std::size_t>(line)].number);
}

}  // namespace ocrtune
