// A service that requires tokens, and tokens for it.

import { createHmac } from "node:crypto";

const SECRET = "a-secret-of-the-tests-of-32-bytes-or-more";

/** For `startService`. */
export const settings = {
  REPRISE__AUTH__MODE: "jwt",
  REPRISE__AUTH__ALGORITHM: "HS256",
  REPRISE__AUTH__SECRET: SECRET,
};

export function bearer(claims) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 3_600;
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ exp, ...claims })}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

export async function giveToken(page, token) {
  await page.getByLabel("Bearer token").fill(token);
  await page.getByRole("button", { name: "Use token" }).click();
}
