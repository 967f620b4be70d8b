// The sentence is put together from catalogue phrases: the answer, the texts that were read, the
// recipe, the payback, and what is still open. A part of which the run tells nothing is empty.
// tuner/verdict has judged; this file only words it.
#include "reports/catalogue/headline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/secrets.h"
#include "base/text.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "trial/answers/same_gate.h"
#include "trial/logs/log_reader.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_preset.h"
#include "tuner/job/job_workload.h"
#include "tuner/verdict/explain.h"
#include "tuner/verdict/possible.h"
#include "tuner/verdict/text_claim.h"

namespace ocrtune {
namespace {

// Columns of a command that still fit the head of a page.
constexpr int kMaxCommandColumns = 90;

Bilingual both(const Reason& reason) {
  return {sentence(reason), sentence(reason, Language::chinese)};
}

// A small loss is "+0", not "-0".
std::string percent(double ratio) {
  return fmt::format("{:+.0f}", std::round(100 * (ratio - 1)) + 0.0);
}

// What an open answer says first, by what leaves it open.
constexpr std::pair<ReasonCode, const char*> kOpen[] = {
    {ReasonCode::only_rate,
     "Inconclusive: only one setting gave a rate, so there is nothing to compare; allow a longer "
     "budget."},
    {ReasonCode::log_against_clock,
     "Inconclusive: the rates in the log and its steps by the clock disagree on which setting is "
     "faster; ocrtune show has the way out."},
    {ReasonCode::totals_speak_against,
     "Inconclusive: the totals of its counter speak against the batch of the leading setting; "
     "ocrtune show has the figures."},
    {ReasonCode::beyond_its_processes,
     "Inconclusive: more processes are told as faster than so many can be; ocrtune show has the "
     "way out."},
    {ReasonCode::beyond_its_batch,
     "Inconclusive: a larger batch is told as faster than it can be; ocrtune show has the way "
     "out."},
    {ReasonCode::rate_falls,
     "Inconclusive: the leading setting becomes slower as it works, below the rate of its trials."},
};

Bilingual open_sentence(const RunRecord& run) {
  const TuneResult& result = run.result;
  // The run's state comes first, then a contradiction in its readings, then disturbance by others.
  if (run.state == "running") {
    return phrase("Under way: {} leads with {} {}; no answer yet.",
                  {launch_knobs(result), rate_text(result.recommendation.samples_per_second),
                   phrase(rate_unit(run))});
  }
  if (run.state == "interrupted") {
    return phrase("Inconclusive: interrupted; ocrtune tune --resume {} goes on with it.", {run.id});
  }
  for (const auto& [code, sentence] : kOpen) {
    if (result.inconclusive.is(code)) return phrase(sentence);
  }
  if (result.inconclusive.is(ReasonCode::too_few_turns)) {
    return phrase(
        "Inconclusive: the leading setting is ahead beside this load, but its turns do not settle "
        "it; ocrtune tune --resume {} goes on with them.",
        {resumed(run)});
  }
  if (is_disturbed(run)) {
    return phrase(
        "Inconclusive: {} of {} {1:window|windows} {0:was|were} disturbed by other programs; tune "
        "again when the machine is idle.",
        {fmt::format("{}", result.discarded_samples), fmt::format("{}", count_samples(run))});
  }
  return phrase("Inconclusive: the leading settings cannot be told apart; allow a longer budget.");
}

// What leads as measured, where the start stays the answer because that is not sure.
Bilingual ahead_as_measured(const RunRecord& run) {
  const TuneResult& result = run.result;
  if (!result.contender || result.contender->second.median <= 1) return {};
  const auto& [knobs, gain] = *result.contender;
  return phrase(" As measured {} made {} times the rate of {} ({}..{}).",
                {knobs_text(knobs, result.inert_names()), fmt::format("{:.2f}", gain.median),
                 phrase(baseline_phrase(run.search)), fmt::format("{:.2f}", gain.low),
                 fmt::format("{:.2f}", gain.high)});
}

// Rates are compared; another objective has its figures in the answer.
Bilingual compared(const RunRecord& run) {
  const TuneResult& result = run.result;
  const Recommendation& recommended = result.recommendation;
  const SettingSummary& baseline = result.baseline;
  const Bilingual whose = phrase(baseline_phrase(run.search));
  const std::string knobs = launch_knobs(result);
  if (result.verdict.answer == Answer::keep && result.contender) {
    const auto& [other, gain] = *result.contender;
    return phrase("Keep {}, {}: nothing measured is clearly faster ({} %, {}..{} % with {}).",
                  {whose, knobs, percent(gain.median), percent(gain.low), percent(gain.high),
                   knobs_text(other, result.inert_names())});
  }
  if (result.verdict.answer == Answer::keep && result.beyond_recipe) {
    return phrase("Keep {}, {}: nothing faster that trains by its recipe was found.",
                  {whose, knobs});
  }
  if (result.verdict.answer == Answer::keep) {
    return phrase("Keep {}, {}: nothing faster was found among {} measured settings.",
                  {whose, knobs, fmt::format("{}", result.settings.size())});
  }
  const Bilingual unit = phrase(rate_unit(run));
  const std::string rate = rate_text(recommended.samples_per_second);
  if (baseline.knobs == recommended.knobs) {
    return phrase("Use {}: {} {}; no other setting was measured.", {knobs, rate, unit});
  }
  if (baseline.trials == 0) {
    return phrase("Use {}: {} {}; {} was not measured beside it.", {knobs, rate, unit, whose});
  }
  if (baseline.samples_per_second.median <= 0) {
    return phrase("Use {}: {} {}; {} does not run.", {knobs, rate, unit, whose});
  }
  const Interval& gain = result.gain;
  return phrase("Use {}: {} times the rate of {} ({}..{}).",
                {knobs, fmt::format("{:.2f}", gain.median), whose, fmt::format("{:.2f}", gain.low),
                 fmt::format("{:.2f}", gain.high)});
}

// What settings that were not run may still bring, where that is not little.
Bilingual what_is_left(const TuneResult& result) {
  const auto run = static_cast<int>(result.settings.size());
  if (result.certified_gap < 0 && run < result.space_points) {
    return phrase(" Only {} of {} {1:setting|settings} {0:was|were} measured.",
                  {fmt::format("{}", run), fmt::format("{}", result.space_points)});
  }
  if (result.certified_gap < kSmallGain) return {};
  return phrase(" Another setting may be up to {} % faster.",
                {fmt::format("{}", percent_of_gain(result.certified_gap))});
}

// How fast the other recipe learns, where that was measured.
Bilingual worth_words(const RunRecord& run, const BeyondRecipe& beyond) {
  if (!beyond.worth) {
    return run.learning.empty()
               ? phrase("what a sample is worth then is not known.")
               : phrase(
                     "what a sample is worth then is not known: the trainings that were to "
                     "compare them reached no loss in common.");
  }
  const LearningWorth& worth = *beyond.worth;
  const std::string samples = fmt::format("{}", worth.samples);
  if (!worth.proved) {
    return phrase(
        "to the same loss it is {} to {} times as fast, by the noise of the gradients of the first "
        "{} samples; --prove-learning measures it.",
        {fmt::format("{:.2f}", worth.speedup.low), fmt::format("{:.2f}", worth.speedup.high),
         samples});
  }
  if (worth.efficiency.low <= 0) {
    return phrase(
        "to the same loss ({}) it is at most {} times as fast: none of its {} starts reached that "
        "loss, the present recipe did in {} samples.",
        {fmt::format("{:.3g}", worth.loss), fmt::format("{:.2f}", worth.speedup.high),
         fmt::format("{}", worth.starts), samples});
  }
  Bilingual words = phrase(
      "to the same loss ({}) it is {} times as fast ({}..{}), over the first {} samples of {} "
      "starts, ",
      {fmt::format("{:.3g}", worth.loss), fmt::format("{:.2f}", worth.speedup.median),
       fmt::format("{:.2f}", worth.speedup.low), fmt::format("{:.2f}", worth.speedup.high), samples,
       fmt::format("{}", worth.starts)});
  const Bilingual rate =
      worth.rate_factor > 0
          ? phrase("with a learning rate {} times as high; early training prefers small batches.",
                   {fmt::format("{:.2f}", worth.rate_factor)})
          : phrase(
                "with the learning rate that the command takes; early training prefers small "
                "batches.");
  words.english += rate.english;
  words.chinese += rate.chinese;
  return words;
}

// A command that was given another batch than the start, where nobody asked to keep it. Steps that
// are the job's have the batch that the command was given.
Bilingual freed_batch(const RunRecord& run) {
  const TuneResult& result = run.result;
  const CommandWorkload& program = run.job.program();
  const bool shared = program.per_rank == false && reads_steps(program.log_reader);
  const auto batch_of = [&](const Knobs& knobs) {
    return shared ? std::int64_t{knobs.batch} : global_batch(knobs);
  };
  const std::int64_t before = batch_of(result.baseline.knobs);
  const std::int64_t now = batch_of(result.recommendation.knobs);
  const bool may_train = run.job.prints() && !run.job.infers() && preset_trains(program.preset) &&
                         program.answers.empty() && !times_whole_runs(program) &&
                         !starts_copies(program);
  const bool told = !run.search.baseline.absent.contains("batch");
  if (!may_train || !told || before == now || result.baseline.trials == 0) return {};
  Bilingual words = phrase(
      " If it trains, that is another recipe (global batch {} instead of {}), and what a sample is "
      "worth then is not known.",
      {fmt::format("{}", now), fmt::format("{}", before)});
  if (run.search.lists("batch")) return words;
  const Bilingual way = phrase(" --baseline batch=N keeps your batch.");
  return {words.english + way.english, words.chinese + way.chinese};
}

// What the answer keeps of the recipe, and what another recipe would bring.
Bilingual recipe_words(const RunRecord& run) {
  const TuneResult& result = run.result;
  Bilingual words;
  const auto add = [&](const Bilingual& more) {
    words.english += more.english;
    words.chinese += more.chinese;
  };
  if (result.recipe_batch == 0) return freed_batch(run);
  if (result.baseline.knobs != result.recommendation.knobs &&
      global_batch(result.recommendation.knobs) == result.recipe_batch) {
    add(phrase(" The recipe is unchanged (global batch {}).",
               {fmt::format("{}", result.recipe_batch)}));
  }
  if (!result.beyond_recipe) return words;
  const BeyondRecipe& beyond = *result.beyond_recipe;
  add(phrase(
      " By another recipe, global batch {}, {} processes {} times as many samples/s ({}..{}); ",
      {fmt::format("{}", beyond.global_batch), knobs_text(beyond.knobs, result.inert_names()),
       fmt::format("{:.2f}", beyond.ratio.median), fmt::format("{:.2f}", beyond.ratio.low),
       fmt::format("{:.2f}", beyond.ratio.high)}));
  add(worth_words(run, beyond));
  return words;
}

// Inputs whose text the present setting does not repeat.
std::int64_t differs_from_itself(const TuneResult& result) {
  for (const SettingSummary& setting : result.settings) {
    if (setting.knobs == result.baseline.knobs) return setting.same.differing_inputs;
  }
  return 0;
}

// Of how few inputs that is said; empty: of all that were sent.
Bilingual compared_part(const SameJudgement& same) {
  if (same.inputs >= same.all_inputs) return {};
  return phrase(" Only {} of {} inputs {0:was|were} compared.",
                {fmt::format("{}", same.inputs), fmt::format("{}", same.all_inputs)});
}

// How the recommended setting's texts differ, and how sure that is.
Bilingual difference_words(const RunRecord& run, const SameJudgement& same) {
  const auto number = [](std::int64_t count) { return fmt::format("{}", count); };
  const std::string differing = number(same.differing_inputs), inputs = number(same.inputs);
  if (run.result.verdict.text == TextClaim::allowed && same.error_rate >= 0) {
    return phrase(
        " It reads {} of {} inputs otherwise: {} of the characters are wrong by the true texts, {} "
        "with the present setting.",
        {differing, inputs, small_percent(same.error_rate),
         small_percent(same.reference_error_rate)});
  }
  if (run.result.verdict.text == TextClaim::allowed) {
    return phrase(" It reads {} of {} inputs otherwise ({} of the characters), as was allowed.",
                  {differing, inputs, small_percent(same.changed_share)});
  }
  const std::int64_t own = differs_from_itself(run.result);
  if (own == 0) {
    return phrase(" It reads {} of {} inputs otherwise, too few to tell from chance.",
                  {differing, inputs});
  }
  return phrase(same.differing_inputs <= own
                    ? " It reads {} of {} inputs otherwise, no more than the present setting "
                      "differs from itself (on {})."
                    : " It reads {} of {} inputs otherwise; the present setting differs from "
                      "itself on {}: not told from chance.",
                {differing, inputs, number(own)});
}

Bilingual claim_words(const RunRecord& run, const SameJudgement& same) {
  const CommandWorkload& program = run.job.program();
  if (!same.compared) {
    const bool reads = run.job.infers() || !program.answers.empty() ||
                       (!program.preset.empty() && !preset_trains(program.preset));
    return reads ? phrase(" The text was not compared.") : Bilingual();
  }
  if (run.result.recommendation.knobs == run.result.baseline.knobs) return {};
  if (same.differing_inputs > 0) {
    const Bilingual words = difference_words(run, same), part = compared_part(same);
    return {words.english + part.english, words.chinese + part.chinese};
  }
  const std::string inputs = fmt::format("{}", same.inputs);
  if (same.inputs < same.all_inputs) {
    return phrase(" The same text on {} of {} inputs; the others were not compared.",
                  {inputs, fmt::format("{}", same.all_inputs)});
  }
  if (same.inputs == 1) return phrase(" The same text on the one input.");
  return phrase(" The same text on all {} inputs.", {inputs});
}

// What is known of the texts that it reads, and what a setting that reads others would bring.
Bilingual text_words(const RunRecord& run) {
  const TuneResult& result = run.result;
  const SameJudgement own = recommended_text(result);
  Bilingual words = claim_words(run, own);
  if (!result.other_text) return words;
  const OtherText& other = *result.other_text;
  const Bilingual more = phrase(
      " {} is {} times as fast and reads {} of {} inputs otherwise ({} of the characters).",
      {knobs_text(other.knobs, result.inert_names()), fmt::format("{:.2f}", other.ratio.median),
       fmt::format("{}", other.same.differing_inputs), fmt::format("{}", other.same.inputs),
       small_percent(other.same.changed_share)});
  const bool said = !words.english.empty() && own.inputs == other.same.inputs;
  const Bilingual part = said ? Bilingual() : compared_part(other.same);
  words.english += more.english + part.english;
  words.chinese += more.chinese + part.chinese;
  return words;
}

// The payback is an estimate, so it is shown with two significant digits.
double two_digits(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(std::max(value, 1.0))) - 1);
  return std::round(value / unit) * unit;
}

