// A user searches for a chat and opens it while it continues.

import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, reads, watched } from "./browser.js";
import { seedApp, seedTranscript } from "./seed.js";
import { browser, call, service, setUp } from "./setup.js";

setUp({ seed: () => seedApp(call, "acme_corp") });

test("a click leads from the apps to a workflow and to a chat, and Back leads back", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open();
    await place.shows("Apps");
    await page.getByRole("link", { name: "acme_corp" }).click();
    await place.shows("acme_corp");
    await page.getByRole("rowheader", { name: "Generator" }).getByRole("link").click();
    await place.shows("Generator");
    await page.getByRole("link", { name: "acme_corp-gen-25" }).click();
    await place.shows("acme_corp-gen-25");

    await page.goBack();
    await place.shows("Generator");
    await page.getByRole("link", { name: "30 days" }).click();
    await page.getByRole("link", { name: "30 days" }).and(page.locator("[aria-current]")).waitFor();
    assert.match(page.url(), /step=day$/);
    await page.goBack();
    await page
      .getByRole("link", { name: "24 hours" })
      .and(page.locator("[aria-current]"))
      .waitFor();
    await page.goBack();
    await place.shows("acme_corp");
  });
});

test("the keyboard alone leads there as well, and the focus goes along", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open();
    await place.shows("Apps");
    await page.keyboard.press("Tab");
    assert.equal(await focused(page), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await focused(page), "Apps");
    await tabTo(page, "acme_corp");
    await page.keyboard.press("Enter");
    await place.shows("acme_corp");
    assert.equal(await focused(page), "acme_corp");
    await tabTo(page, "Picnic");
    await page.keyboard.press("Enter");
    await place.shows("Picnic");
    await tabTo(page, "picnic-1");
    // The focus stays when the view is refreshed.
    await page.waitForResponse((response) => response.url().includes("/series"));
    await page.waitForTimeout(200);
    assert.equal(await focused(page), "picnic-1");
    await page.keyboard.press("Enter");
    await place.shows("picnic-1");
    assert.equal(await focused(page), "picnic-1");
    await page.goBack();
    await place.shows("Picnic");
    assert.equal(await focused(page), "Picnic");
  });
});

test("a workflow shows its totals, and more chats on request", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/workflows/Generator");
    await place.shows("Generator");
    await reads(page.locator(".figures"), /Chats26.*Error rate22\.2 %4 failed/);
    const chats = page.getByRole("table", { name: "Newest chats" }).getByRole("rowheader");
    await counts(chats, 20);
    await page.getByRole("button", { name: "More chats" }).click();
    await page.getByRole("link", { name: "acme_corp-gen-00" }).waitFor();
    await counts(chats, 26);
    await page.getByRole("figure").filter({ hasText: "Calls" }).locator(".plot").hover();
    await page.locator(".legend .when").waitFor();
    await page.getByText("The same as a table").click();
    await counts(page.getByRole("table", { name: "Activity" }).getByRole("rowheader"), 24);
  });
});

test("a chat shows what was said, its snapshot, its artifact and its calls", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/chats/picnic-1");
    await place.shows("picnic-1");
    await place.text("Plan a picnic for five on Sunday.").waitFor();
    await place.text("forecast").waitFor();
    await place.text("Deleted.").waitFor();
    await counts(page.locator(".message"), 7);
    await reads(page.getByRole("region", { name: "Context" }), /"place": "lake"/);
    await reads(page.getByRole("region", { name: "Artifact" }), /"lat": 52.5/);
    await counts(page.getByRole("table", { name: "Calls" }).getByRole("rowheader"), 5);
  });
});

test("what happens while the page is open appears", async () => {
  const base = "/api/chats/acme_corp/live-1";
  await call("POST", "/api/chats/acme_corp", { chat_id: "live-1", workflow_name: "Picnic" });
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/chats/live-1");
    await place.shows("live-1");
    await place.text("This chat has no messages yet.").waitFor();
    await call("POST", `${base}/messages`, {
      role: "user",
      name: "alice",
      content: "Are you there?",
    });
    await place.text("Are you there?").waitFor();
    await page.getByRole("status").filter({ hasText: "1 new message" }).waitFor();
    await call("PATCH", `${base}/context`, { guests: 7 });
    await page.getByText('"guests": 7').waitFor();
    await call("POST", `${base}/complete`);
    await page.locator(".status.completed").waitFor();
  });
});

test("a new chat appears among those of its workflow", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/workflows/Picnic");
    await place.shows("Picnic");
    await call("POST", "/api/chats/acme_corp", { chat_id: "late-1", workflow_name: "Picnic" });
    await page.getByRole("link", { name: "late-1" }).waitFor();
  });
});

test("a hidden tab sends no requests", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp");
    await place.shows("acme_corp");
    await place.isHidden(true);
    let asked = 0;
    page.on("request", () => (asked += 1));
    await page.waitForTimeout(6_000);
    assert.equal(asked, 0);
    await place.isHidden(false);
    await page.waitForResponse((response) => response.url().includes("/api/stats/"));
  });
});

test("a long conversation is shown from its end, and the rest when one scrolls", async () => {
  const messages = await seedTranscript(call, "acme_corp", "captain-1");
  const more = Array.from({ length: 430 }, (_, index) => ({
    role: "user",
    name: "user",
    content: `line ${index}`,
  }));
  await call("POST", "/api/chats/acme_corp/captain-1/messages", { messages: more });
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/chats/captain-1");
    await place.shows("captain-1");
    await place.text("line 429").waitFor();
    assert.equal(await page.locator('[data-sequence="0"]').count(), 0);
    await page.getByRole("feed").focus();
    await page.keyboard.press("Home");
    await page.locator('[data-sequence="0"]').waitFor();
    const shown = await page
      .locator(".message")
      .evaluateAll((all) => all.map((it) => Number(it.dataset.sequence)));
    assert.deepEqual(shown, shown.toSorted((a, b) => a - b));
    assert.equal(new Set(shown).size, shown.length);
    const first = await page.locator('[data-sequence="0"] .words').first().textContent();
    const words = (text) => text.match(/[a-z]{4,}/gi).slice(0, 20);
    assert.deepEqual(words(first), words(messages[0].content));
  });
});

const focused = (page) => page.evaluate(() => document.activeElement.textContent);

/** Presses Tab until that link has the focus. */
async function tabTo(page, text) {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    if (
      (await focused(page)) === text &&
      (await page.evaluate(() => document.activeElement.closest("main") !== null))
    ) {
      return;
    }
  }
  assert.fail(`Tab does not lead to ${text}`);
}
