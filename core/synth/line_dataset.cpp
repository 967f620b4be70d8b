// Threads claim lines in order, and a line depends on its number alone, so that the bytes are the
// same for any number of threads. labels.txt is written last.
#include "core/synth/line_dataset.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "core/data/image_file.h"

namespace ocrtune {
namespace {

constexpr const char* kImageFolder = "images";

// Unlike write_file: no sync, because a thousand small files would wait for the disk a thousand
// times, and labels.txt names an image only once it is whole.
Status write_image(const std::string& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return system_error(errno, "create " + path);
  Status status = write_all(file, bytes, path);
  if (::close(file) != 0 && status) status = system_error(errno, "write " + path);
  if (!status) ::unlink(path.c_str());
  return status;
}

// What the threads share. Lines are claimed in order, so that those done are the first ones.
class Drawing {
 public:
  explicit Drawing(const DatasetOptions& options)
      : options_(options), labels_(static_cast<std::size_t>(options.count)) {}

  void draw_until_done(LinePainter& painter);
  // Calls `progress` until all threads are done or one has failed.
  void watch(int threads, const std::function<void(std::int64_t)>& progress);

  const Status& status() const { return status_; }
  std::int64_t lines() const { return std::min(claimed_.load(), options_.count); }
  std::uint64_t bytes() const { return bytes_; }
  std::string label_text() const;

 private:
  Status draw_line(LinePainter& painter, std::int64_t index);

  const DatasetOptions& options_;
  std::vector<std::string> labels_;  // "images/000001.png<TAB>text"
  std::atomic<std::int64_t> claimed_ = 0, drawn_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable finished_;
  int finished_threads_ = 0;
  Status status_;
};

Status Drawing::draw_line(LinePainter& painter, std::int64_t index) {
  const DrawnLine line = OCRTUNE_TRY(painter.draw(index));
  Random random = Random(mix_bits(options_.draw.seed)).fork(static_cast<std::uint64_t>(index));
  const bool jpeg = random.uniform() < options_.jpeg_share;
  // It is drawn for PNG lines too, or the share of JPEG would change the other lines.
  const int quality = static_cast<int>(random.integer(60, 95));
  const Result<std::string> bytes =
      jpeg ? encode_jpeg(line.image, quality) : encode_png(line.image);
  if (!bytes) return bytes.error();
  char name[64];
  std::snprintf(name, sizeof name, "%s/%06lld.%s", kImageFolder, static_cast<long long>(index),
                jpeg ? "jpg" : "png");
  OCRTUNE_TRY(write_image(join_path(options_.folder, name), *bytes));
  labels_[static_cast<std::size_t>(index)] = std::string(name) + "\t" + line.text + "\n";
  bytes_ += bytes->size();
  return Status();
}

void Drawing::draw_until_done(LinePainter& painter) {
  while (!stop_ && !interrupted()) {
    const std::int64_t index = claimed_++;
    if (index >= options_.count) break;
    if (Status status = draw_line(painter, index); !status) {
      const std::lock_guard lock(mutex_);
      if (status_) status_ = std::move(status);
      stop_ = true;
    }
    ++drawn_;
  }
  const std::lock_guard lock(mutex_);
  ++finished_threads_;
  finished_.notify_all();
}

void Drawing::watch(int threads, const std::function<void(std::int64_t)>& progress) {
  std::unique_lock lock(mutex_);
  // `progress` is called from this thread alone, ten times a second.
  while (!finished_.wait_for(lock, std::chrono::milliseconds(100),
                             [&] { return finished_threads_ == threads; })) {
    if (progress) progress(drawn_);
  }
}

std::string Drawing::label_text() const {
  std::string text;
  for (std::int64_t i = 0; i < lines(); ++i) text += labels_[static_cast<std::size_t>(i)];
  return text;
}

std::string manifest_text(const DatasetOptions& options, const std::vector<std::string>& fonts,
                          std::int64_t lines) {
  const DrawOptions& draw = options.draw;
  std::string text = "ocrtune line images 1\n";
  text += "lines " + std::to_string(lines) + "\nseed " + std::to_string(draw.seed) + "\nheight " +
          std::to_string(draw.height) + "\nlength " + std::to_string(draw.min_length) + " " +
          std::to_string(draw.max_length) + "\njpeg_share " + std::to_string(options.jpeg_share) +
          "\nfreetype " + freetype_version() + "\n";
  for (const std::string& font : fonts) {
    std::uint64_t hash = 0;
    const std::string bytes = read_file(font).value_or("");
    for (const char byte : bytes) hash = mix_bits(hash ^ static_cast<unsigned char>(byte));
    char line[64];
    std::snprintf(line, sizeof line, "font %016llx %zu ", static_cast<unsigned long long>(hash),
                  bytes.size());
    text += line + font + "\n";
  }
  return text;
}

Status prepare_folder(const DatasetOptions& options) {
  if (path_exists(options.folder) && !is_directory(options.folder)) {
    return Error{ErrorKind::usage, options.folder + " is a file, not a folder"};
  }
  const bool occupied =
      is_directory(options.folder) && !list_directory(options.folder).value_or({}).empty();
  if (occupied && !options.replace) {
    return Error{ErrorKind::usage,
                 options.folder + " is not empty; choose another folder or give --force"};
  }
  const std::string images = join_path(options.folder, kImageFolder);
  // Only a folder that this program drew is emptied.
  if (occupied && path_exists(join_path(options.folder, kManifestFileName))) {
    OCRTUNE_TRY(remove_tree(images));
  }
  for (const std::string& folder : {options.folder, images}) OCRTUNE_TRY(make_folder(folder));
  return Status();
}

}  // namespace

Result<DatasetReport> draw_dataset(const DatasetOptions& options,
                                   const std::function<void(std::int64_t lines)>& progress) {
  std::vector<LinePainter> painters;
  for (int i = 0; i < std::max(options.threads, 1); ++i) {
    auto painter = OCRTUNE_TRY(LinePainter::create(options.alphabet, options.draw));
    painters.push_back(std::move(painter));
  }
  OCRTUNE_TRY(prepare_folder(options));
  Drawing drawing(options);
  {
    std::vector<std::jthread> threads;
    try {
      for (LinePainter& painter : painters) {
        threads.emplace_back([&] { drawing.draw_until_done(painter); });
      }
    } catch (const std::system_error& refused) {  // fewer threads draw more each
      if (threads.empty()) return system_error(refused.code().value(), "start a thread");
    }
    drawing.watch(static_cast<int>(threads.size()), progress);
  }
  if (!drawing.status()) return drawing.status().error();
  const std::vector<std::string>& fonts = painters[0].fonts();
  const std::pair<const char*, std::string> files[] = {
      {kAlphabetFileName, options.alphabet.file_text()},
      {kManifestFileName, manifest_text(options, fonts, drawing.lines())},
      {kLabelFileName, drawing.label_text()}};
  for (const auto& [name, text] : files) {
    OCRTUNE_TRY(write_file(join_path(options.folder, name), text));
  }
  return DatasetReport{drawing.lines(), drawing.bytes(), fonts.size()};
}

}  // namespace ocrtune
