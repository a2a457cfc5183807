// A user looks for a chat: by a search across apps, by filters in the URL, and by clicks on numbers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { watched } from "./browser.js";
import { seedApp, seedDesk } from "./seed.js";
import { browser, call, service, setUp } from "./setup.js";
import { bearer, giveToken, settings } from "./tokens.js";

const SERVICE = bearer({ sub: "bot", apps: ["*"], role: "service" });

setUp({
  settings,
  token: SERVICE,
  async seed() {
    await seedApp(call, "acme_corp");
    await seedDesk(call, "travel_desk");
  },
});

/** Opens a view with a token; a chat that is looked up by an id that no chat has is 404. */
async function as(token, hash, body, answers = []) {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open(hash);
      await giveToken(page, token);
      await body(page, place);
    },
    { answers: [401, 404, ...answers] },
  );
}

const rows = (page, name = "Chats") =>
  page.getByRole("table", { name, exact: true }).getByRole("rowheader");
const row = (page, title) => page.getByRole("row").filter({ hasText: title });

test("from a user's name to the failed chat in three interactions from the start page", async () => {
  await as(SERVICE, "#/", async (page, place) => {
    await place.shows("Apps");
    let interactions = 0;
    const interact = async (work) => {
      interactions += 1;
      await work();
    };
    await interact(() => page.keyboard.press("/"));
    await interact(async () => {
      await page.keyboard.type("bob");
      await page.keyboard.press("Enter");
    });
    const failed = row(page, "Rebooking of LH 454");
    await failed.getByText("last turn failed").waitFor();
    await place.isAccessible();
    await place.screenshot("search-all", { fullPage: true });
    await interact(() => failed.getByRole("link").click());
    await place.shows("desk-1");
    await page.locator(".facts").getByText("last turn failed").waitFor();
    await page.locator(".facts").getByText("504 Gateway Timeout").waitFor();
    assert.ok(interactions <= 4);
  });
});

