// What the page keeps on disk: one database, a store for each kind of thing.
const NAME = "longshore";
const VERSION = 2;
/** By what each store finds its things. */
const STORES = { outbox: "key", lists: "name", pages: "session" } as const;
export type Store = keyof typeof STORES;

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = () => {
      for (const [name, keyPath] of Object.entries(STORES))
        if (!request.result.objectStoreNames.contains(name)) request.result.createObjectStore(name, { keyPath });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("another page holds the database"));
  });
}

export async function onStore<T>(
  store: Store,
  mode: IDBTransactionMode,
  act: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const db = await open();
  try {
    return await new Promise<T>((resolve, reject) => {
      const deed = db.transaction(store, mode);
      const request = act(deed.objectStore(store));
      deed.oncomplete = () => resolve(request.result);
      deed.onabort = deed.onerror = () => reject(deed.error);
    });
  } finally {
    db.close();
  }
}
