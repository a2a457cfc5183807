import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { after, afterEach, before, beforeEach, describe, it, test } from "node:test";
import { validateUIMessages } from "ai";
import { type Chat, InvalidRequest, OutcomeUnknown, Reprise } from "reprise-chats";
import { type PersistedSession, SessionStore, type UIMessage } from "reprise-chats/session-store";
import { Line, type Service, newApp, sharedService } from "./service.js";

const directory = fs.mkdtempSync(join(tmpdir(), "reprise-session-store-"));
after(() => {
  fs.rmSync(directory, { recursive: true });
});

let service: Service;
before(async () => {
  service = await sharedService();
});

const newChat = (): Promise<Chat> => new Reprise(service.url, newApp()).createChat("Agent");

/** The tests of the document that describes the store: in memory alone, and with a chat. */
for (const place of ["in memory", "in Reprise"]) {
  describe(`SessionStore ${place}`, () => {
    let store: SessionStore;
    const testFile = join(directory, "test-session.json");

    beforeEach(async () => {
      const chat = place === "in memory" ? {} : { chat: await newChat() };
      store = new SessionStore({ sessionFile: testFile, ...chat });
    });

    afterEach(async () => {
      await store.saved();
      fs.rmSync(testFile, { force: true });
    });

    it("stores and retrieves messages", () => {
      const message: UIMessage = {
        id: "msg-1",
        role: "user",
        content: "Hello",
        parts: [{ type: "text", text: "Hello" }],
      };

      store.addMessage(message);
      const messages = store.getMessages();

      assert.strictEqual(messages.length, 1);
      assert.strictEqual(messages[0]?.content, "Hello");
    });

    it("updates message in place", () => {
      store.addMessage({ id: "msg-1", role: "assistant", content: "", parts: [] });
      store.updateMessage("msg-1", { content: "Updated" });

      const messages = store.getMessages();
      assert.strictEqual(messages[0]?.content, "Updated");
    });

    it("persists and loads session", () => {
      const session = {
        sessionId: "sess-123",
        cwd: "/workspace",
        createdAt: new Date().toISOString(),
      };

      store.saveSession(session);
      const loaded = store.loadSession();

      assert.strictEqual(loaded?.sessionId, "sess-123");
    });
  });
}

