// The matrix has a row and a column for each GPU: level and the driver's word from the machine's
// facts and, where `ocrtune p2p --json` was added, the judged verdict.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/html/page_sections.h"
#include "reports/markup/page_markup.h"

namespace ocrtune {
namespace {

// Above this many GPUs a matrix is no longer read.
constexpr std::size_t kMaxGpus = 16;

const GpuLink* link_of(const Machine& machine, int from, int to) {
  for (const GpuLink& link : machine.gpu_links) {
    if (link.from == from && link.to == to) return &link;
  }
  return nullptr;
}

const PeerDocument::Pair* pair_of(const PeerDocument* peers, int from, int to) {
  if (peers == nullptr) return nullptr;
  for (const auto& pair : peers->pairs) {
    if (pair.from == from && pair.to == to) return &pair;
  }
  return nullptr;
}

// How well a pair stands: by the judged verdict if there is one, else by the driver's word, which
// alone proves nothing good.
const char* tone_of(const GpuLink* link, const std::string& verdict) {
  if (verdict == "P2P_OK") return "good";
  if (verdict == "UNSUPPORTED" || verdict == "SLOW" || verdict == "INCONCLUSIVE" ||
      verdict == "PARTIAL") {
    return "warning";
  }
  if (!verdict.empty()) return "bad";
  if (link == nullptr || link->read.empty()) return "neutral";
  return link->read == "ok" && link->write == "ok" ? "neutral" : "warning";
}

std::string driver_words(const GpuLink& link) {
  if (link.read.empty()) return say("driver silent");
  if (link.read == "ok" && link.write == "ok") return say("driver: yes");
  return say("driver: {}", {machine_text(link.read == "ok" ? link.write : link.read)});
}

std::string cell_html(const Machine& machine, const PeerDocument* peers, int from, int to) {
  if (from == to) return "<td class=\"self\">–</td>";
  const GpuLink* link = link_of(machine, from, to);
  const PeerDocument::Pair* pair = pair_of(peers, from, to);
  const std::string verdict = pair != nullptr ? pair->verdict : "";
  std::string words;
  if (!verdict.empty()) words += "<b>" + html_text(verdict, 100) + "</b>";
  if (link != nullptr) {
    words += "<span class=\"level\">" + html_text(link->level.empty() ? "?" : link->level, 20) +
             "</span><small>" + driver_words(*link) + "</small>";
  }
  return fmt::format("<td class=\"peer {}\">{}</td>", tone_of(link, verdict),
                     words.empty() ? say("unknown") : words);
}

std::string matrix(const Machine& machine, const PeerDocument* peers) {
  std::string out =
      fmt::format("<div class=\"wide\"><table class=\"peers\"><thead><tr><th scope=\"col\">{}</th>",
                  say("from ↓ to →"));
  // GPUs beyond these have neither row nor column.
  const std::size_t count = std::min(machine.gpus.size(), kMaxGpus);
  for (std::size_t i = 0; i < count; ++i) {
    out += fmt::format("<th scope=\"col\">GPU {}</th>", machine.gpus[i].index);
  }
  out += "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < count; ++i) {
    const int from = machine.gpus[i].index;
    out += fmt::format("<tr><th scope=\"row\">GPU {}</th>", from);
    for (std::size_t j = 0; j < count; ++j) {
      out += cell_html(machine, peers, from, machine.gpus[j].index);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string list_of(const char* phrase, const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  std::string items;
  for (const std::string& text : texts) {
    items += "<li>" + say_sentence(plain_line(text, 1000)) + "</li>";
  }
  return fmt::format("<h3>{}</h3><ul>{}</ul>\n", say(phrase), items);
}

std::string environment_html(const P2pSummary& p2p) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : p2p.env) {
    if (is_variable_name(name)) lines.push_back("export " + name + "=" + shell_quote(value));
  }
  return lines.empty() ? "" : copy_block("Environment", "p2p-env", join(lines, "\n"));
}

}  // namespace

std::string p2p_section(const RunRecord& run, const PeerDocument* peers) {
  const Machine& machine = run.machine;
  if (machine.gpus.size() < 2) return "";
  const P2pSummary& p2p = machine.p2p;
  const std::string verdict = peers != nullptr ? peers->verdict : p2p.verdict;
  const std::string sentence = peers != nullptr ? peers->sentence : p2p.sentence;
  std::string body =
      fmt::format("<p><span class=\"badge {}\">{}</span> {}</p>\n", tone_of(nullptr, verdict),
                  html_text(verdict.empty() ? "UNKNOWN" : verdict, 100),
                  say_sentence(plain_line(sentence, 2000)));
  body += matrix(machine, peers);
  body +=
      "<p class=\"note\">" +
      say("Level: NVL NVLink, PIX one PCIe switch, PXB several, PHB the CPU's root complex, SYS "
          "between sockets. The driver's yes is no proof: copies, an in-kernel handshake and a "
          "real collective are.") +
      "</p>\n";
  body += environment_html(p2p);
  body += list_of("Evidence", p2p.evidence) + list_of("What to do", p2p.hints) +
          list_of("Not checked", p2p.not_checked);
  return section_html("p2p", "GPU peer-to-peer", body);
}

}  // namespace ocrtune
