// next() either makes the batch here or takes it from the workers; both go through BatchMaker, so
// that batches are equal. Bad lines are counted once each, and too many of them end the run.
#include "core/data/loader.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/data/batch_maker.h"
#include "core/data/loader_workers.h"
#include "core/data/samples.h"

namespace ocrtune {
namespace {

// Which lines were seen and which of them were bad, each counted once.
class BadCount {
 public:
  BadCount(UnusableLines unusable, std::int64_t lines)
      : unusable_(std::move(unusable)), seen_(static_cast<std::size_t>(lines)), bad_(seen_) {
    seen_lines_ = unusable_.count;
  }

  void see(std::int64_t line) {
    if (seen_[static_cast<std::size_t>(line)]) return;
    seen_[static_cast<std::size_t>(line)] = true;
    ++seen_lines_;
  }
  void add(const BadLine& bad) {
    see(bad.line);
    if (bad_[static_cast<std::size_t>(bad.line)]) return;
    bad_[static_cast<std::size_t>(bad.line)] = true;
    unusable_.add(bad.why);
  }
  const UnusableLines& unusable() const { return unusable_; }

  // Of the lines seen so far, but never of fewer than `least`: two bad ones among the first ten
  // say little.
  Status within(double max_share, std::int64_t least) const {
    const std::int64_t of = std::max(seen_lines_, least);
    if (static_cast<double>(unusable_.count) <= max_share * static_cast<double>(of)) return {};
    return Error{ErrorKind::invalid, std::to_string(unusable_.count) + " of " + std::to_string(of) +
                                         " lines are unusable, more than " +
                                         format_percent(max_share) + ": " +
                                         join(unusable_.examples, "; ")};
  }

 private:
  UnusableLines unusable_;
  std::vector<bool> seen_, bad_;
  std::int64_t seen_lines_ = 0;
};

class FileLoader final : public Loader {
 public:
  FileLoader(const LoaderOptions& options, std::unique_ptr<SampleSource> file,
             std::unique_ptr<BatchOrder> order, std::vector<WidthBucket> buckets)
      : options_(options),
        file_(std::move(file)),
        buckets_(std::move(buckets)),
        maker_(*file_, std::move(order)),
        bad_(file_->unusable(), file_->size()) {}

  Status start_workers();
  std::int64_t size() const override { return file_->size(); }
  const std::vector<std::string>& alphabet() const override { return file_->alphabet(); }
  std::int64_t batches_per_epoch() const override { return maker_.order().batches_per_epoch(); }
  const std::vector<WidthBucket>& width_buckets() const override { return buckets_; }
  Result<Batch> next() override;
  Status next_into(Batch& batch) override;
  LoaderCounts counts() const override;

 private:
  Status make_here(Batch& batch);
  Status take_ready(Batch& batch);
  Status account(const Status& made, std::span<const std::int64_t> lines,
                 const std::vector<BadLine>& bad);
  void label(Batch& batch, std::span<const std::int64_t> lines) const;

