/** Waits; ends early, with the reason of the signal, if that is aborted. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(reasonOf(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** Returns how long to wait after this many failures: twice as long after each, with some chance. */
export function backoff(failures: number, { firstMs, mostMs }: { firstMs: number; mostMs: number }): number {
  const longest = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 20));
  return longest / 2 + (Math.random() * longest) / 2;
}

/** Returns why a signal was aborted, as an error. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new DOMException(String(reason), "AbortError");
}

/** Returns a signal that is aborted with the first of these. */
export function anyOf(...signals: (AbortSignal | undefined)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== undefined));
}

/** Waits for something; returns `undefined` if the signal is aborted first. */
export async function unlessAborted<T>(awaited: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let abort: () => void = () => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    abort = () => {
      resolve(undefined);
    };
  });
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([aborted, awaited]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
