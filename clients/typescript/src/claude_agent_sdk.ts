/**
 * Sessions of the Claude Agent SDK (`@anthropic-ai/claude-agent-sdk` 0.3) in Reprise.
 *
 * @module
 */
import {
  type SessionKey,
  type SessionStore,
  type SessionStoreEntry,
  type SessionSummaryEntry,
  foldSessionSummary,
} from "@anthropic-ai/claude-agent-sdk";
import { batches, entriesOf, lines, uuidsOf } from "./claude_agent_sdk/lines.js";
import { nameOf, pathOf } from "./claude_agent_sdk/names.js";
import { Transcript } from "./claude_agent_sdk/transcript.js";
import type { Reprise } from "./client.js";
import type { Documents, PutOptions } from "./documents.js";
import type * as models from "./openapi.js";
import { NotFound, PreconditionFailed } from "./errors.js";

export interface RepriseSessionStoreOptions {
  /** The namespace of the documents (`claude-sessions`). */
  readonly prefix?: string;
}

/** What a summary says, and up to which byte of the transcript. */
interface Summary {
  readonly through: number;
  readonly data: Record<string, unknown>;
}

/** Of how many transcripts the ids of the entries are remembered. */
const MAX_REMEMBERED = 256;
const LINES = "application/jsonl";

/**
 * Keeps each transcript as one document of JSON lines, to which entries are appended. The store of the Python client reads and
 * writes the same transcripts.
 *
 * An entry whose `uuid` is stored already is not stored again. Several processes may append to one session: their batches stay
 * whole, and none is lost. The order is the one in which the service stored them.
 *
 * What it does not do: one entry holds at most 8 MiB and a transcript at most 1 GiB. A batch of more than 8 MiB is stored in
 * several writes, of which the first may be there without the others if the process dies. The first append to a session in a
 * process reads its transcript, to know the ids. A summary is written after the entries; if that fails or the process dies in
 * between, the next append catches up, and until then the SDK sees by its time that it is old. `projectKey` and `sessionId` have at most 256 bytes
 * each. Summaries are apart from those of the Python SDK, which have other fields.
 */
export class RepriseSessionStore implements SessionStore {
  readonly #documents: Documents;
  readonly #prefix: string;
  /** The transcripts that were used last, the newest at the end. */
  readonly #transcripts = new Map<string, Transcript>();

  constructor(reprise: Reprise, { prefix = "claude-sessions" }: RepriseSessionStoreOptions = {}) {
    this.#documents = reprise.documents;
    this.#prefix = prefix;
  }

