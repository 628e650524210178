/** A store that another process of this user has open, used through that process. */

export { isOwnerGone } from "./owner-answer.ts";
export { isOfOwner } from "./owner-log.ts";
export { type StoreOwner, storeOwner } from "./store-owner.ts";
