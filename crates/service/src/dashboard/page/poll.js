/** The pause after the first failure of a task without an interval, in milliseconds. */
const RETRY_PAUSE = 2_500;

/**
 * Repeats a task until `signal` aborts, each time `every` milliseconds after it has ended. If `every` is null,
 * the task runs only on demand.
 *
 * While the tab is hidden the task does not run; when the tab is shown again it runs at once. After each
 * failure the pause doubles, up to half a minute. If only another token would help, the task is not repeated.
 * Returns a function that runs the task now.
 */
export function poll(task, { every, signal, failed }) {
  let timer;
  let running = false;
  let again = false;
  let wait = every;

  async function run() {
    if (signal.aborted || document.hidden) return;
    if (running) {
      again = true;
      return;
    }
    clearTimeout(timer);
    running = true;
    try {
      await task();
      wait = every;
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      wait = error.wantsToken ? null : Math.min((wait ?? every ?? RETRY_PAUSE) * 2, 30_000);
      again &&= !error.wantsToken;
    }
    running = false;
    if (signal.aborted) return;
    if (again) timer = setTimeout(run);
    else if (wait !== null) timer = setTimeout(run, wait);
    again = false;
  }

  document.addEventListener("visibilitychange", run, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  run();
  return run;
}
