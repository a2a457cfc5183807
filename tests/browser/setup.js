// What the tests of a file share: a service of their own, and a browser.

import { after, before } from "node:test";
import { launch } from "./browser.js";
import { startService } from "./service.js";

/** Each test file runs in a process of its own, so these belong to one file. */
export let browser;
export let service;
/** Calls the API of the service. */
export let call;

/**
 * Starts a service with these settings, runs `seed`, and opens a browser, before the first test; stops both after the
 * last one. `call` uses the token.
 */
export function setUp({ settings, token, seed = () => {}, ...options } = {}) {
  before(async () => {
    service = await startService(settings, options);
    call = service.client(token);
    await seed();
    browser = await launch();
  });

  after(async () => {
    await browser?.close();
    await service?.stop();
  });
}
