// From a failed chat to the failed step and its error, and what the page shows of the turns.

import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, reads, watched } from "./browser.js";
import { seedFailedRun } from "./seed_runs.js";
import { browser, call, service, setUp } from "./setup.js";

const CHAT = "#/apps/acme_corp/chats/rebook-1";

setUp({ seed: () => seedFailedRun(call, "acme_corp") });

test("a chat whose last turn failed shows the step and its error at once, and one click leads to the turn", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open(CHAT);
    await place.shows("rebook-1");
    const notice = page.getByRole("region", { name: "Last failure" });
    await notice.getByText("HTTP 502 from the booking system", { exact: false }).waitFor();
    await reads(notice, /The last turn failed in step 3 · tool · booker/);
    const { bottom } = await notice.evaluate((it) => it.getBoundingClientRect());
    assert.ok(bottom < 900, `the error ends at ${bottom}`);
    await notice.getByRole("link", { name: "Why?" }).click();
    const step = page.getByRole("region", { name: "Step 3", exact: true });
    await step.getByText("booking.py:88", { exact: false }).waitFor();
    assert.match(page.url(), /view=turns&turn=req_rebook$/);
    await page.goBack();
    await page.getByRole("feed", { name: "Messages" }).waitFor();
  });
});

test("a turn shows its calls, tools and waiting in order, with what failed", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open(`${CHAT}?view=turns&turn=req_rebook`);
    await place.shows("rebook-1");
    const items = page.getByRole("list", { name: "Steps of the turn" }).getByRole("listitem");
    await items.first().waitFor();
    const texts = await items.evaluateAll((all) =>
      all.map((it) => [
        it.querySelector(".kind").textContent,
        it.querySelector(".name").textContent,
      ]),
    );
    assert.deepEqual(texts, [
      ["Model call", "claude-sonnet-4"],
      ["Tool", "prices"],
      ["Model call", "gpt-4.1-mini"],
      ["Tool", "rebook"],
      ["Waiting", "The change costs 214 euros. Go ahead?"],
    ]);
    await page.locator(".item.failed").getByText("upstream timed out", { exact: false }).waitFor();
    const bars = await items
      .locator(".span")
      .evaluateAll((all) => all.map((it) => it.getBoundingClientRect().left));
    assert.deepEqual(
      bars,
      bars.toSorted((a, b) => a - b),
    );
    const step = page.getByRole("region", { name: "Step 3", exact: true });
    assert.deepEqual(await step.locator(".stack li").allTextContents(), [
      "stk_plan planner",
      "stk_book booker",
    ]);
    await step.getByText("Shared space before the step").click();
    await step.getByText('"approved": true').waitFor();
    await place.isAccessible();
  });
});

test("the plan says what happens next, and the lease who holds it", async () => {
  const lease = "/api/chats/acme_corp/rebook-1/lease";
  await call("POST", lease, { owner: "worker-7", ttl_ms: 600_000 });
  await watched(browser, service, async (page, place) => {
    await place.open(`${CHAT}?view=turns`);
    await place.shows("rebook-1");
    const plan = page.locator(".plan");
    await plan.getByText("Run the failed step again.").waitFor();
    await plan.getByText("worker-7").waitFor();
    await reads(plan, /Next speakerbooker/);
    await reads(plan, /No result of rebook, called by booker in #\d/);
    await reads(plan, /expires in/);
    // The button asks first; the one of the form does it.
    const release = page.getByRole("button", { name: "Release the lease" });
    await release.click();
    await page.getByText("Take the lease from its worker?").waitFor();
    await release.last().click();
    await plan.getByText("held by no worker").waitFor();
    await counts(release, 0);
  });
  assert.equal((await call("GET", lease)).lease, null);
});

test("an earlier turn has an address, and the keyboard leads there", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open(`${CHAT}?view=turns`);
    await place.shows("rebook-1");
    const first = page.getByRole("link", { name: "Which flights go to **Oslo** tomorrow?" });
    await first.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Messages from #0" }).waitFor();
    assert.match(page.url(), /turn=req_search$/);
    assert.equal(await first.getAttribute("aria-expanded"), "true");
    await place.open(`${CHAT}?view=turns&turn=nothing`);
    await page.getByText("This chat has no such turn.").waitFor();
  });
});

test("a turn that fails while the page is open is noticed", async () => {
  await call("POST", "/api/chats/acme_corp", { chat_id: "fresh-1", workflow_name: "Rebooking" });
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/chats/fresh-1");
    await place.shows("fresh-1");
    await place.text("This chat has no messages yet.").waitFor();
    assert.equal(await page.locator(".notice").count(), 0);
    await call("POST", "/api/chats/acme_corp/fresh-1/turns", {
      request_id: "req_1",
      outcome: "failed",
      messages: [{ role: "user", content: "Go" }],
      steps: [
        {
          type: "llm",
          status: "failed",
          assistant_id: "a",
          stack_id: "s",
          input: {},
          error: "<b>model</b> overloaded",
        },
      ],
    });
    await page.locator(".notice").getByText("<b>model</b> overloaded").waitFor();
  });
});
