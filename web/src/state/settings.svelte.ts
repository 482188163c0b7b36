// What a person likes, on this device.
export type Theme = "system" | "light" | "dark";
type Kept = { theme: Theme; enterSends: boolean; lastAgent?: string; lastCwd?: string };

const KEY = "longshore.settings";

function read(): Kept {
  // On a phone, Enter is how a new line is made.
  const usual: Kept = { theme: "system", enterSends: !matchMedia("(pointer: coarse)").matches };
  try {
    return { ...usual, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>) };
  } catch {
    return usual;
  }
}

class Settings {
  kept = $state<Kept>(read());

  set(more: Partial<Kept>): void {
    Object.assign(this.kept, more);
    try {
      localStorage.setItem(KEY, JSON.stringify(this.kept));
    } catch {
      // Then it lasts as long as the page.
    }
    this.apply();
  }

  apply(): void {
    document.documentElement.dataset["theme"] = this.kept.theme;
  }
}

export const settings = new Settings();
