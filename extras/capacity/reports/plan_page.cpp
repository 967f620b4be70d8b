// The frame of that page; its sections are plan_html.cpp's.
#include "extras/capacity/reports/plan_page.h"

#include "extras/capacity/reports/plan_html.h"
#include "reports/catalogue/plain_text.h"
#include "reports/html/page_frame.h"

namespace ocrtune {

std::string plan_page(const PlanDocument& document) {
  PageFrame frame;
  frame.title = "ocrtune plan";
  frame.heading_html = say("Capacity plan to sign");
  frame.line_html = html_text(document.date) + " · <code>" +
                    html_text(plain_line(document.command_line, 400)) + "</code>";
  return framed(frame, plan_sheet_sections(document));
}

}  // namespace ocrtune
