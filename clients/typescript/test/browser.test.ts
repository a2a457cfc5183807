/** The client and `useChat` in Chromium, in a page of another origin than the service. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { before, test } from "node:test";
import { Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild-wasm";
import { type Browser, type Page, chromium } from "playwright-core";
import { Reprise } from "reprise-chats";
import { loadMessages } from "reprise-chats/ai";
import { answer } from "./answer.js";
import { pace } from "./model.js";
import { respond } from "./readme/streaming.js";
import { Service, atEnd, newApp } from "./service.js";

const SECRET = "a-secret-of-the-tests-of-32-bytes-or-more";

let service: Service;
let browser: Browser;
let origin: string;
/** The endpoint of the application. */
let endpoint: (request: Request) => Promise<Response> = answer;

before(async () => {
  origin = await startApplication();
  service = await Service.started({
    REPRISE__AUTH__MODE: "jwt",
    REPRISE__AUTH__ALGORITHM: "HS256",
    REPRISE__AUTH__SECRET: SECRET,
    REPRISE__AUTH__ALLOWED_ORIGINS: origin,
    // The page stores what an agent says.
    REPRISE__APPS__USERS_MAY_RUN: "true",
  });
  browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    // The sandbox of Chromium does not run as root.
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
  atEnd(() => browser.close());
});

test("useChat is stored by the page, and a page that is loaded again shows it", async () => {
  const app = newApp();
  const id = `picnic_${app}`;
  const reprise = new Reprise(service.url, app, { token: bearer("alice") });
  await visit(app, id, async (page) => {
    await say(page, "park");
    await page.getByText(/^answer \d+ to park$/).waitFor();
    await page.locator("main[data-status=ready]").waitFor();
    const first = await shown(page);
    await page.reload();
    await page.getByText(/^answer \d+ to park$/).waitFor();
    assert.deepEqual(await shown(page), first);

    await say(page, "lake");
    await page.getByText(/^answer \d+ to lake$/).waitFor();
    await page.locator("main[data-status=ready]").waitFor();
    const before = await shown(page);
    await page.getByRole("button", { name: "Again" }).click();
    await page.getByText(before[3] ?? "").waitFor({ state: "detached" });
    await page.locator("main[data-status=ready]").waitFor();
    const again = await shown(page);
    assert.deepEqual(again.slice(0, 3), before.slice(0, 3));
    assert.deepEqual(await stored(reprise, id), again);
    assert.equal(again.length, 4);
  });
});

test("an answer that an agent writes goes on in a page that is loaded again, once", async () => {
  const app = newApp();
  const id = `picnic_${app}`;
  const reprise = new Reprise(service.url, app, { token: bearer("alice") });
  const pieces: (() => void)[] = [];
  pace.next = () => new Promise((go) => pieces.push(go));
  const goOn = async () => {
    while (pieces.length === 0) await pause(10);
    pieces.shift()?.();
  };
  endpoint = (request) => respond(reprise, request);
  await visit(
    app,
    id,
    async (page) => {
      await say(page, "park");
      await goOn();
      const first = page.getByText(/^answer \d+$/);
      await first.waitFor();
      const begun = (await first.textContent()) ?? "";

      assert.equal(await resumedBy(page), 200);
      await page.locator("main[data-status=streaming]").waitFor();
      await page.getByText(begun, { exact: true }).waitFor();
      assert.deepEqual(await shown(page), ["park", begun]);
      await goOn();
      await page.getByText(`${begun} to`).waitFor();
      await goOn();
      await page.locator("main[data-status=ready]").waitFor();
      const whole = ["park", `${begun} to park`];
      assert.deepEqual(await shown(page), whole);

      // The next message does not store the answer again.
      pace.next = () => Promise.resolve();
      await say(page, "lake");
      await page.getByText(/^answer \d+ to lake$/).waitFor();
      await page.locator("main[data-status=ready]").waitFor();
      const all = await shown(page);
      assert.deepEqual(all.slice(0, 2), whole);
      assert.equal(all.length, 4);
      while ((await loadMessages(reprise.chat(id))).length < 4) await pause(10);
      assert.deepEqual(await stored(reprise, id), all);

      // Nothing is running: the page shows what is stored, and does nothing.
      assert.equal(await resumedBy(page), 204);
      let requests = 0;
      page.on("request", () => (requests += 1));
      await pause(500);
      assert.equal(await page.locator("main").getAttribute("data-status"), "ready");
      assert.deepEqual(await shown(page), all);
      assert.equal(requests, 0);
    },
    "endpoint",
  );
});

test("the client writes, listens and is refused in a page as in Node.js", async () => {
  const app = newApp();
  await visit(app, `picnic_${app}`, async (page) => {
    assert.deepEqual(await page.evaluate("window.tour()"), {
      heard: ["Hello", "Where to?", "To the lake"],
      title: "From a page",
      note: "towels.",
      refused: "NotFound",
      moved: true,
    });
  });
});

/** Opens the page, and checks that it had no errors but the refusal that it asks for. */
async function visit(
  app: string,
  id: string,
  body: (page: Page) => Promise<void>,
  storedBy: "page" | "endpoint" = "page",
): Promise<void> {
  const page = await browser.newPage();
  page.setDefaultTimeout(15_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("status of 404")) faults.push(message.text());
  });
  const settings = new URLSearchParams({ service: service.url, app, token: bearer("alice"), chat: id, storedBy });
  await page.goto(`${origin}/#${settings.toString()}`);
  await page.getByRole("textbox").waitFor();
  await body(page);
  assert.deepEqual(faults, []);
  await page.close();
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

async function shown(page: Page): Promise<string[]> {
  return page.locator("main p").allTextContents();
}

/** Loads the page again; returns the status of its request for the answer that is being produced. */
async function resumedBy(page: Page): Promise<number> {
  const asked = page.waitForResponse(
    (response) => response.url().endsWith("/ui-message-stream") && response.request().method() === "GET",
  );
  await page.reload();
  return (await asked).status();
}

/** Returns the texts of the messages that are stored. */
async function stored(reprise: Reprise, id: string): Promise<string[]> {
  const messages = await loadMessages(reprise.chat(id));
  return messages.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join(""));
}

/** Serves the page and the endpoint of the application; returns its origin. */
async function startApplication(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("page.js", import.meta.url))],
    bundle: true,
    format: "esm",
    write: false,
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
  const script = outputFiles[0]?.text ?? "";
  const files: Record<string, [type: string, content: string]> = {
    "/": [
      "text/html",
      '<!doctype html><link rel="icon" href="data:,"><div></div><script type="module" src="page.js"></script>',
    ],
    "/page.js": ["text/javascript", script],
  };
  const server = createServer((request, response) => {
    if (request.url === "/api/chat") {
      void answered(request).then(async ({ status, headers, body }) => {
        response.writeHead(status, Object.fromEntries(headers));
        // A page that is loaded again reads no further.
        if (body !== null) await pipeline(Readable.fromWeb(body as WebStream), response).catch(() => undefined);
      });
      return;
    }
    if (request.url?.startsWith("/moved/") === true) {
      response.writeHead(302, { location: service.url + request.url.slice("/moved".length) }).end();
      return;
    }
    const [type, content] = files[request.url ?? ""] ?? [];
    response.writeHead(content === undefined ? 404 : 200, { "content-type": type ?? "text/plain" }).end(content);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function answered(request: IncomingMessage): Promise<Response> {
  return endpoint(new Request("http://application/api/chat", { method: "POST", body: await textOf(request) }));
}

/** Returns a token that the service accepts. */
function bearer(sub: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ exp, sub, apps: "*" })}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}
