/** Finds the owner of a folder: in this process, in the kernel, and by a socket in the folder. */

export { type FolderClaim, claimFolder } from "./folder-claim.ts";
export { type Greeting, greetingOf } from "./owner-socket.ts";
export { isElsewhere, thisMachine } from "./machine.ts";
export {
  type PublishedSocket,
  askSocket,
  isSocketDraft,
  publishSocket,
} from "./published-socket.ts";
export { folderId } from "./socket-address.ts";
