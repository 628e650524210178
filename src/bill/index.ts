/** The bill of one session: its calls, its parts over their life, the cache, and what if. */

export { billOf, type BillOptions, readBill, whatIfSchema } from "./read-bill.ts";
export { sessionBill, type SessionBill, type WhatIf } from "./session-bill.ts";
