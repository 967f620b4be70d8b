// A job, what is asked of its search, and knobs as the store keeps them: JSON, each struct by one
// list of its fields.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "tuner/job/job.h"

namespace ocrtune {

// Without the values of secrets (base/secrets.h): a variable's name goes to `inherited`.
std::string job_json(const Job& job);
// invalid: damaged.
Result<Job> parse_job(const std::string& json);

std::string search_json(const SearchRequest& search);
Result<SearchRequest> parse_search(const std::string& json);

// Knobs as the store keeps them: an object of those that are not at their default, as texts.
nlohmann::ordered_json stored_knobs(const Knobs& knobs);

// Into `knobs`, which keep what is not named. invalid: no such object; usage: a value that the
// table refuses.
Status read_stored_knobs(const nlohmann::ordered_json& json, Knobs& knobs);

}  // namespace ocrtune
