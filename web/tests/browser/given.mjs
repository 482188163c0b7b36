// What run.mjs has prepared: where the hub is, and whether it plays our script.
import { launch } from "./browser.mjs";
import { after, before } from "node:test";

export const stage = { url: process.env.LONGSHORE_URL, token: process.env.LONGSHORE_TOKEN, ...JSON.parse(process.env.LONGSHORE_STAGE ?? "{}") };
/** Tests that talk to an agent need the script on the other side of it. */
export const scripted = { skip: process.env.LONGSHORE_STAGE ? false : "needs a stage of its own" };

/** One browser for a file of tests. */
export const given = { browser: undefined };
before(async () => (given.browser = await launch()));
after(async () => await given.browser?.close());
