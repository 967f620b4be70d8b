// Learns from several answers to the same input what a program's own variation is.
#include "trial/answers/answer_reference.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "trial/answers/text_distance.h"
#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

using Texts = std::vector<std::string>;

Texts composed(Texts texts) {
  for (std::string& text : texts) text = composed_form(text);
  return texts;
}

Texts sorted(Texts texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Its index, the first of several.
std::size_t commonest(const std::vector<Texts>& answered) {
  std::map<Texts, int> counts;
  for (const Texts& texts : answered) ++counts[texts];
  const auto most =
      std::max_element(answered.begin(), answered.end(),
                       [&](const Texts& a, const Texts& b) { return counts.at(a) < counts.at(b); });
  return static_cast<std::size_t>(most - answered.begin());
}

// Order and Unicode form are put aside: a rule of the path deals with these.
bool alike(const Texts& a, const Texts& b) {
  return a == b || sorted(composed(a)) == sorted(composed(b));
}

// What several askings show of one path.
struct PathPairs {
  int inputs = 0;    // that were asked more than once
  int repeated = 0;  // of these, that were answered with the same texts twice
  bool differs = false;
  // The three ways in which two askings of an input differ.
  bool unordered = false;
  bool composed = false;
  bool countable = true;  // each of its texts looks like a number, a time or an id
  bool dated = false;     // so does a time of day

  // Every asking is compared with the commonest one, so that one odd answer costs one pair.
  void add_input(const std::vector<Texts>& answered) {
    const std::size_t usual = commonest(answered);
    for (std::size_t i = 0; i < answered.size(); ++i) {
      if (i != usual) add(answered[usual], answered[i]);
    }
    if (answered.size() < 2) return;
    ++inputs;
    for (std::size_t i = 0; i < answered.size(); ++i) {
      // One repetition is enough: the text is then no time and no id of the single asking.
      if (i == usual || !alike(answered[usual], answered[i])) continue;
      ++repeated;
      return;
    }
  }

  void add(const Texts& a, const Texts& b) {
    countable = countable && std::all_of(a.begin(), a.end(), looks_counted);
    dated = dated || (!a.empty() && std::all_of(a.begin(), a.end(), looks_dated));
    if (a == b) return;
    if (sorted(a) == sorted(b)) {
      unordered = true;
    } else if (ocrtune::composed(a) == ocrtune::composed(b)) {
      composed = true;
    } else if (sorted(ocrtune::composed(a)) == sorted(ocrtune::composed(b))) {
      composed = unordered = true;
    } else {
      differs = true;
    }
  }

  // `named`: the user has said that it counts.
  bool counts(bool named) const {
    // A path counts where half of the inputs or more repeated it. Dates with a time may repeat
    // where two askings come close together, so they are known by their form.
    if ((dated && !named) || 2 * repeated < inputs) return false;
    // Numbers and ids that differ between askings are no text.
    return !differs || !countable;
  }
};

Texts texts_at(const std::vector<AnswerField>& fields, const std::string& path) {
  for (const AnswerField& field : fields) {
    if (field.path == path) return field.texts;
  }
  return {};
}

}  // namespace

AnswerReference AnswerReference::learn(const std::vector<std::vector<std::string>>& askings,
                                       std::vector<std::string> same) {
  AnswerReference reference;
  reference.same_ = std::move(same);
  // First pass: how each path varies, over all inputs that were asked more than once.
  std::map<std::string, PathPairs> paths;
  for (const std::vector<std::string>& bodies : askings) {
    if (bodies.empty()) continue;
    std::vector<std::vector<AnswerField>> fields;
    std::set<std::string> names;
    for (const std::string& body : bodies) {
      fields.push_back(answer_fields(body, reference.same_));
      for (const AnswerField& field : fields.back()) names.insert(field.path);
    }
    for (const std::string& name : names) {
      PathPairs& pairs = paths[name];
      std::vector<Texts> answered;
      for (const auto& one : fields) answered.push_back(texts_at(one, name));
      pairs.add_input(answered);
    }
  }
  for (const auto& [path, pairs] : paths) {
    reference.rules_.push_back(
        {path, pairs.counts(!reference.same_.empty()), pairs.unordered, pairs.composed});
  }
  // Second pass: the rules leave out what varies, and the commonest of the rest is the reference.
  for (const std::vector<std::string>& bodies : askings) {
    InputReference& input = reference.inputs_.emplace_back();
    if (bodies.empty()) continue;
    std::vector<Texts> answered;
    for (const std::string& body : bodies) answered.push_back(reference.texts_of(body));
    const std::size_t usual = commonest(answered);
    input.body = bodies[usual];
    // The reference itself cannot differ from itself and is no evidence.
    input.askings = static_cast<std::int64_t>(bodies.size()) - 1;
    input.differing = std::count_if(answered.begin(), answered.end(),
                                    [&](const Texts& texts) { return texts != answered[usual]; });
  }
  reference.read_texts();
  return reference;
}

