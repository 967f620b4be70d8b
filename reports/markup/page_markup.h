// The few shapes that the page's sections are made of. All arguments called `html` are markup.
#pragma once

#include <string>
#include <vector>

#include "base/stats.h"
#include "trial/knobs.h"

namespace ocrtune {

// <section id><h2>title</h2>body</section>; `title` is a phrase (reports/catalogue/phrases.h).
std::string section_html(const std::string& id, const std::string& title, const std::string& html,
                         const std::string& css = "");

// The same with a title that is markup.
std::string titled_section(const std::string& id, const std::string& title_html,
                           const std::string& html, const std::string& css = "");

// "2026-11-21T08:00:00Z" as people write it; other texts as they are. Plain text.
std::string date_text(const std::string& utc);

// A real table, named after its section; cells carry their heading for narrow screens, where a
// row becomes a card. A heading that starts with '#' heads a column of numbers. Headings are
// phrases.
std::string table_html(const std::vector<std::string>& headings,
                       const std::vector<std::vector<std::string>>& html_rows,
                       const std::string& css = "");

// Folded until it is opened.
std::string details_html(const std::string& summary_phrase, const std::string& html);

// Label and value in a row, as the answer's facts are shown; either of value and note may be empty.
std::string fact_html(const std::string& label_phrase, const std::string& value_html,
                      const std::string& note_html = "");

// A figure with a phrase as caption; `after_html` follows the picture.
std::string figure_html(const std::string& caption_html, const std::string& picture_html,
                        const std::string& css = "");

// Text to copy in a block with a button; `id` is unique on the page.
std::string copy_block(const std::string& label_phrase, const std::string& id,
                       const std::string& text);

// A setting as code; as a link it filters the table of all trials.
std::string knobs_html(const Knobs& knobs);
std::string knobs_filter(const Knobs& knobs);  // ` data-setting="nproc=2 batch=8"`: its trials

// A sentence of a lower floor in both languages, kept apart from the text around it.
std::string sentence_html(const std::string& sentence);

std::string machine_text(const std::string& text);  // <bdi>escaped</bdi>, so directions stay apart

}  // namespace ocrtune
