import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type Documents, InvalidRequest, NotFound, PreconditionFailed, Reprise } from "reprise-chats";
import { Line, type Service, all, newApp, sharedService } from "./service.js";

const MIB = 1_024 * 1_024;

let service: Service;
before(async () => {
  service = await sharedService();
});

const newDocuments = () => new Reprise(service.url, newApp()).documents;
const bytesOf = (text: string) => new TextEncoder().encode(text);

async function textOf(documents: Documents, path: string): Promise<string> {
  return new TextDecoder().decode((await documents.read(path)).bytes);
}

test("content comes back as it was given", async () => {
  const documents = newDocuments();
  const head = await documents.put("notes/lake", { b: 1, a: [null, "ü"] });
  assert.deepEqual([head.path, head.content_type, head.size], ["notes/lake", "application/json", 23]);
  assert.equal(await textOf(documents, "notes/lake"), '{"b":1,"a":[null,"ü"]}');
  await documents.put("a b/ü?#%/x", new Uint8Array([0, 255]), { contentType: "image/png" });
  const found = await documents.read("a b/ü?#%/x");
  assert.deepEqual([found.contentType, [...found.bytes], found.size], ["image/png", [0, 255], 2]);
  await documents.put("empty", "");
  assert.equal(await textOf(documents, "empty"), "");
  assert.equal((await documents.read("empty")).contentType, "text/plain; charset=utf-8");
  await assert.rejects(documents.read("nothing"), NotFound);
  await assert.rejects(documents.put("x", "x".repeat(9 * MIB)), InvalidRequest);
  assert.throws(() => documents.put("a/../b", ""), TypeError);
  await documents.delete("notes/lake");
  await documents.delete("notes/lake");
  await assert.rejects(documents.read("notes/lake"), NotFound);
});

test("a write with a condition that fails changes nothing", async () => {
  const documents = newDocuments();
  const first = await documents.put("notes/lake", "1", { onlyCreate: true });
  await assert.rejects(documents.put("notes/lake", "2", { onlyCreate: true }), PreconditionFailed);
  const second = await documents.put("notes/lake", "2", { ifMatch: first.entity_tag });
  assert.equal((await documents.read("notes/lake")).entityTag, second.entity_tag);
  await assert.rejects(documents.put("notes/lake", "3", { ifMatch: first.entity_tag }), PreconditionFailed);
  await assert.rejects(documents.delete("notes/lake", { ifMatch: first.entity_tag }), PreconditionFailed);
  assert.equal(await textOf(documents, "notes/lake"), "2");
});

test("appends whose answers are lost are stored once, and ranges are read", async () => {
  const line = await Line.to(service);
  const { documents } = new Reprise(line.url, newApp());
  for (let number = 0; number < 6; number += 1) {
    line.lostAnswers = number % 3;
    assert.equal((await documents.append("log", `line ${number}\n`)).offset, number * 7);
  }
  assert.equal(await textOf(documents, "log"), "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n");
  const range = await documents.read("log", { start: 7, end: 13 });
  assert.deepEqual([new TextDecoder().decode(range.bytes), range.start, range.size], ["line 1", 7, 42]);
  assert.equal((await documents.read("log", { start: 42 })).bytes.length, 0);
  await assert.rejects(documents.read("log", { start: -3 }), RangeError);
  await assert.rejects(documents.append("log", "late", { offset: 7 }), PreconditionFailed);
  assert.equal((await documents.append("log", "last", { offset: 42 })).size, 46);
});

test("a document of more than one request is read while it grows", async () => {
  const documents = newDocuments();
  const part = new Uint8Array(7 * MIB);
  for (let number = 0; number < 3; number += 1) await documents.append("large", part.fill(number));
  const reading = documents.read("large");
  await documents.append("large", bytesOf("more"));
  const { bytes, size } = await reading;
  assert.equal(bytes.length, size);
  assert.deepEqual([bytes[0], bytes[8 * MIB], bytes[20 * MIB]], [0, 1, 2]);
});

test("documents and namespaces are listed and deleted", async () => {
  const documents = newDocuments();
  for (const path of ["a/1", "a/b/2", "a/b/c/3", "ab/4"]) await documents.put(path, { path });
  await documents.put("a/text", "text");
  const listed = await all(documents.list("a", { content: true, limit: 2 }));
  assert.deepEqual(
    listed.map(({ path }) => path),
    ["a/1", "a/b/2", "a/b/c/3", "a/text"],
  );
  assert.deepEqual(listed[1]?.content, { path: "a/b/2" });
  assert.equal(listed[3]?.content_base64, btoa("text"));
  assert.deepEqual(await all(documents.namespaces("a", { limit: 1 })), ["a/b"]);
  assert.deepEqual(await all(documents.namespaces()), ["a", "ab"]);
  assert.equal(await documents.deleteAll("a"), 4);
  assert.deepEqual(await all(documents.namespaces()), ["ab"]);
});

test("changes of documents are told", async () => {
  const documents = newDocuments();
  const told: unknown[] = [];
  for await (const { name, data } of documents.events("a")) {
    told.push([name, data]);
    if (name === "resync") {
      await documents.put("b", "1");
      await documents.put("a/b", "1");
    } else if (name === "changed") {
      await documents.delete("a/b");
    } else {
      break;
    }
  }
  assert.deepEqual(told, [
    ["resync", {}],
    ["changed", { path: "a/b", version: 1 }],
    ["deleted", { path: "a/b" }],
  ]);
});
