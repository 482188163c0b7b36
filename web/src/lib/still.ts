// What decides is deaf until it has stood still for a moment. When something above it goes away, the next button slides
// under the finger that has just tapped, and a second tap was never meant for it.
import type { Attachment } from "svelte/attachments";

/** Longer than it takes to tap twice, shorter than it takes to read what is decided on. */
export const MOMENT = 700;
/** So many pixels are no other place. */
const SLACK = 8;
const LOOK_EVERY = 100;

/** Where a button is: on the screen, how far its list is scrolled, and how far that can be scrolled. */
export type Place = { x: number; y: number; scrolled: number; room: number };

/** Whether it was moved, other than by a person who scrolls. */
export function moved(was: Place, now: Place): boolean {
  const far = (a: number, b: number) => Math.abs(a - b) > SLACK;
  if (far(was.x, now.x) || far(was.y + was.scrolled, now.y + now.scrolled)) return true;
  // A list that became shorter or longer scrolls by itself.
  return far(was.y, now.y) && far(was.room, now.room);
}

/** Remembers since when something has been in its place. */
export class Stillness {
  constructor(
    private place: Place,
    private since: number,
  ) {}

  lasts(place: Place, now: number): boolean {
    if (moved(this.place, place)) this.since = now;
    // Small steps add up, and what is scrolled by hand is compared with where that led.
    if (moved(this.place, place) || Math.abs(this.place.y - place.y) > SLACK || this.place.room !== place.room)
      this.place = place;
    return now - this.since >= MOMENT;
  }
}

const watched = new Map<Element, () => boolean>();
let looking: ReturnType<typeof setInterval> | undefined;

function look() {
  for (const [button, isStill] of watched) {
    if (isStill()) button.removeAttribute("aria-disabled");
    else button.setAttribute("aria-disabled", "true");
  }
}

/** The list that a button is scrolled with. */
function scrollerOf(button: Element): Element | undefined {
  for (let around = button.parentElement; around; around = around.parentElement)
    if (/auto|scroll/.test(getComputedStyle(around).overflowY)) return around;
  return undefined;
}

/** For a button that decides. */
export const deafUntilStill: Attachment<HTMLElement> = (button) => {
  const scroller = scrollerOf(button);
  const place = (): Place => {
    const { x, y } = button.getBoundingClientRect();
    return {
      x,
      y,
      scrolled: scroller?.scrollTop ?? 0,
      room: scroller ? scroller.scrollHeight - scroller.clientHeight : 0,
    };
  };
  const stillness = new Stillness(place(), performance.now());
  const isStill = () => stillness.lasts(place(), performance.now());
  const onclick = (event: Event) => {
    if (isStill()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  button.addEventListener("click", onclick, { capture: true });
  button.setAttribute("aria-disabled", "true");
  watched.set(button, isStill);
  looking ??= setInterval(look, LOOK_EVERY);
  return () => {
    button.removeEventListener("click", onclick, { capture: true });
    watched.delete(button);
    if (watched.size) return;
    clearInterval(looking);
    looking = undefined;
  };
};

/** Whether all that decides in a card has stood still: keys are no quicker than fingers. */
export const standsStill = (card: Element): boolean =>
  [...watched].every(([button, isStill]) => !card.contains(button) || isStill());
