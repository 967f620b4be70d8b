// One thing that is wrong between configs, or within one: what a check of configurations finds.
#pragma once

#include <map>
#include <string>

namespace ocrtune {

struct ConfigDifference {
  std::string key;
  std::map<std::string, std::string> values;  // node -> value; "(absent)"
  std::string effect;
};

}  // namespace ocrtune
