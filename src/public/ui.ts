/**
 * The messages of a session for pages: the AI SDK's `UIMessage` and the chunks of its stream, folded from
 * the events. Pure: it runs in a browser.
 *
 * @example
 * import { readUIMessages, uiMessages } from "turnlog/ui";
 *
 * const { initial, fold } = uiMessages({ session: "s-1" });
 * let state = initial;
 * for await (const event of log.read("s-1")) state = fold(state, event);
 * const { headId, messages } = readUIMessages(state);
 */

export {
  fromUIMessage,
  readUIMessages,
  uiMessageChunks,
  uiMessages,
  type SessionMessage,
} from "../ui/index.ts";
