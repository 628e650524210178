/** What `createRuntime` takes, and the functions in it that are asked for figures later. */

import { isIP } from "node:net";
import { z } from "zod";
import { ownCopy, TurnlogError } from "../../events/index.ts";
import { heldAgent } from "../agent.ts";
import type { RuntimeOptions } from "../runtime-options.ts";
import { agentShape } from "./agent-shape.ts";
import { check } from "./check.ts";
import {
  amount,
  code,
  flag,
  many,
  milliseconds,
  named,
  name,
  off,
  oneOf,
  options,
  text,
  thing,
} from "./shapes.ts";

const places = ["dir", "memory", "log"] as const;

const shape = options(
  {
    dir: name,
    memory: z.literal(true, "true"),
    log: options({}, { append: code, read: code }),
    durability: oneOf("sync", "os"),
    blobs: off(
      options({
        inlineBytes: amount,
        maxBytes: amount,
        maxSessionBytes: amount,
        store: options({}),
        recorded: code,
      }),
    ),
    mcp: named(
      options({
        command: name,
        url: name,
        args: thing("a list of texts", Array.isArray),
        env: named(text),
        headers: named(text),
        cwd: name,
        type: oneOf("http", "sse"),
        startTimeoutMs: milliseconds,
        callTimeoutMs: milliseconds,
      }).refine(hasAddress, "an object with a `command` or a `url`"),
    ),
    recovery: oneOf("stop", "continue"),
    maxRecoveries: many,
    hashChain: flag,
    attachments: options({
      maxBytes: amount,
      fetch: code,
      timeoutMs: milliseconds,
      allow: thing(
        "a list of host names, IP addresses and CIDR ranges, such as `10.1.0.0/16`",
        (value) => Array.isArray(value) && value.every(isHostOrRange),
      ),
    }),
    encryption: options({}, { keys: options({}) }),
    stepSource: oneOf("language-model-call", "stream-text"),
    idleAfterMs: milliseconds,
    graceMs: milliseconds,
    onWarning: code,
    clock: code,
    newId: code,
    timer: code,
    random: code,
    order: code,
  },
  { agent: thing("an agent, which is an object with a `model`", isObject) },
);

/** What else could be meant (an address with its `https://`, a pattern) would never allow anything. */
function isHostOrRange(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const [address = "", bits, ...more] = value.split("/");
  const version = isIP(address);
  if (bits === undefined) return version !== 0 || /^(?=.*[a-z])[\w-]+(\.[\w-]+)*\.?$/i.test(value);
  const most = version === 4 ? 32 : 128;
  return version !== 0 && more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function hasAddress(value: unknown): boolean {
  return ["command", "url"].some((key) => Reflect.get(Object(value), key) !== undefined);
}

/**
 * Options that were checked, with functions that are checked when they answer.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function checkedOptions(given: RuntimeOptions): RuntimeOptions {
  check(shape, given, "createRuntime");
  checkPlace(given);
  // It is prepared while the store is opened, and what is wrong with it is to be said before.
  check(agentShape, given.agent, "createRuntime", { name: "agent" });
  const { clock, random, newId, attachments, blobs, mcp } = given;
  return {
    ...given,
    // As they are now: who goes on with them may change them.
    agent: heldAgent(given.agent),
    ...(attachments && { attachments: ownCopy(attachments) }),
    ...(blobs && { blobs: { ...blobs } }),
    ...(mcp && { mcp: ownCopy(mcp) }),
    ...(clock && {
      clock: answering("clock", clock, Number.isFinite, "a number of epoch milliseconds"),
    }),
    ...(random && {
      random: answering("random", random, (n) => n >= 0 && n <= 1, "a number from 0 to 1"),
    }),
    ...(newId && {
      newId: answering("newId", newId, (id) => typeof id === "string" && id !== "", "a text"),
    }),
  };
}

function checkPlace(given: RuntimeOptions): void {
  const told = places.filter((place) => Reflect.get(given, place) !== undefined);
  if (told.length === 1) return;
  const what = told.length === 0 ? "none of them" : told.join(" and ");
  throw new TurnlogError(
    "INVALID_INPUT",
    `createRuntime: where the log is kept must be said by one of \`dir\`, \`memory: true\` and \`log\`, not by ${what}.`,
  );
}

/** What it answers goes into the log: what cannot be read there again must not be written. */
function answering<Answer>(
  option: string,
  ask: () => Answer,
  fits: (answer: Answer) => boolean,
  words: string,
): () => Answer {
  return () => {
    const answer = ask();
    if (fits(answer)) return answer;
    throw new TurnlogError(
      "INVALID_INPUT",
      `createRuntime: \`${option}\` must answer ${words}, not ${String(answer)}.`,
    );
  };
}
