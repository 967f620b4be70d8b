// One suite with one case; a drift or an open question is a failure with its state as the type.
// html_text() escapes for XML too and leaves no control character, which XML 1.0 forbids.
#include "reports/export/junit.h"

#include <fmt/format.h>

#include "reports/catalogue/headline.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/verdict.h"

namespace ocrtune {

std::string junit_text(const RunRecord& run, const Verification& verification) {
  const bool passed = verification.state == VerifyState::ok;
  const std::string state(verify_state_name(verification.state));
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites><testsuite name=\"ocrtune verify\" tests=\"1\" failures=\"{}\" "
      "time=\"{:.3f}\" hostname=\"{}\">\n<testcase classname=\"ocrtune.verify\" name=\"{}\" "
      "time=\"{:.3f}\">\n",
      passed ? 0 : 1, verification.seconds, html_text(run.machine.host),
      html_text(run.name.empty() ? run.id : run.name), verification.seconds);
  if (!passed) {
    text += fmt::format("<failure type=\"{}\" message=\"{}\"/>\n", state,
                        html_text(state + ": " + verification.reason));
  }
  text += fmt::format(
      "<system-out>{}: {}\n{}: then {}, now {} {}</system-out>\n", html_text(state),
      html_text(verification.reason), html_text(knobs_text(verification.recommended)),
      rate_text(verification.rate_then), rate_text(verification.rate_now), rate_unit(run));
  return text + "</testcase></testsuite></testsuites>\n";
}

}  // namespace ocrtune
