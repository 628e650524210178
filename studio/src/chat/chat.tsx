/** The conversation at the position that is seen: one branch, the newest messages first shown. */

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useSelector } from "@xstate/store-react";
import { readUIMessages, type UIMessagesState } from "../../../src/public/ui.ts";
import { client } from "../data/client.ts";
import { plural } from "../data/words.ts";
import { Blank } from "../parts/loading.tsx";
import type { Seen } from "../shell/seen.ts";
import { Composer, useRefusal } from "./composer.tsx";
import { Message, type MessageActs } from "./message.tsx";
import { leafOf, threadOf, type ThreadMessage } from "./thread.ts";

const FIRST_SHOWN = 40;

function useMessages({ feed, at }: Seen): UIMessagesState {
  const live = useSelector(feed.store, ({ context }) => context.messages);
  const [past, setPast] = useState<UIMessagesState>();
  useEffect(() => {
    if (at === undefined) return setPast(undefined);
    let isCurrent = true;
    void feed.messagesAt(at).then((state) => {
      if (isCurrent) setPast(state);
    });
    return () => {
      isCurrent = false;
    };
  }, [feed, at]);
  return at === undefined ? live : (past ?? live);
}

export function Chat({ seen }: { readonly seen: Seen }) {
  const { feed, at } = seen;
  const messages = readUIMessages(useMessages(seen));
  const [leaf, setLeaf] = useState<string>();
  const refusal = useRefusal(seen);
  const all = useRef(messages);
  all.current = messages;
  // A branch that is looked at is left when the session goes on or the time changes.
  useEffect(() => setLeaf(undefined), [messages.headId, at]);
  const known = messages.messages.some(({ message }) => message.id === leaf) ? leaf : undefined;
  const thread = threadOf(messages, known ?? messages.headId);
  const onBranch = useCallback((id: string) => setLeaf(leafOf(all.current, id)), []);
  const onEdit = useCallback(
    async (replaces: string, text: string) => {
      await client.session(feed.id).send(text, { replaces });
    },
    [feed],
  );
  const acts = useMemo<MessageActs>(
    () => ({ refusal, onEdit, onBranch }),
    [refusal, onEdit, onBranch],
  );
  const isLeft = known !== undefined && known !== messages.headId;
  return (
    <div className="chat">
      {isLeft && <LeftBranch seen={seen} thread={thread} onBack={() => setLeaf(undefined)} />}
      <Thread thread={thread} acts={acts} follows={at === undefined && !isLeft} />
      <Composer seen={seen} />
    </div>
  );
}

function Thread({
  thread,
  acts,
  follows,
}: {
  readonly thread: readonly ThreadMessage[];
  readonly acts: MessageActs;
  readonly follows: boolean;
}) {
  const [shown, setShown] = useState(FIRST_SHOWN);
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && (isAtEnd.current || !follows)) element.scrollTop = element.scrollHeight;
  }, [thread, follows]);
  const left = Math.max(0, thread.length - shown);
  return (
    <div
      ref={scroller}
      className="thread"
      role="log"
      aria-label="Messages"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 60;
      }}
    >
      {thread.length === 0 && <Blank title="No messages yet" />}
      {left > 0 && (
        <button type="button" className="link more" onClick={() => setShown(shown + FIRST_SHOWN)}>
          {plural(left, "earlier message")}
        </button>
      )}
      {thread.slice(left).map(({ message, siblings }) => (
        <Message key={message.id} message={message} siblings={siblings} acts={acts} />
      ))}
    </div>
  );
}

/** What a person sees who looks at a branch that the session has left. */
function LeftBranch({
  seen: { feed, state },
  thread,
  onBack,
}: {
  readonly seen: Seen;
  readonly thread: readonly ThreadMessage[];
  readonly onBack: () => void;
}) {
  const { position = 0 } = thread.at(-1)?.message.metadata ?? {};
  const branch = state?.branches.findLast(({ id, head }) => id <= position && position <= head);
  const canRun = useRefusal({ at: undefined }) === undefined;
  return (
    <div className="banner calm" role="status">
      You see a branch that the session has left.
      <button type="button" className="link" onClick={onBack}>
        Back to the active one
      </button>
      {branch !== undefined && canRun && (
        <button
          type="button"
          className="link"
          onClick={() => void client.session(feed.id).checkout(branch.id)}
        >
          Make it the active branch
        </button>
      )}
    </div>
  );
}