test("a search finds ids, users, titles and words, in one app or in all", async () => {
  await as(SERVICE, "#/apps/travel_desk/chats", async (page, place) => {
    await place.shows("Chats");
    const search = async (text) => {
      await page.getByRole("searchbox").fill(text);
      await page.keyboard.press("Enter");
    };
    await search("desk-2");
    await rows(page, "Chat with this id").filter({ hasText: "A weekend in Lisbon" }).waitFor();
    assert.match(page.url(), /#\/apps\/travel_desk\/chats\?q=desk-2$/);
    for (const id of ["Carol", "carol"]) {
      await search(id);
      await rows(page, "Chats of user carol").filter({ hasText: "Refund of a hotel" }).waitFor();
    }
    assert.equal(await rows(page, "Chat with this id").count(), 0);
    await search("lisb");
    await rows(page, "Chats by title").filter({ hasText: "A weekend in Lisbon" }).waitFor();
    await search("help weekend");
    const hit = row(page, "Please help: A weekend in Lisbon");
    await hit.waitFor();
    assert.deepEqual(await hit.locator("mark").allTextContents(), ["help", "weekend"]);
    await search("help rebooking");
    await row(page, "Please help: Rebooking").getByText("last turn failed").waitFor();
    await search("<img src=x onerror=alert(1)>");
    await page.getByText("Nothing was found for").waitFor();
    await page.goBack();
    await row(page, "Please help: Rebooking").waitFor();
    assert.equal(await page.getByRole("searchbox").inputValue(), "help rebooking");
    await page.getByRole("link", { name: "All chats" }).click();
    await rows(page).nth(2).waitFor();
    await place.open("#/?q=picnic-1");
    await page.getByRole("heading", { name: "acme_corp · Chat with this id" }).waitFor();
  });
});

test("a search may begin with a user, and may have one in the URL", async () => {
  const body = async (page, place) => {
    await place.shows("Chats");
    const search = async (text) => {
      await page.getByRole("searchbox").fill(text);
      await page.keyboard.press("Enter");
    };
    for (const text of ["bob rebooking", "Bob  REBOOKING"]) {
      await search(text);
      await rows(page, "Chats of user bob by title").filter({ hasText: "Rebooking of LH" }).waitFor();
      const said = rows(page, "Messages in chats of user bob");
      await said.filter({ hasText: "Please help: Rebooking" }).waitFor();
    }
    await search("carol rebooking");
    await page.getByText("Nothing was found for").waitFor();
    await place.open("#/apps/travel_desk/chats?q=help&user_id=carol&status=failed");
    await rows(page, "Messages in chats of user carol").filter({ hasText: "Refund" }).waitFor();
    assert.equal(await page.getByText("Rebooking").count(), 0);
    await page.getByText("Only the chats of user carol are searched.").waitFor();
    await page.getByText("A search has no filter by status.").waitFor();
    await page.getByRole("link", { name: "Search all chats" }).click();
    await rows(page, "Messages").filter({ hasText: "Rebooking" }).waitFor();
  };
  await as(SERVICE, "#/apps/travel_desk/chats", body);
});

test("a list shows who spoke last, and its filters are in the URL", async () => {
  await as(SERVICE, "#/apps/travel_desk/chats", async (page, place) => {
    await place.shows("Chats");
    await page.getByRole("heading", { name: "3 chats" }).waitFor();
    const cells = await row(page, "Rebooking of LH 454").getByRole("cell").allTextContents();
    assert.deepEqual(cells.slice(0, 3), ["failed", "bob", "triage"]);
    await page.getByLabel("User", { exact: true }).fill("bob");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "2 chats" }).waitFor();
    await page.getByLabel("last turn failed").check();
    await page.getByRole("heading", { name: "1 chat", exact: true }).waitFor();
    assert.match(page.url(), /user_id=bob.*last_turn_outcome=failed/);
    await page.reload();
    await page.getByRole("heading", { name: "1 chat", exact: true }).waitFor();
    assert.equal(await page.getByLabel("User", { exact: true }).inputValue(), "bob");
    assert.equal(await page.getByLabel("last turn failed").isChecked(), true);
    await page.goBack();
    await page.getByRole("heading", { name: "2 chats" }).waitFor();
    assert.equal(await page.getByLabel("last turn failed").isChecked(), false);
    await page.getByLabel("Status").selectOption("failed");
    await page.getByRole("heading", { name: "1 chat", exact: true }).waitFor();
    await page.getByLabel("Time").selectOption("today");
    await page.waitForURL(/since=today/);
    await page.getByLabel("Order").selectOption("created");
    await page.waitForURL(/order_by=created/);
    await page.getByRole("heading", { name: "1 chat", exact: true }).waitFor();
  });
});

test("filters without a list are not offered, and the page says so", async () => {
  await as(SERVICE, "#/apps/travel_desk/chats?workflow_name=Desk", async (page, place) => {
    await place.shows("Chats");
    await page.getByRole("heading", { name: "3 chats" }).waitFor();
    await page.getByLabel("last turn failed").check();
    await page.getByRole("heading", { name: "1 chat", exact: true }).waitFor();
    await place.open("#/apps/travel_desk/chats?needs_input=true");
    await page.getByRole("heading", { name: "1 chat", exact: true }).waitFor({ state: "detached" });
    assert.equal(await page.getByLabel("last turn failed").isDisabled(), true);
    await page
      .getByText("The service has no list with these filters and: last turn failed.")
      .waitFor();
    await place.isAccessible();
    await place.open("#/apps/travel_desk/chats?needs_input=true&last_turn_outcome=failed");
    await page.getByText("The service has no list with all of these filters.").waitFor();
    await page.getByRole("link", { name: "Clear the filters" }).click();
    await page.getByRole("heading", { name: "3 chats" }).waitFor();
  });
});

