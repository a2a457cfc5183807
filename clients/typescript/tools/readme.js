// Writes the examples of the README below `test/readme`, each in the file that its first line names.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const target = new URL("../test/readme/", import.meta.url);
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
rmSync(target, { recursive: true, force: true });
mkdirSync(target);
for (const [, example] of readme.matchAll(/^```tsx?\n(.*?)^```/gms)) {
  const [, name] = /^\/\/ (\S+)\n/.exec(example);
  const there = example
    .replaceAll('"http://127.0.0.1:8080"', 'process.env["REPRISE_URL"] ?? ""')
    .replaceAll('"acme_corp"', 'process.env["REPRISE_APP"] ?? ""')
    .replaceAll('"./model.js"', '"../model.js"');
  // A module even if it exports nothing, so that it can be imported.
  writeFileSync(new URL(name, target), `${there}\nexport {};\n`);
}
