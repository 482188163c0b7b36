// Words that were begun and not sent, by session: they outlast a look elsewhere.
const key = (session: string) => `longshore.draft.${session}`;

export const draftOf = (session: string): string => sessionStorage.getItem(key(session)) ?? "";

export function keepDraft(session: string, text: string): void {
  if (text) sessionStorage.setItem(key(session), text);
  else sessionStorage.removeItem(key(session));
}
