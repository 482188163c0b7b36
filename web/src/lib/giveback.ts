// What was written and is not sent after all goes back to where it was written: into the composer of its session, or
// into the form of a new one. Words that were begun there meanwhile stay, above.
import { partsOf } from "./attach.ts";
import type { Attachment, Mode } from "./contract.ts";
import { draftName, type Drafts } from "./drafts.ts";
import type { Wish } from "./outbox.ts";

/** The form of a new session as it was left. */
export type OpeningForm = {
  prompt: string;
  agent?: string;
  cwd?: string;
  mode?: Mode;
  model?: string;
  effort?: string;
};

const joined = (begun: string | undefined, more: string): string => [begun, more].filter(Boolean).join("\n\n");

export function giveBack(drafts: Drafts, wish: Wish): void {
  const addFiles = (name: string, files: Attachment[]) => {
    if (files.length) drafts.keepInMemory(name, [...(drafts.of<Attachment[]>(name) ?? []), ...files]);
  };
  switch (wish.method) {
    case "prompt": {
      const { text, attachments } = partsOf(wish.params.content);
      const name = draftName.prompt(wish.session);
      drafts.keep(name, joined(drafts.of<string>(name), text));
      return addFiles(draftName.files(wish.session), attachments);
    }
    case "open": {
      const { prompt, agent, cwd, mode, model, effort } = wish.params;
      const { text, attachments } = partsOf(prompt ?? "");
      const form: OpeningForm = {
        prompt: joined(drafts.of<OpeningForm>(draftName.opening)?.prompt, text),
        agent,
        cwd,
        mode: mode ?? undefined,
        model: model ?? undefined,
        effort: effort ?? undefined,
      };
      drafts.keep(draftName.opening, form);
      return addFiles(draftName.openingFiles, attachments);
    }
    // The words of a denial and of an answer are drafts until they have arrived.
    case "decide":
    case "answer":
      return;
  }
}
