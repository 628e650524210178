/** The bill of one session: its calls, its parts over their life, the cache, and what if. */

export { billOf, type BillOptions, readBill } from "./read-bill.ts";
export { sessionBill, type SessionBill } from "./session-bill.ts";
