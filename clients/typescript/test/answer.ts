import {
  type UIMessage,
  convertToModelMessages,
  createUIMessageStreamResponse,
  streamText,
  toUIMessageStream,
} from "ai";
import { model } from "./model.js";

/** An endpoint of an application that answers and stores nothing. */
export async function answer(request: Request): Promise<Response> {
  const { messages } = (await request.json()) as { messages: UIMessage[] };
  const { stream } = streamText({
    model,
    messages: await convertToModelMessages(messages),
    abortSignal: request.signal,
  });
  return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream, originalMessages: messages }) });
}
