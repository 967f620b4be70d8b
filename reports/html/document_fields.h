// Fields of a document that another command wrote; one that is missing or of another kind is empty.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace ocrtune {

double field_number(const nlohmann::json& at, const char* key);
std::string field_text(const nlohmann::json& at, const char* key);
nlohmann::json field_object(const nlohmann::json& at, const char* key);
std::vector<nlohmann::json> field_list(const nlohmann::json& at, const char* key);

}  // namespace ocrtune
