// What was written and is not sent after all goes back to where it was written: into the composer of its session, or
// into the form of a new one. Words that were begun there meanwhile stay, above.
import { partsOf } from "./attach.ts";
import type { Attachment, Mode } from "./contract.ts";
import { draftName, type Drafts } from "./drafts.ts";
import type { PendingCommand } from "./outbox.ts";

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

export function giveBack(drafts: Drafts, command: PendingCommand): void {
  const addFiles = (name: string, files: Attachment[]) => {
    if (files.length) drafts.keepInMemory(name, [...(drafts.of<Attachment[]>(name) ?? []), ...files]);
  };
  switch (command.method) {
    case "prompt": {
      const { text, attachments } = partsOf(command.params.content);
      const name = draftName.prompt(command.session);
      drafts.keep(name, joined(drafts.of<string>(name), text));
      return addFiles(draftName.files(command.session), attachments);
    }
    case "open": {
      const { prompt, agent, cwd, mode, model, effort } = command.params;
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