test("every list that the page offers is served", async () => {
  await as(SERVICE, "#/", async (page, place) => {
    await place.shows("Apps");
    const lists = await page.evaluate(async () => {
      const { ordersOf, parametersOf } = await import(
        new URL("dashboard/lists.js", document.baseURI)
      );
      const filters = Object.entries({
        user_id: "bob",
        workflow_name: "Desk",
        needs_input: "true",
        last_turn_outcome: "failed",
        title_contains: "lisbon",
        from: "2020-01-01T00:00:00.000Z",
        status: "failed,running",
      });
      return Array.from({ length: 2 ** filters.length }, (_, bits) => {
        const chosen = Object.fromEntries(filters.filter((_, index) => bits & (1 << index)));
        return ordersOf(chosen).map((order) =>
          Object.entries(parametersOf(chosen, order)).filter(([, it]) => it),
        );
      }).flat();
    });
    assert.ok(lists.length > 60);
    for (const list of lists)
      await call("GET", `/api/chats/travel_desk?${new URLSearchParams(list)}`);
  });
});

test("a list is read page by page", async () => {
  for (let index = 0; index < 55; index += 1) {
    await call("POST", "/api/chats/long_list", { chat_id: `many-${index}`, workflow_name: "Many" });
  }
  await as(SERVICE, "#/apps/long_list/chats", async (page) => {
    await page.getByRole("heading", { name: "55 chats" }).waitFor();
    await page.getByRole("button", { name: "More chats" }).click();
    await rows(page).nth(54).waitFor();
    assert.equal(await page.getByRole("button", { name: "More chats" }).count(), 0);
  });
});

test("tiles and bars lead to the chats that they count", async () => {
  await as(SERVICE, "#/apps/acme_corp/workflows/Generator", async (page, place) => {
    await place.shows("Generator");
    await page.locator(".figures").getByRole("link").nth(2).click();
    await page.getByRole("heading", { name: "4 chats" }).waitFor();
    assert.match(page.url(), /workflow_name=Generator.*status=failed/);
    await page.goBack();
    await page.locator(".statuses .part.completed").click();
    await page.waitForURL(/status=completed/);
    await page.goBack();
    await place.shows("Generator");
    const plot = page.getByRole("figure").filter({ hasText: "Chats" }).locator(".plot");
    const { width, height } = await plot.boundingBox();
    await plot.click({ position: { x: width - 2, y: height / 2 } });
    await page.waitForURL(/order_by=created/);
    await page.getByRole("heading", { name: /^\d+ chats?$/ }).waitFor();
    await page.goBack();
    await page.getByText("The same as a table").click();
    await page.getByRole("table", { name: "Activity" }).getByRole("link").first().waitFor();
  });
});

test("/ leads to the search from every view of an app", async () => {
  await as(SERVICE, "#/apps/travel_desk/chats/desk-1", async (page, place) => {
    await place.shows("desk-1");
    await page.locator(".message").first().waitFor();
    await page.keyboard.press("/");
    await place.shows("Chats");
    await page.keyboard.type("a/b");
    assert.equal(await page.getByRole("searchbox").inputValue(), "a/b");
    await page.goBack();
    await place.shows("desk-1");
  });
});

test("a person finds their own chats only, with more filters", async () => {
  const carol = bearer({ sub: "carol", apps: ["travel_desk"] });
  await as(
    carol,
    "#/apps/travel_desk/chats",
    async (page, place) => {
      await place.shows("Chats");
      await page.getByRole("heading", { name: "1 chat", exact: true }).waitFor();
      await page.getByRole("searchbox").fill("help");
      await page.keyboard.press("Enter");
      await row(page, "Please help: Refund of a hotel").waitFor();
      assert.equal(await page.getByText("Rebooking").count(), 0);
      await place.open("#/apps/travel_desk");
      await row(page, "Refund of a hotel").waitFor();
    },
    [403],
  );
});
