import type { Chat } from "./chat.js";
import type * as models from "./openapi.js";
import { newId } from "./request.js";
import { wholeText } from "./whole_characters.js";

/** What a turn may have beside its messages and steps. */
export type TurnFields = Omit<models.NewTurn, "outcome" | "messages" | "steps">;

/** What a step may have at its beginning. */
export type StepFields = Omit<Partial<models.NewStep>, "type" | "status" | "output" | "error">;

/**
 * A turn that is recorded while it runs, and written once, at its end.
 *
 * A turn has a message or a step that was not completed. One that throws before it has either gets one step of the type `llm` with
 * its error, from which the turn can be resumed. One that ends normally without a message is not written: the service does not keep
 * completed steps.
 */
export class Turn {
  readonly requestId: string;
  /** What the service stored; `undefined` before the end, and if nothing was written. */
  stored: models.AppendedTurn | undefined;
  readonly #chat: Chat;
  readonly #fields: TurnFields;
  readonly #messages: models.TurnMessage[] = [];
  readonly #steps: Step[] = [];

  /** @internal */
  constructor(chat: Chat, fields: TurnFields) {
    this.requestId = fields.request_id ?? newId();
    this.#chat = chat;
    this.#fields = fields;
  }

  /** Adds a message to the turn. */
  say(role: string, content: unknown, fields: Omit<models.TurnMessage, "role" | "content"> = {}): void {
    this.#messages.push({ role, content, ...fields });
  }

  /**
   * Begins a step. One that is still open when the turn breaks off is a point from which it is resumed.
   *
   * Steps belong to one call, unless they name its `stack_id` and the `stack_parent_id` of the call that made it.
   */
  beginStep(type: models.StepType, fields: StepFields = {}): Step {
    const step = new Step({ stack_id: this.requestId, ...fields, type, status: "running" }, this.#chat.signal);
    this.#steps.push(step);
    return step;
  }

  /** Runs a function as a step, which ends as the function ends. */
  async step<T>(type: models.StepType, fields: StepFields, run: (step: Step) => Promise<T>): Promise<T> {
    const step = this.beginStep(type, fields);
    try {
      const result = await run(step);
      if (step.status === "running") step.finish();
      return result;
    } catch (error) {
      step.fail(error);
      throw error;
    }
  }

  /** @internal */
  async during<T>(run: (turn: Turn) => Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await run(this);
    } catch (error) {
      const hasNothing = this.#messages.length === 0 && this.#steps.every((step) => step.status === "completed");
      if (hasNothing) this.beginStep("llm").fail(error);
      await this.#write(outcomeOf(error, this.#chat.signal)).catch((unwritten: unknown) => {
        throw new AggregateError([error, unwritten], "the turn broke off, and it could not be written");
      });
      throw error;
    }
    if (this.#messages.length > 0) await this.#write("completed");
    return result;
  }

  async #write(outcome: models.TurnOutcome): Promise<void> {
    const steps = this.#steps.map((step) => step.fields);
    const turn = { ...this.#fields, request_id: this.requestId, outcome, messages: this.#messages, steps };
    // What ended the turn does not end its record.
    this.stored = await this.#chat.with({ signal: undefined }).appendTurn(turn);
  }
}

/** A step of a turn, while it runs. */
export class Step {
  /** @internal */
  fields: models.NewStep;
  readonly #signal: AbortSignal | undefined;

  /** @internal */
  constructor(fields: models.NewStep, signal: AbortSignal | undefined) {
    this.fields = fields;
    this.#signal = signal;
  }

  get status(): models.StepStatus {
    return this.fields.status;
  }

  /** Ends the step. */
  finish(output?: Record<string, unknown>): void {
    this.fields = { ...this.fields, status: "completed", ...(output === undefined ? {} : { output }) };
  }

  /** Ends the step with an error. */
  fail(error: unknown): void {
    this.fields = { ...this.fields, status: outcomeOf(error, this.#signal), error: described(error) };
  }
}

/** Returns how a turn or a step ended that threw this. */
function outcomeOf(error: unknown, signal: AbortSignal | undefined): "failed" | "interrupted" {
  const isReason = signal?.aborted === true && error === signal.reason;
  return isReason || (error instanceof Error && error.name === "AbortError") ? "interrupted" : "failed";
}

/** Returns one line about an error. */
function described(error: unknown): string {
  return wholeText(String(error).split("\n", 1).join("").slice(0, MAX_ERROR));
}

const MAX_ERROR = 1_000;
