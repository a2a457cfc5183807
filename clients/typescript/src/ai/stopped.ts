import type { Chat } from "../chat.js";
import { anyOf, sleep } from "../clock.js";

/** How often the streams are looked at, and how often if none is running: one that was just asked for may yet begin. */
const PAUSE_MS = 200;
const LOOKS_FOR_NONE = 5;
/** How long an end is waited for. An agent that produces nothing asks every 10 s whether it is to stop. */
const MAX_WAIT_MS = 12_000;

/** Stops the running answers of a chat, and waits until they have ended. Never throws: then they are not waited for. */
export async function stopAnswers(chat: Chat): Promise<void> {
  const limited = chat.with({ signal: anyOf(AbortSignal.timeout(MAX_WAIT_MS), chat.signal) });
  const asked = new Set<string>();
  try {
    for (let looks = 1; ; looks += 1) {
      const answers = (await limited.streams()).filter(
        ({ format, state }) => format === "ui_message" && state === "running",
      );
      for (const { stream_id } of answers) {
        if (!asked.has(stream_id)) await limited.cancelStream(stream_id);
        asked.add(stream_id);
      }
      if (answers.length === 0 && (asked.size > 0 || looks === LOOKS_FOR_NONE)) return;
      await sleep(PAUSE_MS, limited.signal);
    }
  } catch {
    // The next message tells what is wrong.
  }
}
