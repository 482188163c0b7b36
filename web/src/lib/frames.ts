// Many events, one drawing: what happened since the last animation frame is told at once.
export class Frames {
  private asked = false;

  constructor(
    private readonly draw: () => void,
    private readonly next: (run: () => void) => void = soon,
  ) {}

  ask(): void {
    if (this.asked) return;
    this.asked = true;
    this.next(() => {
      this.asked = false;
      this.draw();
    });
  }
}

/** A page in the background gets no frames; it is kept up to date all the same, without hurry. */
function soon(run: () => void): void {
  let frame = 0;
  const timer = setTimeout(() => (cancelAnimationFrame(frame), run()), 250);
  frame = requestAnimationFrame(() => (clearTimeout(timer), run()));
}
