// What a person likes, on this device.
export type Theme = "system" | "light" | "dark";
type Preferences = { theme: Theme; enterSends: boolean; lastAgent?: string; lastCwd?: string };

const KEY = "longshore.settings";

function read(): Preferences {
  // On a phone, Enter is how a new line is made.
  const usual: Preferences = { theme: "system", enterSends: !matchMedia("(pointer: coarse)").matches };
  try {
    return { ...usual, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Preferences>) };
  } catch {
    return usual;
  }
}

class Settings {
  values = $state<Preferences>(read());

  set(more: Partial<Preferences>): void {
    Object.assign(this.values, more);
    try {
      localStorage.setItem(KEY, JSON.stringify(this.values));
    } catch {
      // Then it lasts as long as the page.
    }
    this.apply();
  }

  apply(): void {
    document.documentElement.dataset["theme"] = this.values.theme;
  }
}

export const settings = new Settings();
