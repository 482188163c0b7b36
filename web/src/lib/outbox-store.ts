// The outbox on disk.
import { onStore } from "./disk.ts";
import type { OutboxStore, PendingCommand } from "./outbox.ts";

export const outboxStore: OutboxStore = {
  all: () => onStore<PendingCommand[]>("outbox", "readonly", (store) => store.getAll()),
  // A plain copy: what draws the command may have wrapped it.
  put: async (command) =>
    void (await onStore("outbox", "readwrite", (store) => store.put(JSON.parse(JSON.stringify(command))))),
  remove: async (key) => void (await onStore("outbox", "readwrite", (store) => store.delete(key))),
  claim: async (key) => {
    const found = await onStore<PendingCommand | undefined>("outbox", "readwrite", (store) => {
      const request = store.get(key) as IDBRequest<PendingCommand | undefined>;
      request.onsuccess = () =>
        request.result?.state === "waiting" && store.put({ ...request.result, state: "sending" });
      return request;
    });
    return found?.state === "waiting";
  },
  clear: async () => void (await onStore("outbox", "readwrite", (store) => store.clear())),
};
