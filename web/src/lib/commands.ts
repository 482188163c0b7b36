// The agent's commands, as they are looked for with a slash.
import type { SlashCommand } from "./contract.ts";

/** What was typed of a command; nothing when it is no command. */
export const typedCommand = (text: string): string | undefined => /^\/(\S*)$/.exec(text)?.[1]?.toLowerCase();

/** Those that begin so, then those that have it anywhere. */
export function matchingCommands(commands: SlashCommand[], typed: string): SlashCommand[] {
  const rank = (name: string): number =>
    name.startsWith(typed)
      ? 0
      : name.split(/[:_-]/).some((part) => part.startsWith(typed))
        ? 1
        : name.includes(typed)
          ? 2
          : -1;
  return commands
    .map((command) => ({ command, rank: rank(command.name.toLowerCase()) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank)
    .map(({ command }) => command);
}
