// Two passes: measure() gives each box its size from the inside out, then the drawing places the
// boxes. Both let them flow in the same way and must stay alike.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/figures/figures.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"

namespace ocrtune {
namespace {

constexpr double kCore = 22, kGap = 4, kPad = 6, kTitle = 16;
constexpr double kWidest = 1000;
constexpr int kShared = -1;  // instead of a rank

struct Core {
  std::vector<int> cpus;
  int kind = 0;
};

// A package, a NUMA node or a cache group; boxes flow like words in a line.
struct Box {
  std::string title;  // plain text
  std::vector<Box> children;
  std::vector<Core> cores;
  double width = 0, height = 0;
};

// A column of the title's font takes about 6.4 pixels (a guess).
double title_width(const std::string& title) { return 6.4 * display_width(title); }

void measure(Box& box, double widest) {
  const double inner = widest - 2 * kPad;
  double x = 0, y = 0, line = 0, used = 0;
  const auto place = [&](double width, double height) {
    if (x > 0 && x + width > inner) {
      y += line + kGap;
      x = line = 0;
    }
    x += width + kGap;
    line = std::max(line, height);
    used = std::max(used, x - kGap);
  };
  for (Box& child : box.children) {
    measure(child, inner);
    place(child.width, child.height);
  }
  // Cores of one group make at most two rows before they need a third.
  const std::size_t per_row = std::max<std::size_t>((box.cores.size() + 1) / 2, 4);
  const double row = std::min(inner, static_cast<double>(per_row) * (kCore + kGap));
  for (std::size_t i = 0; i < box.cores.size(); ++i) {
    if (x > 0 && x + kCore > row) {
      y += line + kGap;
      x = line = 0;
    }
    place(kCore, kCore);
  }
  box.width = std::max(used, title_width(box.title)) + 2 * kPad;
  box.height = y + line + kTitle + kPad;
}

// Rank of each CPU from "0:0-3 1:4-7"; behind '@' stands the rank's GPU. A CPU that several ranks
// may use, as without binding, is nobody's.
std::map<int, int> ranks_of(const std::string& placement) {
  std::map<int, int> ranks;
  for (const std::string& word : words(placement)) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos) continue;
    const auto rank = parse_integer(word.substr(0, colon));
    const auto cpus = CpuSet::parse(word.substr(colon + 1, word.find('@') - colon - 1));
    if (!rank || !cpus) continue;
    for (const int cpu : cpus->cpus()) {
      const auto [at, first] = ranks.emplace(cpu, static_cast<int>(*rank));
      if (!first) at->second = kShared;
    }
  }
  std::erase_if(ranks, [](const auto& one) { return one.second == kShared; });
  return ranks;
}

class TopologyDrawing {
 public:
  TopologyDrawing(const Machine& machine, const std::string& placement, const Box& root)
      : machine_(machine),
        ranks_(ranks_of(placement)),
        svg_(root.width + 2, root.height + 2,
             say_attribute("aria-label", "Packages, NUMA nodes, caches and cores")) {}

  std::string draw(const Box& root) {
    // The root is only a frame for the flow: its own box is not drawn.
    draw_inside(root, 1 - kPad, 1 - kTitle);
    return svg_.markup();
  }

 private:
  void draw_box(const Box& box, double left, double top) {
    svg_.rectangle(left, top, box.width, box.height, "place");
    svg_.text(left + kPad, top + 12, html_text(box.title, 200), "place-title");
    draw_inside(box, left, top);
  }

  void draw_inside(const Box& box, double left, double top) {
    // Half a pixel guards against rounding: a box that fitted in measure() must fit here.
    const double inner = box.width - 2 * kPad + 0.5;
    double x = 0, y = 0, line = 0;
    const auto next = [&](double width, double height) {
      if (x > 0 && x + width > inner) {
        y += line + kGap;
        x = line = 0;
      }
      const std::pair<double, double> at(left + kPad + x, top + kTitle + y);
      x += width + kGap;
      line = std::max(line, height);
      return at;
    };
    for (const Box& child : box.children) {
      const auto at = next(child.width, child.height);
      draw_box(child, at.first, at.second);
    }
    const std::size_t per_row = std::max<std::size_t>((box.cores.size() + 1) / 2, 4);
    const double row = std::min(inner, static_cast<double>(per_row) * (kCore + kGap));
    for (const Core& core : box.cores) {
      if (x > 0 && x + kCore > row) {
        y += line + kGap;
        x = line = 0;
      }
      const auto at = next(kCore, kCore);
      draw_core(core, at.first, at.second);
    }
  }

