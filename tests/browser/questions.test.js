// People in a chat, and the questions of its workflow.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bothWatched, counts, eventually, watched } from "./browser.js";
import { browser, call, service, setUp } from "./setup.js";
import { bearer, giveToken, settings } from "./tokens.js";

const PEOPLE = ["ada", "bob"].map((sub) => bearer({ sub, apps: ["acme_corp"] }));
const HOSTILE = ["<img src=x onerror=alert(1)>", "\u202Eltr gnorw eht", "W".repeat(100)];

setUp({ settings, token: bearer({ sub: "bot", apps: ["*"], role: "service" }) });

test("two people see a question and each other, one answers, and both see the answer once", async () => {
  const base = await chat("shared-1");
  await ask(base, { prompt: "Where?", kind: "choice", options: ["Lake", "Park"] });
  const ada = service.client(PEOPLE[0]);
  await ada("POST", `${base}/participants`, { display_name: "Ada L." });
  const body = async ([one, other]) => {
    await join(one, "shared-1", 0);
    await join(other, "shared-1", 1);
    for (const { page } of [one, other]) {
      await present(page, ["Ada L.", "bob"]);
      await card(page, "Where?").waitFor();
    }
    await ask(base, { prompt: "How many?", agent: "planner", expires_in_sec: 3_600 });
    for (const { page } of [one, other]) {
      await page.getByRole("status").filter({ hasText: "planner asks: How many?" }).waitFor();
      await card(page, "How many?").getByText("expires in").waitFor();
    }
    await other.screenshot("questions");
    // An unfinished answer stays in its field whatever happens meanwhile.
    await card(other.page, "How many?").getByLabel("Answer").fill("five");
    await card(one.page, "Where?").getByRole("button", { name: "Lake" }).click();
    for (const { page } of [one, other]) await gone(page, "Where?");
    await other.page.keyboard.press("Enter");
    for (const { page } of [one, other]) await gone(page, "How many?");
    const said = [
      [0, "Lake"],
      [1, "five"],
    ];
    for (const place of [one, other]) await place.showsMessages(said);
    const at = await other.page.evaluate(() => document.activeElement.textContent);
    assert.equal(at, "Messages");
    await other.page.locator(".status.running").waitFor();
    await other.page.goto("about:blank");
    await present(one.page, ["Ada L."]);
  };
  await bothWatched(browser, service, body, { answers: [401, 403], goesAway: true });
});

test("an answer is bound to the call that was shown, and a repeat counts once", async () => {
  const base = await chat("bound-1");
  const bound = { id: "call_1", name: "delete_files", arguments: { size: 9007199254740991 } };
  await ask(base, { request_id: "bound", prompt: "Go on?", kind: "confirm", tool_call: bound });
  await alone("bound-1", async (page, place) => {
    const question = card(page, "Go on?");
    await question.getByText("delete_files").waitFor();
    await question.getByText('"size": 9007199254740991').waitFor();
    const sent = [];
    await page.route(/\/answer$/, async (route) => {
      sent.push(route.request().postDataJSON());
      return sent.length === 1 ? route.abort() : route.continue();
    });
    await question.getByRole("button", { name: "Yes" }).click();
    await question.getByText("The service did not answer.").waitFor();
    await place.screenshot("question-unanswered");
    await question.getByRole("button", { name: "Yes" }).focus();
    await page.keyboard.press("Enter");
    await gone(page, "Go on?");
    await page.locator(".message pre").filter({ hasText: "true" }).first().waitFor();
    await counts(page.locator(".message"), 1);
    assert.equal(sent.length, 2);
    assert.deepEqual(sent[0], sent[1]);
  });
  const { answer } = await call("GET", `${base}/input-requests/bound`);
  assert.deepEqual([answer.content, answer.name, answer.sequence], [true, "ada", 0]);
});

