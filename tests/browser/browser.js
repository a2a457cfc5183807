// A browser that reports every error of its pages and every request to another origin.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const SCREENSHOTS = new URL("../../target/screenshots/", import.meta.url).pathname;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The widths and colours in which every view is looked at. */
export const APPEARANCES = {
  light: { colorScheme: "light", viewport: { width: 1440, height: 900 } },
  dark: { colorScheme: "dark", viewport: { width: 1440, height: 900 } },
  medium: { colorScheme: "light", viewport: { width: 768, height: 1000 } },
  "medium-dark": { colorScheme: "dark", viewport: { width: 768, height: 1000 } },
  narrow: { colorScheme: "light", viewport: { width: 360, height: 740 } },
  "narrow-dark": { colorScheme: "dark", viewport: { width: 360, height: 740 } },
};

export async function launch() {
  // The sandbox of Chromium does not run as root.
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: CHROMIUM, args });
}

/**
 * Opens a page, runs `body` and checks that the page had no errors. Two kinds of errors are accepted:
 * responses with a status in `answers`, and broken connections if the service `goesAway`.
 * Requests may go to the service, and to the origins in `visits`.
 */
export async function watched(
  browser,
  service,
  body,
  { answers = [], goesAway = false, visits = [], ...options } = {},
) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.stack}`));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("console", (message) => {
    const isExpected =
      answers.some((status) => message.text().includes(`status of ${status}`)) ||
      (goesAway && message.text().includes("net::ERR_"));
    if (["error", "warning"].includes(message.type()) && !isExpected) faults.push(message.text());
  });
  page.on("request", (request) => {
    if (![service.url, ...visits].includes(new URL(request.url()).origin)) faults.push(`request to ${request.url()}`);
  });
  try {
    await body(page, new Place(page, service.url));
  } catch (error) {
    // An error of the page is usually the reason why the test did not find what it looked for.
    error.message += `\nfaults of the page: ${JSON.stringify(faults, null, 2)}`;
    throw error;
  } finally {
    await context.close();
  }
  assert.deepEqual(faults, []);
}

/** Repeats `check` until its assertions hold: a page shows a part of its data while it waits for the rest. */
export async function eventually(check, seconds = 5) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof assert.AssertionError) || Date.now() > deadline) throw error;
    }
    await setTimeout(50);
  }
}

/** Waits until the page has exactly `expected` elements of this kind. */
export async function counts(locator, expected) {
  await eventually(async () => assert.equal(await locator.count(), expected, `${locator}`));
}

/** Waits until the text of an element matches. */
export async function reads(locator, pattern) {
  await eventually(async () => assert.match(await locator.textContent(), pattern, `${locator}`));
}

/** Opens two pages that share nothing. */
export async function bothWatched(browser, service, body, options) {
  await watched(
    browser,
    service,
    (_, one) => watched(browser, service, (_, other) => body([one, other]), options),
    options,
  );
}

/** The dashboard, as the tests use it. */
class Place {
  constructor(page, url) {
    Object.assign(this, { page, url });
  }

  async open(hash = "#/") {
    await this.page.goto(`${this.url}/dashboard${hash}`);
  }

  /** Waits for the view with that heading, and for its data. */
  async shows(title) {
    await this.page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
    await this.page.getByText("Live", { exact: true }).waitFor();
  }

  /** Waits until exactly these messages are shown: pairs of a sequence and a content. */
  async showsMessages(expected) {
    const shown = () =>
      this.page
        .locator(".message")
        .evaluateAll((all) =>
          all.map((it) => [Number(it.dataset.sequence), it.querySelector("p").textContent]),
        );
    const last = this.page.locator(`[data-sequence="${expected.at(-1)[0]}"]`);
    await last.waitFor({ state: "attached" });
    await eventually(async () => assert.deepEqual(await shown(), expected));
  }

  /** Hides or shows the page. */
  async isHidden(hidden) {
    await this.page.evaluate((is) => {
      Object.defineProperty(document, "hidden", { configurable: true, value: is });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  }

  text(text) {
    return this.page.getByText(text, { exact: true }).first();
  }

  async fits() {
    const { wide, room } = await this.page.evaluate(() => ({
      wide: document.documentElement.scrollWidth,
      room: innerWidth,
    }));
    assert.ok(wide <= room, `${this.page.url()} is ${wide} wide on a screen of ${room}`);
  }

  async isAccessible() {
    // Evaluated rather than loaded: the page's own policy lets no other script in.
    await this.page.evaluate(AXE);
    const { violations } = await this.page.evaluate(() => globalThis.axe.run());
    const found = violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      at: nodes.map((node) => node.html),
    }));
    assert.deepEqual(found, []);
  }

  /** Checks what is shown in every appearance, and takes screenshots of it. */
  async inEveryAppearance(name) {
    for (const [appearance, { colorScheme, viewport }] of Object.entries(APPEARANCES)) {
      await this.page.emulateMedia({ colorScheme });
      await this.page.setViewportSize(viewport);
      await this.fits();
      await this.isAccessible();
      await this.screenshot(`${name}-${appearance}`, { fullPage: true });
    }
  }

  async screenshot(name, options = {}) {
    await mkdir(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), ...options });
  }
}
