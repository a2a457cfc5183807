/**
 * Chats of the AI SDK (`ai` 7) in Reprise: its messages, and a transport for `useChat`.
 *
 * @module
 */
export { type AnswerOptions, streamAnswer } from "./answers.js";
export { type SaveOptions, loadMessages, saveMessages, watchMessages } from "./messages.js";
export { RepriseChatTransport, type RepriseChatTransportOptions } from "./transport.js";
