// Facts as a JSON document and back, each field named once: list_fields(io, object) names all
// fields of a struct to a writer or to a reader, in the order of the document.
//
// A field that is missing or null keeps its default, so that cards and reports of older versions
// are read too. Reading throws nlohmann::json::exception on wrong types.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/tables/visit.h"
#include "base/text.h"
#include "probes/machine/machine.h"

namespace ocrtune {

using FactJson = nlohmann::ordered_json;
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

// A list of fields is a template over a writer with a const struct and a reader with another one.
template <typename T, typename Struct>
concept Like = std::is_same_v<std::remove_const_t<T>, Struct>;

template <typename T>
FactJson fact_json(const T& value);
template <typename T>
void read_fact(const FactJson& json, T& value);

// `sources` collects what the facts say about themselves.
struct FactWriter {
  FactJson& at;
  FactJson& sources;

  template <typename T>
  void operator()(const char* name, const T& field) const {
    at[name] = fact_json(field);
  }
  template <typename T>
  void operator()(const char* name, const Fact<T>& fact) const {
    sources[name] = valid_utf8(fact.source);
    at[name] = fact.known() ? fact_json(*fact.value) : FactJson();
  }
  // Null where it is `unknown`.
  void operator()(const char* name, int field, int unknown) const {
    at[name] = field == unknown ? FactJson() : FactJson(field);
  }
  void constant(const char* name, const FactJson& value) const { at[name] = value; }
  FactWriter in(const char* name) const { return {at[name] = FactJson::object(), sources}; }
};

struct FactReader {
  const FactJson& at;
  const FactJson& sources;

  template <typename T>
  void operator()(const char* name, T& field) const {
    const auto found = at.find(name);
    if (found != at.end() && !found->is_null()) read_fact(*found, field);
  }
  template <typename T>
  void operator()(const char* name, Fact<T>& fact) const {
    const auto found = at.find(name);
    if (found != at.end() && !found->is_null()) fact.value = found->template get<T>();
    fact.source = sources.value(name, "");
  }
  void operator()(const char* name, int& field, int /*unknown*/) const { (*this)(name, field); }
  void constant(const char* /*name*/, const FactJson& /*value*/) const {}
  FactReader in(const char* name) const {
    static const FactJson kNone = FactJson::object();
    const auto found = at.find(name);
    if (found == at.end()) return {kNone, sources};
    (void)found->get_ref<const FactJson::object_t&>();  // throws
    return {*found, sources};
  }
};

// A struct with list_fields() is an object; one with row_of(), a tuple of references to its
// fields, a row of plain values.
template <typename T>
FactJson fact_json(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return valid_utf8(value);
  } else if constexpr (std::is_same_v<T, CpuSet>) {
    return value.text();
  } else if constexpr (std::is_same_v<T, NamedTexts>) {
    FactJson object = FactJson::object();
    for (const auto& [name, text] : value) object[valid_utf8(name)] = valid_utf8(text);
    return object;
  } else if constexpr (kIsList<T>) {
    FactJson list = FactJson::array();
    for (const auto& one : value) list.push_back(fact_json(one));
    return list;
  } else if constexpr (requires(const FactWriter& io) { list_fields(io, value); }) {
    FactJson object = FactJson::object(), no_sources;
    list_fields(FactWriter{object, no_sources}, value);
    return object;
  } else if constexpr (requires { row_of(value); }) {
    FactJson row = FactJson::array();
    std::apply([&](const auto&... field) { (row.push_back(field), ...); }, row_of(value));
    return row;
  } else {
    return value;
  }
}

template <typename T>
void read_fact(const FactJson& json, T& value) {
  if constexpr (std::is_same_v<T, CpuSet>) {
    if (const auto cpus = CpuSet::parse(json.get<std::string>())) value = *cpus;
  } else if constexpr (std::is_same_v<T, NamedTexts>) {
    for (const auto& [name, text] : json.get_ref<const FactJson::object_t&>()) {
      value.emplace_back(name, text.template get<std::string>());
    }
  } else if constexpr (requires(const FactReader& io) { list_fields(io, value); }) {
    (void)json.get_ref<const FactJson::object_t&>();  // throws
    list_fields(FactReader{json, json}, value);
  } else if constexpr (requires { row_of(value); }) {
    std::size_t at = 0;
    std::apply([&](auto&... field) { (json.at(at++).get_to(field), ...); }, row_of(value));
  } else if constexpr (kIsList<T>) {
    for (const FactJson& one : json.get_ref<const FactJson::array_t&>()) {
      read_fact(one, value.emplace_back());
    }
  } else {
    json.get_to(value);
  }
}

}  // namespace ocrtune
