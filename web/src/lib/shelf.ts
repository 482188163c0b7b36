// The outbox's place on disk.
import { onStore } from "./disk.ts";
import type { Shelf, Wish } from "./outbox.ts";

export const onDisk: Shelf = {
  all: () => onStore<Wish[]>("outbox", "readonly", (store) => store.getAll()),
  // A plain copy: what draws the wish may have wrapped it.
  put: async (wish) =>
    void (await onStore("outbox", "readwrite", (store) => store.put(JSON.parse(JSON.stringify(wish))))),
  remove: async (key) => void (await onStore("outbox", "readwrite", (store) => store.delete(key))),
  claim: async (key) => {
    const found = await onStore<Wish | undefined>("outbox", "readwrite", (store) => {
      const request = store.get(key) as IDBRequest<Wish | undefined>;
      request.onsuccess = () =>
        request.result?.state === "waiting" && store.put({ ...request.result, state: "sending" });
      return request;
    });
    return found?.state === "waiting";
  },
  clear: async () => void (await onStore("outbox", "readwrite", (store) => store.clear())),
};
