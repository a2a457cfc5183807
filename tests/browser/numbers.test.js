// What an app costs in a range of time.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { reads, watched } from "./browser.js";
import { browser, call, service, setUp } from "./setup.js";

const HOUR = 3_600_000;
const FORMULA = "=1+1";

setUp({
  async seed() {
    await spend("week-1", "ann", "Desk", [
      [3, 2_000_000],
      [9, 1_000_000],
    ]);
    await spend("week-2", "ben", FORMULA, [[2, 500_000]]);
    await spend("week-3", "ann", "Desk", [[24 * 8, 6_000_000]]);
  },
});

/** Records calls: pairs of the hours since then and the cost. */
async function spend(chatId, user, workflow, calls) {
  await call("POST", "/api/chats/acme_corp", {
    chat_id: chatId,
    workflow_name: workflow,
    user_id: user,
  });
  const made = calls.map(([hours, cost]) => ({
    agent: "planner",
    model: "model-1",
    prompt_tokens: 100,
    completion_tokens: 10,
    cost_micros_usd: cost,
    duration_ms: 1_000,
    called_at: new Date(Date.now() - hours * HOUR).toISOString(),
  }));
  await call("POST", `/api/chats/acme_corp/${chatId}/calls`, { calls: made });
}

const figure = (page, label) => page.locator(".figures > div").filter({ hasText: label });

test("a range is compared with the one before, by workflow, user, agent and model", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/numbers?since=week");
    await place.shows("Numbers");
    await figure(page, "Cost").waitFor();
    await reads(figure(page, "Cost"), /\$3\.50−41\.7 %/);
    const users = page.getByRole("table", { name: "Users by cost" });
    assert.deepEqual(await users.getByRole("rowheader").allTextContents(), ["ann", "ben"]);
    await reads(users.getByRole("row").nth(1), /\$3\.00−50 %/);
    await reads(users.getByRole("row").nth(2), /\$0\.5000none before/);
    const workflows = page.getByRole("table", { name: "Workflows by cost" }).getByRole("rowheader");
    assert.deepEqual(await workflows.allTextContents(), ["Desk", FORMULA]);
    for (const [title, named] of [
      ["Agents", "planner"],
      ["Models", "model-1"],
    ]) {
      const shares = page.getByRole("table", { name: `${title} by cost` }).getByRole("row");
      await reads(shares.nth(1), new RegExp(`^${named}.*\\$3\\.50−41\\.7 %`));
    }
    // The cost of each over time, with the greatest in words.
    for (const title of ["Workflows", "Users", "Agents", "Models"]) {
      const row = page
        .getByRole("table", { name: `${title} by cost` })
        .getByRole("row")
        .nth(1);
      assert.match(
        await row.getByRole("img").getAttribute("aria-label"),
        /^At most \$\d\.\d+ an hour$/,
      );
    }
    // Hours of several days are told apart by their days.
    const ticks = page.locator(".ticks").first();
    await reads(ticks, /^(\d+ [A-Z][a-z]{2,3}){3,6}$/);
    await place.isAccessible();
    await page.getByRole("link", { name: "last 24 hours" }).click();
    await page.waitForURL(/since=day/);
    await figure(page, "Cost").getByText("none before").waitFor();
    await reads(ticks, /^(\d\d:00){6}$/);
    await users.getByRole("link", { name: "ann" }).click();
    await place.shows("Chats");
    await page.getByRole("heading", { name: "2 chats" }).waitFor();
  });
});

test("a chart of a whole range agrees with its figure, and one of nothing has no scale", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/numbers?since=week");
    await reads(figure(page, "Average call"), /^Average call1 s/);
    const chart = (title) => page.locator(".chart").filter({ hasText: title });
    await reads(chart("Call duration").locator(".legend"), /^average 1 s$/);
    await reads(chart("Chats ended").locator(".scale"), /^0$/);
    await reads(chart("Tokens").locator(".scale"), /^\d+\d+0$/);
    await place.open("#/apps/acme_corp/workflows/Desk");
    const latest = page.locator(".chart").filter({ hasText: "Call duration" }).locator(".legend");
    await reads(latest, /^latest p50 1 s\s*latest p95 1 s$/);
  });
});