test("a person who answers too late sees the first answer and its author", async () => {
  const base = await chat("late-1");
  await ask(base, { request_id: "raced", prompt: "Who?" });
  await alone("late-1", async (page, place) => {
    const question = card(page, "Who?");
    await page.route(/\/answer$/, async (route) => {
      const bob = service.client(PEOPLE[1]);
      await bob("POST", `${base}/input-requests/raced/answer`, { content: "bob's" });
      await place.showsMessages([[0, "bob's"]]);
      await route.continue();
    });
    await question.getByLabel("Answer").fill("ada's");
    await question.getByRole("button", { name: "Answer" }).click();
    await question.getByRole("status").filter({ hasText: "bob answered first: bob's" }).waitFor();
    await place.isAccessible();
    await place.screenshot("question-late");
    await question.getByRole("button", { name: "Dismiss" }).click();
    await gone(page, "Who?");
    await place.showsMessages([[0, "bob's"]]);
  });
});

test("a question that was closed while the tab was hidden is gone when the tab is shown", async () => {
  const base = await chat("away-1");
  await ask(base, { request_id: "closed", prompt: "Still?" });
  await alone("away-1", async (page, place) => {
    await card(page, "Still?").waitFor();
    await place.isHidden(true);
    await call("POST", `${base}/input-requests/closed/cancel`, {});
    await ask(base, { prompt: "And now?" });
    await place.isHidden(false);
    await card(page, "And now?").waitFor();
    await gone(page, "Still?");
  });
});

for (const [width, colorScheme] of [
  [1280, "light"],
  [1280, "dark"],
  [360, "light"],
  [360, "dark"],
]) {
  test(`a hostile question is text, ${width} wide, ${colorScheme}`, async () => {
    const chatId = `hostile-${width}-${colorScheme}`;
    const base = await chat(chatId);
    const prompt = HOSTILE.join("\n");
    const [name] = HOSTILE;
    const bound = { id: name, name, arguments: Object.fromEntries(HOSTILE.map((it) => [it, it])) };
    await ask(base, { prompt, agent: name, kind: "choice", options: HOSTILE, tool_call: bound });
    await ask(base, { prompt: "Anything else?", agent: "planner" });
    await service.client(PEOPLE[0])("POST", `${base}/participants`, { display_name: name });
    await alone(
      chatId,
      async (page, place) => {
        await card(page, "Anything else?").waitFor();
        assert.equal(await page.locator(".question .words").first().textContent(), prompt);
        const buttons = page.locator(".question").first().getByRole("button");
        assert.deepEqual(await buttons.allTextContents(), HOSTILE);
        await present(page, [name]);
        await place.fits();
        await place.isAccessible();
        await place.screenshot(`question-${width}-${colorScheme}`, { fullPage: true });
        assert.equal(await page.locator("main img, main script").count(), 0);
        await buttons.first().click();
        await place.showsMessages([[0, name]]);
      },
      { viewport: { width, height: 740 }, colorScheme },
    );
  });
}

const card = (page, prompt) => page.locator(".question").filter({ hasText: prompt });

const gone = (page, prompt) => card(page, prompt).waitFor({ state: "detached" });

async function chat(chatId) {
  const chat = { chat_id: chatId, workflow_name: "Picnic", visibility: "link" };
  await call("POST", "/api/chats/acme_corp", chat);
  return `/api/chats/acme_corp/${chatId}`;
}

const ask = (base, question) => call("POST", `${base}/input-requests`, question);

async function join(place, chatId, person) {
  await place.open(`#/apps/acme_corp/chats/${chatId}`);
  await giveToken(place.page, PEOPLE[person]);
  await place.shows(chatId);
}

/** Waits until exactly these people are shown as present. */
async function present(page, names) {
  const shown = page.getByRole("list", { name: "Here now" }).getByRole("listitem");
  for (const name of names) await shown.filter({ hasText: name }).waitFor();
  await eventually(async () =>
    assert.deepEqual((await shown.allTextContents()).sort(), [...names].sort()),
  );
}

async function alone(chatId, body, options = {}) {
  const joined = async (page, place) => {
    await join(place, chatId, 0);
    await body(page, place);
  };
  const expected = { answers: [401, 403, 409], goesAway: true };
  await watched(browser, service, joined, { ...expected, ...options });
}
