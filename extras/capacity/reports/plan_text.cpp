// Three forms of one document: a console screen, Markdown with the columns to sign, and a table of
// its lines.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "extras/capacity/reports/plan_writers.h"
#include "reports/catalogue/plain_text.h"
#include "reports/console/label_lines.h"

namespace ocrtune {
namespace {

std::string_view plain_heading(std::string_view heading) {
  if (!heading.empty() && heading[0] == '#') heading.remove_prefix(1);
  return heading;
}

// No line is wider; lines after the first are indented.
std::string wrapped(const std::string& text, int width) {
  return join(broken_lines(text, width - 2), "\n  ") + "\n";
}

// Of a Markdown table: no bars and line ends.
std::string field(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

class Markdown {
 public:
  Markdown(const PlanDocument& document, Language language)
      : document_(document), chinese_(language == Language::chinese) {}

  std::string text() {
    out_ = "# " + word("Capacity plan to sign") + "\n\n" + document_.date + " · `" +
           plain_line(document_.command_line, 400) + "`\n\n";
    for (std::size_t i = 0; i < document_.answer.size(); ++i) {
      const std::string sentence = in(document_.answer[i]);
      out_ += i == 0 ? "**" + sentence + "**" : " " + sentence;
    }
    out_ += "\n\n";
    head({"What", "Value", "Basis", "Source", "Date", "Owner"});
    for (const PlanNumber& number : document_.numbers) {
      row({in(number.item), in(number.value), word(number.basis), in(number.source), number.date,
           ""});
    }
    for (const PlanTable& table : document_.tables) add_table(table);
    list("Assumptions", document_.assumptions);
    list("Not measured", document_.gaps);
    list("To halve the interval, measure", document_.next);
    out_ += "\n## " + word("Alerts in production (Prometheus)") + "\n\n";
    head({"Assumption", "It is broken when", "Owner"});
    for (const PlanWatch& watch : document_.watches) {
      row({in(watch.assumption), "`" + field(watch.query()) + "`", ""});
    }
    out_ += "\n" + in(document_.query_note) + "\n\n## " + word("Signatures") + "\n\n";
    head({"Name", "Role", "Date", "Signature"});
    row({"", "", "", ""});
    return std::move(out_);
  }

 private:
  std::string in(const Bilingual& text) const {
    return field(chinese_ ? text.chinese : text.english);
  }
  std::string word(std::string_view english) const { return in(phrase(english)); }

  void row(const std::vector<std::string>& cells) { out_ += "| " + join(cells, " | ") + " |\n"; }

  void head(const std::vector<std::string>& headings) {
    std::vector<std::string> names, lines;
    for (const std::string& heading : headings) {
      names.push_back(word(plain_heading(heading)));
      lines.emplace_back(heading[0] == '#' ? "---:" : "---");
    }
    row(names);
    row(lines);
  }

  void add_table(const PlanTable& table) {
    out_ += "\n## " + word(table.title) + "\n\n";
    head(table.headings);
    for (const auto& cells : table.rows) {
      std::vector<std::string> texts;
      for (const Bilingual& cell : cells) texts.push_back(in(cell));
      row(texts);
    }
  }

  void list(const char* title, const std::vector<Bilingual>& texts) {
    if (texts.empty()) return;
    out_ += "\n## " + word(title) + "\n\n";
    for (const Bilingual& one : texts) out_ += "- " + in(one) + "\n";
  }

  const PlanDocument& document_;
  bool chinese_;
  std::string out_;
};

}  // namespace

std::string plan_table_text(const PlanTable& table, int width, Language language) {
  std::vector<std::string> headings;
  for (const std::string& heading : table.headings) {
    headings.push_back(in(phrase(plain_heading(heading)), language));
  }
  Table text(std::move(headings));
  for (const auto& cells : table.rows) {
    std::vector<Cell> row;
    for (const Bilingual& cell : cells) row.emplace_back(in(cell, language));
    text.add_row(std::move(row));
  }
  return in(phrase(table.title), language) + "\n" + console_table(text, width);
}

std::string plan_console(const PlanDocument& document, int width, Language language) {
  const auto told = [&](const char* english, const std::vector<Bilingual>& holes) {
    return in(phrase(english, holes), language);
  };
  std::vector<std::string> sentences, assumed;
  for (const Bilingual& sentence : document.answer) sentences.push_back(in(sentence, language));
  std::string text =
      wrapped(join(sentences, language == Language::chinese ? "" : " "), width) + "\n";
  for (const PlanTable& table : document.tables) {
    text += plan_table_text(table, width, language) + "\n";
  }
  // All measured numbers have one source: it is told once.
  const auto source = std::find_if(document.numbers.begin(), document.numbers.end(),
                                   [](const auto& number) { return number.basis == "measured"; });
  if (source != document.numbers.end()) {
    text += (source->date.empty() ? told("From {}", {source->source})
                                  : told("From {} of {}", {source->source, source->date})) +
            "\n";
  }
  for (const PlanNumber& number : document.numbers) {
    if (number.basis == "measured" || number.basis == "extrapolated") {
      text += wrapped(told("{}: {}", {number.item, number.value}), width);
    } else if (number.basis == "assumed") {
      assumed.push_back(in(number.item, language) + " " + in(number.value, language));
    }
  }
  text += wrapped(told("Assumed: {}", {join(assumed, told("; ", {}))}), width);
  for (const Bilingual& note : document.assumptions) {
    text += wrapped(told("Assumed: {}", {note}), width);
  }
  return text;
}

std::string plan_markdown(const PlanDocument& document, Language language) {
  return Markdown(document, language).text();
}

Table plan_sheet_table(const PlanDocument& document) {
  Table table({"section", "item", "value", "basis", "source", "date", "owner"});
  for (const PlanNumber& number : document.numbers) {
    table.add_row({std::string("number"), number.item.english, number.value.english, number.basis,
                   number.source.english, number.date, std::string()});
  }
  const auto list = [&](const char* section, const std::vector<Bilingual>& texts) {
    for (const Bilingual& text : texts) {
      table.add_row(
          {std::string(section), text.english, Cell(), Cell(), Cell(), Cell(), std::string()});
    }
  };
  list("assumption", document.assumptions);
  list("not_measured", document.gaps);
  list("measure_next", document.next);
  for (const PlanWatch& watch : document.watches) {
    table.add_row({std::string("watch"), watch.assumption.english, watch.query(), Cell(), Cell(),
                   Cell(), std::string()});
  }
  return table;
}

}  // namespace ocrtune
