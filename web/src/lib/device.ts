// What a device calls itself when it is paired: whoever reads "allowed by …" later must know which one that was.
import type { PairingCode } from "./contract.ts";

/** What browsers that hide their model in the user agent tell when they are asked. */
type Hints = { getHighEntropyValues?(hints: string[]): Promise<{ model?: string; platform?: string }> };

/** An Android says `Linux; Android 15; Pixel 9`: the system comes after its kernel, and the model after the system. */
export function deviceName(userAgent: string, touches = 0, model = ""): string {
  const told = model.trim() || androidModel(userAgent);
  if (/Android/.test(userAgent)) return told || (/Mobile/.test(userAgent) ? "Android phone" : "Android tablet");
  if (/iPhone|iPod/.test(userAgent)) return "iPhone";
  // An iPad calls itself a Mac, which has no touch screen.
  if (/iPad/.test(userAgent) || (/Macintosh/.test(userAgent) && touches > 1)) return "iPad";
  if (/CrOS/.test(userAgent)) return "Chromebook";
  if (/Macintosh/.test(userAgent)) return "Mac";
  if (/Windows/.test(userAgent)) return "Windows PC";
  return /Linux|X11/.test(userAgent) ? "Linux PC" : "Browser";
}

/** Browsers that keep it to themselves say `K`. */
function androidModel(userAgent: string): string {
  const found =
    /Android[^;)]*;\s*(?:[a-z]{2}-[a-z]{2};\s*)?([^;)]+)/i
      .exec(userAgent)?.[1]
      ?.replace(/\s+Build\/.*$/, "")
      .trim() ?? "";
  return /^(K|wv|Mobile|Tablet|rv:.*)$/i.test(found) ? "" : found;
}

export async function thisDevice(): Promise<string> {
  const hints = (navigator as Navigator & { userAgentData?: Hints }).userAgentData;
  const told = await hints?.getHighEntropyValues?.(["model"]).catch(() => undefined);
  return deviceName(navigator.userAgent, navigator.maxTouchPoints, told?.model);
}

/** Whether an address leads back to whoever opens it. */
export function isLoopback(address: string): boolean {
  try {
    const { hostname } = new URL(address);
    return (
      hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || hostname.startsWith("127.")
    );
  } catch {
    return false;
  }
}

/** The links with which a phone pairs: the usual one, and the same at the hub's other addresses. */
export function pairLinks(
  { pairUrl, addresses = [] }: Pick<PairingCode, "pairUrl"> & Partial<Pick<PairingCode, "addresses">>,
  here: string,
): { address?: string; link: string; host: string }[] {
  const usual = new URL(pairUrl, here);
  const others = addresses
    .map((address) => ({ address, at: new URL(address) }))
    .filter(({ at }) => at.origin !== usual.origin);
  return [
    { link: usual.href, host: usual.host },
    ...others.map(({ address, at }) => ({
      address,
      link: `${address}${usual.pathname}${usual.search}${usual.hash}`,
      host: at.host,
    })),
  ];
}
