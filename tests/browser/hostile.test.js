// Everything that callers write is shown as text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { watched } from "./browser.js";
import { browser, call, service, setUp } from "./setup.js";

const TEXTS = [
  "<img src=x onerror=alert(1)>",
  "</script><script>alert(1)</script>",
  '"><svg onload=alert(1)>',
  "javascript:alert(1)",
  "שלום עולם, مرحبا بالعالم",
  "\u202Eltr gnorw eht",
  "👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301",
  "{{constructor.constructor('alert(1)')()}}",
];
// A text that changes its direction is refused as a name, and accepted as content.
const NAMES = TEXTS.filter((text) => !text.includes("\u202E"));
const LONG = "W".repeat(128);
const WORKFLOWS = [TEXTS[0], TEXTS[4], TEXTS[6], LONG, "a/b?c#d&e=f%2F", "99 %"];

setUp({
  async seed() {
    for (const [index, workflow] of WORKFLOWS.entries()) {
      await call("POST", "/api/chats/hostile", { chat_id: `h-${index}`, workflow_name: workflow });
    }
    await call("POST", "/api/chats/hostile", {
      chat_id: "c".repeat(128),
      workflow_name: LONG,
      user_id: LONG,
      title: `${TEXTS[0]} ${LONG}`,
    });
    const base = `/api/chats/hostile/${"c".repeat(128)}`;
    const messages = TEXTS.flatMap((text) => [
      { role: "user", name: NAMES.includes(text) ? text : "user", content: text },
      {
        role: NAMES.includes(text) ? text : "user",
        content: { [text]: text },
        metadata: { [text]: text },
      },
    ]);
    messages.push({ role: "user", name: LONG, content: "x".repeat(3_000) });
    messages.push({
      role: "assistant",
      tool_calls: [{ function: { name: TEXTS[1], arguments: TEXTS[0] } }],
    });
    messages.push({
      role: "assistant",
      content: "",
      tool_calls: [null, 1, "x", { function: { name: {}, arguments: [] } }],
    });
    await call("POST", `${base}/messages`, { messages });
    await call(
      "PUT",
      `${base}/context`,
      Object.fromEntries([...TEXTS, LONG].map((text) => [text, text])),
    );
    await call("PUT", `${base}/artifact`, {
      ui_tool_id: TEXTS[0],
      display: TEXTS[1],
      payload: { html: TEXTS[1] },
    });
    await call("POST", `${base}/calls`, {
      calls: [...NAMES, LONG].map((text) => ({
        agent: text,
        requested_provider: text,
        requested_model: text,
        prompt_tokens: 999_999_999,
        cost_micros_usd: 987_654_321,
        duration_ms: 99_999_999,
      })),
    });
    await call("POST", `${base}/fail`, { reason: TEXTS[1] });
  },
});

for (const width of [1280, 360]) {
  test(`hostile and long text is shown as it is, ${width} wide`, async () => {
    await watched(
      browser,
      service,
      async (page, place) => {
        await place.open("#/apps/hostile");
        await place.shows("hostile");
        for (const workflow of WORKFLOWS) await place.text(workflow).waitFor();
        await place.fits();
        await place.screenshot(`hostile-app-${width}`);

        await place.text(LONG).click();
        await place.shows(LONG);
        for (const name of NAMES) await place.text(name).waitFor();
        await place.fits();
        await place.screenshot(`hostile-workflow-${width}`, { fullPage: true });

        for (const [view, heading] of [
          ["chats", "Chats"],
          ["chats?q=c", "Chats"],
          ["inbox", "Inbox"],
          ["numbers", "Numbers"],
        ]) {
          await place.open(`#/apps/hostile/${view}`);
          await place.shows(heading);
          await page.locator(".waiting").waitFor({ state: "detached" });
          await place.fits();
          await place.isAccessible();
          await place.screenshot(`hostile-${view.replace(/\W.*/, "-search")}-${width}`);
        }
        await place.open("#/apps/hostile/chats");
        await page.locator(`a[href$="/${"c".repeat(128)}"]`).click();
        await place.shows("c".repeat(128));
        for (const text of TEXTS) {
          await page.locator(".words").filter({ hasText: text }).first().waitFor();
        }
        for (const name of NAMES) {
          await page.locator(".who", { hasText: name }).first().waitFor({ state: "attached" });
        }
        await place.fits();
        await place.isAccessible();
        await place.screenshot(`hostile-chat-${width}`, { fullPage: true });
        assert.equal(await page.locator("main img, main script, main svg [onload]").count(), 0);
      },
      // The search looks for a chat with the id "c".
      { viewport: { width, height: 740 }, answers: [404] },
    );
  });
}

test("every workflow can be opened, whatever its name", async () => {
  await watched(browser, service, async (page, place) => {
    for (const workflow of WORKFLOWS) {
      await place.open(`#/apps/hostile/workflows/${encodeURIComponent(workflow)}`);
      await place.shows(workflow);
      await page.getByRole("table", { name: "Newest chats" }).waitFor();
    }
  });
});

test("a separator is before each name of the breadcrumbs, also before one from right to left", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/hostile/chats/h-1");
    await place.shows("h-1");
    const crumbs = page.locator("#crumbs a");
    assert.equal(await crumbs.last().textContent(), TEXTS[4]);
    const directions = await crumbs.evaluateAll((all) => all.map((it) => getComputedStyle(it).direction));
    assert.deepEqual(directions, ["ltr", "ltr", "ltr"]);
  });
});

test("an invalid address does no harm", async () => {
  await watched(browser, service, async (page, place) => {
    for (const hash of [
      "#/apps/%",
      "#/x/y",
      "#/apps/a/b/c/d",
      "#<img src=x onerror=alert(1)>",
      "#//////x",
    ]) {
      await place.open(hash);
      await page.getByText("This URL names no view.").waitFor();
    }
    await place.open("#/apps/hostile/workflows/..");
    await page.getByText("This name cannot be part of a URL.").waitFor();
  });
});
