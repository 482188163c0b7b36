// A clock that is good enough for "4 min ago".
class Time {
  now = $state(Date.now());

  /** Whoever comes back to the page sees it right at once. */
  tick(): void {
    this.now = Date.now();
  }
}

export const time = new Time();
