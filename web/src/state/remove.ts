// A session that is no more: nothing of it is left on this device.
import { draftName, drafts } from "../lib/drafts.ts";
import { memory } from "../lib/memory.ts";
import { sessions } from "./sessions.svelte.ts";
import { timelines } from "./timelines.ts";

export function removeSession(session: string): void {
  sessions.remove(session);
  timelines.remove(session);
  drafts.forget(draftName.prompt(session));
  drafts.forget(draftName.files(session));
  void memory.forget(session);
}
