// A capacity plan as console text, as JSON and as capacity.csv.
#pragma once

#include <string>
#include <vector>

#include "capacity/capacity.h"
#include "capacity/machine_kinds.h"
#include "capacity/store_back_test.h"
#include "capacity/year.h"
#include "reports/markup/table.h"

namespace ocrtune {

std::string capacity_text(const CapacityPlan& plan, int width);
// The first kind's plan, and with several kinds all of them; `year` and `tests` may be null.
std::string capacity_json(const KindsPlan& plans, const YearPlan* year = nullptr,
                          const std::vector<StoreBackTest>* tests = nullptr);
Table capacity_table(const CapacityPlan& plan);  // a row for each machine count
std::string capacity_csv(const CapacityPlan& plan);

// The figures of one back-test in a line.
std::string back_test_words(const BackTest& test);

// Predictions from stored runs beside what other runs measured: the figures in a sentence, and a
// row for each.
std::string back_test_sentence(const std::vector<StoreBackTest>& tests);
Table back_test_table(const std::vector<StoreBackTest>& tests);
std::string back_test_text(const std::vector<StoreBackTest>& tests, int width);
// {"store_back_test": ...} alone.
std::string back_test_json(const std::vector<StoreBackTest>& tests);

}  // namespace ocrtune
