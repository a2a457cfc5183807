/** A model that needs no network: it answers with a number and what the person said last. */
import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

type StreamPart =
  Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer Part> ? Part : never;

let answers = 0;

/** What an answer waits for before each of its pieces; a test that holds answers up replaces it. */
export const pace = { next: (): Promise<void> => Promise.resolve() };

export const model = new MockLanguageModelV4({
  doStream: ({ prompt }) => {
    answers += 1;
    const said = JSON.stringify(prompt.findLast(({ role }) => role === "user")?.content);
    const text = /"text":"([^"]*)"/.exec(said)?.[1] ?? "";
    const deltas = [`answer ${answers}`, " to ", text];
    const stream = simulateReadableStream<StreamPart>({
      chunkDelayInMs: text === "slowly" ? 200 : null,
      chunks: [
        { type: "stream-start" as const, warnings: [] },
        { type: "text-start" as const, id: "1" },
        ...deltas.map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
        { type: "text-end" as const, id: "1" },
        {
          type: "finish" as const,
          finishReason: { unified: "stop" as const, raw: undefined },
          usage: {
            inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
            outputTokens: { total: 10, text: 10, reasoning: undefined },
          },
        },
      ],
    });
    const paced = new TransformStream<StreamPart, StreamPart>({
      async transform(part, controller) {
        if (part.type === "text-delta") await pace.next();
        controller.enqueue(part);
      },
    });
    return Promise.resolve({ stream: stream.pipeThrough(paced) });
  },
});
