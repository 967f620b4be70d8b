// Language and theme switches, copy buttons, and links into the table of all trials.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.remove("no-script");

  // Pages opened from a file may have no storage; then a choice lasts as long as the page.
  const remember = (key, value) => { try { localStorage.setItem(key, value); } catch { /* none */ } };
  const recall = (key) => { try { return localStorage.getItem(key); } catch { return null; } };

  const languageButton = document.getElementById("language");
  const attributes = ["title", "aria-label", "placeholder"];

  function setLanguage(language) {
    root.lang = language;
    languageButton.lang = language === "zh" ? "en" : "zh";
    languageButton.textContent = language === "zh" ? "English" : "中文";
    for (const name of attributes) {
      for (const element of document.querySelectorAll(`[data-zh-${name}]`)) {
        const key = `data-en-${name}`;
        if (!element.hasAttribute(key)) element.setAttribute(key, element.getAttribute(name));
        element.setAttribute(name, element.getAttribute(`data-${language}-${name}`));
      }
    }
    document.dispatchEvent(new Event("ocrtune-language"));
  }

  const asked = root.dataset.language;
  const guess = (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
  setLanguage(asked === "auto" ? recall("ocrtune-language") || guess : asked);
  languageButton.addEventListener("click", () => {
    setLanguage(root.lang === "zh" ? "en" : "zh");
    remember("ocrtune-language", root.lang);
  });

  const themeButton = document.getElementById("theme");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";

  function setTheme(theme) {
    if (theme) root.dataset.theme = theme;
    const words = isDark() ? ["Light", "浅色"] : ["Dark", "深色"];
    themeButton.replaceChildren(...["en", "zh"].map((language, i) => {
      const span = document.createElement("span");
      span.lang = language;
      span.textContent = words[i];
      return span;
    }));
  }

  setTheme(recall("ocrtune-theme"));
  systemDark.addEventListener("change", () => setTheme());
  themeButton.addEventListener("click", () => {
    setTheme(isDark() ? "light" : "dark");
    remember("ocrtune-theme", root.dataset.theme);
  });

  // The page of a run under way is written anew after each trial; who marks or filters is left alone.
  const refreshSeconds = Number(root.dataset.refreshSeconds || 0);
  if (refreshSeconds > 0) {
    setInterval(() => {
      const busy = String(getSelection()) !== "" || document.activeElement?.tagName === "INPUT";
      if (!busy) location.reload();
    }, 1000 * refreshSeconds);
  }

  // navigator.clipboard is absent on file://; the old way works there.
  async function copyText(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.style.position = "fixed";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const done = await copyText(document.getElementById(button.dataset.copy).textContent);
    button.dataset.copied = String(done);
    const before = button.innerHTML;
    const zh = root.lang === "zh";
    button.textContent = done ? (zh ? "已复制" : "Copied") : (zh ? "请手动复制" : "Select and copy");
    setTimeout(() => { button.innerHTML = before; }, 1600);
  });
})();
