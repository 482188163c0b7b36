// What to look at twice before allowing. Hints for a person, not a fence: the agent's own sandbox is that.
import type { Subject } from "./contract.ts";
import { bareCommand } from "./describe.ts";
import type { Span } from "./excerpt.ts";

export type Risk = { word: string; why: string };

const OUTSIDE = { word: "outside the work tree", why: "touches files elsewhere" };
const NETWORK = { word: "network", why: "talks to other machines" };
const DELETES = { word: "deletes", why: "removes or overwrites for good" };
const ROOT = { word: "as root", why: "runs with all rights" };
const FETCHED = { word: "runs fetched code", why: "what it runs comes from elsewhere" };

/** What a word stands behind that is a program: the beginning, a blank, or what ends the command before. */
const BEFORE = "(^|[\\s;&|(`'\"])";
const called = (programs: string[]): string => `${BEFORE}(${programs.join("|")})(?=\\s|$)`;

const NETWORKED = new RegExp(
  `${called([
    "curl|wget|nc|ncat|ssh|scp|sftp|rsync|ftp|telnet|ping|dig|nslookup",
    "docker (pull|push|login)|kubectl|aws|gcloud|az|gh",
    "git (push|pull|fetch|clone|ls-remote|submodule)",
    "npm (i|install|ci|publish|update)|npx|pnpm (i|add|install|dlx)|yarn (add|install|dlx)",
    "pip3? install|uv (add|pip|sync)|cargo (install|add|fetch|publish|update)|go (get|install)",
    "apt(-get)?|brew|gem install",
  ])}|https?:\\/\\/`,
);
const DELETING = new RegExp(
  called([
    "rm|rmdir|unlink|shred|truncate|dd|mkfs\\S*",
    "git (reset --hard|clean|push .*(--force|-f)\\b|branch -D|checkout (--|\\.)|restore|stash drop)",
    "drop (table|database)|find .*-delete|kill(all)?|pkill",
  ]),
  "i",
);
const ROOTED = /(^|[\s;&|(`'"])(sudo|doas|su)(?=\s)/;
/** Names of places that are not below the folder it runs in. */
const ELSEWHERE = /(^|[\s;&|()<>"'`=,:])(~|\$HOME|\/(?!\/|dev\/null)|\.\.\/?)[^\s;&|()<>"'`]*/;
const PIPED = /(curl|wget)\b[^|;]*\|\s*(sudo\s+)?(ba|z|da)?sh\b/;

export function risks(subject: Subject, cwd: string): Risk[] {
  switch (subject.kind) {
    case "command": {
      const command = bareCommand(subject.command);
      return [
        ...(ROOTED.test(command) ? [ROOT] : []),
        ...(PIPED.test(command) ? [FETCHED] : []),
        ...(DELETING.test(command) ? [DELETES] : []),
        ...(leaves(command, cwd) || (subject.cwd && !inside(subject.cwd, cwd)) ? [OUTSIDE] : []),
        ...(NETWORKED.test(command) ? [NETWORK] : []),
      ];
    }
    case "edit": {
      const elsewhere = subject.changes.some((change) =>
        [change.path, change.movedTo].some((path) => path && !inside(path, cwd)),
      );
      return [
        ...(elsewhere || subject.grantRoot ? [OUTSIDE] : []),
        ...(subject.changes.some((change) => change.kind === "delete") ? [DELETES] : []),
      ];
    }
    case "tool":
      return /https?:\/\//.test(JSON.stringify(subject.input) ?? "") ? [NETWORK] : [];
    case "plan":
      return [];
    case "permissions": {
      const words = JSON.stringify(subject.permissions) ?? "";
      return [...(/network/i.test(words) ? [NETWORK] : []), ...(/write|root|path/i.test(words) ? [OUTSIDE] : [])];
    }
  }
}

/**
 * Where in a command that lies: what is cut for its length must not hide it. The first of each kind come before the
 * second of any, so that many of one kind crowd out no other.
 */
export function dangers(command: string): Span[] {
  const found = [PIPED, ROOTED, DELETING, NETWORKED, ELSEWHERE].map((pattern) =>
    [...command.matchAll(new RegExp(pattern.source, `${pattern.flags}g`))].map((match) => ({
      from: match.index,
      to: match.index + match[0].length,
    })),
  );
  return Array.from({ length: Math.max(...found.map((kind) => kind.length)) }, (_, at) =>
    found.flatMap((kind) => kind[at] ?? []),
  ).flat();
}

/** Whether a path lies in a folder; relative ones do unless they climb out. */
export function inside(path: string, folder: string): boolean {
  if (/^[~$]/.test(path)) return false;
  const whole = path.startsWith("/") ? path : `${folder}/${path}`;
  const flat: string[] = [];
  for (const name of whole.split("/")) {
    if (name === "..") flat.pop();
    else if (name && name !== ".") flat.push(name);
  }
  return `/${flat.join("/")}/`.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** Whether a command names a place outside of the work tree. Programs and devices do not count. */
function leaves(command: string, cwd: string): boolean {
  const harmless = /^(\/dev\/(null|stdout|stderr|tty|stdin)|\/(usr\/(local\/)?)?s?bin(\/|$)|\/opt\/[^/]+\/bin)/;
  const words = command
    .split(/[\s;&|()<>"'`=,:]+/)
    .filter((word) => /^(~|\$HOME|\/|\.\.)/.test(word) && word.length > 1);
  return words.some((word) => !harmless.test(word) && !/^\/\//.test(word) && !inside(word, cwd));
}
