// A separate service with a separate mongod for each test file.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const BINARY =
  process.env.REPRISE_BINARY ?? new URL("../../target/debug/reprise", import.meta.url).pathname;

/** Starts a service and waits until it is ready; `settings` are environment variables. Browsers reach it as `name`. */
export async function startService(settings = {}, { address = "127.0.0.1:0", name } = {}) {
  const data = await mkdtemp(join(tmpdir(), "reprise-browser-"));
  const env = { ...process.env, REPRISE__LOG__FILTER: "warn", ...settings };
  let running = await start(address);
  const url = name ? running.url.replace("127.0.0.1", name) : running.url;
  return { url, client: (token) => client(url, token), pause, resume, stop };

  async function start(address) {
    const child = spawn(BINARY, ["serve", "--listen", address, "--data-dir", data], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const url = await firstLine(child);
    await until(async () => (await fetch(`${url}/api/health/ready`)).ok);
    return { child, ended, url };
  }

  /** Stops it, with its mongod; its data is kept. */
  async function pause() {
    running.child.kill("SIGTERM");
    await running.ended;
  }

  /** Starts it again on the same address. */
  async function resume() {
    running = await start(new URL(running.url).host);
  }

  async function stop() {
    await pause();
    await rm(data, { recursive: true, force: true });
  }
}

async function firstLine(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    return line.replace("listening on ", "");
  }
  throw new Error("the service ended before it listened");
}

async function until(holds) {
  const end = Date.now() + 30_000;
  while (!(await holds().catch(() => false))) {
    if (Date.now() > end) throw new Error("the service is not ready in time");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Calls the API; throws unless the response is a success. */
function client(url, token) {
  const authorization = token ? { authorization: `Bearer ${token}` } : {};
  return async (method, path, body) => {
    const headers = { ...authorization, ...(body && { "content-type": "application/json" }) };
    const response = await fetch(url + path, {
      method,
      headers,
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  };
}
