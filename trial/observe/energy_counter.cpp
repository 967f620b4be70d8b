#include "trial/observe/energy_counter.h"

#include <utility>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr const char* kFolder = "/sys/class/powercap";

// "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it (cores, memory) that it contains.
bool is_package(const std::string& name) {
  return starts_with(name, "intel-rapl:") && split(name, ':').size() == 2;
}

Result<std::uint64_t> read_microjoules(const FileRoot& root, const std::string& path) {
  const auto text = OCRTUNE_TRY(root.read(path));
  const auto number = parse_number(std::string(trim(text)));
  if (!number || *number < 0) return Error{ErrorKind::invalid, path + " holds no count"};
  return static_cast<std::uint64_t>(*number);
}

}  // namespace

EnergyCounter::EnergyCounter(FileRoot root) : root_(std::move(root)) {
  const auto names = root_.list(kFolder);
  missing_ = "this machine has no energy counter (" + std::string(kFolder) + ")";
  if (!names) return;
  for (const std::string& name : *names) {
    if (!is_package(name)) continue;
    const std::string folder = std::string(kFolder) + "/" + name;
    const auto now = read_microjoules(root_, folder + "/energy_uj");
    if (!now) {
      missing_ = now.error().what;
      continue;
    }
    const auto range = read_microjoules(root_, folder + "/max_energy_range_uj");
    packages_.push_back({folder + "/energy_uj", *now, range.value_or(0)});
  }
  if (!packages_.empty()) missing_.clear();
}

double EnergyCounter::take_joules() {
  double microjoules = 0;
  for (Package& package : packages_) {
    const auto now = read_microjoules(root_, package.path);
    if (!now) continue;
    if (*now >= package.last) {
      microjoules += static_cast<double>(*now - package.last);
    } else if (package.range > package.last) {
      microjoules += static_cast<double>(package.range - package.last + *now);
    }
    package.last = *now;
  }
  return 1e-6 * microjoules;
}

}  // namespace ocrtune
