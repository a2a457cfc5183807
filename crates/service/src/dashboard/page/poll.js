/** The pause after a failure where there is no other to go by, in milliseconds. */
const PAUSE = 2_500;

/**
 * Repeats a task, each time so many milliseconds after it has ended, until `signal` says stop; where
 * `every` is null, only when it is asked to.
 *
 * While nobody looks at the tab nothing is asked; once somebody does again it is done at once. After
 * a failure the time doubles, up to half a minute; where only another token would help, nothing is
 * asked again. Returns a function that does it now.
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
      wait = error.wantsToken ? null : Math.min((wait ?? every ?? PAUSE) * 2, 30_000);
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
