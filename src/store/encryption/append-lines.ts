/**
 * Appends in the order of the calls; each event is encrypted by the key of its future position. An append waits
 * in line while that position is unknown: a key is loaded, or its events have ids and may be a repetition.
 */

import {
  assertAppendable,
  idOf,
  appendParts,
  type NewEvent,
  TurnlogError,
  type Appended,
  type AppendOptions,
  type EventLog,
  type ExpectedRevision,
  type ForkEvents,
  type ForkPoint,
  rejected,
} from "../../events/index.ts";
import type { KeyRing } from "./key-ring.ts";
import { withForm, type EventEncryption } from "./encrypted-event.ts";
import type { SessionKey } from "./session-key.ts";

interface Line {
  waiting: number;
  end: Promise<unknown>;
  /** Settles when everything that was passed on is written. */
  passedOn: Promise<unknown>;
  /** The position of the last event passed on; undefined after a failure. */
  revision: number | undefined;
}

export class AppendLines {
  readonly #log: EventLog;
  readonly #ring: KeyRing;
  readonly #encryption: EventEncryption;
  readonly #lines = new Map<string, Line>();

  constructor(log: EventLog, ring: KeyRing, encryption: EventEncryption) {
    this.#log = log;
    this.#ring = ring;
    this.#encryption = encryption;
  }

  append(
    session: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options?: AppendOptions,
  ): Promise<Appended> {
    const line = this.#line(session);
    const key = this.#ring.known(session);
    const ids = events.some((event) => idOf(event) !== undefined);
    if (line.waiting === 0 && line.revision !== undefined && key !== undefined && !ids)
      return this.#passOn(line, key, expected, events, options);
    const inLine = this.alone(session, async (revision) => {
      const made = await this.#ring.forWriting(session);
      line.revision = revision;
      const passedOn = this.#passOn(line, made, expected, events, options);
      // Only events with ids can be a repetition, which does not move the position.
      if (ids) {
        await passedOn.catch(() => {});
        line.revision = undefined;
      }
      return { passedOn };
    });
    return inLine.then(({ passedOn }) => passedOn);
  }

  /** As `EventLog.appendParts`, with each event encrypted when its part arrives. */
  async appendParts(
    session: string,
    parts: AsyncIterable<readonly NewEvent[]>,
    options?: AppendOptions,
  ): Promise<Appended> {
    return await this.alone(session, async () => {
      const key = await this.#ring.forWriting(session);
      try {
        const encrypted = this.#encryptedParts(key, parts, options);
        return await appendParts(this.#log, session, encrypted, { ...options, origin: "recorded" });
      } catch (error) {
        if (isGone(error)) await this.#ring.erase(session);
        throw error;
      } finally {
        this.forget(session);
      }
    });
  }

  /** As `EventLog.fork`. The first event names the parent, and is not encrypted. */
  async fork(
    session: string,
    { position: shared }: ForkPoint,
    [first, ...rest]: ForkEvents,
  ): Promise<Appended> {
    return await this.alone(session, async () => {
      const key = await this.#ring.forWriting(session);
      try {
        const encrypted = this.#encrypted(key, shared + 1, rest, { origin: "copied" });
        return await this.#log.fork(session, [first, ...encrypted]);
      } catch (error) {
        if (isGone(error)) await this.#ring.erase(session);
        throw error;
      } finally {
        this.#ring.unlink();
        this.forget(session);
      }
    });
  }

  async *#encryptedParts(
    key: SessionKey,
    parts: AsyncIterable<readonly NewEvent[]>,
    options: AppendOptions | undefined,
  ): AsyncGenerator<readonly NewEvent[]> {
    let revision = 0;
    for await (const part of parts) {
      yield this.#encrypted(key, revision, part, options);
      revision += part.length;
    }
  }

  /** Runs a function while nothing is appended to the session. Passes it the last written position. */
  async alone<Result>(
    session: string,
    act: (revision: number) => Promise<Result>,
  ): Promise<Result> {
    const line = this.#line(session);
    line.waiting++;
    const acting = line.end.then(async () => {
      if (line.revision === undefined) await line.passedOn;
      return await act(line.revision ?? (await this.#log.revision(session)));
    });
    line.end = acting.catch(() => {}).then(() => (line.waiting--, undefined));
    return await acting;
  }

  /** Forgets the session's position, which differs from what was assumed. */
  forget(session: string): void {
    this.#line(session).revision = undefined;
  }

  async waitFor(session: string): Promise<void> {
    await this.#lines.get(session)?.end;
  }

  async settled(): Promise<void> {
    for (const { end } of this.#lines.values()) await end;
  }

  #line(session: string): Line {
    const known = this.#lines.get(session);
    if (known !== undefined) return known;
    const [end, passedOn] = [Promise.resolve(), Promise.resolve()];
    const line: Line = { waiting: 0, end, passedOn, revision: undefined };
    this.#lines.set(session, line);
    return line;
  }

  /** From here on the events have their positions. */
  #passOn(
    line: Line,
    key: SessionKey,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    options: AppendOptions | undefined,
  ): Promise<Appended> {
    const revision = line.revision ?? 0;
    const start = typeof expected === "number" ? expected : expected === "none" ? 0 : revision;
    let encrypted: readonly NewEvent[];
    try {
      encrypted = this.#encrypted(key, start, events, options);
    } catch (error) {
      return rejected(error);
    }
    // The log refuses an append that does not fit, with its own error.
    const fits = events.length > 0 && isAt(revision, expected);
    const checkedRevision = fits && expected !== "none" ? revision : expected;
    const passedOn = this.#append(key.session, checkedRevision, encrypted, options);
    if (fits) line.revision = revision + events.length;
    line.passedOn = passedOn.catch(() => {
      line.revision = undefined;
    });
    return passedOn;
  }

  #encrypted(
    key: SessionKey,
    revision: number,
    events: readonly NewEvent[],
    options: AppendOptions | undefined,
  ): readonly NewEvent[] {
    return events.map((event, index) => {
      const position = revision + 1 + index;
      assertAppendable(key.session, position, event, options);
      try {
        return withForm(event, this.#encryption.formOf(key, position, event));
      } catch (error) {
        if (TurnlogError.isInstance(error)) throw error;
        throw notJson(key.session, position, event, error);
      }
    });
  }

  async #append(
    session: string,
    expected: ExpectedRevision,
    encrypted: readonly NewEvent[],
    options: AppendOptions | undefined,
  ): Promise<Appended> {
    try {
      // Checked before encryption.
      return await this.#log.append(session, expected, encrypted, {
        ...options,
        origin: "recorded",
      });
    } catch (error) {
      if (isGone(error)) await this.#ring.erase(session);
      throw error;
    }
  }
}

function isGone(error: unknown): boolean {
  return TurnlogError.isInstance(error) && error.code === "SESSION_DELETED";
}

function isAt(revision: number, expected: ExpectedRevision): boolean {
  if (expected === "any" || expected === revision) return true;
  return expected === "none" ? revision === 0 : expected === "exists" && revision > 0;
}

function notJson(
  session: string,
  position: number,
  { type }: NewEvent,
  cause: unknown,
): TurnlogError {
  return new TurnlogError(
    "EVENT_INVALID",
    `An event of type ${type} cannot be stored in ${session}: its data is not JSON. Convert it before it is appended.`,
    { session, position, cause },
  );
}
