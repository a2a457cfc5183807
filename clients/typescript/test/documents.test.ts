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

test("bytes are stored as they are, whatever holds them", async () => {
  const documents = newDocuments();
  const bytes = [0, 1, 128, 255, 7, 8, 9, 10];
  const { buffer } = new Uint8Array(bytes);
  const shared = new Uint8Array(new SharedArrayBuffer(8));
  shared.set(bytes);
  const held = [
    [buffer, bytes],
    [new DataView(buffer, 1, 3), bytes.slice(1, 4)],
    [new Float32Array(buffer), bytes],
    [new Uint16Array(buffer, 2, 2), bytes.slice(2, 6)],
    [Buffer.from(buffer, 4), bytes.slice(4)],
    [new Blob([buffer]), bytes],
    [shared, bytes],
  ] as const;
  for (const [content, stored] of held) {
    const head = await documents.put("put", content);
    assert.equal(head.content_type, "application/octet-stream");
    assert.deepEqual([...(await documents.read("put")).bytes], stored);
    const { offset } = await documents.append("appended", content);
    assert.deepEqual([...(await documents.read("appended", { start: offset })).bytes], stored);
  }
  assert.equal((await documents.put("put", new Blob(["{}"], { type: "text/css" }))).content_type, "text/css");
});

test("content that would be stored as something else is refused", async () => {
  const documents = newDocuments();
  class Lake {
    depth = 7;
  }
  const refused: [content: unknown, kind: string][] = [
    [new Map([["a", 1]]), "Map"],
    [new Set([1]), "Set"],
    [new ReadableStream(), "ReadableStream"],
    [Promise.resolve("text"), "Promise"],
    [new Lake(), "Lake"],
    [new Error("gone"), "Error"],
    [/x/, "RegExp"],
    [() => 1, "function"],
    [Symbol("x"), "symbol"],
    [undefined, "undefined"],
    [1n, "bigint"],
  ];
  for (const [content, kind] of refused) {
    for (const write of ["put", "append"] as const) {
      const writing = () => documents[write]("refused", content as string);
      assert.throws(writing, { name: "TypeError", message: new RegExp(`^a document cannot hold .*${kind}: pass `) });
    }
  }
  // @ts-expect-error JSON keeps nothing of a Map.
  assert.throws(() => documents.put("refused", new Map()));
  // @ts-expect-error JSON keeps nothing of a Set.
  assert.throws(() => documents.put("refused", new Set()));
  // @ts-expect-error JSON keeps nothing of a stream.
  assert.throws(() => documents.append("refused", new ReadableStream()));
  // @ts-expect-error JSON keeps nothing of a promise.
  assert.throws(() => documents.put("refused", Promise.resolve(1)));
  await assert.rejects(documents.read("refused"), NotFound);
  interface Place {
    name: string;
    at?: Date;
  }
  const place: Place = { name: "lake", at: new Date(0) };
  await documents.put("place", place);
  assert.equal(await textOf(documents, "place"), '{"name":"lake","at":"1970-01-01T00:00:00.000Z"}');
  await documents.put("url", new URL("http://lake/"));
  assert.equal(await textOf(documents, "url"), '"http://lake/"');
  await documents.put("list", Object.assign(Object.create(null) as object, { list: [1, null, true] }));
  assert.equal(await textOf(documents, "list"), '{"list":[1,null,true]}');
});

test("what is sent again is what was given, also if it has changed meanwhile", async () => {
  const line = await Line.to(service);
  const reprise = new Reprise(line.url, newApp());
  const { documents } = reprise;
  await documents.put("warm", "");
  line.lostAnswers = 1;
  const bytes = new Uint8Array([1, 2, 3]);
  const putting = documents.put("bytes", bytes);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  await putting;
  assert.deepEqual([...(await documents.read("bytes")).bytes], [1, 2, 3]);
  assert.throws(() => documents.put("detached", bytes), TypeError);

  const chat = await reprise.createChat("Picnic");
  line.lostAnswers = 1;
  const content = { place: "lake" };
  const appending = chat.append({ role: "user", content });
  content.place = "park";
  await appending;
  const [message] = await all(chat.messages());
  assert.deepEqual(message?.content, { place: "lake" });
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
  const listed = await all(documents.list("a", { content: true, pageSize: 2 }));
  assert.deepEqual(
    listed.map(({ path }) => path),
    ["a/1", "a/b/2", "a/b/c/3", "a/text"],
  );
  assert.deepEqual(listed[1]?.content, { path: "a/b/2" });
  assert.equal(listed[3]?.content_base64, btoa("text"));
  assert.deepEqual(await all(documents.namespaces("a", { pageSize: 1 })), ["a/b"]);
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
