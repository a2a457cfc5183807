// A task of support, counted by interactions: a user reports a failure, and support looks for its cause.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reads, watched } from "./browser.js";
import { seedDesk } from "./seed.js";
import { seedFailedRun } from "./seed_runs.js";
import { browser, call, service, setUp } from "./setup.js";
import { bearer, giveToken, settings } from "./tokens.js";

const SERVICE = bearer({ sub: "bot", apps: ["*"], role: "service" });
const SUPPORT = bearer({ sub: "sue", apps: ["acme_corp"], role: "support" });

setUp({
  settings: { ...settings, REPRISE__APPS__SUPPORT_ACCESS: "true" },
  token: SERVICE,
  async seed() {
    await seedFailedRun(call, "acme_corp");
    // Other chats of the same user, one of which failed as well, and chats of others.
    await seedDesk(call, "acme_corp");
    await seedFailedRun(call, "travel_desk", "rebook-2", { user: "carol" });
    for (let index = 0; index < 8; index += 1) {
      await call("POST", "/api/chats/acme_corp", {
        chat_id: `trip-${index}`,
        workflow_name: "Trips",
        user_id: "bob",
        title: `Trip ${index}`,
      });
    }
  },
});

for (const [who, token] of [
  ["all rights", SERVICE],
  ["support", SUPPORT],
]) {
  const task = "from “user bob says his rebooking failed” to the step and its error in at most four interactions";
  test(`with a token of ${who}, ${task}`, () => investigate(token));
}

async function investigate(token) {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open();
      await giveToken(page, token);
      await place.shows("Apps");
      let interactions = 0;
      const fill = async (field, text) => {
        interactions += 1;
        await field.fill(text);
      };
      const click = async (target) => {
        interactions += 1;
        await target.click();
      };

      await fill(page.getByRole("searchbox"), "bob");
      await click(page.getByRole("button", { name: "Search" }));
      const chats = page.getByRole("table", { name: "Chats of user bob" });
      const failed = chats.getByRole("row").filter({ hasText: "last turn failed" });
      const rebooking = failed.filter({ hasText: "Rebooking to Oslo" });
      await rebooking.getByText(/ ago$|^just now$/).waitFor();
      await click(rebooking.getByRole("link"));
      const notice = page.getByRole("region", { name: "Last failure" });
      await notice.getByText("HTTP 502 from the booking system", { exact: false }).waitFor();
      await reads(notice, /failed in step 3 · tool · booker/);
      await click(notice.getByRole("link", { name: "Why?" }));
      const step = page.getByRole("region", { name: "Step 3", exact: true });
      await step.getByText("rebook (booking.py:88)", { exact: false }).waitFor();
      const { top, bottom } = await step.evaluate((it) => it.getBoundingClientRect());
      assert.ok(top >= 0 && bottom <= 900, `the step is at ${top} to ${bottom}`);
      assert.ok(interactions <= 4, `${interactions} interactions`);
    },
    // Without a token, of the statistics, and for a chat with the id "bob".
    { answers: [401, 403, 404] },
  );
}
