// Versions of the context side by side, and the fork tree.

import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, reads, watched } from "./browser.js";
import { seedContext, seedFailedRun, seedForks } from "./seed_runs.js";
import { browser, call, service, setUp } from "./setup.js";

const CHAT = "#/apps/acme_corp/chats/rebook-1";

setUp({
  async seed() {
    await seedFailedRun(call, "acme_corp");
    await seedContext(call, "acme_corp", "rebook-1");
    await seedForks(call, "acme_corp", "rebook-1");
  },
});

test("two versions are compared side by side, and any pair has an address", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open(`${CHAT}?view=context`);
      await place.shows("rebook-1");
      await page.getByRole("region", { name: "Version 3 and version 4" }).waitFor();
      assert.deepEqual(await changes(page), [
        ['      "town": "Town 12"', '      "town": "Hamar"'],
        ['  "flight": "LH 860",', null],
      ]);
      await page.getByRole("link", { name: "From version 1" }).click();
      await page.getByRole("region", { name: "Version 1 and version 4" }).waitFor();
      assert.match(page.url(), /view=context&from=1&to=4$/);
      const all = await changes(page);
      assert.ok(
        all.some(([old, next]) => /"budget_eur": 500/.test(old) && /"budget_eur": 286/.test(next)),
        JSON.stringify(all),
      );
      await place.isAccessible();
      await page.goBack();
      await page.getByRole("region", { name: "Version 3 and version 4" }).waitFor();
      await place.open(`${CHAT}?view=context&from=1&to=99`);
      await page.getByRole("alert").waitFor();
    },
    { answers: [404] },
  );
});

test("a single version is shown, and compared with none", async () => {
  await call("POST", "/api/chats/acme_corp", { chat_id: "single-1", workflow_name: "Desk" });
  await call("PUT", "/api/chats/acme_corp/single-1/context", { town: "Oslo" });
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/chats/single-1?view=context");
    await place.shows("single-1");
    await reads(page.getByRole("region", { name: "Version 1", exact: true }), /^\{\s*"town": "Oslo"\s*\}$/);
    await counts(page.getByRole("link", { name: /^(From|To) version/ }), 0);
    await place.isAccessible();
  });
});

test("a version is restored after a confirmation, and not without one", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open(`${CHAT}?view=context`);
    await place.shows("rebook-1");
    const restore = page.getByRole("button", { name: "Restore version 2" });
    await restore.click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await restore.click();
    await page.keyboard.press("Escape");
    const { data } = await call("GET", "/api/chats/acme_corp/rebook-1/context/history");
    assert.equal(data[0].version, 4);
    await restore.click();
    await place.isAccessible();
    await page.getByRole("dialog").getByRole("button", { name: "Restore version 2" }).click();
    await page.getByRole("link", { name: "To version 5" }).waitFor();
    const { context_snapshot: now } = await call("GET", "/api/chats/acme_corp/rebook-1/context");
    assert.equal(now.flight, "LH 860");
    assert.equal(now.approved, undefined);
  });
});

test("the fork tree has the source and every fork, seen from any of them", async () => {
  await watched(browser, service, async (page, place) => {
    for (const here of ["rebook-1", "rebook-1-a-1"]) {
      await place.open(`#/apps/acme_corp/chats/${here}?view=forks`);
      await place.shows(here);
      const tree = page.locator(".fork-tree");
      await tree.getByText("this chat").waitFor();
      await counts(tree.locator(".fork"), 4);
      await counts(tree.locator("li li li .fork"), 1);
      await reads(tree.locator("li li li .fork"), /before #4/);
    }
  });
});

test("two forks are compared from where they part", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open(`${CHAT}?view=forks`);
      await place.shows("rebook-1");
      await page.getByRole("link", { name: "Compare with With another airline" }).first().click();
      await page.getByText("Both begin with the same 3 messages and differ from #3 on.").waitFor();
      const sides = page.locator(".side");
      await sides.nth(1).locator("strong", { hasText: "10:55" }).waitFor();
      assert.deepEqual(
        await sides
          .nth(1)
          .locator(".message")
          .evaluateAll((all) => all.map((it) => it.dataset.sequence)),
        ["3", "4"],
      );
      await sides
        .nth(0)
        .locator(".tool-call", { hasText: "prices" })
        .first()
        .getByText("result", { exact: true })
        .waitFor();
      assert.equal(
        await sides.nth(0).locator(".message").first().getAttribute("data-sequence"),
        "3",
      );
      await place.isAccessible();
      await page.getByLabel("Compare with the chat").fill("no-such-chat");
      await page.getByRole("button", { name: "Compare" }).click();
      await page.locator(".refusal").waitFor();
    },
    { answers: [404] },
  );
});

test("a fork is made from a message", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open(CHAT);
    await place.shows("rebook-1");
    await page.getByRole("link", { name: "Fork from message 1" }).click();
    await page.getByRole("heading", { name: "New fork from message #1" }).waitFor();
    assert.equal(await page.getByLabel("Messages to take over").inputValue(), "2");
    await page.getByLabel("Title").fill("From the start");
    await page.getByRole("button", { name: "Fork", exact: true }).click();
    await page.getByText("Created").getByRole("link", { name: "From the start" }).click();
    await page.locator('[data-sequence="1"]').waitFor();
    await counts(page.locator(".message"), 2);
  });
});

/** The pairs of lines that differ. */
function changes(page) {
  return page
    .locator(".diff tbody tr")
    .evaluateAll((rows) =>
      rows
        .filter((row) => row.querySelector(".removed, .added"))
        .map((row) =>
          [...row.querySelectorAll(".code")].map((it) =>
            it.classList.contains("none") ? null : it.lastChild.textContent,
          ),
        ),
    );
}
