// A person signs in at an issuer, and needs no token.

import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { watched } from "./browser.js";
import { seedApp } from "./seed.js";
import { browser, call, service, setUp } from "./setup.js";
import { bearer, settings } from "./tokens.js";

const port = await freePort();
const issuer = await startIssuer({ sub: "olga", apps: ["*"], role: "operator" });

setUp({
  settings: {
    ...settings,
    REPRISE__AUTH__SIGN_IN__ISSUER: issuer.url,
    REPRISE__AUTH__SIGN_IN__CLIENT_ID: "reprise",
    REPRISE__AUTH__SIGN_IN__ALGORITHM: "ES256",
    REPRISE__AUTH__SIGN_IN__PUBLIC_URL: `http://localhost:${port}`,
  },
  address: `127.0.0.1:${port}`,
  name: "localhost",
  token: bearer({ sub: "bot", apps: ["*"], role: "service" }),
  seed: () => seedApp(call, "acme_corp"),
});

after(() => issuer.stop());

test("a person signs in, comes back to the view, and signs out", async () => {
  await watched(
    browser,
    service,
    async (page, place) => {
      await place.open("#/apps/acme_corp");
      await page.getByRole("alert").waitFor();
      await place.inEveryAppearance("sign-in");
      await page.getByRole("link", { name: "Sign in" }).click();
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      await place.shows("acme_corp");
      assert.equal(page.url(), `${service.url}/dashboard#/apps/acme_corp`);
      await place.text("olga").waitFor();
      await place.inEveryAppearance("signed-in");
      assert.equal(await page.evaluate(() => document.cookie), "", "no script reads the session");
      assert.equal(await page.evaluate(() => sessionStorage.length + localStorage.length), 0);
      await page.reload();
      await place.shows("acme_corp");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("link", { name: "Sign in" }).waitFor();
    },
    { answers: [401], visits: [issuer.url] },
  );
});

/** Starts an issuer at which a person with these claims is always signed in. */
async function startIssuer(claims) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const visits = new Map();
  const routes = {
    "/.well-known/openid-configuration": () => ({
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
    }),
    "/jwks": () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1" }] }),
    "/token": (asked) => {
      const visit = visits.get(asked.get("code"));
      const proof = createHash("sha256").update(asked.get("code_verifier")).digest("base64url");
      assert.equal(proof, visit.get("code_challenge"));
      const exp = Math.floor(Date.now() / 1000) + 60;
      const payload = { iss: url, aud: "reprise", exp, nonce: visit.get("nonce"), ...claims };
      const encode = (it) => Buffer.from(JSON.stringify(it)).toString("base64url");
      const message = `${encode({ alg: "ES256", kid: "k1" })}.${encode(payload)}`;
      const key = { key: privateKey, dsaEncoding: "ieee-p1363" };
      const signature = sign("sha256", Buffer.from(message), key).toString("base64url");
      return { access_token: "x", token_type: "Bearer", id_token: `${message}.${signature}` };
    },
  };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://issuer");
    if (pathname === "/authorize") {
      const code = `code-${visits.size}`;
      visits.set(code, searchParams);
      const back = new URLSearchParams({ code, state: searchParams.get("state") });
      response.writeHead(302, { location: `${searchParams.get("redirect_uri")}?${back}` }).end();
      return;
    }
    let body = "";
    for await (const piece of request) body += piece;
    const answer = routes[pathname](new URLSearchParams(body));
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, stop: () => server.close() };
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
