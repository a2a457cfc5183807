// An empty database: the page says what to do, and following its advice works.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { watched } from "./browser.js";
import { browser, service, setUp } from "./setup.js";

setUp();

test("a workflow and an app without data say so", async () => {
  await watched(browser, service, async (page, place) => {
    for (const [hash, title] of [
      ["#/apps/acme_corp/workflows/Picnic", "Picnic"],
      ["#/apps/acme_corp", "acme_corp"],
    ]) {
      await place.open(hash);
      await place.shows(title);
      assert.match(
        await page.getByRole("region", { name: "Command" }).textContent(),
        /chats\/acme_corp /,
      );
      await place.fits();
      await place.isAccessible();
    }
  });
});

test("a command contains no shell syntax from ids", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open(`#/apps/acme_corp/workflows/${encodeURIComponent("'; reboot '")}`);
    await place.shows("'; reboot '");
    const command = await page.getByRole("region", { name: "Command" }).textContent();
    assert.doesNotMatch(command, /reboot/);
  });
});

test("the command for an empty database starts a chat, which then appears", async () => {
  await watched(browser, service, async (page, place) => {
    await place.open();
    await place.shows("Apps");
    await page.getByRole("heading", { name: "No chats are stored yet" }).waitFor();
    await place.inEveryAppearance("empty");

    const command = await page.getByRole("region", { name: "Command" }).textContent();
    execFileSync("bash", ["-euc", command]);
    await page.getByRole("link", { name: "acme_corp" }).click();
    await place.shows("acme_corp");
    await page.getByRole("link", { name: "Picnic" }).click();
    await place.shows("Picnic");
    await page.getByRole("link", { name: "picnic-1" }).click();
    await place.text("Plan a picnic").waitFor();
  });
});
