/** Finds the owner of a folder: in this process, in the kernel, and by a socket in the folder. */

export { type FolderClaim, claimFolder } from "./folder-claim.ts";
export { type Greeting, greetingOf, type StoreService } from "./owner-socket.ts";
export { connectToOwner, type OwnerConnection } from "./owner-connection.ts";
export { isElsewhere, thisMachine } from "./machine.ts";
export {
  type PublishedSocket,
  askSocket,
  isSocketDraft,
  publishSocket,
} from "./published-socket.ts";
export { folderId, kernelAddress } from "./socket-address.ts";
