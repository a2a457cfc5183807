// Prints the name, version and licence of each package that is named, with the text of its licence.

import { existsSync, readFileSync, readdirSync } from "node:fs";

for (const name of process.argv.slice(2)) {
  const folder = `node_modules/${name}`;
  if (!existsSync(folder)) continue;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  console.log(`\n${name} ${version} (${license.replace(/[()]/g, "")})\n`);
  // Of a package with two licences, the first file in the order of names is the permissive one.
  const files = readdirSync(folder)
    .filter((file) => /^licen[cs]e/i.test(file))
    .sort();
  const text = files.map((file) => readFileSync(`${folder}/${file}`, "utf8"))[0] ?? "";
  console.log(text.replaceAll("*/", "* /").trim());
}