test("an answer that is streamed into a message is loaded by another process", async () => {
  const chat = await newChat();
  const store = new SessionStore({ chat });
  store.addMessage({ id: "u1", role: "user", content: "Where to?", parts: [] });
  store.addMessage({ id: "a1", role: "assistant", content: "", parts: [] });
  const message = store.getLastAssistantMessage();
  assert.ok(message);
  // As the document streams: the message is changed in place, and updated with itself.
  for (const delta of ["Let", " me", " see."]) {
    const textPart = message.parts.find((part) => part.type === "text");
    if (textPart) textPart.text += delta;
    else message.parts.push({ type: "text", text: delta });
    message.content += delta;
    store.updateMessage(message.id, message);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const call = { type: "dynamic-tool" as const, toolName: "places", toolCallId: "c1", input: { near: true } };
  message.parts.push({ ...call, state: "input-available" });
  store.updateMessage(message.id, message);
  await store.saved();
  assert.deepEqual((await SessionStore.open({ chat })).getMessages()[1]?.parts.at(-1), message.parts.at(-1));

  message.parts[1] = { ...call, state: "output-available", output: ["lake"] };
  for (const delta of ["To the", " lake."]) {
    message.parts[2] = { type: "text", text: (message.parts[2]?.type === "text" ? message.parts[2].text : "") + delta };
    message.content += delta;
    store.updateMessage(message.id, message);
    await store.saved();
  }
  const loaded = (await SessionStore.open({ chat })).getMessages();
  assert.deepEqual(loaded, [
    { id: "u1", role: "user", content: "Where to?", parts: [{ type: "text", text: "Where to?" }] },
    { ...message, content: "Let me see.To the lake." },
  ]);
  await validateUIMessages({ messages: loaded });
});

test("a message that is set back and an update of an unknown message are stored as they are in memory", async () => {
  const chat = await newChat();
  const store = new SessionStore({ chat });
  const say = (text: string) => ({ content: text, parts: [{ type: "text" as const, text }] });
  store.addMessage({ id: "u1", role: "user", ...say("A") });
  for (const text of ["B", "A"]) {
    await store.saved();
    store.updateMessage("u1", say(text));
  }
  store.updateMessage("u2", say("nobody says this"));
  await store.saved();
  const reopened = await SessionStore.open({ chat });
  assert.deepEqual(reopened.getMessages(), store.getMessages());
  reopened.getMessages().pop();
  assert.equal(reopened.getMessages().length, 1);
  assert.equal(reopened.getLastAssistantMessage(), undefined);
});

test("a session that is cleared is empty and goes on", async () => {
  const sessionFile = join(directory, "cleared.json");
  const chat = await newChat();
  const store = new SessionStore({ chat, sessionFile });
  store.saveSession({ sessionId: "s", cwd: "/", createdAt: "2024-01-15T10:30:00Z" });
  store.addMessage({ id: "u1", role: "user", content: "Hello", parts: [] });
  await store.saved();
  store.addMessage({ id: "u2", role: "user", content: "again", parts: [] });
  store.clearSession();
  store.addMessage({ id: "u3", role: "user", content: "New", parts: [] });
  await store.saved();
  assert.equal(store.loadSession(), null);
  const loaded = (await SessionStore.open({ chat })).getMessages();
  assert.deepEqual(
    loaded.map(({ id }) => id),
    ["u3"],
  );
});

test("the file has the format of the document, and one that is not valid is null", (context) => {
  const sessionFile = join(directory, "session.json");
  const store = new SessionStore({ sessionFile });
  const warn = context.mock.method(console, "warn", () => undefined);
  const session: PersistedSession = {
    sessionId: "session-abc123",
    cwd: "/workspace",
    createdAt: "2024-01-15T10:30:00Z",
  };
  assert.equal(store.loadSession(), null);
  assert.equal(warn.mock.callCount(), 0);
  store.saveSession(session);
  const written =
    '{\n  "sessionId": "session-abc123",\n  "cwd": "/workspace",\n  "createdAt": "2024-01-15T10:30:00Z"\n}';
  assert.equal(fs.readFileSync(sessionFile, "utf8"), written);
  assert.deepEqual(store.loadSession(), session);
  for (const invalid of ['{"cwd": "/"}', "{", "null"]) {
    fs.writeFileSync(sessionFile, invalid);
    assert.equal(store.loadSession(), null);
  }
  assert.equal(warn.mock.callCount(), 3);
  fs.writeFileSync(sessionFile, '{"sessionId": "s"}');
  assert.deepEqual(store.loadSession(), { sessionId: "s", cwd: "", createdAt: "" });
  const error = context.mock.method(console, "error", () => undefined);
  new SessionStore({ sessionFile: join(directory, "missing", "session.json") }).saveSession(session);
  assert.equal(error.mock.callCount(), 1);
  new SessionStore({ sessionFile: directory }).clearSession();
  assert.equal(error.mock.callCount(), 2);
  assert.deepEqual(
    fs.readdirSync(directory).filter((name) => name.startsWith("session")),
    ["session.json"],
  );
});

test("what could not be stored is told, kept and stored later", async () => {
  const line = await Line.to(service);
  const chat = await new Reprise(line.url, newApp(), { retryForMs: 300 }).createChat("Agent");
  const errors: unknown[] = [];
  const store = new SessionStore({ chat, onError: (error) => errors.push(error) });
  line.lostAnswers = 1_000;
  store.addMessage({ id: "u1", role: "user", content: "Hello", parts: [] });
  await assert.rejects(store.saved(), OutcomeUnknown);
  assert.equal(errors.length, 1);
  line.lostAnswers = 0;
  await store.saved();
  assert.equal((await SessionStore.open({ chat })).getMessages().length, 1);
});

test("a change that is refused is told once, and the others are stored", async () => {
  const chat = await newChat();
  const errors: unknown[] = [];
  const store = new SessionStore({ chat, onError: (error) => errors.push(error) });
  store.addMessage({ id: "u1", role: "user", content: "x".repeat(7_000_000), parts: [] });
  store.addMessage({ id: "u2", role: "user", content: "Hello", parts: [] });
  await assert.rejects(store.saved(), InvalidRequest);
  await store.saved();
  store.updateMessage("u2", { content: "Hello!", parts: [] });
  await store.saved();
  const loaded = (await SessionStore.open({ chat })).getMessages();
  assert.deepEqual(
    loaded.map(({ id, content }) => [id, content]),
    [["u2", "Hello!"]],
  );
  assert.equal(errors.length, 1);
});
