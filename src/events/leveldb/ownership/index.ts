/** Who owns a folder: asked in this process, in the kernel, and by a socket in the folder. */

export { claimFolder, type FolderClaim } from "./folder-claim.ts";
export { greetingOf, type Greeting } from "./greeting.ts";
export { isElsewhere, thisMachine } from "./machine.ts";
export {
  askSocket,
  isSocketDraft,
  publishSocket,
  type PublishedSocket,
} from "./published-socket.ts";
export { folderId } from "./socket-address.ts";
