// mpi_ranks: what core/comm/mpi_comm.h guarantees, tried by the ranks that mpirun starts. Each rank
// says what went wrong and ends with 1. With an argument, one rank does not come.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "core/comm/mpi_comm.h"
#include "core/models/model.h"
#include "core/train/trainer.h"

namespace ocrtune {
namespace {

int g_rank = 0, g_failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++g_failures;
  std::fprintf(stderr, "rank %d: %s\n", g_rank, what.c_str());
}

std::unique_ptr<Comm> make_comm() {
  auto comm = make_mpi_comm({1, 20});
  expect(comm.ok(), comm ? "" : comm.error().what);
  return comm ? std::move(*comm) : nullptr;
}

// A different number everywhere, none of which a float holds exactly.
float value_at(int rank, std::size_t i) {
  return 1.0F / static_cast<float>(1 + (i * 7 + static_cast<std::size_t>(rank) * 13) % 1021);
}

// In the order of the ranks, as shared memory adds.
float mean_at(int world_size, std::size_t i) {
  float sum = value_at(0, i);
  for (int r = 1; r < world_size; ++r) sum += value_at(r, i);
  return sum * (1.0F / static_cast<float>(world_size));
}

void fill(std::span<float> buffer, int rank) {
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = value_at(rank, i);
}

void try_means(std::size_t count) {
  const auto comm = make_comm();
  if (comm == nullptr) return;
  const int ranks = comm->place().world_size;
  const auto buffer = comm->gradient_buffer(count);
  expect(buffer.ok() && buffer->size() == count, "no buffer");
  for (const float value : *buffer) expect(value == 0, "not zeroed");
  fill(*buffer, g_rank);
  const std::size_t first = count / 3;
  double waited = -1;
  expect(comm->all_reduce_mean(first, count - first, &waited).ok(), "mean failed");
  expect(waited >= 0, "no waiting time");
  for (std::size_t i = 0; i < count; ++i) {
    const float wanted = i < first ? value_at(g_rank, i) : mean_at(ranks, i);
    if ((*buffer)[i] == wanted) continue;
    expect(false, "wrong at " + std::to_string(i) + " of " + std::to_string(count));
    break;
  }
  expect(comm->barrier().ok(), "barrier failed");
}

// Parts from the end to the start, as backward finishes them, with advance between them.
void try_parts(std::size_t count) {
  const auto comm = make_comm();
  if (comm == nullptr) return;
  const auto buffer = comm->gradient_buffer(count);
  for (int step = 0; step < 3; ++step) {
    fill(*buffer, g_rank);
    for (std::size_t end = count; end > 0;) {
      const std::size_t first = end > 4000 ? (end - 4000) / 16 * 16 : 0;
      expect(comm->start_mean(first, end - first).ok(), "start failed");
      expect(comm->advance().ok(), "advance failed");
      end = first;
    }
    double waited = -1;
    expect(comm->finish_means(&waited).ok() && waited >= 0, "finish failed");
    bool right = true;
    for (std::size_t i = 0; i < count; ++i) {
      right &= (*buffer)[i] == mean_at(comm->place().world_size, i);
    }
    expect(right, "parts differ from the mean");
  }
}

void try_place() {
  const auto comm = make_comm();
  if (comm == nullptr) return;
  const RankPlace place = comm->place();
  expect(place.rank == g_rank && place.local_rank >= 0 && place.local_rank < place.local_size &&
             place.node >= 0 && place.node < place.node_count &&
             place.local_size <= place.world_size,
         "no sensible place");
}

void try_mistakes() {
  const auto counts = make_comm();
  const auto ranges = make_comm();
  if (counts == nullptr || ranges == nullptr || counts->place().world_size == 1) return;
  const auto buffer = counts->gradient_buffer(100 + static_cast<std::size_t>(g_rank));
  expect(!buffer && buffer.error().kind == ErrorKind::usage, "different counts were taken");
  const auto room = ranges->gradient_buffer(100);
  const Status reduced = ranges->all_reduce_mean(0, g_rank == 0 ? 50 : 60, nullptr);
  expect(room.ok() && !reduced && reduced.error().kind == ErrorKind::usage,
         "different ranges were taken");
}

// Losses of three steps: the same bits whether gradients go in parts or at once.
std::vector<double> train(std::size_t bucket_bytes) {
  const auto comm = make_comm();
  if (comm == nullptr) return {};
  TrainerOptions options;
  options.batch = 2;
  options.width = 64;
  options.bucket_bytes = bucket_bytes;
  auto trainer = Trainer::create(options, *comm);
  expect(trainer.ok(), trainer ? "" : trainer.error().what);
  Batch batch;
  batch.count = 2;
  batch.width = 64;
  batch.images.resize(image_floats({2, 32, 64}));
  for (std::size_t i = 0; i < batch.images.size(); ++i) batch.images[i] = value_at(g_rank, i);
  batch.labels = {{1, 2}, {3}};
  std::vector<double> losses;
  for (int step = 0; trainer && step < 3; ++step) {
    const auto report = (*trainer)->step(batch);
    expect(report.ok(), report ? "" : report.error().what);
    losses.push_back(report ? report->loss : NAN);
  }
  return losses;
}

// The last rank does not come; the others must say so. It is ended with the job.
int lose_a_rank() {
  auto comm = make_mpi_comm({1, 0.5});
  if (!comm) return 1;
  const RankPlace place = (*comm)->place();
  const auto buffer = (*comm)->gradient_buffer(1000);
  if (place.rank == place.world_size - 1) std::this_thread::sleep_for(std::chrono::seconds(20));
  const Status lost = buffer ? (*comm)->all_reduce_mean(0, 1000, nullptr) : Status();
  std::fprintf(stderr, "rank %d: %s\n", place.rank, lost ? "nothing" : lost.error().what.c_str());
  return lost ? 1 : 0;
}

int run() {
  auto comm = make_mpi_comm({1, 20});
  if (!comm) {
    std::fprintf(stderr, "%s\n", comm.error().what.c_str());
    return 1;
  }
  g_rank = (*comm)->place().rank;
  try_place();
  for (const std::size_t count : {1UL, 17UL, 5000UL, 100'003UL}) try_means(count);
  for (const std::size_t count : {16UL, 5000UL, 60'000UL}) try_parts(count);
  try_mistakes();
  expect(train(0) == train(64 << 10), "training in parts differs");
  expect((*comm)->barrier().ok(), "barrier failed");
  return g_failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char**) { return argc > 1 ? ocrtune::lose_a_rank() : ocrtune::run(); }
