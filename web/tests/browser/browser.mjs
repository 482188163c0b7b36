// A real Chromium, and what tests need of it.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 820 };
/** Where a plan and changed files stand beside a timeline. */
export const WIDE = { width: 1440, height: 900 };
/** High enough for a whole conversation: then all of a timeline is in the page. */
export const TALL = { width: 390, height: 6_000 };
/**
 * How long anything may take: a busy machine is slow, and a test that fails for it
 * tells nothing. A wait ends with its condition.
 */
const PATIENCE = 180_000;

export function launch() {
  const name = process.env.CHROMIUM ?? "chromium";
  const places = name.includes("/")
    ? [name]
    : (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, name));
  const executablePath = places.find((place) => existsSync(place));
  if (!executablePath)
    throw new Error(`${name} is not installed; on Debian: apt-get install chromium. CHROMIUM names another browser`);
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** A page of its own, with its own storage, signed in with the token. What it complains of is kept. */
export async function open(
  browser,
  stage,
  { size = PHONE, dark = false, path = "/", signedIn = true, token = stage.token, ...more } = {},
) {
  const phone = size.width < 700;
  const context = await browser.newContext({
    viewport: size,
    colorScheme: dark ? "dark" : "light",
    deviceScaleFactor: phone ? 2 : 1,
    isMobile: phone,
    hasTouch: phone,
    serviceWorkers: "block",
    ...more,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => {
    const text = message.text();
    // What is not there yet or no longer there answers with a status; the page copes, the console mentions it.
    if (message.type() === "error" && !/Failed to load resource|WebSocket connection/.test(text))
      page.complaints.push(text);
  });
  const join = path.includes("?") ? "&" : "?";
  await page.goto(`${stage.url}${path}${signedIn ? `${join}token=${encodeURIComponent(token)}` : ""}`);
  return page;
}

/** Does something that is answered with words which go away by themselves: whoever looks afterwards may be too late. */
export const hearing = (words, deed) => Promise.all([words.waitFor(), deed()]);

/** Once what decides in a card has stood still for a moment. */
export const heard = (card) => card.locator(".answers .btn:not([aria-disabled])").first().waitFor();

/** Where a person writes. */
export const prompt = (page) => page.getByRole("textbox", { name: "Prompt", exact: true });

/** Has an agent know commands: no file may bring them in, so they are put into the rows that a page is told. */
export const withCommands = (page, commands) => withRows(page, (row) => ({ ...row, commands }));

/**
 * Changes the rows of sessions that a page is told: what no file may bring in, and what takes an agent long to come to.
 */
export const withRows = (page, change) =>
  retold(page, (told) => {
    const knowing = (row) => (row?.sessionId && row.capabilities ? change(row) : row);
    if (told.method === "session") told.params = knowing(told.params);
    if (told.result?.sessions) told.result.sessions = told.result.sessions.map(knowing);
    else told.result = knowing(told.result);
  });

/** Has a page know other agents than those that are here: the list becomes what `change` makes of it. */
export const withAgents = (page, change) =>
  retold(page, (told) => {
    if (told.result?.agents) told.result.agents = change(told.result.agents);
  });

/** Changes what the hub tells a page. */
const retold = (page, change) =>
  page.routeWebSocket(/\/api\/v1\/socket/, (socket) => {
    const hub = socket.connectToServer();
    socket.onMessage((message) => hub.send(message));
    hub.onMessage((message) => {
      const told = JSON.parse(message);
      change(told);
      socket.send(JSON.stringify(told));
    });
  });

/** Chooses the agent of a new session. */
export async function chooseAgent(page, name) {
  await page.getByRole("button", { name: /^Agent: / }).click();
  await page.getByRole("dialog").getByRole("radio", { name }).first().click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

/** Once nothing has changed in the page for a moment. */
export async function quiet(page) {
  await page.evaluate(
    () =>
      new Promise((done) => {
        let timer = setTimeout(done, 300);
        const watch = new MutationObserver(() => (clearTimeout(timer), (timer = setTimeout(done, 300))));
        watch.observe(document, { childList: true, subtree: true, attributes: true });
        setTimeout(done, 5_000);
      }),
  );
}

/** When each hub made codes for devices: it makes six a minute. */
const codes = new Map();

/** Waits until the hub of a stage can make a code, with one to spare. */
export async function roomForCode({ url }) {
  const made = codes.get(url) ?? [];
  codes.set(url, made);
  while (made.filter((at) => at > Date.now() - 61_000).length >= 5) await new Promise((done) => setTimeout(done, 500));
  made.push(Date.now());
}

/** Once the service worker serves the page. One that did not get to it in time is tried again with the next visit. */
export async function controlled(page) {
  for (let visit = 0; visit < 4; visit++) {
    if (visit) await page.reload();
    const is = await page
      .waitForFunction(() => navigator.serviceWorker.controller !== null, undefined, { timeout: 40_000 })
      .catch(() => undefined);
    if (is) return;
  }
  throw new Error("no service worker took the page over");
}

/** Calls of the hub, for setting a scene. */
export function client(stage) {
  const admin = async (method, path, body) => {
    if (path === "/admin/pair/new") await roomForCode(stage);
    const response = await fetch(`${stage.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${stage.token}`, ...(body && { "content-type": "application/json" }) },
      body: body && JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
  const call = (method, path, body) => admin(method, `/api/v1${path}`, body);
  return {
    admin,
    call,
    /** The token of a device that may do so much. */
    async paired(mode, label) {
      const { code } = await admin("POST", "/admin/pair/new", { mode });
      return (await admin("POST", "/pair/consume", { code, label })).token;
    },
    /** Once the session rests. */
    rest: (id) => until("the end of the turn", async () => (await call("GET", `/sessions/${id}`)).status !== "active"),
    /** The only approval that waits in a session. */
    ask: (id) =>
      until("an approval", async () => (await call("GET", "/approvals")).approvals.find((one) => one.session === id)),
    open: (more) =>
      call("POST", "/sessions", { agent: "codex", cwd: stage.shop ?? process.cwd(), mode: "ask", ...more }),
    session: (id) => call("GET", `/sessions/${id}`),
    /** Ends a turn that a scene leaves running, if it has not ended by itself meanwhile. */
    stop: (id) =>
      call("POST", `/sessions/${id}/interrupt`).catch((error) => {
        if (!error.message.includes('"no_turn"')) throw error;
      }),
    /** Takes in a log through the socket, in as many calls as it takes. */
    async take(events) {
      const socket = new WebSocket(
        `${stage.url.replace("http", "ws")}/api/v1/socket?token=${encodeURIComponent(stage.token)}`,
      );
      await new Promise((done, failed) => ((socket.onopen = done), (socket.onerror = failed)));
      try {
        await each(socket, events);
      } finally {
        socket.close();
      }
      return events[0].sessionId;
    },
  };
}

async function each(socket, events) {
  // The folder need not be known to the hub when it is named.
  const { cwd } = events[0].payload;
  for (let at = 0; at < events.length; at += 2_000) {
    const answer = await new Promise((done) => {
      socket.onmessage = ({ data }) => done(JSON.parse(data));
      socket.send(
        JSON.stringify({
          jsonrpc: "2.0",
          id: at,
          method: "import",
          params: { events: events.slice(at, at + 2_000), cwd, done: at + 2_000 >= events.length },
        }),
      );
    });
    if (answer.error) throw new Error(JSON.stringify(answer.error));
  }
}

export async function until(what, look, within = PATIENCE) {
  const end = Date.now() + within;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited too long for ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
