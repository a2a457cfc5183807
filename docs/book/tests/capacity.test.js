/** The calculator computes what the page says, from the numbers that the page shows. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bytes, capacity, interpolated, processes } from "../src/capacity/calculator.js";
import { ROWS } from "../src/capacity/measured.js";

const page = readFileSync(new URL("../src/capacity.md", import.meta.url), "utf8");
const number = (text) => Number(text.replaceAll(",", ""));

test("the table of the page has the rows of the calculator", () => {
  const table = page.split("\n").filter((line) => /^\| [\d,]+ bytes \|/.test(line));
  const shown = table.map((line) => line.split("|").slice(1, -1).map((cell) => number(cell.replace("bytes", "").trim())));
  assert.deepEqual(
    shown,
    ROWS.map(({ size, disk, indexes, search, oplog, oplogSearch }) => [size, disk, indexes, search, oplog, oplogSearch]),
  );
});

test("a size of the table needs what the table says, and one in between something in between", () => {
  for (const row of ROWS) assert.equal(Math.round(interpolated(ROWS, row.size, "disk") * 10) / 10, row.disk);
  const [small, medium] = ROWS;
  const between = interpolated(ROWS, (small.size + medium.size) / 2, "oplog");
  assert.ok(Math.abs(between - (small.oplog + medium.oplog) / 2) < 1e-9);
});

test("what is stored grows with chats, messages and days", () => {
  const given = { chats: 100, messages: 10, size: ROWS[0].size, days: 10, subscribers: 0, watched: 0, peak: 1, oplogHours: 24 };
  const one = capacity(ROWS, given);
  assert.equal(one.messagesDisk, 100 * 10 * 10 * (ROWS[0].disk + ROWS[0].indexes));
  assert.equal(one.oplog, 100 * 10 * ROWS[0].oplog);
  for (const field of ["chats", "messages", "days"]) {
    assert.equal(capacity(ROWS, { ...given, [field]: given[field] * 2 }).searchDisk, one.searchDisk * 2);
  }
  assert.equal(capacity(ROWS, { ...given, oplogHours: 6, peak: 2 }).oplog, one.oplog / 2);
  assert.equal(capacity(ROWS, { ...given, oplogHours: 12, peak: 5 }).oplog, one.oplog);
  assert.equal(capacity(ROWS, { ...given, oplogHours: 48, peak: 5 }).oplog, one.oplog * 2);
  assert.equal(Math.round(capacity(ROWS, { ...given, subscribers: 1 }).memory - one.memory), Math.round(17.1 * 1024));
});

test("a chat with subscribers is kept in each process that they use, but not in more than there are subscribers", () => {
  const given = { chats: 0, messages: 0, size: 0, days: 0, subscribers: 10, peak: 1, oplogHours: 24 };
  const more = (watched) => capacity(ROWS, { ...given, watched }).memory - capacity(ROWS, { ...given, watched: 0 }).memory;
  const one = (23.5 + 512) * 1024;
  assert.deepEqual([1, 5, 9].map(more), [2 * one, 10 * one, 10 * one]);
});

test("a process may be replaced while the others have all subscribers", () => {
  assert.deepEqual([0, 8_000, 8_001, 16_000].map(processes), [2, 2, 3, 3]);
});

test("numbers of bytes are in words", () => {
  assert.deepEqual([0, 999, 1_000, 1_234_567, 999_999].map(bytes), ["0 B", "999 B", "1 kB", "1.23 MB", "1 MB"]);
});
