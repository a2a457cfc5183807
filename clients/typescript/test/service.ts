/** A real service with its private mongod, and a connection to it that can be broken. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

const BINARY = process.env["REPRISE_BIN"] ?? "../../target/debug/reprise";

const closing: (() => unknown)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

/** Closes something after the tests of this file, also if a hook has opened it: `after` would run at the end of the hook. */
export function atEnd(close: () => unknown): void {
  closing.push(close);
}

/** A service that can be stopped and started again on the same address. */
export class Service {
  url = "";
  readonly #data: string;
  readonly #settings: NodeJS.ProcessEnv;
  #process: ChildProcess | undefined;

  private constructor(data: string, settings: NodeJS.ProcessEnv) {
    this.#data = data;
    this.#settings = settings;
  }

  /** Starts a service that is stopped after the tests of this file; `settings` are environment variables. */
  static async started(settings: NodeJS.ProcessEnv = {}): Promise<Service> {
    const service = new Service(await mkdtemp(join(tmpdir(), "reprise-typescript-")), settings);
    await service.#start("127.0.0.1:0");
    atEnd(async () => {
      await service.#stop();
      await rm(service.#data, { recursive: true, force: true });
    });
    return service;
  }

  async restart(): Promise<void> {
    await this.#stop();
    await this.#start(new URL(this.url).host);
  }

  async #start(address: string): Promise<void> {
    const env = { ...process.env, REPRISE__LOG__FILTER: "error", ...this.#settings };
    const child = spawn(BINARY, ["serve", "--listen", address, "--data-dir", this.#data], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process = child;
    for await (const line of createInterface({ input: child.stdout })) {
      this.url = line.replace("listening on ", "");
      break;
    }
    const until = Date.now() + 60_000;
    while (!(await this.#isReady())) {
      assert.ok(Date.now() < until, "the service is not ready");
      await pause(50);
    }
  }

  async #isReady(): Promise<boolean> {
    const response = await fetch(`${this.url}/api/health/ready`).catch(() => undefined);
    return response?.ok === true;
  }

  async #stop(): Promise<void> {
    const child = this.#process;
    assert.ok(child);
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    await exit;
  }
}

let shared: Promise<Service> | undefined;

/** Returns the service that tests share: with the adapter for Discobot, and without authentication. */
export function sharedService(): Promise<Service> {
  shared ??= Service.started({
    REPRISE__ADAPTERS__DISCOBOT__ENABLED: "true",
    REPRISE__ADAPTERS__DISCOBOT__APP_ID: "workspaces",
  });
  return shared;
}

/** Returns the id of an app of one test alone. */
export function newApp(): string {
  return `app_${crypto.randomUUID().replaceAll("-", "")}`;
}

/** Reads an iterator to its end. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const item of items) read.push(item);
  return read;
}

/** A connection to a service that loses what it is told to. */
export class Line {
  url = "";
  /** How many of the next answers are lost, with their connection. */
  lostAnswers = 0;
  /** After how many bytes of an answer the connection breaks. */
  brokenAfter = Infinity;
  readonly #open = new Set<Socket>();
  readonly #server = createServer((client) => {
    this.#join(client);
  });
  #target: { host: string; port: number } = { host: "", port: 0 };

  /** Opens a line that is closed after the tests of this file. */
  static async to(service: Service): Promise<Line> {
    const line = new Line();
    const { hostname, port } = new URL(service.url);
    line.#target = { host: hostname, port: Number(port) };
    line.#server.listen(0, "127.0.0.1");
    await once(line.#server, "listening");
    line.url = `http://127.0.0.1:${(line.#server.address() as AddressInfo).port}`;
    atEnd(() => {
      line.#server.close();
      line.hangUp();
    });
    return line;
  }

  /** Breaks every connection. */
  hangUp(): void {
    for (const end of this.#open) end.destroy();
    this.#open.clear();
  }

  #join(client: Socket): void {
    const server = connect(this.#target);
    let sent = 0;
    const hangUp = () => {
      client.destroy();
      server.destroy();
    };
    for (const end of [client, server]) {
      this.#open.add(end);
      end.on("error", hangUp).on("close", hangUp);
    }
    client.pipe(server);
    server.on("data", (data: Buffer) => {
      if (this.lostAnswers > 0) {
        this.lostAnswers -= 1;
        hangUp();
      } else if (sent + data.length > this.brokenAfter) {
        client.end(data.subarray(0, this.brokenAfter - sent), hangUp);
        server.pause();
      } else {
        client.write(data);
        sent += data.length;
      }
    });
  }
}

/** Returns an address at which nothing listens. */
export async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}`;
}
