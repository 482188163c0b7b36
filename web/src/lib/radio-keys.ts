// Keys of a group of radios: arrows move among them, Tab enters and leaves it once.
import type { Attachment } from "svelte/attachments";

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/**
 * For whatever holds elements of the role `radio`. What is reached is chosen,
 * unless choosing would end the choice (`look`).
 */
export const radioKeys =
  (look = false): Attachment<HTMLElement> =>
  (group) => {
    const radios = () => [...group.querySelectorAll<HTMLElement>("[role=radio]:not(:disabled)")];
    const isOn = (radio: HTMLElement) => radio.getAttribute("aria-checked") === "true";
    const reachable = (all: HTMLElement[]) =>
      all.find((radio) => radio === document.activeElement) ?? all.find(isOn) ?? all[0];
    const rove = () => {
      const all = radios();
      const one = reachable(all);
      for (const radio of all) radio.tabIndex = radio === one ? 0 : -1;
    };
    const onkeydown = (event: KeyboardEvent) => {
      const all = radios();
      const at = all.indexOf(event.target as HTMLElement);
      const [by, end] = [STEPS[event.key], { Home: 0, End: all.length - 1 }[event.key]];
      if (at < 0 || (by === undefined && end === undefined)) return;
      event.preventDefault();
      event.stopPropagation();
      const next = all[end ?? (at + (by ?? 0) + all.length) % all.length];
      next?.focus();
      if (!look) next?.click();
      rove();
    };
    const watch = new MutationObserver(rove);
    watch.observe(group, { childList: true, subtree: true, attributeFilter: ["aria-checked", "disabled"] });
    group.addEventListener("keydown", onkeydown);
    // Left, it is entered again at what is chosen.
    const onfocusout = () => setTimeout(rove);
    group.addEventListener("focusout", onfocusout);
    rove();
    return () => {
      watch.disconnect();
      group.removeEventListener("keydown", onkeydown);
      group.removeEventListener("focusout", onfocusout);
    };
  };
