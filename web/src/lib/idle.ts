// What can wait until the page has nothing better to do. It does not wait for ever.
export function whenIdle(run: () => void): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(run, { timeout: 1_500 });
  else setTimeout(run, 200);
}
