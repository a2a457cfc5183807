// Takes the picture of the dashboard again: a chat of `reprise demo --keep` whose last turn has failed.
//
//     tests/chromium.sh && tests/npm.sh clients/typescript && node docs/book/tools/screenshot.mjs BINARY
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const packages = createRequire(new URL("../../../clients/typescript/package.json", import.meta.url));
const { chromium } = packages("playwright-core");
const picture = fileURLToPath(new URL("../src/images/dashboard.png", import.meta.url));

const data = mkdtempSync(join(tmpdir(), "reprise-screenshot-"));
const service = spawn(process.argv[2], ["demo", "--keep"], {
  env: { ...process.env, XDG_DATA_HOME: data, REPRISE__SERVER__LISTEN: "127.0.0.1:0", REPRISE__LOG__FILTER: "warn" },
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = new Promise((resolve) => service.once("exit", resolve));
try {
  const [url] = await firstMatch(service.stdout, /http:\S+(?=\/dashboard)/);
  while (!(await fetch(`${url}/api/health/ready`)).ok) await pause(100);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // The sandbox of Chromium does not run as root.
    args: process.getuid() === 0 ? ["--no-sandbox"] : [],
  });
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, colorScheme: "light" });
  await page.goto(`${url}/dashboard#/apps/demo/chats/demo-087`);
  await page.getByText("Live", { exact: true }).waitFor();
  await page.locator(".message").first().waitFor();
  await page.screenshot({ path: picture });
  await browser.close();
} finally {
  service.kill("SIGTERM");
  await ended;
  rmSync(data, { recursive: true, force: true });
}

async function firstMatch(stream, pattern) {
  for await (const line of createInterface({ input: stream })) {
    const found = line.match(pattern);
    if (found) return found;
  }
  throw new Error("the service ended before it listened");
}