  LoaderOptions options_;
  std::unique_ptr<SampleSource> file_;
  std::vector<WidthBucket> buckets_;
  BatchMaker maker_;
  BadCount bad_;
  std::unique_ptr<LoaderWorkers> workers_;
  std::vector<std::int64_t> lines_;
  std::int64_t sequence_ = 0, good_ = 0;
};

Status FileLoader::start_workers() {
  if (options_.workers == 0) return Status();
  workers_ = OCRTUNE_TRY(LoaderWorkers::start(maker_, options_.workers, options_.queue_depth));
  return Status();
}

Status FileLoader::account(const Status& made, std::span<const std::int64_t> lines,
                           const std::vector<BadLine>& bad) {
  for (const BadLine& line : bad) bad_.add(line);
  if (made) {
    for (std::int64_t line : lines) bad_.see(line);
  }
  // A rank sees its own share of the lines, and the bad labels of the whole file.
  const std::int64_t shard = file_->size() / options_.world_size + file_->unusable().count;
  const Status within = bad_.within(options_.max_bad_share, shard);
  return within ? made : within;
}

void FileLoader::label(Batch& batch, std::span<const std::int64_t> lines) const {
  batch.labels.resize(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::span<const int> classes = file_->label(lines[i]);
    batch.labels[i].assign(classes.begin(), classes.end());
  }
}

Status FileLoader::make_here(Batch& batch) {
  batch.images.resize(image_floats({batch.count, batch.height, batch.width}));
  lines_.resize(static_cast<std::size_t>(batch.count));
  std::vector<BadLine> bad;
  const Status made = maker_.make(sequence_, batch.images, lines_, bad);
  OCRTUNE_TRY(account(made, lines_, bad));
  label(batch, lines_);
  return Status();
}

Status FileLoader::take_ready(Batch& batch) {
  const auto ready = OCRTUNE_TRY(workers_->take(sequence_));
  OCRTUNE_TRY(account(ready.made, ready.lines, ready.bad));
  batch.images.assign(ready.images.begin(), ready.images.end());
  label(batch, ready.lines);
  workers_->give_back(sequence_);
  return Status();
}

Status FileLoader::next_into(Batch& batch) {
  const BatchShape shape = maker_.order().shape(sequence_);
  batch.count = shape.count;
  batch.channels = 3;
  batch.height = shape.height;
  batch.width = shape.width;
  Status status = workers_ ? take_ready(batch) : make_here(batch);
  if (!status) return status;
  ++sequence_;
  good_ += batch.count;
  return status;
}

Result<Batch> FileLoader::next() {
  Batch batch;
  OCRTUNE_TRY(next_into(batch));
  return batch;
}

LoaderCounts FileLoader::counts() const {
  return LoaderCounts{good_, bad_.unusable().count, bad_.unusable().examples};
}

Status check_options(const LoaderOptions& options) {
  const auto refuse = [](const std::string& what) { return Error{ErrorKind::usage, what}; };
  // The upper bounds are guesses: they catch typing errors before memory is asked for.
  if (options.batch < 1 || options.batch > 65'536) return refuse("batch is 1 to 65536");
  if (options.height < 1 || options.width < 1 || options.height > 4096 || options.width > 65'536) {
    return refuse("images are at most 4096 high and 65536 wide");
  }
  for (const int height : options.heights) {
    if (height < 1 || height > 4096) return refuse("images are at most 4096 high");
  }
  if (options.width_buckets < 0 || options.width_buckets > kMaxWidthBuckets) {
    return refuse("width buckets are 0 to " + std::to_string(kMaxWidthBuckets));
  }
  if (options.width_buckets > 0 && !options.heights.empty()) {
    return refuse("width buckets go with one height: leave out either them or the heights");
  }
  if (options.workers < 0 || options.workers > 256) return refuse("loader workers are 0 to 256");
  if (options.queue_depth < 1 || options.queue_depth > 64) return refuse("queue depth is 1 to 64");
  if (options.first_batch < 0) return refuse("the first batch is 0 or more");
  if (options.world_size < 1 || options.rank < 0 || options.rank >= options.world_size) {
    return refuse("no rank " + std::to_string(options.rank) + " of " +
                  std::to_string(options.world_size));
  }
  return Status();
}

std::unique_ptr<BatchOrder> make_order(const LoaderOptions& options, const SampleSource& source,
                                       std::vector<WidthBucket>& buckets) {
  if (options.width_buckets > 0) {
    const std::vector<int> widths = measure_line_widths(source, options.height, options.width);
    buckets = choose_width_buckets(widths, options.width_buckets,
                                   std::int64_t{options.batch} * options.world_size, options.width);
    return make_bucket_order({options.batch, options.height, options.rank, options.world_size,
                              options.seed, options.first_batch},
                             widths, buckets);
  }
  const BatchSchedule schedule{
      batch_shapes(options.batch, options.height, options.width, options.heights), options.seed,
      options.first_batch};
  return make_round_order(
      {source.size(), schedule.round_lines(), options.rank, options.world_size, options.seed, 0},
      schedule);
}

// What one rank needs for its first batch, or for one of every height.
int lines_together(const BatchOrder& order, const LoaderOptions& options) {
  if (options.width_buckets > 0) return options.batch;
  int lines = 0;
  for (const BatchShape& shape : order.shapes()) lines += shape.count;
  return lines;
}

}  // namespace

Result<std::unique_ptr<Loader>> Loader::create(const LoaderOptions& options) {
  OCRTUNE_TRY(check_options(options));
  auto file = OCRTUNE_TRY(open_samples(options.label_file, options.alphabet));
  const UnusableLines& unusable = file->unusable();
  const std::int64_t lines = file->size();
  if (lines == 0) {
    const std::string why = unusable.count == 0 ? "it is empty" : join(unusable.examples, "; ");
    return Error{ErrorKind::invalid, options.label_file + " has no usable line: " + why};
  }
  const BadCount labels(unusable, lines);
  OCRTUNE_TRY(labels.within(options.max_bad_share, unusable.count + lines));
  std::vector<WidthBucket> buckets;
  std::unique_ptr<BatchOrder> order = make_order(options, *file, buckets);
  if (order->batches_per_epoch() == 0) {
    const int batch = lines_together(*order, options);
    const std::int64_t need = static_cast<std::int64_t>(batch) * options.world_size;
    return Error{ErrorKind::usage, options.label_file + " has " + std::to_string(lines) +
                                       " usable lines; " + std::to_string(options.world_size) +
                                       " ranks with a batch of " + std::to_string(batch) +
                                       " need " + std::to_string(need)};
  }
  auto loader =
      std::make_unique<FileLoader>(options, std::move(file), std::move(order), std::move(buckets));
  OCRTUNE_TRY(loader->start_workers());
  return std::unique_ptr<Loader>(std::move(loader));
}

}  // namespace ocrtune
