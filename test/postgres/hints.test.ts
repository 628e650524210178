/** The connection on which a process hears of what others write: none is left when its log is closed. */

import { expect, it, vi } from "vitest";
import type { Listening } from "../../src/store/postgres/database/statements.ts";
import { Hints } from "../../src/store/postgres/nodes/hints.ts";

it("is given back if the log is closed before it is open", async () => {
  const opening = Promise.withResolvers<Listening>();
  const onEvents = vi.fn<() => void>();
  const onCommands = vi.fn<() => void>();
  const hints = new Hints({
    pool: {
      query: () => Promise.resolve([]),
      transaction: () => Promise.reject(new Error("no transactions here")),
      listen: () => opening.promise,
      end: () => Promise.resolve(),
    },
    schema: "s",
    isOn: true,
    onEvents,
    onCommands,
  });
  hints.listen();
  hints.end();
  const stopped = Promise.withResolvers<void>();
  opening.resolve({ ended: new Promise(() => {}), stop: stopped.resolve });
  await stopped.promise;
  expect(onEvents).not.toHaveBeenCalled();
  expect(onCommands).not.toHaveBeenCalled();
});
