// What a person may do with a chat from its view.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { watched } from "./browser.js";
import { browser, call, service, setUp } from "./setup.js";
import { bearer, giveToken, settings } from "./tokens.js";

const SERVICE = bearer({ sub: "bot", apps: ["*"], role: "service" });

setUp({ settings: { ...settings, REPRISE__APPS__SUPPORT_ACCESS: "true" }, token: SERVICE });

async function chat(chatId, fields = {}) {
  await call("POST", "/api/chats/acme_corp", { chat_id: chatId, workflow_name: "Desk", ...fields });
  await call("POST", `/api/chats/acme_corp/${chatId}/messages`, {
    role: "user",
    name: "ada",
    content: "Hello",
  });
  return () => call("GET", `/api/chats/acme_corp/${chatId}`);
}

async function as(token, chatId, body, options = {}) {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open(`#/apps/acme_corp/chats/${chatId}`);
      await giveToken(page, token);
      await place.shows(chatId);
      await body(page, place);
    },
    { answers: [401], ...options },
  );
}

const press = (page, name) =>
  page.getByRole("group", { name: "Actions" }).getByRole("button", { name, exact: true }).click();

test("a chat is paused, resumed, renamed, archived and unarchived", async () => {
  const read = await chat("act-1");
  await as(SERVICE, "act-1", async (page, place) => {
    await press(page, "Pause");
    await page.getByLabel("Reason (optional)").fill("lunch");
    await place.isAccessible();
    await place.screenshot("actions");
    await page.keyboard.press("Enter");
    await page.locator(".facts .status.paused").waitFor();
    assert.equal((await read()).status_reason, "lunch");
    await press(page, "Resume");
    await page.locator(".facts .status.running").waitFor();
    await press(page, "Rename");
    await page.getByLabel("Title").fill("A better title");
    await page.keyboard.press("Enter");
    await page.locator(".facts").getByText("A better title").waitFor();
    await press(page, "Archive");
    await page.locator(".facts").getByText("archived").waitFor();
    await press(page, "Unarchive");
    await page.getByRole("button", { name: "Archive", exact: true }).waitFor();
    assert.equal((await read()).lifecycle, "active");
  });
});

test("what ends a chat is asked twice, and Escape takes it back", async () => {
  const read = await chat("act-2");
  await as(SERVICE, "act-2", async (page) => {
    await press(page, "Fail");
    await page.getByText("Its pending questions are closed for good").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await page.getByLabel("Reason (optional)").count(), 0);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Fail");
    assert.equal((await read()).status, "running");
    await press(page, "Fail");
    await page.getByLabel("Reason (optional)").fill("the bank said no");
    await page.getByRole("button", { name: "Fail the chat" }).click();
    await page.locator(".facts .status.failed").waitFor();
    assert.equal((await read()).status_reason, "the bank said no");
    await press(page, "Reopen");
    await press(page, "Complete");
    await page.getByRole("button", { name: "Complete the chat" }).click();
    await page.locator(".facts .status.completed").waitFor();
  });
});

test("an action that another client has made impossible says so", async () => {
  await chat("faster-1");
  await as(SERVICE, "faster-1", async (page) => {
    await press(page, "Fail");
    await page.getByLabel("Reason (optional)").fill("my reason");
    await call("POST", "/api/chats/acme_corp/faster-1/complete", {});
    const words = "Fail: no longer possible, the chat is completed.";
    await page.locator(".actions").getByText(words).waitFor();
  });
});

test("the problem of a refused action is shown as the service states it", async () => {
  await chat("act-3");
  await as(
    SERVICE,
    "act-3",
    async (page) => {
      await page.route(/\/archive$/, (route) =>
        route.fulfill({
          status: 503,
          json: { title: "The store is away", detail: "try again later", status: 503 },
          contentType: "application/problem+json",
        }),
      );
      await press(page, "Archive");
      await page.getByRole("alert").getByText("The store is away: try again later").waitFor();
    },
    { answers: [401, 503] },
  );
});

