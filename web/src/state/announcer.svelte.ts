// Words for whoever does not see the screen: said once, in the status line of the shell.
class Announcer {
  words = $state("");
  private timer: ReturnType<typeof setTimeout> | undefined;

  say(words: string): void {
    clearTimeout(this.timer);
    this.words = words;
    this.timer = setTimeout(() => (this.words = ""), 10_000);
  }
}

export const announcer = new Announcer();
