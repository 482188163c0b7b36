// The app of a folder in front of a hub, so that a change can be tried without building the program anew.
import { createReadStream, existsSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { extname, join } from "node:path";

const KINDS = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webmanifest": "application/manifest+json",
};
const CALLS = /^\/(api|admin|pair\/|health|metrics|ca\.pem)/;

/**
 * Serves files of `folder`, hands everything else to the hub at `hub()`, and
 * answers with the address and the way to stop.
 */
export async function serveDist(folder, hub) {
  const server = createServer((asked, answer) => {
    const path = new URL(asked.url, "http://x").pathname;
    const named = /\.[a-z]+$/.test(path);
    const file = join(folder, named ? path : "index.html");
    if (asked.method === "GET" && !CALLS.test(path) && (!named || existsSync(file))) {
      // What the hub sends with its own page holds here as well.
      answer.writeHead(200, {
        "content-type": KINDS[extname(file)] ?? "application/octet-stream",
        "cache-control": "no-cache",
        "content-security-policy":
          "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; " +
          "form-action 'self'; frame-ancestors 'none'",
      });
      return createReadStream(file).pipe(answer);
    }
    const on = request(
      new URL(asked.url, hub()),
      { method: asked.method, headers: asked.headers },
      (told) => (answer.writeHead(told.statusCode, told.headers), told.pipe(answer)),
    );
    on.on("error", () => answer.destroy());
    asked.pipe(on);
  });
  server.on("upgrade", (asked, socket, head) => {
    const { port, hostname } = new URL(hub());
    const on = connect(Number(port), hostname, () => {
      const lines = Object.entries(asked.headers).map(([name, value]) => `${name}: ${value}`);
      on.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      on.write(head);
      on.pipe(socket);
      socket.pipe(on);
    });
    for (const one of [on, socket]) one.on("error", () => (on.destroy(), socket.destroy()));
    for (const one of [on, socket]) one.on("close", () => (on.destroy(), socket.destroy()));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => new Promise((done) => (server.closeAllConnections(), server.close(done))),
  };
}
