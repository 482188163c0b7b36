// What was unfolded stays unfolded when it leaves the screen and comes back: the list draws only what is seen.
import { getContext, setContext } from "svelte";
import { SvelteMap } from "svelte/reactivity";

const MOST = 600;
const PLACE = Symbol("place");
const turned = new SvelteMap<string, unknown>();

/** Names the thing that everything below belongs to. */
export function placeOf(name: string): void {
  setContext(PLACE, name);
}

/** A value of the component that outlasts it, where it stands in a named place. */
export function kept<T>(what: string, usual: () => T): { value: T } {
  const place = getContext<string | undefined>(PLACE);
  if (place === undefined) {
    let value = $state<T | undefined>();
    return {
      get value() {
        return value ?? usual();
      },
      set value(next) {
        value = next;
      },
    };
  }
  const name = `${place} ${what}`;
  return {
    get value() {
      return (turned.get(name) as T | undefined) ?? usual();
    },
    set value(next) {
      turned.delete(name);
      turned.set(name, next);
      for (const old of turned.keys()) {
        if (turned.size <= MOST) break;
        turned.delete(old);
      }
    },
  };
}