// After how many inputs the tuning has paid for itself, where another setting surely reads faster.
Bilingual payback(const RunRecord& run) {
  const TuneResult& result = run.result;
  const double before = result.baseline.samples_per_second.median;
  const bool faster = result.verdict.answer == Answer::use && result.gain.low > 1 && before > 0;
  const bool reads = run.job.infers() && !run.job.prints();
  if (!reads || !faster || result.seconds <= 0) return {};
  const double saved_seconds = (1 - 1 / result.gain.median) / before;  // of each
  const bool requests = std::string_view(rate_unit(run)) == "requests/s";
  return phrase(requests
                    ? " Saves {} a million requests; tuned in {}: pays after about {} requests."
                    : " Saves {} a million lines; tuned in {}: pays after about {} lines.",
                {duration_text(1e6 * saved_seconds), duration_text(result.seconds),
                 format_count(two_digits(result.seconds / saved_seconds))});
}

Bilingual beside_load(const TuneResult& result) {
  const auto answers = std::count_if(result.settings.begin(), result.settings.end(),
                                     [&](const SettingSummary& setting) {
                                       return keeps_recipe(result.recipe_batch, setting.knobs);
                                     });
  if (answers == 1) return phrase(" Measured beside other load.");
  return result.verdict.same_when_idle
             ? phrase(
                   " Measured in turns beside other load; by its own CPU time it is the faster one "
                   "on an idle machine too.")
             : phrase(" Measured in turns beside other load; on an idle machine: open.");
}

