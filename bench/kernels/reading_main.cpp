// reading_bench: what the data path alone delivers, without a network behind it. Usage:
// reading_bench DATA [HEIGHT [WIDTH [BATCH [SECONDS [MOST_WORKERS]]]]]
//
// First one process by stages: bytes from the file, decoding, scaling. Then batches through the
// loader with 0, 1, 2, 4... workers. The files are read once before, so the disk is out of it; say
// `sync; echo 3 > /proc/sys/vm/drop_caches` and give 0 seconds for what a cold disk does.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/data/image_file.h"
#include "core/data/loader.h"
#include "core/data/resize.h"
#include "core/data/samples.h"

namespace ocrtune {
namespace {

struct Setting {
  LoaderOptions loader;
  double seconds = 2;
  int max_workers = 2;
};

template <typename Value>
Value or_exit(Result<Value> value) {
  if (!value) {
    std::fprintf(stderr, "reading_bench: %s\n", value.error().what.c_str());
    std::exit(1);
  }
  return std::move(*value);
}

// Lines one after another, each stage on its own clock, until the time is over or, with 0 seconds,
// all were read.
void measure_stages(const Setting& setting, bool speaks) {
  const auto source = or_exit(open_samples(setting.loader.label_file, setting.loader.alphabet));
  const auto height = setting.loader.height, width = setting.loader.width;
  std::vector<float> planes(image_floats({1, height, width}));
  double read = 0, decode = 0, scale = 0, bytes = 0, pixels = 0;
  std::int64_t lines = 0;
  Clock& clock = steady_clock();
  const double end = clock.now_seconds() + setting.seconds;
  const auto over = [&](double now) {
    return setting.seconds > 0 ? now >= end : lines >= source->size();
  };
  while (!over(clock.now_seconds())) {
    const double start = clock.now_seconds();
    const auto file = source->image_bytes(lines % source->size());
    const double got = clock.now_seconds();
    const auto image = file ? decode_image(*file) : Result<Image>(file.error());
    const double decoded = clock.now_seconds();
    ++lines;
    if (!image) continue;
    write_line(*image, height, width, planes);
    read += got - start;
    decode += decoded - got;
    scale += clock.now_seconds() - decoded;
    bytes += static_cast<double>(file->size());
    pixels += static_cast<double>(image->width) * image->height;
  }
  if (!speaks) return;
  const double all = read + decode + scale, count = static_cast<double>(lines);
  std::printf(
      "one process: %.0f lines/s; a line: read %.1f us (%.0f MB/s), decode %.1f us (%.0f "
      "Mpixel/s), scale %.1f us\n",
      count / all, read / count * 1e6, bytes / read * 1e-6, decode / count * 1e6,
      pixels / decode * 1e-6, scale / count * 1e6);
}

void measure_loader(const Setting& setting, int workers) {
  LoaderOptions options = setting.loader;
  options.workers = workers;
  const auto loader = or_exit(Loader::create(options));
  Batch batch;
  Clock& clock = steady_clock();
  const auto next = [&] {
    if (const Status got = loader->next_into(batch); !got) {
      std::fprintf(stderr, "reading_bench: %s\n", got.error().what.c_str());
      std::exit(1);
    }
  };
  // The queue fills while nobody takes: what was ready at the start is not a rate.
  const int queued = std::max(1, workers * options.queue_depth);
  for (int i = 0; i < queued + 1; ++i) next();
  const double start = clock.now_seconds();
  std::int64_t lines = 0;
  do {
    next();
    lines += batch.count;
  } while (clock.now_seconds() - start < setting.seconds);
  std::printf("loader, %d workers: %.0f lines/s\n", workers,
              static_cast<double>(lines) / (clock.now_seconds() - start));
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char** argv) {
  using namespace ocrtune;
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: reading_bench DATA [HEIGHT [WIDTH [BATCH [SECONDS [MOST_WORKERS]]]]]\n");
    return 2;
  }
  const auto number = [&](int index, double usual) {
    return argc > index ? std::strtod(argv[index], nullptr) : usual;
  };
  Setting setting;
  setting.loader.label_file = samples_path(argv[1]);
  setting.loader.height = static_cast<int>(number(2, 32));
  setting.loader.width = static_cast<int>(number(3, 320));
  setting.loader.batch = static_cast<int>(number(4, 16));
  setting.seconds = number(5, 2);
  setting.max_workers = static_cast<int>(number(6, 2));
  if (setting.seconds > 0) {
    Setting once = setting;  // the files into the page cache
    once.seconds = 0;
    measure_stages(once, false);
  }
  measure_stages(setting, true);
  for (int workers = 0; workers <= setting.max_workers; workers = std::max(1, 2 * workers)) {
    measure_loader(setting, workers);
  }
  return 0;
}
