// Every view, light, dark and narrow: it fits, a screen reader can read it, and a screenshot is taken.

import { after, before, test } from "node:test";
import { launch, watched } from "./browser.js";
import { seedApp, seedTranscript } from "./seed.js";
import { startService } from "./service.js";

const VIEWS = [
  ["apps", "#/", "Apps"],
  ["app", "#/apps/acme_corp", "acme_corp"],
  ["workflow", "#/apps/acme_corp/workflows/Generator", "Generator"],
  ["workflow-days", "#/apps/acme_corp/workflows/Generator?step=day", "Generator"],
  ["chat", "#/apps/acme_corp/chats/picnic-1", "picnic-1"],
  ["transcript", "#/apps/acme_corp/chats/captain-1", "captain-1"],
];
const APPEARANCES = {
  light: { colorScheme: "light" },
  dark: { colorScheme: "dark" },
  narrow: { colorScheme: "light", viewport: { width: 360, height: 740 } },
  "narrow-dark": { colorScheme: "dark", viewport: { width: 360, height: 740 } },
};

let browser;
let service;

before(async () => {
  service = await startService();
  const call = service.client();
  await seedApp(call, "acme_corp");
  await seedTranscript(call, "acme_corp", "captain-1");
  for (const app of ["beta-labs", "a_long_name_".padEnd(64, "x")]) {
    await call("POST", `/api/chats/${app}`, { workflow_name: "Trial" });
  }
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

for (const [look, options] of Object.entries(APPEARANCES)) {
  test(`every view is accessible and fits: ${look}`, async () => {
    await watched(
      browser,
      service,
      async (page, place) => {
        for (const [name, hash, title] of VIEWS) {
          await place.open(hash);
          await place.shows(title);
          if (hash.includes("/chats/")) await page.locator(".message").first().waitFor();
          await place.fits();
          await place.isAccessible();
          await place.screenshot(`${name}-${look}`, { fullPage: !hash.includes("captain") });
        }
      },
      options,
    );
  });
}