// The program and what it is given, short: no folders, nothing that the trials vary.
std::string command_words(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) {
    if (word.find('{') == std::string::npos) {
      words.push_back(starts_with(word, "/") ? base_name(word) : word);
    } else if (starts_with(word, "{") && !words.empty() && starts_with(words.back(), "-")) {
      words.pop_back();  // the option whose value it is
    }
  }
  return cut_to_width(plain_line(join(words, " ")), kMaxCommandColumns);
}

}  // namespace

std::string launch_knobs(const TuneResult& result) {
  return knobs_text(result.recommendation.knobs, result.inert_names());
}

std::string resumed(const RunRecord& run) {
  if (run.state != "done") return run.id;
  return fmt::format("{} --budget {:.0f}s", run.id, std::ceil(run.search.budget_seconds));
}

namespace {

// What a rank of PaddleOCR does by itself, where the answer has another number of them. Sources:
// its tools/train.py, tools/program.py and ppocr/data/__init__.py.
Bilingual ranks_note(const RunRecord& run) {
  const Knobs& used = run.result.baseline.knobs;
  const Knobs& found = run.result.recommendation.knobs;
  if (run.job.program().preset != "paddleocr" || used.nproc == found.nproc) return {};
  return phrase(
      "batch-norm statistics are of one rank's batch ({} instead of {}) unless Global.use_sync_bn "
      "is set, drop_last leaves out the incomplete batch of each rank, and rank 0 evaluates alone",
      {fmt::format("{}", found.batch), fmt::format("{}", used.batch)});
}

Bilingual batch_note(const RunRecord& run) {
  const CommandWorkload& program = run.job.program();
  const Knobs& used = run.result.baseline.knobs;
  const Knobs& found = run.result.recommendation.knobs;
  const bool sums = used.accumulate != found.accumulate;
  const bool trains = program.command.empty() ? !run.job.infers()
                                              : program.preset == "paddleocr" ||
                                                    program.log_reader == "ocrtune" || sums;
  if (!trains || global_batch(used) == global_batch(found)) return {};
  std::string factors =
      nodes_of(used) * nodes_of(found) > 1 ? "nodes x nproc x batch" : "nproc x batch";
  if (sums) factors += " x accumulate";
  return phrase(
      "global batch ({}) {} instead of {}: scale the learning rate with it, linearly for SGD, by "
      "the square root for Adam",
      {factors, fmt::format("{}", global_batch(found)), fmt::format("{}", global_batch(used))});
}

}  // namespace

