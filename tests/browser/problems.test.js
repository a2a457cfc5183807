// The service refuses requests, or is down: the page says so, and continues as soon as it can.

import assert from "node:assert/strict";
import { test } from "node:test";
import { reads, watched } from "./browser.js";
import { seedApp } from "./seed.js";
import { browser, call, service, setUp } from "./setup.js";
import { bearer, giveToken, settings } from "./tokens.js";

const OPERATOR = bearer({ sub: "olga", apps: ["*"], role: "operator" });
const BOT = bearer({ sub: "bot", apps: ["*"], role: "service" });
const USER_OF_ALL = bearer({ sub: "alice", apps: ["*"] });
const USER = bearer({ sub: "alice", apps: ["acme_corp"] });

setUp({
  settings,
  token: BOT,
  seed: () => seedApp(call, "acme_corp"),
});

test("the page asks for a missing token, keeps it in the tab only, and forgets it on request", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open();
      await page.getByRole("alert").waitFor();
      await place.inEveryAppearance("token");
      await giveToken(page, OPERATOR);
      await page.getByRole("link", { name: "acme_corp" }).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Apps");
      const kept = await page.evaluate(() => ({
        session: sessionStorage.length,
        local: localStorage.length,
        cookies: document.cookie,
        address: location.href,
      }));
      assert.deepEqual(kept, {
        session: 1,
        local: 0,
        cookies: "",
        address: `${service.url}/dashboard#/`,
      });
      await page.reload();
      await page.getByRole("link", { name: "acme_corp" }).waitFor();
      await page.getByRole("button", { name: "Forget token" }).click();
      await page.getByRole("alert").waitFor();
      assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    },
    { answers: [401] },
  );
});

test("a user without the right to read stats finds the chats they may see", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open();
      await giveToken(page, USER);
      await page.getByRole("table", { name: "Your apps" }).getByRole("link", { name: "acme_corp" }).waitFor();
      await page.getByRole("searchbox").waitFor();
      await page.getByRole("button", { name: "Forget token" }).click();
      await giveToken(page, USER_OF_ALL);
      await page.getByText("This token may not list the apps.").waitFor();
      await page.getByLabel("App id").fill("acme_corp");
      await page.keyboard.press("Enter");
      await place.shows("acme_corp");
      await page.getByRole("link", { name: "acme_corp-gen-25" }).click();
      await place.shows("acme_corp-gen-25");
      await page.goBack();
      await place.inEveryAppearance("user");
    },
    { answers: [401, 403] },
  );
});

test("a token for another app is refused with an explanation, and another token may be entered", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open("#/apps/other_app");
      await giveToken(page, USER);
      await page.getByRole("alert").getByText("app", { exact: false }).first().waitFor();
      await page.getByLabel("Bearer token").waitFor();
    },
    { answers: [401, 403] },
  );
});

test("nothing seems to load below a refused token, and a missing message is reported", async () => {
  const body = async (page, place) => {
    await place.open("#/apps/acme_corp/chats");
    await page.getByRole("alert").waitFor();
    await page.getByText("Loading…").waitFor({ state: "hidden" });
    await giveToken(page, BOT);
    await place.open("#/apps/acme_corp/chats/picnic-1?message=99");
    const missing = page.getByText("This chat has no message #99.");
    await missing.waitFor();
    await place.open("#/apps/acme_corp/chats/picnic-1?message=2");
    await page.locator('.linked[data-sequence="2"]').waitFor();
    await missing.waitFor({ state: "hidden" });
  };
  await watched(browser, service, body, { answers: [401] });
});

test("a missing chat is reported as such", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open("#/apps/acme_corp/chats/unknown");
      await giveToken(page, USER);
      await page.getByRole("alert").getByRole("heading").filter({ hasText: /chat/i }).waitFor();
      await place.inEveryAppearance("problem");
    },
    { answers: [401, 404] },
  );
});

test("the view stays while the service is away, and is refreshed when it is back", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open("#/apps/acme_corp");
      await giveToken(page, OPERATOR);
      await place.shows("acme_corp");
      const problem = {
        type: "store-unavailable",
        title: "The store is away",
        status: 503,
        detail: "try again later",
      };
      const isStats = /\/api\/stats\//;
      await page.route(isStats, (route) =>
        route.fulfill({ status: 503, json: problem, contentType: "application/problem+json" }),
      );
      await page.getByRole("heading", { name: "The store is away" }).waitFor();
      await page.getByRole("link", { name: "Generator" }).waitFor();
      await page.getByText("Not updated").waitFor();
      await place.screenshot("away");
      await page.unroute(isStats);
      await page.getByRole("button", { name: "Try again" }).click();
      await place.shows("acme_corp");
      assert.equal(await page.getByRole("alert").count(), 0);
    },
    { answers: [401, 503] },
  );
});

test("a view whose modules cannot be loaded says so, and is shown when they can", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open("#/apps/acme_corp");
      await giveToken(page, BOT);
      await place.shows("acme_corp");
      await page.route("**/views/numbers.js", (route) => route.abort());
      await page.getByRole("link", { name: "Numbers" }).click();
      await page.getByRole("alert").getByText("Service unreachable").waitFor();
      await page.unroute("**/views/numbers.js");
      // By itself.
      await place.shows("Numbers");

      await page.route("**/api/**", (route) => route.abort());
      await page.getByText("Not updated").waitFor();
      await page.unroute("**/api/**");
      await place.shows("Numbers");

      await place.open("#/apps/acme_corp/chats/acme_corp-gen-23");
      await place.shows("acme_corp-gen-23");
      await page.route("**/views/chat/turns.js", (route) => route.abort());
      await page.getByRole("link", { name: "Turns" }).click();
      await page.getByRole("alert").getByText("Service unreachable").waitFor();
      await page.unroute("**/views/chat/turns.js");
      await page.getByText("This chat has no turns yet.").waitFor();
      await place.shows("acme_corp-gen-23");
    },
    { answers: [401], goesAway: true },
  );
});

test("what is wrong with a request is shown, part by part", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open("#/apps/acme_corp/chats?status=bogus");
      await giveToken(page, BOT);
      await reads(page.getByRole("alert").getByRole("listitem"), /^status must be some of running, paused/);
      const errors = [
        { pointer: "/reason", detail: "must be short" },
        { parameter: "mode", detail: "is unknown" },
      ];
      const problem = { title: "The request is not acceptable", status: 422, detail: "see errors", errors };
      await page.route("**/pause", (route) =>
        route.fulfill({ status: 422, json: problem, contentType: "application/problem+json" }),
      );
      await place.open("#/apps/acme_corp/chats/acme_corp-gen-23");
      await place.shows("acme_corp-gen-23");
      await page.getByRole("button", { name: "Pause" }).click();
      const submit = page.locator(".action-form").getByRole("button", { name: "Pause" });
      await submit.click();
      const refusal = page.locator(".actions .refusal");
      await reads(refusal, /^The request is not acceptable: \/reason must be short; mode is unknown$/);
      await page.unroute("**/pause");
      await page.route("**/pause", (route) => route.abort());
      await submit.click();
      await reads(refusal, /^Not done: the service did not answer. Try again.$/);
    },
    { answers: [401, 422], goesAway: true },
  );
});
