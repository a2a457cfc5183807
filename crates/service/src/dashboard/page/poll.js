/**
 * Repeats a task, each time so many milliseconds after it has ended, until `signal` says stop.
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
      wait = error.wantsToken ? null : Math.min((wait ?? every) * 2, 30_000);
    }
    running = false;
    if (signal.aborted || wait === null) return;
    timer = setTimeout(run, again ? 0 : wait);
    again = false;
  }

  document.addEventListener("visibilitychange", run, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  run();
  return run;
}