Bilingual recipe_note(const RunRecord& run) {
  Bilingual note = batch_note(run);
  const Bilingual ranks = ranks_note(run);
  if (!note.english.empty() && !ranks.english.empty()) {
    note.english += "; ";
    note.chinese += "；";
  }
  note.english += ranks.english;
  note.chinese += ranks.chinese;
  return note;
}

Bilingual engine_note(const RunRecord& run) {
  const Recommendation& found = run.result.recommendation;
  if (!run.job.command().empty() || run.job.infers() || found.command.empty()) return {};
  return found.knobs.threads > 1
             ? phrase(
                   "the same setting for PaddleOCR, not measured; a second thread can halve its "
                   "speed: tune your own command")
             : phrase("the same setting for PaddleOCR, not measured");
}

std::vector<Bilingual> malloc_notes(const RunRecord& run) {
  const Recommendation& found = run.result.recommendation;
  std::vector<Bilingual> notes;
  for (const SettingSummary& other : run.result.settings) {
    Knobs alike = other.knobs;
    alike.malloc = found.knobs.malloc;
    const bool works = other.outcome == Outcome::ok && other.samples_per_second.median > 0;
    if (!works || other.knobs == found.knobs || alike != found.knobs) continue;
    notes.push_back(phrase(
        "malloc={} instead of {}: {} instead of {} {}, a peak of {} instead of {}",
        {other.knobs.malloc, found.knobs.malloc, format_count(other.samples_per_second.median),
         format_count(found.samples_per_second.median), std::string(rate_unit(run)),
         format_bytes(other.peak_bytes), format_bytes(found.peak_bytes)}));
  }
  return notes;
}

