/** A log with some methods replaced, to observe it or make it fail. The replay and tests use it. */

import type { EventLog } from "../events/index.ts";

export function wrapLog(log: EventLog, changes: Partial<EventLog>): EventLog {
  return {
    append: (...append) => log.append(...append),
    fork: (...fork) => log.fork(...fork),
    read: (...read) => log.read(...read),
    readAt: (...read) => log.readAt(...read),
    subscribe: (...subscription) => log.subscribe(...subscription),
    subscribeAll: (...subscription) => log.subscribeAll(...subscription),
    readAll: (...read) => log.readAll(...read),
    revision: (session) => log.revision(session),
    list: (...list) => log.list(...list),
    delete: (...deletion) => log.delete(...deletion),
    deleted: () => log.deleted(),
    saveSnapshot: (...snapshot) => log.saveSnapshot(...snapshot),
    loadSnapshot: (...snapshot) => log.loadSnapshot(...snapshot),
    cursors: log.cursors,
    ownership: log.ownership,
    inbox: log.inbox,
    close: () => log.close(),
    [Symbol.asyncDispose]: () => log.close(),
    ...changes,
  };
}
