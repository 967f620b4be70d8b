// report.html: one file that answers, shows its evidence, and opens anywhere without a network.
//
// The answer, the rules, the machine and the failures stand in the HTML itself and are readable
// without script; pictures are drawn on the server; the table of all trials is built by the script
// from embedded data. Everything from the machine or the user is text, never markup.
#pragma once

#include <string>

#include "reports/html/page_documents.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

struct PageOptions {
  std::string language = "auto";       // auto: the reader's browser decides; en | zh
  const RunRecord* earlier = nullptr;  // judged too; gets a section that compares
  PageDocuments documents = {};        // sections on capacity, latency, a verdict for each GPU pair
  int refresh_seconds = 0;  // of a run under way: a browser reads the file again; 0: never
};

std::string page_html(const RunRecord& run, const PageOptions& options = {});

}  // namespace ocrtune