test("7 days are read by the hour, even while the clock moves on", async () => {
  await watched(browser, service, async (page, place) => {
    await page.addInitScript(() => {
      let readings = 0;
      const RealDate = Date;
      globalThis.Date = class extends RealDate {
        constructor(...given) {
          super(...(given.length ? given : [Date.now()]));
        }

        static now() {
          return RealDate.now() + readings++;
        }
      };
    });
    await place.open("#/apps/acme_corp/numbers?since=week");
    await place.shows("Numbers");
    await page.getByRole("button", { name: "users by hour" }).waitFor();
  });
});

test("the labels of a chart do not touch on a narrow screen", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open("#/apps/acme_corp/numbers?since=week");
      await place.shows("Numbers");
      const ticks = page.locator(".ticks").first();
      await ticks.waitFor();
      const gaps = await ticks.evaluate((all) => {
        const boxes = [...all.children]
          .filter((it) => it.textContent && getComputedStyle(it).visibility === "visible")
          .map((it) => {
            const text = document.createRange();
            text.selectNodeContents(it);
            return text.getBoundingClientRect();
          });
        return boxes.slice(1).map(({ left }, index) => left - boxes[index].right);
      });
      assert.ok(gaps.length > 0);
      for (const gap of gaps) assert.ok(gap >= 4, `${gaps}`);
    },
    { viewport: { width: 360, height: 740 } },
  );
});

test("a range in which nothing happened has no charts", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/nothing_here/numbers");
    await page.getByText("Nothing happened in this range.").waitFor();
    assert.equal(await page.locator(".chart").count(), 0);
    await place.isAccessible();
  });
});

test("any range can be chosen, and the numbers are downloaded as CSV without formulas", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/acme_corp/numbers");
    await place.shows("Numbers");
    const at = (hours) => new Date(Date.now() - hours * HOUR).toISOString().slice(0, 16);
    await page.getByRole("button", { name: "Local time" }).click();
    await place.shows("Numbers");
    await page.getByLabel("From (UTC)").fill(at(24 * 9));
    await page.getByLabel("before").fill(at(24 * 7));
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/from=.*before=/);
    await figure(page, "Cost").getByText("$6.00").waitFor();
    await place.open("#/apps/acme_corp/numbers?since=day");
    await figure(page, "Cost").getByText("$3.50").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "workflows by hour" }).click(),
    ]);
    const read = async (file) => (await readFile(await file.path(), "utf8")).trim().split("\r\n");
    const lines = await read(download);
    assert.match(lines[0], /^at,workflow,starts,/);
    assert.ok(lines.some((line) => line.includes(`,'${FORMULA},`)));
    const cost = lines[0].split(",").indexOf("cost_micros_usd");
    const sum = lines.slice(1).reduce((all, line) => all + Number(line.split(",")[cost]), 0);
    assert.equal(sum, 3_500_000);
    const [models] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "models", exact: true }).click(),
    ]);
    const [, line] = await read(models);
    assert.match(line, /^model-1,3,300,30,330,3500000,3000$/);
    const [byHour] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "users by hour" }).click(),
    ]);
    const [head, ...hours] = await read(byHour);
    assert.equal(head, lines[0].replace("workflow,starts,completions,failures", "user"));
    assert.deepEqual(
      hours.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z,/, "")),
      [
        "ann,1,100,10,110,1000000,1000",
        "ann,1,100,10,110,2000000,1000",
        "ben,1,100,10,110,500000,1000",
      ],
    );
  });
});

