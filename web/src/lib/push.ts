// Web push: whether this browser can, whether it does, on and off.
import type { PushKey } from "./contract.ts";
import { http } from "./http.ts";

export type PushState = "unsupported" | "blocked" | "off" | "on";

export async function pushState(): Promise<PushState> {
  if (!("serviceWorker" in navigator) || !("PushManager" in window) || !("Notification" in window))
    return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  const registration = await navigator.serviceWorker.getRegistration();
  return (await registration?.pushManager.getSubscription()) ? "on" : "off";
}

export async function pushOn(): Promise<void> {
  if ((await Notification.requestPermission()) !== "granted")
    throw new Error("Notifications are not allowed by the browser");
  const { publicKey } = await http<PushKey>("GET", "/api/v1/push/key");
  const registration = await navigator.serviceWorker.ready;
  const subscription = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytesOf(publicKey),
  });
  try {
    await http("POST", "/api/v1/push/subscribe", { subscription: subscription.toJSON() });
  } catch (error) {
    // Nobody would push to it: then it must not look as if somebody did.
    await subscription.unsubscribe();
    throw error;
  }
}

export async function pushOff(): Promise<void> {
  const registration = await navigator.serviceWorker.ready;
  await (await registration.pushManager.getSubscription())?.unsubscribe();
  await http("DELETE", "/api/v1/push/subscribe");
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