test("an action is offered to those who have the permission", async () => {
  await chat("act-4", { user_id: "ada" });
  const path = "/api/chats/acme_corp/act-4";
  await call("PUT", `${path}/members/ben`, { role: "reader" });
  await call("POST", `${path}/input-requests`, { request_id: "q1", prompt: "Which flight?" });
  for (const step of [1, 2]) await call("PUT", `${path}/context`, { step });
  const seen = async (person, { role = "user", answers }) => {
    const found = {};
    // The page has the question before it knows who may answer.
    const answerButtons = async (page) => {
      const buttons = page.getByRole("button", { name: "Answer" });
      if (answers) await buttons.first().waitFor();
      return buttons.count();
    };
    // Nothing is asked for that would be refused.
    await as(bearer({ sub: person, apps: ["acme_corp"], role }), "act-4", async (page, place) => {
      await page.locator(".question").getByText("Which flight?").waitFor();
      const actions = page.getByRole("group", { name: "Actions" }).getByRole("button");
      found.actions = await actions.allTextContents();
      found.answers = await answerButtons(page);
      await page.locator(".message").first().waitFor();
      found.forks = await page.getByRole("link", { name: /^Fork from message/ }).count();
      await place.open("#/apps/acme_corp/chats/act-4?view=context");
      await page.locator(".versions").getByText("Version 1", { exact: true }).waitFor();
      found.restores = await page.getByRole("button", { name: "Restore" }).count();
      await place.open("#/apps/acme_corp/chats/act-4?view=forks&at=0");
      await page.getByText("This chat is no fork").waitFor();
      found.forks += await page.getByRole("button", { name: "Fork" }).count();
      await place.open("#/apps/acme_corp/inbox");
      // Only here a card says in which chat it is.
      await page.locator(".question .where").waitFor();
      found.answers += await answerButtons(page);
    });
    return found;
  };
  assert.deepEqual(await seen("ada", { answers: true }), {
    actions: ["Complete", "Fail", "Rename", "Archive", "Copy or download"],
    answers: 2,
    forks: 2,
    restores: 0,
  });
  assert.deepEqual(await seen("ben", { answers: false }), {
    actions: ["Copy or download"],
    answers: 0,
    forks: 2,
    restores: 0,
  });
  assert.deepEqual(await seen("sue", { role: "support", answers: true }), {
    actions: ["Complete", "Fail", "Rename", "Archive", "Copy or download"],
    answers: 2,
    forks: 0,
    restores: 0,
  });
});

test("a chat is copied and downloaded in a format, with the numbers as they were", async () => {
  const read = await chat("act-5");
  await call("POST", "/api/chats/acme_corp/act-5/messages", {
    role: "assistant",
    name: "bot",
    content: { big: 9007199254740993 },
  }).catch(() => null);
  const permissions = ["clipboard-read", "clipboard-write"];
  await as(
    SERVICE,
    "act-5",
    async (page) => {
      await press(page, "Copy or download");
      await page.getByLabel("Messages as").selectOption("openai");
      await page.getByRole("button", { name: "Copy", exact: true }).click();
      await page.locator(".actions").getByText("messages as openai.").waitFor();
      const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
      assert.deepEqual(copied[0], { role: "user", name: "ada", content: "Hello" });
      await page.getByLabel("Messages as").selectOption("anthropic");
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download", exact: true }).click(),
      ]);
      assert.equal(download.suggestedFilename(), "act-5.anthropic.json");
      const saved = JSON.parse(await readFile(await download.path(), "utf8"));
      assert.equal((saved.messages ?? saved)[0].role, "user");
    },
    { permissions },
  );
  assert.equal((await read()).status, "running");
});

test("every format of the service is offered", async () => {
  const { components } = await call("GET", "/openapi.json");
  const known = JSON.stringify(components);
  await chat("act-6");
  await as(SERVICE, "act-6", async (page) => {
    await press(page, "Copy or download");
    const offered = await page.getByLabel("Messages as").locator("option").allTextContents();
    for (const dialect of offered) {
      await call("GET", `/api/chats/acme_corp/act-6/history?dialect=${dialect}`);
    }
    assert.ok(known.length > 0 && new Set(offered).size === 20);
  });
});
