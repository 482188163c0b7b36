// What an agent wants to be let do, in words. Whatever has none is shown as it came: nothing of it may be left out.

export type Permissions = { lines: string[]; rest: unknown };

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const paths = (value: unknown): string[] | undefined =>
  value == null
    ? []
    : Array.isArray(value) && value.every((one) => typeof one === "string")
      ? (value as string[])
      : undefined;

/** `rest` is undefined when the lines say all of it. */
export function permissionWords(permissions: unknown): Permissions {
  if (!isRecord(permissions)) return { lines: [], rest: permissions };
  const lines = new Set<string>();
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(permissions)) {
    if (value == null) continue;
    const said = name === "network" ? network(value) : name === "fileSystem" ? files(value) : undefined;
    if (said) for (const line of said) lines.add(line);
    else rest[name] = value;
  }
  return { lines: [...lines], rest: Object.keys(rest).length ? rest : undefined };
}

function network(value: unknown): string[] | undefined {
  if (
    !isRecord(value) ||
    Object.keys(value).some((name) => name !== "enabled") ||
    typeof value["enabled"] !== "boolean"
  )
    return undefined;
  return value["enabled"] ? ["use the network"] : ["not use the network"];
}

function files(value: unknown): string[] | undefined {
  if (!isRecord(value) || Object.keys(value).some((name) => !["read", "write", "entries"].includes(name)))
    return undefined;
  const [read, write] = [paths(value["read"]), paths(value["write"])];
  const entries =
    value["entries"] == null ? [] : Array.isArray(value["entries"]) ? value["entries"].map(entry) : [undefined];
  if (!read || !write || entries.includes(undefined)) return undefined;
  return [
    ...read.map((path) => `read below ${path}`),
    ...write.map((path) => `write below ${path}`),
    ...(entries as string[]),
  ];
}

function entry(value: unknown): string | undefined {
  if (!isRecord(value) || !isRecord(value["path"]) || Object.keys(value).length !== 2) return undefined;
  const { type, path } = value["path"] as { type?: unknown; path?: unknown };
  const access = value["access"];
  return type === "path" &&
    typeof path === "string" &&
    Object.keys(value["path"]).length === 2 &&
    (access === "read" || access === "write")
    ? `${access} below ${path}`
    : undefined;
}
