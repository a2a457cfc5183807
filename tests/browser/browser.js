// A browser whose pages are watched: nothing may go wrong or leave the origin unnoticed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const SCREENSHOTS = new URL("../../target/screenshots/", import.meta.url).pathname;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function launch() {
  // The sandbox of Chromium does not run as root.
  const args = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: CHROMIUM, args });
}

/**
 * Opens a page and, after `look`, checks that nothing was wrong with it. `answers` are the statuses of
 * refusals that are expected, which a browser calls errors as well; so are broken connections where
 * the service `goesAway`.
 */
export async function watched(
  browser,
  service,
  look,
  { answers = [], goesAway = false, ...options } = {},
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
    if (new URL(request.url()).origin !== service.url) faults.push(`request to ${request.url()}`);
  });
  try {
    await look(page, new Place(page, service.url));
  } catch (error) {
    // What went wrong in the page is mostly why the test did not find what it looked for.
    error.message += `\nfaults of the page: ${JSON.stringify(faults, null, 2)}`;
    throw error;
  } finally {
    await context.close();
  }
  assert.deepEqual(faults, []);
}

/** Opens two pages so that share nothing. */
export async function bothWatched(browser, service, look, options) {
  await watched(
    browser,
    service,
    (_, one) => watched(browser, service, (_, other) => look([one, other]), options),
    options,
  );
}

/** What the tests do with the dashboard. */
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

  /** Waits until those messages are shown, and no others: pairs of a sequence and what is said. */
  async showsMessages(expected) {
    const shown = () =>
      this.page
        .locator(".message")
        .evaluateAll((all) =>
          all.map((it) => [Number(it.dataset.sequence), it.querySelector("p").textContent]),
        );
    const last = this.page.locator(`[data-sequence="${expected.at(-1)[0]}"]`);
    await last.waitFor({ state: "attached" });
    for (let looks = 0; looks < 100; looks += 1) {
      if (isDeepStrictEqual(await shown(), expected)) return;
      await this.page.waitForTimeout(50);
    }
    assert.deepEqual(await shown(), expected);
  }

  /** Tells the page whether nobody looks at it. */
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

  async screenshot(name, options = {}) {
    await mkdir(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), ...options });
  }
}
