import type { Problem } from "./openapi.js";

/** The service refused a request, or could not be reached. */
export class RepriseError extends Error {
  override readonly name: string = "RepriseError";
  /** The status of the response; `undefined` if there was none. */
  readonly status: number | undefined;
  /** The problem document (RFC 9457); `undefined` if there was none. */
  readonly problem: Problem | undefined;

  constructor(detail: string, options: { status?: number; problem?: Problem | undefined; cause?: unknown } = {}) {
    super(detail, "cause" in options ? { cause: options.cause } : {});
    this.status = options.status;
    this.problem = options.problem;
  }

  /** The stable name of the problem, such as `chat-not-found`; `undefined` if the service was not reached. */
  get code(): string | undefined {
    return this.problem?.code;
  }
}

/** The request breaks a rule, and changed nothing. `problem.errors` names the fields. */
export class InvalidRequest extends RepriseError {
  override readonly name: string = "InvalidRequest";
}

/** A value is none that JSON has, such as infinity or half of a character, and would be stored as another one. Nothing was sent. */
export class InvalidValue extends InvalidRequest {
  override readonly name: string = "InvalidValue";
  /** Where the value is: its JSON pointer in the body of the request, or the name of the parameter. */
  readonly pointer: string;

  constructor(pointer: string, detail: string) {
    super(`${pointer || "the body"}: ${detail}`);
    this.pointer = pointer;
  }
}

/** The token is missing or not valid, or does not permit this. */
export class Denied extends RepriseError {
  override readonly name: string = "Denied";
}

/** There is no such record, or the caller may not see it. */
export class NotFound extends RepriseError {
  override readonly name: string = "NotFound";
}

/** The request does not fit to what is stored, such as another message under the same `event_id`. */
export class Conflict extends RepriseError {
  override readonly name: string = "Conflict";
}

/** Another worker holds the lease; `problem.holder` says which. */
export class Busy extends Conflict {
  override readonly name: string = "Busy";
}

/** The lease of the caller is over: another worker may have continued the chat. Stop working on it. */
export class Fenced extends Conflict {
  override readonly name: string = "Fenced";
}

/** The record was changed since it was read. */
export class PreconditionFailed extends RepriseError {
  override readonly name: string = "PreconditionFailed";
}

/** The service could not answer for as long as the client tried. Nothing was changed. */
export class Unavailable extends RepriseError {
  override readonly name: string = "Unavailable";
}

/**
 * The service did not confirm a write for as long as the client tried. It may be stored.
 *
 * Repeat the call with the same ids to find out: what is stored already is not stored again.
 */
export class OutcomeUnknown extends RepriseError {
  override readonly name: string = "OutcomeUnknown";
}

/** Returns whether a record is refused for good, and not the caller or the chat. @internal */
export function isRefusal(error: unknown): error is RepriseError {
  return error instanceof InvalidRequest || (error instanceof Conflict && error.code === "event-conflict");
}

const BY_STATUS: Readonly<Record<number, typeof RepriseError>> = {
  400: InvalidRequest,
  401: Denied,
  403: Denied,
  404: NotFound,
  409: Conflict,
  412: PreconditionFailed,
  413: InvalidRequest,
  422: InvalidRequest,
  503: Unavailable,
  504: OutcomeUnknown,
};
const BY_CODE: Readonly<Record<string, typeof RepriseError>> = { busy: Busy, fenced: Fenced };

/** Returns the error for a response. */
export function fromProblem(status: number, problem: Problem | undefined): RepriseError {
  const Kind = BY_CODE[problem?.code ?? ""] ?? BY_STATUS[status] ?? RepriseError;
  const said = problem === undefined ? `the service answered with ${status}` : `${problem.code}: ${problem.detail}`;
  const fields = (problem?.errors ?? []).map((it) => `\n  ${it.pointer ?? it.parameter ?? ""}: ${it.detail}`);
  return new Kind(said + fields.join(""), { status, problem });
}
