// Lists of fields: each field of a struct named once, for all that reads and writes it.
#pragma once

// OCRTUNE_VISIT(sample.step, data_seconds, wait_seconds): visit("data_seconds",
// sample.step.data_seconds) and so on, each field under its own name; at most 63 of them. Needs
// <nlohmann/json.hpp>, whose macro it uses.
#define OCRTUNE_VISIT(object, ...)                                              \
  {                                                                             \
    auto& fields_of = object;                                                   \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(OCRTUNE_VISIT_FIELD, __VA_ARGS__)) \
  }
#define OCRTUNE_VISIT_FIELD(field) visit(#field, fields_of.field);
