/** The page of the browser test: the example of the README, and the client alone. */
import { createRoot } from "react-dom/client";
import { Reprise } from "reprise-chats";
import { load } from "./readme/picnic.js";

declare global {
  interface Window {
    /** Uses the client in the page; returns what it saw. */
    tour(): Promise<unknown>;
  }
}

const settings = new URLSearchParams(location.hash.slice(1));
const given = (name: string) => settings.get(name) ?? "";
const reprise = new Reprise(given("service"), given("app"), { token: () => given("token"), retryForMs: 20_000 });

window.tour = async () => {
  const chat = await reprise.createChat("Picnic", { title: "From a page" });
  const heard: unknown[] = [];
  const listening = (async () => {
    for await (const event of chat.events()) {
      if (event.name === "message") heard.push(event.data.content);
      if (heard.length === 3) break;
    }
  })();
  await chat.append({ role: "user", name: "alice", content: "Hello" });
  await chat.withLease("page", async (held) => {
    await held.turn(async (turn) => {
      turn.say("assistant", "Where to?", { name: "planner" });
      return Promise.resolve();
    });
  });
  await chat.append({ role: "user", name: "alice", content: "To the lake" });
  await listening;
  await reprise.documents.append("notes/lake", "Bring ");
  await reprise.documents.append("notes/lake", "towels.");
  const note = new TextDecoder().decode((await reprise.documents.read("notes/lake", { start: 6 })).bytes);
  const title = (await chat.session()).title;
  const refused = await reprise
    .chat("no_such_chat")
    .session()
    .catch((error: unknown) => (error as Error).name);
  const moved = await new Reprise(`${location.origin}/moved`, given("app"))
    .chat(chat.chatId)
    .append({ role: "user", name: "alice", content: "Lost" })
    .catch((error: unknown) => /another address.*final address/.test((error as Error).message));
  return { heard, title, note, refused, moved };
};

const root = document.querySelector("body > div");
const storedBy = given("storedBy") === "endpoint" ? "endpoint" : "page";
if (root !== null) createRoot(root).render(await load({ reprise, id: given("chat"), storedBy }));
