/** Lets statements of the driver `pg` fail in this process as the server or a broken connection would. */

import pg from "pg";

export interface StatementFaults extends Disposable {
  /** The next `after` statements pass, and `count` fail. */
  arm(after: number, count: number, failure?: () => Error): void;
  /** All pass again. Returns how many failed. */
  disarm(): number;
}

/** What the server answers when its memory is full: nothing was executed, and nothing repeats it. */
function outOfMemory(): Error {
  return Object.assign(new Error("out of memory"), { code: "53200" });
}

/** What a server answers while it starts. */
export function starting(): Error {
  return Object.assign(new Error("the database system is starting up"), { code: "57P03" });
}

export function statementFaults(): StatementFaults {
  const { prototype } = pg.Client;
  const query: unknown = Reflect.get(prototype, "query");
  if (typeof query !== "function") throw new Error("pg has no query");
  let next = { after: Infinity, count: 0, failure: outOfMemory };
  let failed = 0;
  Reflect.set(prototype, "query", function (this: pg.Client, ...args: readonly unknown[]): unknown {
    next.after--;
    const isOver = next.after >= 0 || next.after < -next.count;
    if (isOver) {
      const passed: unknown = Reflect.apply(query, this, args);
      return passed;
    }
    failed++;
    const answer: unknown = args.at(-1);
    if (typeof answer !== "function") return Promise.reject(next.failure());
    process.nextTick(answer, next.failure());
    return undefined;
  });
  return {
    arm(after, count, failure = outOfMemory) {
      failed = 0;
      next = { after, count, failure };
    },
    disarm() {
      next = { after: Infinity, count: 0, failure: outOfMemory };
      return failed;
    },
    [Symbol.dispose]() {
      Reflect.set(prototype, "query", query);
    },
  };
}
