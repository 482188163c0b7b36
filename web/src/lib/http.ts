// Calls that need no socket: pairing, devices, push, usage. The cookie says who we are; a pasted token does so too.
import type { Problem } from "./contract.ts";
import { ConnectionLost, Refusal } from "./socket.ts";

const KEPT = "longshore.token";

/** The token of this tab, where the hub gave no cookie. */
export const token = {
  get: (): string | null => sessionStorage.getItem(KEPT),
  set: (value: string): void => sessionStorage.setItem(KEPT, value),
  forget: (): void => sessionStorage.removeItem(KEPT),
};

function headers(body: unknown): Record<string, string> {
  const kept = token.get();
  return {
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(kept && { authorization: `Bearer ${kept}` }),
  };
}

export async function ask(method: string, path: string, body?: unknown, accept?: string): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: { ...headers(body), ...(accept && { accept }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      credentials: "same-origin",
    });
  } catch {
    throw new ConnectionLost();
  }
  if (response.ok) return response;
  const problem = (await response.json().catch(() => undefined)) as Problem | undefined;
  throw new Refusal(
    problem?.code
      ? problem
      : {
          code: "internal",
          status: response.status,
          title: `the hub answered ${response.status}`,
          retry: response.status >= 500,
        },
  );
}

export async function http<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await ask(method, path, body);
  const text = await response.text();
  if (!text) return undefined as T;
  try {
    return JSON.parse(text) as T;
  } catch {
    // A page instead of an answer: whoever serves the app knows no such call.
    throw new Refusal({ code: "no_route", status: 404, title: "this hub has no such call", retry: false });
  }
}

/** Where the socket is. Browsers cannot set headers there, so a pasted token goes into the address. */
export function socketAddress(): string {
  const kept = token.get();
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${location.host}/api/v1/socket${kept ? `?token=${encodeURIComponent(kept)}` : ""}`;
}

/** Why the hub does not let us in; nothing when it does, or does not answer. */
export async function denial(): Promise<string | undefined> {
  try {
    await ask("GET", "/api/v1/sessions?limit=1");
    return undefined;
  } catch (error) {
    return error instanceof Refusal && error.problem.status === 401 ? error.problem.code : undefined;
  }
}
