// The pending questions of an app, answered in one place.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reads, watched } from "./browser.js";
import { browser, call, service, setUp } from "./setup.js";

setUp();

async function ask(chatId, question) {
  await call("PUT", `/api/chats/acme_corp/${chatId}`, { workflow_name: "Desk" });
  return call("POST", `/api/chats/acme_corp/${chatId}/input-requests`, question);
}

const prompts = (page) => page.locator(".question .words").allTextContents();
const card = (page, text) => page.locator(".question").filter({ hasText: text });

test("every pending question is shown with its age and expiry, and is answered in place", async () => {
  await ask("ask-1", {
    request_id: "q",
    prompt: "Which seat?",
    kind: "choice",
    options: ["Window", "Aisle"],
  });
  await ask("ask-2", {
    request_id: "q",
    prompt: "How many bags?",
    agent: "triage",
    expires_in_sec: 3_600,
  });
  await ask("ask-3", { request_id: "q", prompt: "Shall I go on?", kind: "confirm" });
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/inbox");
    await place.shows("Inbox");
    await page.getByText("3 pending questions.").waitFor();
    assert.deepEqual(await prompts(page), ["Which seat?", "How many bags?", "Shall I go on?"]);
    await card(page, "How many bags?").getByText("expires in").waitFor();
    await card(page, "How many bags?").getByText("asked").waitFor();
    await place.isAccessible();
    await page.getByRole("link", { name: "Newest first" }).click();
    await page.waitForURL(/order=newest/);
    await page.waitForFunction(
      () => document.querySelector(".question .words")?.textContent === "Shall I go on?",
    );

    await card(page, "How many bags?").getByLabel("Answer").fill("two");
    await card(page, "Which seat?").getByRole("button", { name: "Aisle" }).click();
    await card(page, "Which seat?").waitFor({ state: "detached" });
    assert.equal(await card(page, "How many bags?").getByLabel("Answer").inputValue(), "two");
    await page.keyboard.press("Tab");
    await card(page, "How many bags?").getByLabel("Answer").press("Enter");
    await card(page, "How many bags?").waitFor({ state: "detached" });
    const { data } = await call("GET", "/api/chats/acme_corp/ask-1/messages");
    assert.equal(data.at(-1).content, "Aisle");
    assert.equal(
      (await call("GET", "/api/chats/acme_corp/ask-2/messages")).data.at(-1).content,
      "two",
    );

    // Two chats may have questions with one id.
    await ask("ask-4", { request_id: "q", prompt: "And now?" });
    await card(page, "And now?").waitFor();
    await call("POST", "/api/chats/acme_corp/ask-4/input-requests/q/cancel", {});
    await card(page, "And now?").waitFor({ state: "detached" });
    await card(page, "Shall I go on?").getByRole("link", { name: "ask-3" }).click();
    await place.shows("ask-3");
  });
});

test("a question says in which chat it was asked, and closed ones are not counted", async () => {
  const chat = { chat_id: "titled-1", workflow_name: "Desk", user_id: "bob", title: "Rebooking to Oslo" };
  await call("POST", "/api/chats/titles", chat);
  for (const id of ["one", "two"]) {
    const question = { request_id: id, prompt: `Question ${id}?` };
    await call("POST", "/api/chats/titles/titled-1/input-requests", question);
  }
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open("#/apps/titles/inbox");
      await place.shows("Inbox");
      const where = card(page, "Question one?").locator(".where");
      await reads(where, /^in Rebooking to Oslotitled-1 · bob · Desk$/);
      await page.getByText("2 pending questions.").waitFor();
      await place.isHidden(true);
      const given = { content: "x", name: "eve" };
      await call("POST", "/api/chats/titles/titled-1/input-requests/one/answer", given);
      await card(page, "Question one?").getByLabel("Answer").fill("y");
      await card(page, "Question one?").getByRole("button", { name: "Answer" }).click();
      await card(page, "Question one?").getByText("answered first:").waitFor();
      await page.getByText("1 pending question.").waitFor();
      await place.isHidden(false);
      await where.getByRole("link").click();
      await place.shows("titled-1");
    },
    { answers: [409] },
  );
});

test("an answer that was too late shows the one that was first", async () => {
  await ask("late-1", {
    request_id: "late",
    prompt: "Who pays?",
    kind: "choice",
    options: ["Me", "You"],
  });
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open("#/apps/acme_corp/inbox");
      await card(page, "Who pays?").waitFor();
      await place.isHidden(true);
      await call("POST", "/api/chats/acme_corp/late-1/input-requests/late/answer", {
        content: "You",
        name: "eve",
      });
      await card(page, "Who pays?").getByRole("button", { name: "Me" }).click();
      await card(page, "Who pays?").getByText("answered first:").waitFor();
      await place.isHidden(false);
      await page.waitForResponse(/input-requests/);
      await card(page, "Who pays?").getByRole("button", { name: "Dismiss" }).click();
      await card(page, "Who pays?").waitFor({ state: "detached" });
    },
    { answers: [409] },
  );
});

test("an inbox without questions says so", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/nothing_here/inbox");
    await page.getByText("No question is pending.").waitFor();
    assert.equal(await page.getByRole("navigation", { name: "Order" }).count(), 0);
    await place.isAccessible();
  });
});

test("an inbox with more questions than are shown says so", async () => {
  const prompts = Array.from({ length: 21 }, (_, index) => `Question ${index}`);
  await call("PUT", "/api/chats/busy/busy-1", { workflow_name: "Desk" });
  await call("PUT", "/api/chats/busy/busy-2", { workflow_name: "Desk" });
  for (const [index, prompt] of prompts.entries()) {
    const base = `/api/chats/busy/busy-${1 + (index % 2)}`;
    await call("POST", `${base}/input-requests`, { request_id: `q${index}`, prompt });
  }
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/busy/inbox");
    await page.getByText("The first 20 pending questions; there are more.").waitFor();
    await page.getByRole("button", { name: "More questions" }).click();
    await page.getByText("21 pending questions.", { exact: true }).waitFor();
    // In a chat, not all of them are in sight.
    await place.open("#/apps/busy/chats/busy-1");
    await page.getByText("11 pending questions.", { exact: true }).waitFor();
    await place.isAccessible();
  });
});
