// The codes of all reasons (trial/reason.h), each with the number of its arguments.
//
// A code's name is stored with runs and printed in JSON: add names, change none. To add a code: a
// line here, a row at the same place in reports/catalogue/.
#pragma once

// clang-format off
#define OCRTUNE_REASON_CODES(X) \
  X(none, 0) \
  X(verbatim, 1) \
  /* Outcomes of trials. */ \
  X(outcome_ok, 0) \
  X(outcome_out_of_memory, 0) \
  X(outcome_hung, 0) \
  X(outcome_timed_out, 0) \
  X(outcome_crashed, 0) \
  X(outcome_wrong_result, 0) \
  X(outcome_unsupported, 0) \
  X(outcome_skipped, 0) \
  X(ended_with, 2) \
  /* tuner/space: rules of thumb; ratios and constraints of an objective. */ \
  X(rule_half_of_memory, 1) \
  X(rule_60_percent_of_cores, 1) \
  X(rule_seven, 1) \
  X(as_fast, 0) \
  X(as_frugal, 0) \
  X(far_slower, 0) \
  X(faster, 1) \
  X(slower, 1) \
  X(steps_shorter, 1) \
  X(steps_longer, 1) \
  X(more_per_joule, 1) \
  X(fewer_per_joule, 1) \
  X(rate_too_low, 2) \
  X(steps_too_long, 3) \
  X(peak_too_high, 2) \
  /* tuner/models: what keeps a setting from being launched; the terms of the speed model. */ \
  X(failed_when_run, 0) \
  X(fails_above_processes, 1) \
  X(ran_out_of_memory, 0) \
  X(ran_out_of_gpu_memory, 0) \
  X(ran_out_of_rank_memory, 0) \
  X(ran_out_of_shm, 0) \
  X(ran_out_of_processes, 0) \
  X(ran_out_of_samples, 0) \
  X(needs_as_much_as, 2) \
  X(memory_not_known_yet, 0) \
  X(predicted_peak, 3) \
  X(predicted_growth, 2) \
  X(not_in_space, 0) \
  X(term_serial_share, 1) \
  X(term_contention, 1) \
  X(term_turning_point, 1) \
  X(term_step_cost, 1) \
  X(term_loading, 1) \
  X(term_cores, 1) \
  /* tuner/verdict: the answer. */ \
  X(launch_with, 2) \
  X(worth_rate, 1) \
  X(worth_latency, 3) \
  X(worth_memory, 2) \
  X(worth_energy, 2) \
  X(nothing_run, 0) \
  X(interrupted_before_first, 1) \
  X(nothing_may_launch, 2) \
  X(constraints_not_met, 2) \
  X(margin_not_met, 1) \
  X(none_works, 3) \
  X(none_works_unexplained, 2) \
  X(only_rate, 2) \
  X(rival_may_be_faster, 6) \
  X(no_quiet_window, 1) \
  X(cpu_time_a_sample, 2) \
  X(too_noisy, 4) \
  X(certified, 2) \
  X(best_of_run, 3) \
  X(number_of_ties, 1) \
  X(unpredicted_setting, 1) \
  X(next_best, 2) \
  X(not_conclusive, 2) \
  X(interval_to_halve, 2) \
  X(interval_to_halve_or_stop, 2) \
  /* tuner/verdict: why the recommended setting is safe and fast. */ \
  X(ran_times, 4) \
  X(steps_end_within, 2) \
  X(samples_a_joule, 1) \
  X(times_the_baseline, 3) \
  X(peak_of_limit, 4) \
  X(peak_without_limit, 1) \
  X(memory_not_measured, 0) \
  X(crowding_left_out, 1) \
  X(safest_of_tie, 1) \
  X(memory_grows_in_trials, 3) \
  X(rehearsed, 2) \
  X(rehearsed_share, 4) \
  X(rehearsed_elsewhere, 1) \
  X(rehearsal_not_over, 2) \
  X(rehearsal_failed, 1) \
  X(one_host_is_faster, 5) \
  X(one_host_is_faster_unknown, 3) \
  /* tuner/verdict: why not another one. */ \
  X(crowds_out, 0) \
  X(ties, 0) \
  X(ties_and_needs, 1) \
  X(more_memory, 0) \
  X(more_processes, 0) \
  X(more_threads, 0) \
  X(more_loaders, 0) \
  X(larger_batch, 0) \
  X(too_little_free, 2) \
  X(needs_memory, 1) \
  X(within_noise, 1) \
  X(predicted_not_run, 1) \
  X(rule_is_recommended, 0) \
  X(rule_crowds_out, 1) \
  X(rule_ties, 2) \
  X(rule_better, 3) \
  X(rule_costs, 3) \
  X(rule_fails, 1) \
  X(rule_does_not_fit, 1) \
  X(rule_not_run, 0) \
  X(is_recommended, 0) \
  X(was_run_and_ended, 1) \
  X(ties_with_recommended, 0) \
  X(ties_with_recommended_and_needs, 1) \
  X(was_measured, 3) \
  X(rate_than_recommended, 2) \
  X(rate_as_recommended, 2) \
  X(its_peak, 2) \
  X(was_not_launched, 1) \
  X(was_not_predicted, 0) \
  X(was_predicted, 4) \
  X(could_be_better, 1) \
  X(outside_searched_space, 0) \
  X(measure_both_again, 0) \
  X(give_more_memory, 0) \
  X(allow_longer_budget, 0) \
  X(one_trial_of_it, 0) \
  X(name_its_values, 0) \
  /* tuner/verdict: two runs compared. */ \
  X(compared_without_recommendation, 0) \
  X(compared_faster, 1) \
  X(compared_slower, 1) \
  X(compared_alike, 0) \
  X(compared_settings, 3) \
  X(compared_overall, 3) \
  X(machines_differ, 0) \
  /* tuner/slo: rates that meet a latency target. */ \
  X(target_in_milliseconds, 2) \
  X(target_in_seconds, 2) \
  X(no_rate_proved, 3) \
  X(target_missed, 5) \
  X(launch_at_target, 4) \
  X(proved_at_length, 2) \
  X(not_proved_at_length, 0) \
  X(rate_is, 1) \
  X(highest_at_random, 1) \
  X(highest_as_in_trace, 1) \
  X(rate_may_be_higher, 0) \
  /* Threads: how they used the CPUs, and knobs without effect. */ \
  X(oversubscribed, 2) \
  X(throttled, 3) \
  X(recommended_is, 1) \
  X(baseline_is, 1) \
  X(inert_pool_of, 5) \
  X(inert_own_pool, 3) \
  X(inert_one_thread, 3)
// clang-format on
