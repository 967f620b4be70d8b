// Interactive versions of two pictures with Chart.js: what the pointer is on, and a click shows the
// setting's trials in the table. The pictures drawn on the server stay for print and without script.
"use strict";
(() => {
  if (typeof Chart === "undefined") return;
  const run = JSON.parse(document.getElementById("run").textContent);
  const text = (number) => run.strings[number];
  const kGiB = 1024 ** 3;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const zh = () => document.documentElement.lang === "zh";
  const words = {
    rate: ["samples/s", "样本/秒"], memory: ["peak memory in GiB", "峰值内存（GiB）"],
    minutes: ["minutes", "分钟"], best: ["best so far", "当前最佳"], trial: ["trial", "试验"],
    chosen: ["chosen", "已选"], front: ["front", "前沿"], settings: ["settings", "设置"],
    failed: ["failed", "失败"],
  };
  const say = (key) => words[key][zh() ? 1 : 0];
  const phases = { baseline: "基线", ladder: "阶梯", model: "模型", race: "决赛", rule: "规则", sweep: "扫描" };
  const phaseName = (phase) => (zh() && phases[phase]) || phase;
  const name = (setting) => text(run.settings[setting][2]);

  const trials = run.trials.map((fields) => ({
    id: fields[0], setting: fields[1], phase: text(fields[2]), ok: text(fields[4]) === "ok",
    rate: fields[6], peak: fields[7], seconds: fields[8],
  }));

  function median(values) {
    const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  function settings() {
    const groups = new Map();
    for (const trial of trials) {
      if (!trial.ok || !trial.rate || !trial.peak) continue;
      if (!groups.has(trial.setting)) groups.set(trial.setting, []);
      groups.get(trial.setting).push(trial);
    }
    return [...groups].map(([setting, group]) => ({
      setting, x: Math.max(...group.map((trial) => trial.peak)) / kGiB,
      y: median(group.map((trial) => trial.rate)),
    })).sort((a, b) => a.x - b.x);
  }

  function pareto() {
    const points = settings();
    const front = [];
    let best = 0;
    for (const point of points) {
      if (point.y <= best) continue;
      if (front.length) front.push({ ...point, y: best });
      front.push(point);
      best = point.y;
    }
    const chosen = points.filter((point) => point.setting === run.chosen);
    return {
      axes: ["memory", "rate"],
      datasets: [
        { label: say("chosen"), data: chosen, backgroundColor: css("--gold"), borderColor: css("--ink"),
          pointRadius: 6, pointHoverRadius: 8 },
        { label: say("settings"), data: points, backgroundColor: css("--accent"), pointRadius: 3,
          pointHoverRadius: 6 },
        { label: say("front"), data: front, type: "line", pointStyle: "line", borderColor: css("--accent"), borderWidth: 1.5,
          pointRadius: 0, pointHitRadius: 0 },
      ],
      title: (point) => `${name(point.setting)}: ${point.y.toPrecision(4)} ${say("rate")}, ${point.x.toFixed(1)} GiB`,
    };
  }

  function story() {
    let minutes = 0, best = 0;
    const dots = [], line = [], failures = [], bands = [];
    for (const trial of trials) {
      if (bands.at(-1)?.phase !== trial.phase) bands.push({ phase: trial.phase, from: minutes });
      minutes += trial.seconds / 60;
      bands.at(-1).to = minutes;
      const point = { x: minutes, y: trial.rate, setting: trial.setting, trial };
      if (trial.ok) {
        dots.push(point);
        if (trial.rate > best) {
          line.push({ x: minutes, y: best || trial.rate });
          best = trial.rate;
          line.push({ ...point, y: best });
        }
      } else {
        failures.push({ ...point, y: 0 });
      }
    }
    line.push({ x: minutes, y: best });
    return {
      axes: ["minutes", "rate"], bands,
      datasets: [
        { label: say("trial"), data: dots, backgroundColor: css("--soft"), pointRadius: 2, pointHoverRadius: 5 },
        { label: say("failed"), data: failures, backgroundColor: css("--bad"), borderColor: css("--bad"),
          pointStyle: "crossRot", pointRadius: 4, clip: false },
        { label: say("best"), data: line, type: "line", pointStyle: "line", borderColor: css("--accent"), borderWidth: 1.8,
          pointRadius: 0, pointHitRadius: 0 },
      ],
      title: (point) => `${say("trial")} ${point.trial.id} (${phaseName(point.trial.phase)}): ${name(point.setting)}: ` +
        (point.trial.ok ? `${point.y.toPrecision(4)} ${say("rate")}` : say("failed")),
    };
  }

  // Every other phase of the search on a shaded ground, its name on top where it fits.
  const shading = (bands) => ({
    id: "phases",
    beforeDatasetsDraw({ ctx, chartArea, scales }) {
      ctx.save();
      ctx.font = "10.5px sans-serif";
      bands.forEach((band, i) => {
        const left = scales.x.getPixelForValue(band.from), right = scales.x.getPixelForValue(band.to);
        ctx.fillStyle = css("--wash");
        if (i % 2 === 0) ctx.fillRect(left, chartArea.top, right - left, chartArea.height);
        ctx.fillStyle = css("--soft");
        if (ctx.measureText(phaseName(band.phase)).width + 8 < right - left) ctx.fillText(phaseName(band.phase), left + 4, chartArea.top + 12);
      });
      ctx.restore();
    },
  });

  const kinds = { pareto, story };
  const charts = new Map();

  function draw(holder) {
    charts.get(holder)?.destroy();
    const { axes, datasets, title, bands = [] } = kinds[holder.dataset.chart]();
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", holder.parentElement.querySelector("figcaption").innerText);
    holder.replaceChildren(canvas);
    const grid = { color: css("--line"), borderColor: css("--line") };
    const axis = (key) => ({
      type: "linear", beginAtZero: true, grid, ticks: { color: css("--soft"), font: { size: 11 } },
      title: { display: true, text: say(key), color: css("--soft"), font: { size: 11 } },
    });
    charts.set(holder, new Chart(canvas, {
      type: "scatter",
      data: { datasets },
      plugins: [shading(bands)],
      options: {
        animation: false, responsive: true, maintainAspectRatio: false, parsing: false,
        scales: { x: axis(axes[0]), y: axis(axes[1]) },
        plugins: {
          legend: { position: "bottom", labels: { usePointStyle: true, color: css("--soft"), boxWidth: 8, boxHeight: 8, font: { size: 11 } } },
          tooltip: { displayColors: false, filter: (item) => "setting" in item.raw,
            callbacks: { label: (item) => title(item.raw) } },
        },
        onClick: (event, items) => {
          const point = items.map((item) => datasets[item.datasetIndex].data[item.index])
            .find((raw) => "setting" in raw);
          if (point) document.dispatchEvent(new CustomEvent("ocrtune-filter", { detail: name(point.setting) }));
        },
      },
    }));
    holder.previousElementSibling.classList.add("replaced");
  }

  const holders = [...document.querySelectorAll("[data-chart]")];
  const drawAll = () => holders.forEach(draw);
  document.addEventListener("ocrtune-theme", drawAll);
  document.addEventListener("ocrtune-language", drawAll);
  drawAll();
})();
