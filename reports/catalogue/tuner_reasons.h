// The sentences of what tuner/ says, in the order of trial/reason_codes.h.
#pragma once

#include <string_view>

#include "trial/reason.h"

namespace ocrtune {

// A row of the catalogue: the sentence of one code in both languages. The rows stand in the order
// of the codes and have as many holes (reports/catalogue/holes.h) as a code has arguments; the
// compiler checks both.
struct ReasonRow {
  ReasonCode code;
  std::string_view english, chinese;
};

inline constexpr ReasonRow kTunerReasons[] = {
    {ReasonCode::none, "", ""},
    {ReasonCode::verbatim, "{}", "{}"},
    // Outcomes of trials.
    {ReasonCode::outcome_ok, "ok", "成功"},
    {ReasonCode::outcome_out_of_memory, "out of memory", "内存不足"},
    {ReasonCode::outcome_hung, "hung", "卡死"},
    {ReasonCode::outcome_timed_out, "timed out", "超时"},
    {ReasonCode::outcome_crashed, "crashed", "崩溃"},
    {ReasonCode::outcome_wrong_result, "wrong result", "结果错误"},
    {ReasonCode::outcome_unsupported, "unsupported", "不支持"},
    {ReasonCode::outcome_skipped, "skipped", "已跳过"},
    {ReasonCode::ended_with, "{}: {}", "{}：{}"},
    // Rules of thumb; ratios and constraints of an objective.
    {ReasonCode::rule_half_of_memory, "as many processes as half of the memory in GB: {}",
     "进程数为内存 GB 数的一半：{}"},
    {ReasonCode::rule_60_percent_of_cores, "processes on 60 % of the physical cores: {}",
     "进程数为物理核心数的 60 %：{}"},
    {ReasonCode::rule_seven, "about {} processes at most", "至多约 {} 个进程"},
    {ReasonCode::as_fast, "as fast", "同样快"},
    {ReasonCode::far_slower, "more than 100 times slower", "慢 100 倍以上"},
    {ReasonCode::faster, "{} % faster", "快 {} %"},
    {ReasonCode::slower, "{} % slower", "慢 {} %"},
    {ReasonCode::steps_shorter, "steps {} % shorter", "每步用时短 {} %"},
    {ReasonCode::steps_longer, "steps {} % longer", "每步用时长 {} %"},
    {ReasonCode::rate_too_low, "{}, at least {} asked", "{}，要求至少 {}"},
    {ReasonCode::steps_too_long, "{} % of its steps take up to {}, at most {} asked",
     "{} % 的步用时不超过 {}，要求至多 {}"},
    {ReasonCode::peak_too_high, "peak {}, at most {} asked", "峰值内存 {}，要求至多 {}"},
    // What keeps a setting from being launched; the terms of the speed model.
    {ReasonCode::failed_when_run, "failed when it was run", "运行时失败"},
    {ReasonCode::fails_above_processes, "fails above {} {0:process|processes} here",
     "此机器上超过 {} 个进程会失败"},
    {ReasonCode::ran_out_of_memory, "ran out of memory", "内存不足"},
    {ReasonCode::ran_out_of_gpu_memory, "ran out of GPU memory", "显存不足"},
    {ReasonCode::ran_out_of_rank_memory, "ran out of memory of one process",
     "单个进程的内存达到上限"},
    {ReasonCode::ran_out_of_shm, "ran out of shared memory", "共享内存不足"},
    {ReasonCode::ran_out_of_processes, "ran out of processes or descriptors",
     "进程数或文件描述符达到上限"},
    {ReasonCode::ran_out_of_samples, "ran out of samples", "数据集的样本不足"},
    {ReasonCode::needs_as_much_as, "needs no less than {}, which {}", "所需不少于 {}，而后者{}"},
    {ReasonCode::memory_not_known_yet, "its memory is not known before a lighter setting has run",
     "在更轻的配置运行之前，其内存需求未知"},
    {ReasonCode::predicted_peak, "predicted peak {} (up to {}) of {} usable",
     "预测峰值 {}（最多 {}），可用 {}"},
    {ReasonCode::predicted_growth,
     "predicted peak up to {}, more than {} times what has run; the memory limit is not known",
     "预测峰值最多 {}，超过已运行配置的 {} 倍；内存上限未知"},
    {ReasonCode::not_in_space, "not in the declared space", "不在搜索空间内"},
    {ReasonCode::term_serial_share, "{} % of a step does not speed up with threads",
     "每步有 {} % 不随线程数加快"},
    {ReasonCode::term_contention, "each further process slows the others by {} %",
     "每多一个进程，其余进程变慢 {} %"},
    {ReasonCode::term_turning_point, "throughput drops beyond about {} processes",
     "超过约 {} 个进程后吞吐量下降"},
    {ReasonCode::term_step_cost, "fixed cost of a step: as long as {} samples",
     "每步固定开销相当于 {} 个样本"},
    {ReasonCode::term_loading, "loading a sample takes {} % of computing it on one thread",
     "加载一个样本的时间是单线程计算它的 {} %"},
    {ReasonCode::term_cores, "behaves like {} {0:core|cores}", "其扩展性相当于 {} 个核心"},
    // The answer.
    {ReasonCode::launch_with, "Launch with {}: {}.", "使用 {} 启动：{}。"},
    {ReasonCode::worth_rate, "{}", "{}"},
    {ReasonCode::worth_latency, "{} % of its steps end within {}, {}", "{} % 的步在 {} 内完成，{}"},
    {ReasonCode::worth_memory, "peak memory {}, {}", "峰值内存 {}，{}"},
    {ReasonCode::nothing_run, "No setting was run; allow a longer budget.",
     "没有运行任何配置；请给予更长的预算。"},
    {ReasonCode::interrupted_before_first,
     "Interrupted before the first trial ended; go on with: ocrtune tune --resume {}.",
     "在第一次试验结束前被中断；可用 ocrtune tune --resume {} 继续。"},
    {ReasonCode::nothing_may_launch, "No setting may be launched; the lightest is {}: {}.",
     "没有可以启动的配置；最轻的是 {}：{}。"},
    {ReasonCode::constraints_not_met, "No setting that was run meets the constraints; {} has {}.",
     "已运行的配置都不满足约束；{} 为：{}。"},
    {ReasonCode::margin_not_met,
     "Every setting that works leaves less memory free than asked; the fastest is {}. Lower the "
     "margin or raise the limit.",
     "所有可用配置的剩余内存都少于要求；其中最快的是 {}。请降低余量或提高上限。"},
    {ReasonCode::evaluation_takes_memory,
     "Training works, but an evaluation takes {} more at least, which leaves less memory free than "
     "asked. Evaluate in smaller batches, lower the margin or raise the limit.",
     "训练可以运行，但评估至少还要多占 {}，剩余内存少于要求。请减小评估批量、降低余量或提高上限。"},
    {ReasonCode::none_works, "No setting works: {} ended with {}: {}.",
     "没有可用的配置：{} 以{}结束：{}。"},
    {ReasonCode::none_works_unexplained, "No setting works: {} ended with {}.",
     "没有可用的配置：{} 以{}结束。"},
    {ReasonCode::only_rate,
     "Only {} gave a rate, 1 of {} {1:setting|settings}: there is nothing to compare it with.",
     "只有 {} 测得速度，即 {} 个配置中的 1 个：没有可比较的对象。"},
    {ReasonCode::rival_may_be_faster,
     "Other programs disturbed the trials, which leaves open whether {} is faster than {}: {} "
     "times "
     "its rate ({} to {}) on free CPUs.{} Run again when the machine is quieter, or with a longer "
     "budget.",
     "其他程序干扰了试验，尚不能确定 {} 是否比 {} 更快：在空闲 CPU 上约为其 {} 倍（{} 至 "
     "{}）。{}请在机器较空闲时重新运行，或使用更长的预算。"},
    {ReasonCode::too_few_turns,
     "Beside other programs {} made {} ({} to {}) times the rate of {}, but their turns do not yet "
     "show that the load struck both alike.",
     "在其他程序的干扰下，{0} 的速率为 {4} 的 {1} 倍（{2} 至 "
     "{3}），但两者的交替运行尚不能说明它们受到同样的干扰。"},
    {ReasonCode::no_quiet_window,
     "Other programs disturbed {0} of {0} {0:window|windows}; run again when the machine is "
     "quieter.",
     "其他程序干扰了全部 {0} 个测量窗口；请在机器较空闲时重新运行。"},
    {ReasonCode::log_against_clock,
     "The log prints {} as {} times the rate of {}, its step counter and the clock say {} times: "
     "its "
     "rates may leave out time, or a step be other samples. --log-reader 'regex:step "
     "(?<step>[0-9]+)' "
     "counts steps.",
     "按日志打印的速率，{0} 是 {2} 的 {1} 倍；按其步数与时钟则为 {3} "
     "倍：打印的速率可能不含部分时间，"
     "或一步的样本数不同。--log-reader 'regex:step (?<step>[0-9]+)' 按步数计量。"},
    {ReasonCode::beyond_its_processes,
     "{} is told as {} times ({}..{}) the rate of {}, where {} times as many processes that each "
     "do "
     "their own work do so much at most: its lines may count what all do together, or the "
     "processes share their steps. --metric-of job counts once.",
     "按日志，{0} 是 {4} 的 {1} 倍（{2}..{3}），而 {5} "
     "倍的进程各做各的工作时最多只能快这么多倍："
     "日志行可能计的是所有进程的总量，或各进程共享同样的步。--metric-of job 只计一次。"},
    {ReasonCode::totals_speak_against,
     "The counter of {} goes to {}, that of {} to {}: {} times the batch, but {} times fewer "
     "steps. "
     "A step of it may hold fewer samples than its batch; log how many there were.",
     "{0} 的计数到 {1}，{2} 的计数到 {3}：批量为 {4} 倍，步数却只少到 1/{5}。"
     "其一步的样本可能少于批量；请在日志中打印实际样本数。"},
    {ReasonCode::copies_count_alike,
     "Each of the {} copies counts to {}, as one alone does: where they read the same pages, the "
     "gain is of work done twice. Give each its share by {{copy}} and {{nproc}}.",
     "{} 个副本各自都计到 {}，与单独一个相同：若它们读的是同样的页，则所述倍数是重复的工作。"
     "请用 {{copy}} 和 {{nproc}} 给每个副本分配各自的部分。"},
    {ReasonCode::scope_assumed_of_rank,
     "No line shows whose rate it prints: it counts for each process, so the gain is too high "
     "where "
     "the lines give the rate of all; then --metric-of job.",
     "没有日志行表明打印的是谁的速率：这里按每个进程计；若其为全部进程的速率，则所述倍数偏高，"
     "此时请用 --metric-of job。"},
    {ReasonCode::scope_assumed_of_job,
     "No line shows whose rate it prints: it counts once for all processes, so the gain is too low "
     "where each line gives the rate of one; then --metric-of rank.",
     "没有日志行表明打印的是谁的速率：这里按全部进程计一次；若其为单个进程的速率，则所述倍数偏低，"
     "此时请用 --metric-of rank。"},
    {ReasonCode::cpu_time_a_sample, " CPU time a sample: {} and {}.",
     "每个样本的 CPU 时间：{} 与 {}。"},
    {ReasonCode::too_noisy,
     "Too noisy to tell {} from {} in this budget (repeats differ by {}); about {} more would "
     "settle it.",
     "干扰太大，在此预算内无法区分 {} 与 {}（重复测量相差 {}）；再用约 {} 可以判定。"},
    {ReasonCode::certified,
     "with 95 % probability no setting of the space is more than {} % better{}",
     "以 95 % 的置信度，搜索空间内没有配置能再好 {} % 以上{}"},
    {ReasonCode::best_of_run,
     "best of {} of {} {1:setting|settings} that were run{}; no claim about the others",
     "已运行的 {} 个（共 {} 个）配置中最佳{}；对其余配置不作断言"},
    {ReasonCode::number_of_ties, "; {} tie", "；{} 个并列"},
    {ReasonCode::unpredicted_setting,
     "Not conclusive: {} was not run, and too few trials predict its rate; go on with a longer "
     "budget (tune --resume).",
     "尚无定论：{} 未运行，且试验太少，无法预测其速度；可用更长的预算继续（tune --resume）。"},
    {ReasonCode::next_best, "Next best: {} could be up to {} (not run); stopping is fine.",
     "下一步最值得试：{} 至多可能{}（未运行）；可以就此停止。"},
    {ReasonCode::not_conclusive,
     "Not conclusive: {} was not run and could be up to {}; go on with a longer budget (tune "
     "--resume).",
     "尚无定论：{} 未运行，至多可能{}；可用更长的预算继续（tune --resume）。"},
    {ReasonCode::interval_to_halve, "{} more on {} would halve its interval.",
     "再用 {} 测量 {} 可使其区间减半。"},
    {ReasonCode::interval_to_halve_or_stop,
     "{} more on {} would halve its interval; stopping is fine.",
     "再用 {} 测量 {} 可使其区间减半；可以就此停止。"},
    // Why the recommended setting is safe and fast.
    {ReasonCode::ran_times, "Ran {} {0:time|times}: {} ({} to {}).",
     "运行 {} 次：{}（{} 至 {}）。"},
    {ReasonCode::runs_are_starts,
     "The program ends within {}: what was measured is its start, and hardly any work.",
     "程序在 {} 内结束：测得的主要是启动，几乎没有实际工作。"},
    {ReasonCode::steps_end_within, "{} % of its steps end within {}.", "{} % 的步在 {} 内完成。"},
    {ReasonCode::times_the_baseline, "{} times the baseline ({} to {}).",
     "为基准配置的 {} 倍（{} 至 {}）。"},
    {ReasonCode::peak_of_limit, "Peak memory {} of {}: {} stay free (at least {} asked).",
     "峰值内存 {}，上限 {}：剩余 {}（要求至少 {}）。"},
    {ReasonCode::peak_without_limit, "Peak memory {}; no limit is known.",
     "峰值内存 {}；上限未知。"},
    {ReasonCode::memory_not_measured, "Its memory could not be measured.", "无法测量其内存。"},
    {ReasonCode::crowding_left_out,
     "Other programs were running: {} {0:setting|settings} with more threads than CPUs left out, "
     "for what they gain then is the others' share.",
     "当时有其他程序在运行：线程数多于 CPU 数的 {} "
     "个配置未采用，因为它们多得的只是其他程序的份额。"},
    {ReasonCode::safest_of_tie,
     "{} settings tie; this one needs the least memory, then the fewest processes.",
     "{} 个配置并列；此配置所需内存最少，其次进程最少。"},
    {ReasonCode::memory_grows_in_trials,
     "In {} of {} {1:trial|trials} memory grew by {} a second ({} to {}): at this rate the limit "
     "is "
     "reached in {}.",
     "{1} 次试验中有 {0} 次内存每秒增长 {2}（{3} 至 {4}）：照此速度将在 {5} 后达到上限。"},
    {ReasonCode::memory_may_grow_in_trials,
     "In {} of {} {1:trial|trials} memory rose by {} a second, watched for {}: too short to tell a "
     "leak from a heap that is collected later. Watch it for longer: --soak 10m.",
     "{1} 次试验中有 {0} 次内存每秒增加 {2}，只观察了 {3}："
     "时间太短，无法区分泄漏与稍后才回收的堆。请观察更久：--soak 10m。"},
    {ReasonCode::rehearsed,
     "An evaluation and its checkpoint, which the other trials leave out, were tried with it: {} "
     "each, memory at most {}.",
     "还用它试过其他试验略去的评估及其检查点：每次 {}，内存最多 {}。"},
    {ReasonCode::rehearsed_share,
     "An evaluation and its checkpoint, which the other trials leave out, were tried with it: {} "
     "each, memory at most {}; with one every {} steps they take {} of the time.",
     "还用它试过其他试验略去的评估及其检查点：每次 {}，内存最多 {}；每 {} 步一次时占总时间的 "
     "{}。"},
    {ReasonCode::rehearsed_elsewhere,
     "Its memory is counted with {} more for an evaluation, as another setting needed when it was "
     "tried.",
     "其内存计入了评估所需的另外 {}，这是另一配置试行评估时所需的量。"},
    {ReasonCode::rehearsal_not_over,
     "An evaluation, which the other trials leave out, was tried with it and was not over within "
     "{}: memory at most {} so far.",
     "还用它试过其他试验略去的评估，但在 {} 内没有结束：至此内存最多 {}。"},
    {ReasonCode::rehearsal_failed,
     "An evaluation, which the other trials leave out, was tried with it and failed: {}.",
     "还用它试过其他试验略去的评估，但失败了：{}。"},
    {ReasonCode::knobs_matter, "Knobs by their share of the differences in rate: {}.",
     "各参数在速率差异中所占份额：{}。"},
    {ReasonCode::knobs_matter_together,
     "Knobs by their share of the differences in rate: {}; {} and {} together add {}.",
     "各参数在速率差异中所占份额：{}；{} 与 {} 的交互作用另占 {}。"},
    {ReasonCode::soak_grows,
     "In a longer trial of it, {}, memory grew by {} a second: at this load the limit of {} is met "
     "in {}. Start it anew every {} until the leak is found.",
     "在对它的 {} 长时试验中，内存每秒增长 {}：以此负载，将在 {3} 后达到 {2} "
     "的上限。在找到泄漏之前，请每 {4} 重启一次。"},
    {ReasonCode::soak_grows_by_request,
     "In a longer trial of it, {}, memory grew by {} a request: the limit of {} is met after {} "
     "requests, at this load in {}. Start the server anew every {} requests ({}) until the leak is "
     "found.",
     "在对它的 {} 长时试验中，每个请求使内存增长 {}：将在 {3} 个请求后（以此负载为 {4}）达到 {2} "
     "的上限。在找到泄漏之前，请每 {5} 个请求（{6}）重启一次服务。"},
    {ReasonCode::soak_may_grow,
     "In a longer trial of it, {}, memory rose by {} a second: too short to tell a leak from a "
     "heap "
     "that is collected later. Watch it for longer: --soak 10m.",
     "在对它的 {} 长时试验中，内存每秒增加 "
     "{}：时间太短，无法区分泄漏与稍后才回收的堆。请观察更久：--soak 10m。"},
    {ReasonCode::soak_steady,
     "In a longer trial of it, {}, memory did not grow; it was at most {}.",
     "在对它的 {} 长时试验中，内存没有增长，最多 {}。"},
    {ReasonCode::soak_failed, "A longer trial of it failed after {}: {}.",
     "对它的长时试验在 {} 后失败：{}。"},
    {ReasonCode::rate_changes_later,
     "After {} the rate was {} times that of the first {}: rates are of then, and those of "
     "settings "
     "that ran no longer are scaled alike.",
     "运行 {0} 后的速率为前 {2} 的 {1} 倍：速率以此后为准，运行更短的配置按同一比例换算。"},
    {ReasonCode::gpus_unused, "GPUs without work: {}; the command used none of them.",
     "空闲的 GPU：{}；命令没有使用其中任何一个。"},
    {ReasonCode::gpus_idle,
     "GPUs without work: {}, while {} {1:process|processes} ran on the others; start each process "
     "through 'ocrtune rank-exec --gpu auto --', or name the GPUs in the command.",
     "空闲的 GPU：{}，而 {} 个进程在其余 GPU 上运行；请用 'ocrtune rank-exec --gpu auto --' "
     "启动每个进程，或在命令中指定 GPU。"},
    {ReasonCode::answers_in_flight, "{} requests/s with {} in flight: p50 {}, p99 {}.",
     "{1} 个并发请求时为 {0} 请求/s：p50 {2}，p99 {3}。"},
    {ReasonCode::server_reports, "Of the server: {}.", "关于该服务：{}。"},
    {ReasonCode::cache_passed_over,
     "a repeated input is answered {} times as fast; each request was a variant of its own, which "
     "no cache of results knows",
     "重复的输入应答快 {} 倍；每个请求都是独立的变体，结果缓存不起作用"},
    {ReasonCode::cache_may_answer,
     "a repeated input is answered {} times as fast, and these inputs cannot be varied: the rate "
     "may be that of a cache",
     "重复的输入应答快 {} 倍，且这些输入无法变化：该速率可能来自缓存"},
    {ReasonCode::texts_wrong_in_flight,
     "with {} in flight {} of {} answers have another text than with fewer",
     "并发 {} 个请求时，{2} 个应答中有 {1} 个的文本与较少并发时不同"},
    {ReasonCode::texts_swapped_in_flight,
     "with {} in flight {} of {} answers have another text than with fewer, {} that of another "
     "input",
     "并发 {} 个请求时，{2} 个应答中有 {1} 个的文本与较少并发时不同，其中 {3} 个属于其他输入"},
    {ReasonCode::text_none,
     "text not compared: the answers hold none; --answers, or same = [...] in a .request.toml, "
     "says where it is",
     "文本未作比对：应答中没有文本；用 --answers 或 .request.toml 中的 same = [...] 指明其位置"},
    {ReasonCode::text_varies, "text not compared: it differs each time the same input is read",
     "文本未作比对：同一输入每次读取结果都不同"},
    {ReasonCode::text_all_alike,
     "text not compared: every input is answered alike, as by an error; look at one answer",
     "文本未作比对：所有输入得到的回答都相同，可能是错误信息；请查看一个回答"},
    {ReasonCode::text_no_answers, "text not compared: nothing was printed or written there",
     "文本未作比对：指定位置没有任何输出"},
    {ReasonCode::text_no_reference,
     "text not compared: the present setting ended no run over its inputs; --log-reader runs times "
     "whole runs",
     "文本未作比对：当前配置没有完整运行过一遍输入；--log-reader runs 按整次运行计时"},
    {ReasonCode::one_host_is_faster,
     "One host is faster than {}: {} of the time there goes to the network and to waiting. The "
     "network would have to give {} Gbit/s, it gave {}; or gradients would have to be summed over "
     "{} {4:step|steps} before they are exchanged, which makes the effective batch so much larger.",
     "单机比 {} 台主机更快：多机时 {} 的时间用于网络传输和等待。网络需要达到 {} Gbit/s，实测为 "
     "{}；或者每累积 {} "
     "步梯度再交换一次，有效 batch size 也随之增大同样倍数。"},
    {ReasonCode::one_host_is_faster_unknown,
     "One host is faster than {}: {} of the time there goes to the network and to waiting. How "
     "many bytes that is was not counted, so what the network would have to give is not known; "
     "it would have to take {} of the time at most.",
     "单机比 {} 台主机更快：多机时 {} "
     "的时间用于网络传输和等待。未能统计传输的字节数，因此无法得知网络需要达到的"
     "速率；其占比最多只能为 {}。"},
    // Why not another one.
    {ReasonCode::crowds_out, "left out: other programs were running, and it takes their CPU share",
     "未采用：当时有其他程序在运行，此配置会占用它们的 CPU 份额"},
    {ReasonCode::crashes_at_times, "crashed or hung in {} of {} {1:trial|trials}",
     "{1} 次试验中有 {0} 次崩溃或挂起"},
    {ReasonCode::ties, "ties", "并列"},
    {ReasonCode::ties_and_needs, "ties, {}", "并列，但需要{}"},
    {ReasonCode::more_memory, "more memory", "更多内存"},
    {ReasonCode::more_processes, "more processes", "更多进程"},
    {ReasonCode::more_threads, "more threads", "更多线程"},
    {ReasonCode::more_loaders, "more loaders", "更多加载进程"},
    {ReasonCode::larger_batch, "a larger batch", "更大的 batch size"},
    {ReasonCode::too_little_free, "leaves {} of memory free, {} asked", "剩余内存 {}，要求 {}"},
    {ReasonCode::needs_memory, "needs {}", "需要 {}"},
    {ReasonCode::within_noise, "{}, within the noise", "{}，在噪声范围内"},
    {ReasonCode::left_open, "{} times its rate ({} to {}): open",
     "其速率的 {} 倍（{} 至 {}）：未定"},
    {ReasonCode::predicted_not_run, "predicted {}, not run", "预测{}，未运行"},
    {ReasonCode::rule_is_recommended, "is the recommended setting itself", "即推荐配置"},
    {ReasonCode::rule_crowds_out, "{}, but takes other programs' CPU share",
     "{}，但会占用其他程序的 CPU 份额"},
    {ReasonCode::rule_ties, "no clear difference: {} % faster to {} % slower",
     "没有明显差别：快 {} % 至慢 {} %"},
    {ReasonCode::rule_better, "better by {} % ({}..{} %)", "更好，快 {} %（{}..{} %）"},
    {ReasonCode::rule_costs, "costs {} % ({}..{} %)", "损失 {} %（{}..{} %）"},
    {ReasonCode::rule_fails, "fails: {}", "失败：{}"},
    {ReasonCode::rule_does_not_fit, "does not fit: {}", "放不下：{}"},
    {ReasonCode::rule_not_run, "not run: the budget ended before it", "未运行：预算已先用完"},
    {ReasonCode::is_recommended, "It is the recommended setting.", "这就是推荐配置。"},
    {ReasonCode::was_run_and_ended, "It was run and ended with {}.", "运行过，结果为：{}。"},
    {ReasonCode::ties_with_recommended,
     "It ties with the recommended setting: either may be launched.",
     "与推荐配置并列：两者都可以启动。"},
    {ReasonCode::ties_with_recommended_and_needs,
     "It ties with the recommended setting and needs {}.", "与推荐配置并列，但需要{}。"},
    {ReasonCode::was_measured, "Measured {} {0:time|times}: {}.{}", "测量 {} 次：{}。{}"},
    {ReasonCode::rate_than_recommended, "{}, {} than the recommended setting", "{}，比推荐配置{}"},
    {ReasonCode::rate_as_recommended, "{}, {} as the recommended setting", "{}，与推荐配置{}"},
    {ReasonCode::its_peak, " Its peak was {} of {}.", "其峰值内存为 {}，上限 {}。"},
    {ReasonCode::was_not_launched, "It was not launched: {}.", "没有启动：{}。"},
    {ReasonCode::was_not_predicted, "It was not run, and too little is known to predict it.",
     "没有运行，且所知太少，无法预测。"},
    {ReasonCode::was_predicted, "It was not run; predicted {} ({} to {}).{}",
     "没有运行；预测 {}（{} 至 {}）。{}"},
    {ReasonCode::could_be_better, " It could be up to {} % better, at 95 %.",
     "至多可能好 {} %（95 %）。"},
    {ReasonCode::outside_searched_space, "It is not in the space that this run searched.",
     "不在此次运行的搜索空间内。"},
    {ReasonCode::knob_not_varied, "This run did not vary {}: it is as the command has it.",
     "此次运行没有改变 {}：由命令自身决定。"},
    {ReasonCode::measure_both_again, "measure both again, interleaved: their intervals overlap",
     "交替再次测量两者：其区间重叠"},
    {ReasonCode::give_more_memory, "give it more memory, or a smaller margin",
     "给予更多内存，或减小余量"},
    {ReasonCode::allow_longer_budget, "allow a longer budget", "给予更长的预算"},
    {ReasonCode::one_trial_of_it, "one trial of it", "对它做一次试验"},
    {ReasonCode::name_its_values, "name its values with the knobs' flags and tune again",
     "用可调参数的选项列出这些值，再次调优"},
    // Two runs compared.
    {ReasonCode::compared_without_recommendation,
     "The recommended rates do not compare: a run has none, is open, was told beside other load "
     "that "
     "the other had not, or was tuned for something else.",
     "推荐速度无法比较：其中一次没有推荐、结论未定、在另一次没有的其他负载下测得，或目标不同。"},
    {ReasonCode::compared_faster, "The recommended setting is faster by {} %.",
     "推荐配置快了 {} %。"},
    {ReasonCode::compared_slower, "The recommended setting is slower by {} %.",
     "推荐配置慢了 {} %。"},
    {ReasonCode::compared_alike, "The recommended settings cannot be told apart.",
     "两次的推荐配置无法区分快慢。"},
    {ReasonCode::compared_settings,
     "Of {} {0:setting|settings} in both runs {} became faster and {} slower.",
     "两次都运行的 {} 个配置中，{} 个变快，{} 个变慢。"},
    {ReasonCode::compared_overall,
     "Over all of them the rate is {} times the earlier one ({} to {}).",
     "总体速度为较早运行的 {} 倍（{} 至 {}）。"},
    {ReasonCode::machines_differ, "The machines differ.", "机器不同。"},
    // Rates that meet a latency target.
    {ReasonCode::target_in_milliseconds, "p{} under {} ms", "p{} 低于 {} 毫秒"},
    {ReasonCode::target_in_seconds, "p{} under {} s", "p{} 低于 {} 秒"},
    {ReasonCode::no_rate_proved,
     "No setting was proved to keep {}; one request alone takes {} ms with {}, so a longer "
     "budget may prove a rate (--budget {}).",
     "没有证实任何配置满足延迟目标（{}）；单个请求用时 {} 毫秒（{}），更长的预算"
     "或可证实某个速率（--budget {}）。"},
    {ReasonCode::target_missed,
     "No setting keeps {}: the nearest, {}, takes {} ms for one request alone, {} ms too long "
     "({} times the target).",
     "没有配置满足延迟目标（{}）：最接近的 {} 处理单个请求需 {} 毫秒，超出 {} 毫秒（目标的 {} "
     "倍）。"},
    {ReasonCode::launch_at_target, "Launch with {}: {} requests/s with {}, {}.",
     "使用 {} 启动：{} 请求/秒，{}，{}。"},
    {ReasonCode::proved_at_length, "proved at full length: {} requests in {}",
     "已按完整时长证实：{} 个请求，用时 {}"},
    {ReasonCode::not_proved_at_length,
     "not proved at full length, which takes up to {} (--budget {} leaves it this time)",
     "未按完整时长证实（最多需要 {}：--budget {} 可以留出这段时间）"},
    {ReasonCode::rate_is, "The rate is {}.", "该速率{}。"},
    {ReasonCode::highest_at_random,
     "The rate is the highest at which requests that come at random (Poisson) had {}, for each "
     "image width separately.",
     "该速率是请求随机（泊松）到达时满足延迟目标（{}）的最高速率，每种宽度各自满足。"},
    {ReasonCode::highest_as_in_trace,
     "The rate is the highest at which requests that come as in the trace had {}, for each image "
     "width separately.",
     "该速率是请求按记录的时刻到达时满足延迟目标（{}）的最高速率，每种宽度各自满足。"},
    {ReasonCode::rate_may_be_higher,
     "A higher rate may keep the target too: the time was too short to try one (a longer --budget "
     "has it).",
     "更高的速率也可能满足延迟目标：时间不够，未能尝试（更长的 --budget 可以尝试）。"},
    // What holds a setting back, and what to try next.
    {ReasonCode::held_back, "{}. {}", "{}。{}"},
    {ReasonCode::held_by_mask, "Its threads may only run on {1:CPU|CPUs} {}: {} of {}",
     "其线程只允许在 CPU {} 上运行：{} 个（可用 {} 个）"},
    {ReasonCode::held_by_data, "{} of each step waits for data, by the program's log",
     "程序日志显示，每步有 {} 的时间在等待数据"},
    {ReasonCode::held_by_disk,
     "The disk: {} threads wait for it at a time; {}/s are read and {}/s written",
     "磁盘：平均有 {} 个线程在等待；每秒读取 {}，写入 {}"},
    {ReasonCode::held_by_launcher, "Its launcher set {} for the processes that compute",
     "其启动程序为执行计算的进程设置了 {}"},
    {ReasonCode::held_by_lock, "A lock: {} of {} threads wait for another one to release it",
     "锁：平均 {} 个线程（共 {} 个活动线程）在等待其他线程释放锁"},
    {ReasonCode::held_by_interpreter,
     "{} threads take turns, as in one Python interpreter: together they use {} of {} CPUs",
     "{} 个线程轮流运行（同一个 Python 解释器）：合计只用 {} 个 CPU，可用 {} 个"},
    {ReasonCode::held_by_turns, "{} threads take turns: together they use {} of {} CPUs",
     "{} 个线程轮流运行：合计只用 {} 个 CPU，可用 {} 个"},
    {ReasonCode::held_by_one_process,
     "Its processes run one after another: together they use {} of {} CPUs",
     "其进程逐个依次运行：合计只用 {} 个 CPU，可用 {} 个"},
    {ReasonCode::held_by_faults,
     "{} of its CPU time is spent in the kernel, with {} page faults a second: memory is taken and "
     "given back all the time",
     "{} 的 CPU 时间用在内核中，每秒缺页 {} 次：内存被不断申请和归还"},
    {ReasonCode::held_by_one_thread,
     "One thread of {} does the work: it is busy {} of the time, and the program keeps {} of {} "
     "CPUs busy",
     "{} 的一个线程承担了工作：其忙碌时间占 {}；程序只能用 {} 个 CPU，可用 {} 个"},
    {ReasonCode::held_by_few_threads, "{} threads compute all the time; there are {} CPUs",
     "{} 个线程一直在计算；可用 CPU 有 {} 个"},
    {ReasonCode::held_by_network,
     "It waits for answers from the network or from another program {} of the time",
     "{} 的时间在等待网络或其他程序的应答"},
    {ReasonCode::held_by_sleep, "It sleeps {} of the time: a limit on its rate, or a fixed wait",
     "{} 的时间在休眠：速率限制或固定等待"},
    {ReasonCode::held_by_start,
     "Start-up is {} of each run, {}: a process is started anew for each",
     "启动占每次运行的 {}（{}）：每次都新启动一个进程"},
    {ReasonCode::held_by_spin,
     "{} is no faster than {} and takes {} times the CPU time for each sample: the added threads "
     "wait in a loop or for memory",
     "{} 不比 {} 快，而每个样本的 CPU 时间是其 {} 倍：增加的线程在循环等待，或在等待内存"},
    {ReasonCode::held_by_serial_share,
     "{} of the time is serial: from {} to {} the rate is {} times as high",
     "{} 的时间是串行的：从 {} 到 {}，速率为 {} 倍"},
    {ReasonCode::held_by_cpu_side,
     "The GPU computes {} of the time and waits for the rest of the program in between",
     "GPU 只有 {} 的时间在计算，其余时间在等待程序的其他部分"},
    {ReasonCode::held_by_asking,
     "{} of {} threads that run ask the kernel in a loop in place of waiting: system "
     "calls such as sched_yield take their CPU time and bring nothing",
     "{} 个线程（共 {} 个运行中的线程）在循环中反复询问内核而不等待：sched_yield 等系统调用占用其 "
     "CPU 时间，却没有任何结果"},
    {ReasonCode::held_by_remote_memory,
     "{} of its memory lies on other NUMA nodes than its threads run on: memory on {}, threads on "
     "{}",
     "{} 的内存位于其线程所在节点之外的 NUMA 节点：内存在节点 {}，线程在节点 {}"},
    {ReasonCode::held_by_cpus,
     "{1:The one CPU is|All CPUs are} busy: {} threads run on {} {1:CPU|CPUs}",
     "所有 CPU 都在忙：{} 个线程，{} 个 CPU"},
    {ReasonCode::rate_falls, "The rate falls while it runs: from {} to {} a second, by {} a minute",
     "速率在运行中下降：从每秒 {} 降到每秒 {}，每分钟下降 {}"},
    {ReasonCode::reads_from_memory,
     "It read {} a second, all from memory: what it read of its files ({}) was there already",
     "每秒读取 {}，全部来自内存：其文件（共 {}）中读到的部分已在缓存中"},
    {ReasonCode::try_more_processes, "more processes", "更多进程"},
    {ReasonCode::try_more_threads, "more threads", "更多线程"},
    {ReasonCode::try_fewer_threads, "fewer threads", "更少线程"},
    {ReasonCode::try_more_workers, "more loader workers", "更多数据加载进程"},
    {ReasonCode::try_larger_batch, "a larger batch", "更大的批量"},
    {ReasonCode::next_brings, "Next: {}; {} was tried and brings {} more.",
     "下一步：{}；已试过 {}，速率高 {}。"},
    {ReasonCode::next_in_vain, "Next: {} will not help; {} was tried.",
     "下一步：{}没有帮助；已试过 {}。"},
    {ReasonCode::next_left_open,
     "Next: {}; {} was tried, and its trials leave open whether it helps.",
     "下一步：{}；已试过 {}，其试验尚不能说明是否有帮助。"},
    {ReasonCode::next_untried, "Next: {}, which this run has not tried ({}).",
     "下一步：{}，本次运行未试过（{}）。"},
    {ReasonCode::next_in_command, "Next: {}; ocrtune can try it once the command holds {}.",
     "下一步：{}；命令中写有 {} 时，ocrtune 才能试。"},
    {ReasonCode::next_fewer_threads, "Next: fewer threads or processes.",
     "下一步：减少线程或进程。"},
    {ReasonCode::next_fewer_in_pool,
     "Next: fewer threads or processes. {} reads no variable for its threads: give its {} the "
     "number that {} becomes in the command.",
     "下一步：减少线程或进程。{0} 的线程数不由任何变量决定：请把命令中 {2} 的值交给它的 {1}。"},
    {ReasonCode::next_lift_mask,
     "Next: find what keeps them there (taskset, numactl, a cpuset, the program itself).",
     "下一步：查明是什么限制了它们（taskset、numactl、cpuset 或程序自身）。"},
    {ReasonCode::next_in_launcher,
     "Next: set it where that launcher starts them (a script's export, Ray's runtime_env).",
     "下一步：在该启动程序启动它们之处设置（脚本中的 export、Ray 的 runtime_env）。"},
    {ReasonCode::next_faster_disk,
     "Next: data in memory or on a faster disk, fewer and larger files, more reads at once.",
     "下一步：把数据放入内存或更快的磁盘，使用更少更大的文件，或同时发起更多读取。"},
    {ReasonCode::next_allocator,
     "Next: an allocator that keeps its memory (--malloc default,keep,jemalloc).",
     "下一步：使用不归还内存的分配器（--malloc default,keep,jemalloc）。"},
    {ReasonCode::next_more_at_once, "Next: more requests at once, or a faster answer.",
     "下一步：同时发出更多请求，或让应答更快。"},
    {ReasonCode::next_find_sleep,
     "Next: find that wait in the program; a setting can overlap it, not shorten it.",
     "下一步：在程序中找到该等待；配置只能使其与其他工作重叠，不能缩短它。"},
    {ReasonCode::next_passive_wait,
     "Next: the fewer threads, or threads that sleep while they wait (OMP_WAIT_POLICY=passive).",
     "下一步：使用较少的线程，或让线程在等待时休眠（OMP_WAIT_POLICY=passive）。"},
    {ReasonCode::next_feed_gpus,
     "Next: more loader workers, a larger batch, or a second process on each GPU.",
     "下一步：增加数据加载进程、增大批量，或在每个 GPU 上再启动一个进程。"},
    {ReasonCode::next_wait_asleep,
     "Next: let these threads sleep until there is work (a condition, a blocking queue), or start "
     "fewer of them.",
     "下一步：让这些线程在有任务之前休眠（条件变量、阻塞队列），或减少其数量。"},
    {ReasonCode::next_same_node,
     "Next: memory and threads on the same node (numactl --cpunodebind={0} --membind={0}, "
     "--binding numa).",
     "下一步：让内存与线程位于同一节点（numactl --cpunodebind={0} --membind={0}，--binding "
     "numa）。"},
    {ReasonCode::next_more_cpus,
     "Next: more CPUs, or less work for each sample (another engine, precision or model).",
     "下一步：更多 CPU，或减少每个样本的计算量（其他引擎、精度或模型）。"},
    {ReasonCode::next_watch_longer, "Next: a longer run shows where it ends (--soak).",
     "下一步：更长的运行可看出其终点（--soak）。"},
    {ReasonCode::next_cold_pass,
     "Next: expect a slower first pass, from the disk, where the files are not in memory.",
     "下一步：若文件不在内存中，第一遍从磁盘读取会更慢。"},
    {ReasonCode::next_cold_slower,
     "Next: expect a slower first epoch; with the files out of memory it made {} a second (in "
     "memory {}) and read {}/s from the disk.",
     "下一步：第一个 epoch 会更慢；文件不在内存中时每秒 {} 个（在内存中为 {}），从磁盘每秒读取 "
     "{}。"},
    {ReasonCode::next_cold_alike,
     "Next: nothing; with the files out of memory it made {} a second (in memory {}).",
     "下一步：无需处理；文件不在内存中时每秒 {} 个（在内存中为 {}）。"},
    {ReasonCode::next_beyond_memory,
     "Next: expect the disk's rate in every epoch: its files ({}) do not fit into memory ({}).",
     "下一步：每个 epoch 都会按磁盘的速度读取：其文件（{}）超过内存容量（{}）。"},
    // Threads: how they used the CPUs, and knobs without effect.
    {ReasonCode::oversubscribed, "oversubscribed: {} threads want to run on {} {1:CPU|CPUs}",
     "超额占用 CPU：{} 个线程争用 {} 个 CPU"},
    {ReasonCode::oversubscribed_at_times,
     "oversubscribed at times: {} threads share {} {1:CPU|CPUs}, and wait for one {} of the time "
     "that they could run",
     "间歇性超额占用 CPU：{} 个线程共用 {} 个 CPU，可运行时间中有 {} 在等待 CPU"},
    {ReasonCode::throttled,
     "throttled: {} threads want to run within a quota of {} {1:CPU|CPUs}, which stopped them {} "
     "of the "
     "time",
     "受配额限制：{} 个线程争用 {} 个 CPU 的配额，被暂停的时间占 {}"},
    {ReasonCode::baseline_is, "The baseline is {}.", "基准配置{}。"},
    {ReasonCode::inert_by_launcher,
     "{} changed nothing here ({}..{} %): its launcher set {} for the processes that compute.",
     "{} 在此没有任何影响（{}..{} %）：其启动程序为执行计算的进程设置了 {}。"},
    {ReasonCode::inert_pool_of,
     "{} changed nothing here ({}..{} %): this program sizes its own pool; for {} set {}.",
     "{} 在此没有任何影响（{}..{} %）：该程序自行决定线程池大小；对 {} 请设置 {}。"},
    {ReasonCode::inert_own_pool,
     "{} changed nothing here ({}..{} %): this program sizes its own pool.",
     "{} 在此没有任何影响（{}..{} %）：该程序自行决定线程池大小。"},
    {ReasonCode::inert_one_thread,
     "{} changed nothing here ({}..{} %): this program computes in one thread.",
     "{} 在此没有任何影响（{}..{} %）：该程序只用一个线程计算。"},
};

}  // namespace ocrtune