std::vector<Reason> further_reasons(const Recommendation& recommended) {
  constexpr ReasonCode kSaid[] = {ReasonCode::ran_times, ReasonCode::times_the_baseline,
                                  ReasonCode::peak_of_limit, ReasonCode::peak_without_limit,
                                  ReasonCode::safest_of_tie};
  std::vector<Reason> further;
  for (const Reason& reason : recommended.reasons) {
    if (std::find(std::begin(kSaid), std::end(kSaid), reason.code) == std::end(kSaid)) {
      further.push_back(reason);
    }
  }
  return further;
}

bool tells_of_gpus(const Reason& reason) {
  return reason.is(ReasonCode::gpus_unused) || reason.is(ReasonCode::gpus_idle);
}

const char* baseline_phrase(const SearchRequest& search) {
  if (!search.baseline_guessed()) return "your setting";
  if (search.baseline_source == kBaselineFirst) return "the first setting of your lists";
  return search.baseline_source == kBaselineWithin ? "a plain start within your lists"
                                                   : "a plain start";
}

Bilingual phase_text(const std::string& phase, const SearchRequest& search) {
  if (phase == "baseline") return ocrtune::phrase(baseline_phrase(search));
  constexpr std::pair<std::string_view, std::string_view> kPhases[] = {
      {"ladder", "first look"},    {"inert", "does it matter?"}, {"earlier", "fast before"},
      {"model", "predicted best"}, {"race", "leaders, again"},   {"proof", "latency proof"},
      {"rule", "rule of thumb"},   {"sweep", "sweep"},           {"long", "a longer trial"},
      {"verify", "verification"}};
  for (const auto& [code, words] : kPhases) {
    if (phase == code) return ocrtune::phrase(words);
  }
  return plain_line(phase, 40);
}

