// Files and photos that go with a prompt. Photos of a phone are large: they are made smaller before they are sent.
import type { Attachment, PromptContent } from "./contract.ts";

/** Base64 adds a third, and the whole message must fit into a frame of 32 MiB. */
const MOST_BYTES = 20 << 20;
const LONGEST_SIDE = 2_000;

export async function toAttachment(file: File): Promise<Attachment> {
  const blob =
    file.type.startsWith("image/") && file.type !== "image/svg+xml" && file.type !== "image/gif"
      ? await smaller(file)
      : file;
  if (blob.size > MOST_BYTES) throw new Error(`${file.name} is larger than 20 MB`);
  return {
    name: file.name || null,
    mediaType: blob.type || "application/octet-stream",
    data: base64(new Uint8Array(await blob.arrayBuffer())),
  };
}

async function smaller(file: File): Promise<Blob> {
  const picture = await createImageBitmap(file).catch(() => undefined);
  if (!picture) return file;
  const scale = LONGEST_SIDE / Math.max(picture.width, picture.height);
  if (scale >= 1 && file.size < 2 << 20) return file;
  const canvas = new OffscreenCanvas(
    Math.round(picture.width * Math.min(1, scale)),
    Math.round(picture.height * Math.min(1, scale)),
  );
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: file.type === "image/png" ? "image/png" : "image/jpeg", quality: 0.85 });
}

export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** The parts of a prompt as the hub takes them. */
export function content(text: string, attachments: Attachment[]): PromptContent {
  if (!attachments.length) return text;
  return [
    ...(text ? [{ type: "text" as const, text }] : []),
    ...attachments.map((attachment) => ({ type: "attachment" as const, ...attachment })),
  ];
}

/** The words and the files of a prompt as the hub takes it. */
export function partsOf(content: PromptContent): { text: string; attachments: Attachment[] } {
  if (typeof content === "string") return { text: content, attachments: [] };
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  return {
    text,
    attachments: content.flatMap((part) =>
      part.type === "attachment" ? [(({ type: _, ...file }) => file)(part)] : [],
    ),
  };
}
