// The outbox's place on disk: one store of IndexedDB.
import type { Shelf, Wish } from "./outbox.ts";

const NAME = "longshore";
const STORE = "outbox";

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "key" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function run<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await open();
  try {
    return await new Promise<T>((resolve, reject) => {
      const deed = db.transaction(STORE, mode);
      const request = act(deed.objectStore(STORE));
      deed.oncomplete = () => resolve(request.result);
      deed.onabort = deed.onerror = () => reject(deed.error);
    });
  } finally {
    db.close();
  }
}

export const onDisk: Shelf = {
  all: () => run<Wish[]>("readonly", (store) => store.getAll()),
  // A plain copy: what draws the wish may have wrapped it.
  put: async (wish) => void (await run("readwrite", (store) => store.put(JSON.parse(JSON.stringify(wish))))),
  remove: async (key) => void (await run("readwrite", (store) => store.delete(key))),
};