const char* rate_unit(const RunRecord& run) {
  return rate_name(workload_of(run.job, run.search)->unit());
}

Bilingual headline(const RunRecord& run) {
  const TuneResult& result = run.result;
  const Answer answer = result.verdict.answer;
  if (answer == Answer::none) {
    return result.answer.empty() ? phrase("No setting was measured.") : both(result.answer);
  }
  if (answer == Answer::inconclusive) {
    Bilingual open = open_sentence(run);
    // Texts and recipe are said of an open answer only where they are known for good.
    const bool ended = result.found && run.state != "running";
    const Bilingual texts = ended || result.other_text ? text_words(run) : Bilingual();
    const bool learned = result.beyond_recipe && result.beyond_recipe->worth;
    const Bilingual recipe = learned ? recipe_words(run) : Bilingual();
    const Bilingual ahead = ahead_as_measured(run);
    return {open.english + ahead.english + texts.english + recipe.english,
            open.chinese + ahead.chinese + texts.chinese + recipe.chinese};
  }
  const bool other_goal = result.objective != "throughput";
  Bilingual sentence = other_goal ? both(result.answer) : compared(run);
  const auto add = [&](const Bilingual& more) {
    sentence.english += more.english;
    sentence.chinese += more.chinese;
  };
  const Bilingual text = text_words(run);
  if (other_goal && !text.english.empty()) add({".", "。"});
  add(text);
  if (other_goal) return sentence;
  add(recipe_words(run));
  add(payback(run));
  add(result.verdict.beside_load ? beside_load(result) : what_is_left(result));
  return sentence;
}

Tone answer_tone(Answer answer) {
  constexpr Tone kTones[] = {Tone::good, Tone::neutral, Tone::warning, Tone::bad};
  return kTones[static_cast<int>(answer)];
}

Bilingual subject(const RunRecord& run) {
  const Job& job = run.job;
  if (!job.url().empty()) return phrase("Service at {}", {plain_line(masked_text(job.url()), 200)});
  const auto* external = std::get_if<ExternalJob>(&job.kind);
  if (external == nullptr && !job.command().empty()) {
    const std::string words = command_words(masked_arguments(job.command()));
    const std::string& preset = job.program().preset;
    if (!preset.empty()) return phrase("Your {} command, {}", {preset, words});
    return phrase(job.serves() ? "Your server, {}" : "Your command, {}", {words});
  }
  const std::string place = plain_line(job.infers() ? job.requests().place : job.label_file(), 200);
  const Bilingual from =
      job.infers()    ? (place.empty() ? phrase("noise images") : phrase("images of {}", {place}))
      : place.empty() ? phrase("one rendered batch, no data read")
                      : phrase("{} {0:line|lines} of {}", {fmt::format("{}", job.lines()), place});
  const bool paddle = external != nullptr && external->in_paddle;
  return phrase(job.infers() ? "Built-in inference of {}, {}x{} pixels, {}"
                : paddle     ? "Training of {} in PaddlePaddle, {}x{} pixels, {}"
                             : "Built-in training of {}, {}x{} pixels, {}",
                {plain_line(job.model(), 200), fmt::format("{}", job.height()),
                 fmt::format("{}", job.width()), from});
}

}  // namespace ocrtune