  /** Appends the entries that are not stored yet, and brings the summary of the session up to date. */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const path = this.#path(key);
    const transcript = this.#transcript(path);
    await transcript.exclusively(async () => {
      let end = 0;
      for (const batch of batches(entries)) end = await this.#append(path, transcript, batch);
      if (key.subpath !== undefined) return;
      await this.#summarise(key, path, end).catch((error: unknown) => {
        // The entries are stored: the SDK would append them again, also those without a uuid.
        console.warn(`the summary of the session ${key.sessionId} is old until the next append:`, error);
      });
    });
  }

  /** Returns the entries of a transcript; null if there are none. */
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const found = await this.#documents.read(this.#path(key)).catch(undefinedIfMissing);
    return found === undefined ? null : entriesOf(found.bytes);
  }

  /** Lists the sessions of a project, with the time of their last entry. */
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const sessions: { sessionId: string; mtime: number }[] = [];
    for await (const document of this.#documents.list(this.#namespace(projectKey, "transcripts"))) {
      sessions.push({ sessionId: lastName(document), mtime: Date.parse(document.last_updated_at) });
    }
    return sessions;
  }

  /** Lists the summaries of the sessions of a project. */
  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const summaries: SessionSummaryEntry[] = [];
    const namespace = this.#namespace(projectKey, "summaries-js");
    for await (const document of this.#documents.list(namespace, { content: true })) {
      // A large one is listed without its content.
      const { data } = (document.content ?? (await this.#readJson(document.path))?.json) as Summary;
      summaries.push({ sessionId: lastName(document), mtime: Date.parse(document.last_updated_at), data });
    }
    return summaries;
  }

  /** Deletes a transcript; that of a session with its summary and all its subpaths. */
  async delete(key: SessionKey): Promise<void> {
    const path = this.#path(key);
    if (key.subpath === undefined) {
      await this.#documents.deleteAll(this.#namespace(key.projectKey, "subpaths", key.sessionId));
      for (const summaries of ["summaries", "summaries-js"]) {
        await this.#documents.delete(this.#namespace(key.projectKey, summaries, key.sessionId));
      }
    }
    await this.#documents.delete(path);
    this.#transcripts.delete(path);
  }

  /** Lists the subpaths of a session. */
  async listSubkeys({ projectKey, sessionId }: { projectKey: string; sessionId: string }): Promise<string[]> {
    const namespace = this.#namespace(projectKey, "subpaths", sessionId);
    const subkeys: string[] = [];
    for await (const { path } of this.#documents.list(namespace)) {
      const segments = path.slice(namespace.length + 1).split("/");
      subkeys.push(segments.map(nameOf).join("/"));
    }
    return subkeys;
  }

  /** Appends what is not stored yet, and returns where the document ended then. */
  async #append(path: string, transcript: Transcript, batch: readonly SessionStoreEntry[]): Promise<number> {
    if (transcript.mayHave(uuidsOf(batch))) await this.#refresh(path, transcript);
    for (;;) {
      const added = transcript.withoutStored(batch);
      if (added.length === 0) return transcript.end;
      const content = lines(added);
      // Entries without ids may be equal to those of another writer, which an append with an offset takes for a retry.
      const offset = uuidsOf(added).size > 0 ? transcript.end : undefined;
      try {
        const stored = await this.#documents.append(path, content, { offset, contentType: LINES });
        transcript.extend(stored.offset, content);
        return stored.offset + content.length;
      } catch (error) {
        if (!(error instanceof PreconditionFailed)) throw error;
        await this.#refresh(path, transcript);
      }
    }
  }

  /** Reads what others have appended; everything, unless the document is the one that was read before. */
  async #refresh(path: string, transcript: Transcript): Promise<void> {
    const read = (start: number) => this.#documents.read(path, { start }).catch(undefinedIfMissing);
    let found = await read(transcript.lastLineStart);
    if (found !== undefined && !transcript.continues(found.bytes)) {
      transcript.clear();
      found = await read(0);
    }
    if (found === undefined) transcript.clear();
    else transcript.read(found.start, found.bytes);
  }

  /** Folds the entries up to `end` into the summary, each once and in the order in which they are stored. */
  async #summarise(key: SessionKey, path: string, end: number): Promise<void> {
    const summaryPath = this.#namespace(key.projectKey, "summaries-js", key.sessionId);
    for (;;) {
      const stored = await this.#readJson(summaryPath);
      const { through: start, data } = (stored?.json ?? { through: 0 }) as Partial<Summary> & { through: number };
      if (start >= end) return;
      const { bytes } = await this.#documents.read(path, { start, end });
      const previous = data === undefined ? undefined : { sessionId: key.sessionId, mtime: 0, data };
      const folded = foldSessionSummary(previous, key, entriesOf(bytes));
      const condition: PutOptions = stored === undefined ? { onlyCreate: true } : { ifMatch: stored.entityTag };
      try {
        // The escapes of JSON keep halves of characters, which the SDK may have cut.
        const json = new TextEncoder().encode(JSON.stringify({ through: end, data: folded.data }));
        await this.#documents.put(summaryPath, json, { ...condition, contentType: "application/json" });
        return;
      } catch (error) {
        if (!(error instanceof PreconditionFailed)) throw error;
      }
    }
  }

  async #readJson(path: string): Promise<{ json: unknown; entityTag: string } | undefined> {
    const found = await this.#documents.read(path).catch(undefinedIfMissing);
    if (found === undefined) return undefined;
    return { json: JSON.parse(new TextDecoder().decode(found.bytes)), entityTag: found.entityTag };
  }

  #path({ projectKey, sessionId, subpath }: SessionKey): string {
    if (subpath === undefined) return this.#namespace(projectKey, "transcripts", sessionId);
    return this.#namespace(projectKey, "subpaths", sessionId, ...subpath.split("/"));
  }

  #namespace(projectKey: string, ...names: string[]): string {
    return `${this.#prefix}/${pathOf(projectKey, ...names)}`;
  }

  #transcript(path: string): Transcript {
    const transcript = this.#transcripts.get(path) ?? new Transcript();
    this.#transcripts.delete(path);
    this.#transcripts.set(path, transcript);
    for (const oldest of this.#transcripts.keys()) {
      if (this.#transcripts.size <= MAX_REMEMBERED) break;
      this.#transcripts.delete(oldest);
    }
    return transcript;
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!(error instanceof NotFound)) throw error;
  return undefined;
}

/** Returns the name that the last segment of a path stands for. */
function lastName({ path }: models.ListedDocument): string {
  return nameOf(path.slice(path.lastIndexOf("/") + 1));
}
