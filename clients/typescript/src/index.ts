/**
 * The client of Reprise, which keeps the conversations of multi-agent workflows and brings them back.
 *
 * ```ts
 * const reprise = new Reprise("http://127.0.0.1:8080", "acme_corp");
 * const chat = await reprise.createChat("Picnic");
 * await chat.append({ role: "user", name: "user", content: "Hello" });
 * console.log((await chat.history("openai")).messages);
 * ```
 *
 * @module
 */
export { Chat, type ChatOptions, type QuestionFields } from "./chat.js";
export { type ListQueryOf, type QueryOf, Reprise } from "./client.js";
export {
  type DocumentContent,
  type DocumentFields,
  Documents,
  type PutOptions,
  type WriteOptions,
} from "./documents.js";
export {
  Busy,
  Conflict,
  Denied,
  Fenced,
  InvalidRequest,
  InvalidValue,
  NotFound,
  OutcomeUnknown,
  PreconditionFailed,
  RepriseError,
  Unavailable,
} from "./errors.js";
export { type ChatEvent, type DocumentEvent, Events } from "./events.js";
export { Lease, type LeaseOptions } from "./lease.js";
export type { ListOptions } from "./pages.js";
export type * as models from "./openapi.js";
export { type StreamEnd, type StreamFields, StreamWriter } from "./streams.js";
export type { TransportOptions } from "./transport.js";
export { Step, type StepFields, Turn, type TurnFields } from "./turn.js";