test("models without a known name are told apart by their providers", async () => {
  const base = "/api/chats/unnamed_models";
  await call("POST", base, { chat_id: "unnamed-1", workflow_name: "Desk" });
  const made = [
    ["azure", 2_000_000, 1],
    ["openai", 1_000_000, 1],
    ["azure", 4_000_000, 25],
    ["openai", 10_000_000, 25],
  ];
  await call("POST", `${base}/unnamed-1/calls`, {
    calls: made.map(([provider, cost, hours]) => ({
      provider,
      requested_model: "model-1",
      prompt_tokens: 100,
      completion_tokens: 10,
      cost_micros_usd: cost,
      called_at: new Date(Date.now() - hours * HOUR).toISOString(),
    })),
  });
  await watched(browser, service, async (page, place) => {
    await place.open("#/apps/unnamed_models/numbers?since=day");
    await place.shows("Numbers");
    const models = page.getByRole("table", { name: "Models by cost" }).getByRole("row");
    await reads(models.nth(1), /^azure, unknown model.*\$2\.00−50 %$/);
    await reads(models.nth(2), /^openai, unknown model.*\$1\.00−90 %$/);
    const greatest = await models
      .getByRole("img")
      .evaluateAll((all) => all.map((it) => it.ariaLabel));
    assert.deepEqual(greatest, ["At most $2.00 an hour", "At most $1.00 an hour"]);
    const [csv] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "models", exact: true }).click(),
    ]);
    const [, ...lines] = (await readFile(await csv.path(), "utf8")).trim().split("\r\n");
    assert.deepEqual(lines, [
      '"azure, unknown model",1,100,10,110,2000000,0',
      '"openai, unknown model",1,100,10,110,1000000,0',
    ]);
    await place.open("#/apps/unnamed_models/workflows/Desk");
    await place.shows("Desk");
    const top = page.getByRole("table", { name: "Model", exact: true }).getByRole("rowheader");
    await top.first().waitFor();
    assert.deepEqual((await top.allTextContents()).toSorted(), ["unknownazure", "unknownopenai"]);
  });
});

test("a range of any length is shown, and one that is none is refused with a word", async () => {
  await watched(browser, service, async (page, place) => {
    const range = (given) => place.open(`#/apps/acme_corp/numbers?${new URLSearchParams(given)}`);
    const at = (days) => new Date(Date.now() - days * 24 * HOUR).toISOString();
    await range({ from: at(900) });
    await reads(figure(page, "Cost"), /\$9\.50none before/);
    for (const [given, words] of [
      [{ from: "2020-01-01T00:00:00.000Z" }, /too long to be compared.*not listed by month/],
      [{ from: "0001-01-01T00:00:00.000Z" }, /Only its last 3,660 days are counted/],
    ]) {
      await range(given);
      await reads(page.getByText("too long to be compared"), words);
      await reads(figure(page, "Cost"), /\$9\.50no comparison/);
      await place.shows("Numbers");
      await page.getByRole("heading", { name: "By month" }).waitFor();
      await reads(page.locator(".ticks").first(), /^([A-Z][a-z]{2,3} \d{4}){3,6}$/);
      await place.fits();
    }
    for (const [given, words] of [
      [{ from: "garbage" }, "The beginning of the range, “garbage”, is no time."],
      [{ from: at(2), before: "x" }, "The end of the range, “x”, is no time."],
      [{ from: at(1), before: at(2) }, "The range ends before it begins."],
      [{ from: at(-1) }, "The range begins in the future."],
    ]) {
      await range(given);
      await page.getByText(words).waitFor();
      assert.equal(await page.getByText("Loading…").count(), 0);
    }
    await page.getByRole("link", { name: "last 7 days" }).click();
    await reads(figure(page, "Cost"), /\$3\.50/);
    await place.open("#/apps/acme_corp/chats?from=garbage");
    await place.text("Chats").waitFor();
  }, { answers: [422] });
});
