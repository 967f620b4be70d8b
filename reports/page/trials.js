// The table of all trials: sort, filter, expand. Up to kWhole rows stand in the document at once; of
// more, only those in sight, so ten thousand trials scroll like ten. Values enter as text nodes.
"use strict";
(() => {
  const holder = document.getElementById("trials-table");
  if (!holder) return;
  const run = JSON.parse(document.getElementById("run").textContent);
  const text = (number) => run.strings[number];
  const kWhole = 500;
  const kRow = 27;      // pixels of a row, its line included
  const kDetail = 301;  // pixels of an open row's details

  // The fields of a trial, in the order of reports/html/page_json.cpp.
  const trials = run.trials.map((fields) => {
    const [id, setting, phase, repetition, outcome, cause, rate, peak, seconds, reason, why,
      placement, started, reproduce, log, evidence, samples, step] = fields;
    return {
      id, setting, repetition, rate, peak, seconds, samples, step, evidence,
      phase: text(phase), outcome: text(outcome), cause: text(cause), reason: text(reason),
      why, placement, started, reproduce, log,
      knobs: run.settings[setting][0].map(text), key: null,
    };
  });

  const zh = () => document.documentElement.lang === "zh";
  const told = (english) => (zh() && run.zh[english]) || english;
  const words = {
    trial: ["trial", "试验"], phase: ["tried as", "试验目的"], outcome: ["outcome", "结果"],
    rate: { "requests/s": ["requests/s", "请求/秒"], "steps/s": ["steps/s", "步/秒"],
      "runs/s": ["runs/s", "次运行/秒"] }[run.unit] || ["samples/s", "样本/秒"],
    samples: ["windows", "测量窗口"], peak: ["peak memory", "峰值内存"],
    seconds: ["seconds", "秒"], note: ["note", "说明"], all: ["all outcomes", "全部结果"],
    filter: ["filter: nproc=2 batch>=32 outcome=ok ...", "筛选：nproc=2 batch>=32 outcome=ok ..."],
    clear: ["Clear", "清除"], of: ["of", "/"], shown: ["trials", "次试验"], one: ["trial", "次试验"],
    command: ["Run again", "重新运行"], env: ["Environment", "环境变量"], why: ["Why tried", "试验原因"],
    reason: ["Reason", "原因"], evidence: ["Evidence", "证据"], placement: ["CPUs", "CPU 位置"],
    step: ["Step", "每步耗时"], log: ["Log tail", "日志末尾"], started: ["Started", "开始时间"],
    setting: ["Setting", "配置"], details: ["details of trial", "试验详情"],
    cutLogs: ["logs of some trials were left out of this page; the store has them",
      "部分试验的日志未放入本页，数据库中仍有"],
    data: ["data", "数据"], compute: ["compute", "计算"], reduce: ["all-reduce", "梯度同步"],
    wait: ["wait", "等待"], discarded: ["discarded", "已舍弃"],
    help: ["Windows: each dot is a measured window, a ring one discarded for other load; ▸ opens a trial.",
      "测量窗口：每个点为一个窗口，空心圆为因其他负载舍弃的窗口；▸ 展开一次试验。"],
  };
  const say = (key) => words[key][zh() ? 1 : 0];

  const outcomes = {
    ok: "成功", out_of_memory: "内存不足", hung: "卡死", timed_out: "超时", crashed: "崩溃",
    wrong_result: "结果错误", unsupported: "不可行", skipped: "已跳过",
  };
  const outcomeText = (name) => (zh() ? outcomes[name] ?? name
    : name === "unsupported" ? "not possible" : name.replaceAll("_", " "));

  const bytes = (value) => {
    if (!value) return "";
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (value >= 1023.95 && unit < 4) { value /= 1024; ++unit; }
    return `${unit ? value.toFixed(1) : value} ${units[unit]}`;
  };
  const rate = (value) => (value ? String(Number(value.toPrecision(4))) : "");

  const columns = [
    { key: "trial", number: true, value: (t) => t.id },
    { key: "rate", number: true, value: (t) => t.rate, show: (t) => rate(t.rate) },
    { key: "outcome", value: (t) => t.outcome, show: (t) => outcomeText(t.outcome), css: "outcome" },
    ...run.knobs.map((name, i) => ({
      name, number: trials.every((t) => t.knobs[i] !== "" && !Number.isNaN(Number(t.knobs[i]))),
      value: (t) => t.knobs[i],
    })),
    { key: "samples", value: (t) => t.samples.length, draw: spark },
    { key: "peak", number: true, value: (t) => t.peak, show: (t) => bytes(t.peak) },
    { key: "seconds", number: true, value: (t) => t.seconds, show: (t) => t.seconds.toFixed(1) },
    { key: "phase", value: (t) => run.phases[t.phase][zh() ? 1 : 0] },
    { key: "note", value: (t) => (t.cause ? `${told(t.cause)}: ` : "") + told(t.reason) },
  ];

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // Repetitions as dots between the least and the greatest of the trial.
  function spark(trial) {
    if (trial.samples.length === 0) return "";
    const kSvg = "http://www.w3.org/2000/svg";
    const rates = trial.samples.map((sample) => sample[0]);
    const low = Math.min(...rates), span = Math.max(...rates) - low || 1;
    const svg = document.createElementNS(kSvg, "svg");
    svg.setAttribute("class", "spark");
    svg.setAttribute("width", "64");
    svg.setAttribute("height", "16");
    svg.setAttribute("role", "img");
    const discarded = trial.samples.filter((sample) => text(sample[1])).length;
    svg.setAttribute("aria-label", `${rates.map(rate).join(", ")}; ${discarded} ${say("discarded")}`);
    trial.samples.slice(0, 20).forEach((sample, i, shown) => {
      const circle = document.createElementNS(kSvg, "circle");
      circle.setAttribute("cx", String(3 + (58 * i) / Math.max(shown.length - 1, 1)));
      circle.setAttribute("cy", String(13 - (10 * (sample[0] - low)) / span));
      circle.setAttribute("r", "1.8");
      if (text(sample[1])) circle.setAttribute("class", "discarded");
      svg.append(circle);
    });
    return svg;
  }

  let only = null;  // the text of a setting with which the filter begins; null: with none
  let shown = trials, sorted = null, descending = false, open = null, first = -1, last = -1;

  // --- filter: words must occur; name=value, name>=value and so on compare a column.
  const operators = {
    "=": (a, b) => a === b, "!=": (a, b) => a !== b, ">=": (a, b) => a >= b,
    "<=": (a, b) => a <= b, ">": (a, b) => a > b, "<": (a, b) => a < b,
  };
  const names = {};
  columns.forEach((column, i) => { names[column.name ?? column.key] = i; });

  function condition(word) {
    const parts = /^([^<>=!]+)(!=|>=|<=|=|>|<)(.*)$/.exec(word);
    if (parts && parts[1] in names) {
      const column = columns[names[parts[1]]], compare = operators[parts[2]], wanted = parts[3];
      return (trial) => {
        const value = String(column.value(trial));
        const numbers = value !== "" && wanted !== "" && !Number.isNaN(Number(value)) &&
          !Number.isNaN(Number(wanted));
        return numbers ? compare(Number(value), Number(wanted)) : compare(value, wanted);
      };
    }
    const wanted = word.toLowerCase();
    return (trial) => haystack(trial).includes(wanted);
  }

  function haystack(trial) {
    trial.key ??= [trial.phase, ...run.phases[trial.phase], trial.outcome, trial.cause, trial.reason,
      text(run.settings[trial.setting][2]), text(trial.why)].join(" ").toLowerCase();
    return trial.key;
  }

  function update() {
    if (only !== null && !`${input.value} `.startsWith(`${only} `)) only = null;
    const typed = only === null ? input.value : input.value.slice(only.length);
    const conditions = typed.split(/\s+/).filter(Boolean).map(condition);
    if (only !== null) conditions.push((trial) => text(run.settings[trial.setting][2]) === only);
    const outcome = select.value;
    shown = trials.filter((trial) => (!outcome || trial.outcome === outcome) &&
      conditions.every((fits) => fits(trial)));
    if (sorted !== null) {
      const { value, number } = columns[sorted], sign = descending ? -1 : 1;
      const order = number || columns[sorted].key === "samples"
        ? (a, b) => Number(value(a)) - Number(value(b))
        : (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
      // What was not measured stands last either way.
      const missing = (trial) => (["rate", "peak"].includes(columns[sorted].key) && !value(trial) ? 1 : 0);
      shown = [...shown].sort((a, b) => missing(a) - missing(b) || sign * order(a, b) || a.id - b.id);
    }
    if (open && !shown.includes(open)) open = null;
    count.textContent = `${shown.length} ${say("of")} ${trials.length} ${say(trials.length === 1 ? "one" : "shown")}` +
      (run.cut_logs ? `; ${say("cutLogs")}` : "");
    first = -1;
    draw();
  }

  // --- rows in sight
  function detailRow(trial) {
    const list = make("dl");
    const add = (label, value, tag = "code") => {
      if (value === "") return;
      list.append(make("dt", { textContent: label }), make("dd", {}, make(tag, { textContent: value })));
    };
    add(say("setting"), text(run.settings[trial.setting][2]));
    add(say("env"), text(run.settings[trial.setting][1]));
    add(say("command"), text(trial.reproduce));
    add(say("why"), text(trial.why), "bdi");
    add(say("started"), text(trial.started), "bdi");
    add(say("placement"), text(trial.placement));
    add(say("reason"), told(trial.reason), "bdi");
    trial.evidence.forEach((number) => add(say("evidence"), text(number), "bdi"));
    const total = trial.step.reduce((sum, value) => sum + value, 0);
    if (total > 0) {
      const parts = ["data", "compute", "reduce", "wait"].map((key, i) =>
        `${say(key)} ${((trial.step[i] / total) * 100).toFixed(0)} %`);
      add(say("step"), `${(total * 1e3).toPrecision(4)} ${zh() ? "毫秒" : "ms"}: ${parts.join(", ")}`, "bdi");
    }
    add(say("rate"), trial.samples.map((sample) => rate(sample[0]) +
      (text(sample[1]) ? ` (${say("discarded")}: ${text(sample[1])})` : "")).join(", "), "bdi");
    add(say("log"), text(trial.log), "pre");
    return make("tr", {}, make("td", { className: "detail", colSpan: columns.length + 1 },
      make("div", { tabIndex: 0 }, list)));
  }

  function trialRow(trial, index) {
    const button = make("button", { type: "button", className: "open", textContent: open === trial ? "▾" : "▸" });
    button.setAttribute("aria-expanded", String(open === trial));
    button.setAttribute("aria-label", `${say("details")} ${trial.id}`);
    button.addEventListener("click", () => {
      open = open === trial ? null : trial;
      first = -1;
      draw();
      body.querySelector(`[data-trial="${trial.id}"] .open`)?.focus();
    });
    const row = make("tr", {}, make("td", {}, button));
    row.dataset.trial = trial.id;
    row.setAttribute("aria-rowindex", String(index + 2));
    row.classList.toggle("failed", !["ok", "unsupported", "skipped"].includes(trial.outcome));
    row.classList.toggle("excluded", ["unsupported", "skipped"].includes(trial.outcome));
    row.classList.toggle("chosen-row", trial.setting === run.chosen);
    for (const column of columns) {
      const cell = make("td", { className: (column.number ? "n " : "") + (column.css || "") });
      const value = column.draw ? column.draw(trial)
        : String(column.show ? column.show(trial) : column.value(trial));
      cell.append(value);
      cell.dataset.label = column.name ?? say(column.key);
      if (column.key === "note") cell.title = value.slice(0, 1000);
      row.append(cell);
    }
    return row;
  }

  const spacer = (pixels) => make("tr", { ariaHidden: "true" },
    make("td", { className: "pad", colSpan: columns.length + 1, style: `height:${pixels}px` }));

  function draw(everything = false) {
    const at = open ? shown.indexOf(open) : -1;
    const extra = (index) => (at >= 0 && index > at ? kDetail : 0);
    const indexAt = (y) => {
      const before = at >= 0 ? (at + 1) * kRow : Infinity;
      if (y <= before) return Math.floor(y / kRow);
      return y < before + kDetail ? at : Math.floor((y - kDetail) / kRow);
    };
    const whole = shown.length <= kWhole;
    rows.classList.toggle("whole", whole);
    const from = everything || whole ? 0 : Math.max(indexAt(rows.scrollTop) - 10, 0);
    const to = whole ? shown.length : everything ? Math.min(shown.length, 200)
      : Math.min(indexAt(rows.scrollTop + rows.clientHeight) + 12, shown.length);
    if (from === first && to === last) return;
    first = from;
    last = to;
    const parts = [];
    if (from > 0) parts.push(spacer(from * kRow + extra(from)));
    for (let i = from; i < to; ++i) {
      parts.push(trialRow(shown[i], i));
      if (i === at) parts.push(detailRow(shown[i]));
    }
    if (to < shown.length && !everything) {
      parts.push(spacer((shown.length - to) * kRow + extra(shown.length) - extra(to)));
    }
    body.replaceChildren(...parts);
  }

  // --- the frame
  const input = make("input", { type: "search", id: "trials-filter" });
  const select = make("select", { id: "trials-outcome" });
  const clear = make("button", { type: "button" });
  const count = make("output");
  const body = make("tbody"), headRow = make("tr");
  const table = make("table", {}, make("thead", {}, headRow), body);
  const rows = make("div", { className: "rows", tabIndex: 0 }, table);
  const help = make("p", { className: "note" });
  table.prepend(make("caption", { className: "unseen" }));
  holder.append(make("div", { className: "tools" }, input, select, clear, count), help, rows);
  table.setAttribute("aria-rowcount", String(trials.length + 1));
  rows.setAttribute("role", "region");

  function drawHead() {
    input.placeholder = say("filter");
    input.setAttribute("aria-label", say("filter"));
    clear.textContent = say("clear");
    help.textContent = say("help");
    table.caption.textContent = say("shown");
    const outcomes = [...new Set(trials.map((trial) => trial.outcome))].sort();
    const kept = select.value;
    select.replaceChildren(make("option", { value: "", textContent: say("all") }),
      ...outcomes.map((name) => make("option", { value: name, textContent: outcomeText(name) })));
    select.value = kept;
    select.setAttribute("aria-label", say("outcome"));
    rows.setAttribute("aria-label", say("shown"));
    headRow.replaceChildren(make("th", { scope: "col" }), ...columns.map((column, i) => {
      const button = make("button", { type: "button", textContent: column.name ?? say(column.key) });
      button.addEventListener("click", () => {
        // Rates and sizes are asked for from the top first.
        descending = sorted === i ? !descending : ["rate", "peak", "seconds"].includes(column.key);
        sorted = i;
        drawHead();
        update();
        headRow.children[i + 1].firstChild.focus();
      });
      const cell = make("th", { scope: "col", className: column.number ? "n" : "" }, button);
      cell.setAttribute("aria-sort", sorted !== i ? "none" : descending ? "descending" : "ascending");
      return cell;
    }));
  }

  input.addEventListener("input", update);
  select.addEventListener("change", update);
  clear.addEventListener("click", () => { input.value = ""; select.value = ""; update(); });
  rows.addEventListener("scroll", () => draw(), { passive: true });
  addEventListener("resize", () => draw());
  new ResizeObserver(() => draw()).observe(rows);
  addEventListener("beforeprint", () => draw(true));
  addEventListener("afterprint", () => { first = -1; draw(); });
  document.addEventListener("ocrtune-language", () => { drawHead(); update(); });
  // A cell of a picture shows its trials, a mark those of its setting.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-filter], [data-setting]");
    if (link) showOnly(link.dataset.filter ?? link.dataset.setting, link.dataset.setting ?? null);
  });
  document.addEventListener("ocrtune-filter", (event) => showOnly(event.detail));

  function showOnly(filter, setting = null) {
    input.value = filter;
    only = setting;
    select.value = "";
    update();
    document.getElementById("trials").scrollIntoView();
  }

  drawHead();
  update();
})();
