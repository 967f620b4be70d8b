"""Drives report pages in headless Chromium through ChromeDriver; standard library only.

Usage: drive_page.py CHECK:PAGE...   CHECK is works, hostile, opens or large.
       drive_page.py shot:PAGE OUT.png WIDTH light|dark [en|zh [TOP [HEIGHT]]]   takes a picture
"""
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="ocrtune.browser.")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.session = None
        for _ in range(100):
            try:
                self.call("GET", "/status")
                break
            except OSError:
                time.sleep(0.1)
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                     "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                     "--disable-dev-shm-usage", f"--user-data-dir={self.profile}"]
        capabilities = {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")}}}
        made = self.call("POST", "/session", {"capabilities": capabilities})
        self.session = made["sessionId"]

    def close(self):
        try:
            if self.session:
                self.call("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait(10)
            shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()[:2000]}") from None

    def do(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def open(self, page):
        self.do("POST", "/url", {"url": "file://" + os.path.abspath(page)})

    def run(self, script, *arguments):
        return self.do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def cdp(self, command, **parameters):
        return self.do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)

    def element(self, css):
        return next(iter(self.do("POST", "/element", {"using": "css selector", "value": css})
                         .values()))

    def click(self, css):
        self.do("POST", f"/element/{self.element(css)}/click", {})

    def type(self, css, text):
        self.do("POST", f"/element/{self.element(css)}/value", {"text": text})

    def console_errors(self):
        entries = self.do("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def column(browser, index):
    return browser.run("return [...document.querySelectorAll('.rows tr[data-trial]')]"
                       ".map((row) => row.children[arguments[0]].textContent)", index)


def heading(browser, name):
    return browser.run("return [...document.querySelectorAll('.rows th')]"
                       ".findIndex((cell) => cell.textContent === arguments[0])", name)


def check_opens(browser, page):
    browser.open(page)
    expect(browser.console_errors() == [], "console errors")
    expect(browser.run("return document.querySelector('#answer') !== null"), "no answer")


def check_table(browser):
    rate = heading(browser, "samples/s")
    expect(rate > 0, "no column samples/s")
    button = f".rows th:nth-child({rate + 1}) button"
    for order, name in ((True, "descending"), (False, "ascending")):
        browser.click(button)
        rates = [float(cell) for cell in column(browser, rate) if cell]
        expect(len(rates) > 10 and rates == sorted(rates, reverse=order), f"not {name}: {rates}")
        state = browser.run("return document.querySelector(arguments[0]).parentElement"
                            ".getAttribute('aria-sort')", button)
        expect(state == name, f"aria-sort is {state}")
    browser.type("#trials-filter", "nproc=4 batch>=64 outcome=ok")
    nproc, batch = heading(browser, "nproc"), heading(browser, "batch")
    cells = list(zip(column(browser, nproc), column(browser, batch)))
    expect(cells and all(n == "4" and int(b) >= 64 for n, b in cells), f"filter: {cells}")
    browser.click(".rows .open")
    detail = browser.run("return document.querySelector('.detail').textContent")
    expect("OMP_NUM_THREADS=" in detail and "ocrtune worker" in detail, f"detail: {detail}")
    expect("step 20 loss 2.88" in detail, f"no log tail: {detail}")
    browser.click(".tools button")
    expect(len(column(browser, nproc)) > 20, "the filter was not cleared")
    browser.type("#trials-filter", "no such text anywhere")
    expect(column(browser, nproc) == [], "a filter without matches leaves rows")
    browser.click(".tools button")
    browser.run("document.querySelector('.map rect[data-filter]')"
                ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    expect(len(set(column(browser, nproc))) == 1, "a cell of the map does not filter")


def check_mark(browser, page):
    browser.open(page)
    setting = browser.run("const mark = document.querySelector('[data-setting]');"
                          "mark.dispatchEvent(new MouseEvent('click', {bubbles: true}));"
                          "return mark.dataset.setting")
    count = "return document.querySelectorAll('.rows tr[data-trial]').length"
    shown = browser.run(count)
    expect("a b" in setting and 0 < shown < 70, f"a mark shows {shown} trials of {setting}")
    browser.type("#trials-filter", " outcome=ok")
    expect(browser.run(count) > 0, "a condition behind a setting")
    browser.type("#trials-filter", " outcome=hung")
    expect(browser.run(count) == 0, "a setting without its conditions")
    browser.click(".tools button")
    expect(browser.run(count) == 70, "the mark was not cleared")


def check_works(browser, page):
    browser.resize(1280, 900)
    check_opens(browser, page)
    # Copying: what lands in the clipboard is the command, to the letter.
    browser.run("window.copied = []; document.addEventListener('copy', () =>"
                " window.copied.push(String(document.getSelection()) || document.activeElement.value))")
    browser.cdp("Browser.setPermission", permission={"name": "clipboard-write"}, setting="granted")
    browser.click("[data-copy=command]")
    time.sleep(0.3)
    expect(browser.run("return document.querySelector('[data-copy=command]').dataset.copied")
           == "true", "copy failed")
    # Language and theme.
    english = browser.run("return document.querySelector('h1').innerText")
    browser.click("#language")
    chinese = browser.run("return document.querySelector('h1').innerText")
    expect(english != chinese and "内置" in chinese, f"{english} / {chinese}")
    expect(browser.run("return document.documentElement.lang") == "zh", "lang")
    english = browser.run("""return [...document.querySelectorAll('main :is(span, tspan)[lang=en]')]
        .filter((e) => e.getClientRects().length).map((e) => e.textContent)""")
    expect(english == [], f"shown in English on the Chinese page: {english[:5]}")
    expect("样本/秒" in browser.run("return document.querySelector('.rows').innerText"), "table")
    browser.click("#language")
    before = browser.run("return getComputedStyle(document.body).backgroundColor")
    browser.click("#theme")
    after = browser.run("return getComputedStyle(document.body).backgroundColor")
    expect(before != after, "the theme does not change")
    check_contrast(browser, "second theme")
    browser.click("#theme")
    check_contrast(browser, "first theme")
    count = browser.run("return document.querySelectorAll('.rows tr[data-trial]').length")
    expect(count == 300, f"{count} of 300 trials are in the page at load")
    check_table(browser)
    check_keyboard(browser)
    check_cards(browser)
    # Nothing is wider than the window; wide things scroll inside themselves.
    for width in (390, 1280, 1920):
        browser.resize(width, 900)
        wide = browser.run("return document.documentElement.scrollWidth")
        expect(wide <= width, f"the page is {wide} px wide in a window of {width} px")
    printed = base64.b64decode(browser.do("POST", "/print", {
        "page": {"width": 21.0, "height": 29.7}, "background": True}))
    expect(printed.startswith(b"%PDF") and len(printed) > 10000, "does not print")
    check_labels(browser)
    expect(browser.console_errors() == [], "console errors")


def check_cards(browser):
    """On a phone each cell of a table stands under the last and names its column."""
    browser.resize(390, 844)
    hidden = browser.run("""return [...document.querySelectorAll('main table[aria-labelledby] td')]
        .filter((e) => e.getClientRects().length && e.getBoundingClientRect().right > 391).length""")
    expect(hidden == 0, f"{hidden} cells are cut at the right of a phone")
    label = browser.run("""return getComputedStyle(
        document.querySelector('.rows tr[data-trial] td[data-label="samples/s"]'), '::before').content""")
    expect("samples/s" in label, f"a card without the name of its column: {label}")
    browser.resize(1280, 900)


def check_labels(browser):
    """Every control and picture has a name, every table real headings."""
    nameless = browser.run("""return [...document.querySelectorAll('button, input, select, svg[role=img]')]
        .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.outerHTML.slice(0, 200))""")
    expect(nameless == [], f"without a name: {nameless}")
    nameless = browser.run("""return [...document.querySelectorAll('table')]
        .filter((t) => !t.caption && !document.getElementById(t.getAttribute('aria-labelledby'))).length""")
    expect(nameless == 0, f"{nameless} tables without a caption")
    bare = browser.run("""return [...document.querySelectorAll('table')]
        .filter((t) => !t.querySelector('th[scope]')).length""")
    expect(bare == 0, "a table without headings")


def check_keyboard(browser):
    """Tab reaches every control, Enter sorts and opens."""
    enter = {"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13,
             "text": "\r"}
    rate = heading(browser, "samples/s")
    before = column(browser, rate)
    browser.run("document.querySelectorAll('.rows th button')[arguments[0] - 1].focus()", rate)
    browser.cdp("Input.dispatchKeyEvent", **enter)
    expect(column(browser, rate) != before, "Enter does not sort")
    browser.run("document.querySelector('.rows .open').focus()")
    browser.cdp("Input.dispatchKeyEvent", **enter)
    expect(browser.run("return document.activeElement.getAttribute('aria-expanded')") == "true",
           "Enter does not open a row, or the focus is lost")
    reached = set()
    browser.run("document.activeElement.blur(); scrollTo(0, 0)")
    for _ in range(40):
        browser.cdp("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab",
                    windowsVirtualKeyCode=9)
        reached.add(browser.run("const e = document.activeElement; return e.id || e.dataset.copy"
                                " || e.getAttribute('href') || e.tagName"))
    for name in ("language", "theme", "command", "env", "#answer"):
        expect(name in reached, f"Tab does not reach {name}: {sorted(reached)}")


def check_contrast(browser, theme):
    """Text stands out from its ground by 4.5 to 1 (WCAG 2.1, 1.4.3)."""
    weak = browser.run("""
      const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
      const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const colour = parse(getComputedStyle(at).backgroundColor);
          if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
      };
      const found = new Set();
      for (const element of document.querySelectorAll('body *:not(script):not(svg *)')) {
        const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!own || !element.getClientRects().length) continue;
        const a = light(parse(getComputedStyle(element).color)), b = light(ground(element));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) found.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className} ` +
                                   element.textContent.trim().slice(0, 40));
      }
      return [...found];""")
    expect(weak == [], f"{theme}: weak contrast: {weak[:8]}")


def check_hostile(browser, page):
    check_opens(browser, page)
    browser.click("#language")
    browser.click(".rows .open")
    time.sleep(0.2)
    broken = browser.run("return window.broken ?? null")
    expect(broken is None, f"a text ran as script: {broken}")
    expect(browser.run("return document.querySelectorAll('img').length") == 0, "an image appeared")
    shown = browser.run("return document.querySelector('.detail').textContent")
    expect("window.broken='log'" in shown, "the log tail is not shown as text")
    expect(browser.run("return document.querySelector('h1').textContent").count("<script>") > 0,
           "the host name is not shown as text")
    for width in (390, 1280):
        browser.resize(width, 900)
        wide = browser.run("return document.documentElement.scrollWidth")
        expect(wide <= width, f"hostile texts push the page to {wide} px at {width} px")
    expect(browser.console_errors() == [], "console errors")


def check_large(browser, page):
    check_opens(browser, page)
    rows = browser.run("return document.querySelectorAll('.rows tr[data-trial]').length")
    expect(rows < 200, f"{rows} rows are in the document at once")
    last = browser.run("""const rows = document.querySelector('.rows');
        rows.scrollTop = rows.scrollHeight; rows.dispatchEvent(new Event('scroll'));
        return [...rows.querySelectorAll('tr[data-trial]')].pop().dataset.trial""")
    expect(last == "10000", f"the last row is {last}")
    times = browser.run("""const n = performance.getEntriesByType('navigation')[0];
        return n.loadEventEnd - n.startTime""")
    print(f"opened in {times:.0f} ms")


def shot(browser, page, out, width, theme, language="en", top="0", height="1500"):
    """A picture of `height` pixels of the page from `top` on, as in a window 900 pixels high."""
    browser.cdp("Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": theme}])
    browser.resize(int(width), 900)
    browser.open(page)
    if language == "zh":
        browser.click("#language")
    time.sleep(0.5)
    whole = browser.run("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": int(top), "width": int(width), "height": min(int(height), whole), "scale": 1}
    picture = browser.cdp("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    with open(out, "wb") as file:
        file.write(base64.b64decode(picture["data"]))
    print(f"{out}: the page is {whole} pixels high")


CHECKS = {"works": check_works, "hostile": check_hostile, "opens": check_opens,
          "large": check_large, "mark": check_mark}


def main():
    browser = Browser()
    try:
        if sys.argv[1].startswith("shot:"):
            shot(browser, sys.argv[1][5:], *sys.argv[2:])
            return
        for argument in sys.argv[1:]:
            name, page = argument.split(":", 1)
            try:
                CHECKS[name](browser, page)
            except AssertionError as error:
                sys.exit(f"{name} {page}: {error}; console: {browser.console_errors()}")
    finally:
        browser.close()


if __name__ == "__main__":
    main()