void AnswerReference::read_texts() {
  for (InputReference& input : inputs_) {
    if (input.body.empty()) continue;
    input.texts = texts_of(input.body);
    input.characters = 0;
    for (const std::string& text : input.texts) input.characters += character_count(text);
  }
}

bool AnswerReference::counts(const std::string& path) const {
  const auto rule = std::lower_bound(
      rules_.begin(), rules_.end(), path,
      [](const PathRule& one, const std::string& wanted) { return one.path < wanted; });
  // A path that no answer had before is a difference.
  return rule == rules_.end() || rule->path != path || rule->counts;
}

Texts AnswerReference::texts_of(std::string_view body) const {
  Texts texts;
  for (AnswerField& field : answer_fields(body, same_)) {
    const auto rule = std::find_if(rules_.begin(), rules_.end(),
                                   [&](const PathRule& one) { return one.path == field.path; });
    if (rule != rules_.end() && !rule->counts) continue;
    if (rule != rules_.end() && rule->composed) field.texts = composed(std::move(field.texts));
    if (rule != rules_.end() && rule->unordered) field.texts = sorted(std::move(field.texts));
    texts.insert(texts.end(), std::make_move_iterator(field.texts.begin()),
                 std::make_move_iterator(field.texts.end()));
  }
  return texts;
}

bool AnswerReference::answers_all_alike() const {
  const Texts* first = nullptr;
  int inputs = 0;
  for (const InputReference& input : inputs_) {
    if (input.body.empty()) continue;
    if (first != nullptr && input.texts != *first) return false;
    first = &input.texts;
    ++inputs;
  }
  return inputs > 1;
}

NotCompared AnswerReference::usable() const {
  const bool any = std::any_of(inputs_.begin(), inputs_.end(),
                               [](const InputReference& input) { return !input.body.empty(); });
  if (!any) return NotCompared::no_reference;
  const bool characters =
      std::any_of(inputs_.begin(), inputs_.end(),
                  [](const InputReference& input) { return input.characters > 0; });
  if (characters) return answers_all_alike() ? NotCompared::all_alike : NotCompared::no;
  return rules_.empty() ? NotCompared::no_text : NotCompared::all_varies;
}

std::string AnswerReference::text() const {
  FieldsJson json = {{"same", same_}};
  json["rules"] = FieldsJson::array();
  for (const PathRule& rule : rules_) {
    json["rules"].push_back({rule.path, rule.counts, rule.unordered, rule.composed});
  }
  json["inputs"] = FieldsJson::array();
  for (const InputReference& input : inputs_) {
    json["inputs"].push_back({input.body, input.askings, input.differing});
  }
  return json_line(std::move(json));
}

Result<AnswerReference> AnswerReference::parse(const std::string& text) {
  AnswerReference reference;
  try {
    FieldsJson json = FieldsJson::parse(text);
    change_texts(json, bytes_of_utf8);
    json.at("same").get_to(reference.same_);
    for (const FieldsJson& rule : json.at("rules")) {
      reference.rules_.push_back({rule.at(0).get<std::string>(), rule.at(1).get<bool>(),
                                  rule.at(2).get<bool>(), rule.at(3).get<bool>()});
    }
    for (const FieldsJson& one : json.at("inputs")) {
      InputReference& input = reference.inputs_.emplace_back();
      one.at(0).get_to(input.body);
      one.at(1).get_to(input.askings);
      one.at(2).get_to(input.differing);
    }
  } catch (const std::exception& problem) {
    return Error{ErrorKind::invalid, std::string("reference answers: ") + problem.what()};
  }
  reference.read_texts();
  return reference;
}

}  // namespace ocrtune
