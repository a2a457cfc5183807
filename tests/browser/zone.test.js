// Times of a chat in the zone that the user chooses: that of the browser, or UTC.

import assert from "node:assert/strict";
import { test } from "node:test";
import { watched } from "./browser.js";
import { seedContext, seedFailedRun, seedForks } from "./seed_runs.js";
import { browser, call, service, setUp } from "./setup.js";

const CHAT = "#/apps/acme_corp/chats/rebook-1";
/** The parts of a chat: their parameters, what they show, and how many times at least. */
const PARTS = [
  ["", ".message", 8],
  ["?view=turns&turn=req_rebook", ".step time", 6],
  ["?view=context", ".versions time", 6],
  ["?view=forks&compare=rebook-1-a", ".sides .message time", 9],
];
const TOKYO = "Asia/Tokyo";

setUp({
  async seed() {
    await seedFailedRun(call, "acme_corp");
    await seedContext(call, "acme_corp", "rebook-1");
    await seedForks(call, "acme_corp", "rebook-1");
    const question = { request_id: "ask-seat", prompt: "Which seat?", expires_in_sec: 7_200 };
    await call("POST", "/api/chats/acme_corp/rebook-1/input-requests", question);
    await call("POST", "/api/chats/acme_corp/rebook-1/lease", { owner: "worker-7", ttl_ms: 600_000 });
  },
});

test("every time of a chat is shown in the zone that the user chooses, and it is remembered", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      for (const zone of [TOKYO, "UTC"]) {
        for (const [parameters, awaited, least] of PARTS) {
          await place.open(`${CHAT}${parameters}`);
          await place.shows("rebook-1");
          await page.locator(awaited).first().waitFor();
          await areIn(page, zone, least);
        }
        if (zone === "UTC") continue;
        // What is on the screen changes at once.
        await page.getByRole("button", { name: "Local time · Asia/Tokyo" }).click();
        await page.getByRole("button", { name: "UTC" }).waitFor();
        await page.locator(PARTS.at(-1)[1]).first().waitFor();
        await areIn(page, "UTC", PARTS.at(-1)[2]);
        await page.reload();
        await place.shows("rebook-1");
      }
    },
    { timezoneId: TOKYO },
  );
});

/** Checks that the page shows at least so many times, and all of them in that zone. */
async function areIn(page, zone, least) {
  const shown = await page.locator("main time").evaluateAll((all) =>
    all.map((it) => ({ at: it.dateTime, text: it.textContent, title: it.title })),
  );
  assert.ok(shown.length >= least, `${shown.length} times are shown at ${page.url()}`);
  const day = { day: "numeric", month: "short" };
  const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const format = (options) => new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone });
  const short = format({ ...day, ...clock });
  const full = format({ ...day, year: "numeric", ...clock, timeZoneName: "short" });
  for (const { at, text, title } of shown) {
    assert.equal(title, full.format(new Date(at)));
    if (!/ ago$|^just now$|^in /.test(text)) assert.equal(text, short.format(new Date(at)));
  }
}