  void draw_core(const Core& core, double left, double top) {
    bool allowed = false;
    int rank = -1;
    std::string cpus;
    for (const int cpu : core.cpus) {
      allowed = allowed || machine_.cpu.allowed.empty() || machine_.cpu.allowed.contains(cpu);
      const auto found = ranks_.find(cpu);
      if (found != ranks_.end()) rank = found->second;
      cpus += (cpus.empty() ? "" : ", ") + std::to_string(cpu);
    }
    const std::string title = "CPU " + cpus + (rank < 0 ? "" : fmt::format(", rank {}", rank)) +
                              (core.kind > 0 ? fmt::format(", kind {}", core.kind) : "");
    const char* css = !allowed        ? "core-box barred"
                      : rank < 0      ? "core-box"
                      : rank % 2 == 0 ? "core-box rank-even"
                                      : "core-box rank-odd";
    svg_.rectangle(left, top, kCore, kCore, css, title);
    if (!allowed) {
      svg_.line(left, top, left + kCore, top + kCore, "bar-line");
    } else {
      svg_.text(left + kCore / 2, top + kCore / 2 + 3.5,
                rank < 0 ? std::to_string(core.cpus[0]) : fmt::format("r{}", rank), "core-text",
                Svg::Anchor::middle);
    }
  }

  const Machine& machine_;
  std::map<int, int> ranks_;
  Svg svg_;
};

std::string numbered(const char* name, int number) {
  return number < 0 ? fmt::format("{} ?", name) : fmt::format("{} {}", name, number);
}

// A level with a single child adds only its name.
Box merge_single(Box box) {
  for (Box& child : box.children) child = merge_single(std::move(child));
  if (box.children.size() != 1) return box;
  Box child = std::move(box.children[0]);
  child.title = box.title.empty() ? child.title : box.title + ", " + child.title;
  return child;
}

Box boxes_of(const Machine& machine) {
  std::map<int, std::map<int, std::map<int, std::map<int, Core>>>> tree;
  for (const CpuPlace& place : machine.cpu.places) {
    // A CPU whose core is unknown is a core of its own, numbered behind all real ones.
    const int core_number = place.core < 0 ? 100000 + place.cpu : place.core;
    Core& core = tree[place.package][place.numa][place.l3][core_number];
    core.cpus.push_back(place.cpu);
    core.kind = place.kind;
  }
  std::set<int> gpus_shown;
  Box root;
  for (const auto& [package, nodes] : tree) {
    Box package_box{numbered("package", package), {}, {}};
    for (const auto& [node, groups] : nodes) {
      Box node_box{numbered("NUMA", node), {}, {}};
      for (const auto& [group, cores] : groups) {
        Box group_box{numbered("L3", group), {}, {}};
        for (const auto& [number, core] : cores) group_box.cores.push_back(core);
        node_box.children.push_back(std::move(group_box));
      }
      for (const GpuFacts& gpu : machine.gpus) {
        // A node that spans several packages would show its GPUs twice.
        if (gpu.numa != node || !gpus_shown.insert(gpu.index).second) continue;
        node_box.children.push_back(
            {fmt::format("GPU {}: {}", gpu.index, plain_line(gpu.name, 60)), {}, {}});
      }
      package_box.children.push_back(std::move(node_box));
    }
    root.children.push_back(std::move(package_box));
  }
  for (const GpuFacts& gpu : machine.gpus) {
    if (gpus_shown.contains(gpu.index)) continue;
    root.children.push_back(
        {fmt::format("GPU {}: {}", gpu.index, plain_line(gpu.name, 60)), {}, {}});
  }
  for (Box& child : root.children) child = merge_single(std::move(child));
  return root;
}

}  // namespace

std::string topology_figure(const Machine& machine, const std::string& placement) {
  if (machine.cpu.places.empty()) return "";
  Box root = boxes_of(machine);
  measure(root, kWidest);
  const std::string caption =
      ranks_of(placement).empty()
          ? say("Cores by package, NUMA node and cache; a number is the core's first CPU.")
          : say("Cores by package, NUMA node and cache; r0, r1, ... are the ranks of the "
                "recommended setting.");
  return figure_html(caption, TopologyDrawing(machine, placement, root).draw(root), "topology");
}

}  // namespace ocrtune
