"use client";

import { useChat, type UIMessage } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useEffect, useState, type ReactNode } from "react";
import { chatTransport, createClient } from "turnlog/client";

const client = createClient({ baseUrl: "" });
const transport = chatTransport(client);
const id = "first";

export default function Page(): ReactNode {
  const [initial, setInitial] = useState<UIMessage[]>();
  useEffect(() => {
    const load = async (): Promise<void> => {
      const session = await client.createSession(id);
      setInitial((await session.messages()).messages);
    };
    void load();
  }, []);
  return <main>{initial === undefined ? "Loading" : <Chat initial={initial} />}</main>;
}

function Chat({ initial }: { readonly initial: UIMessage[] }): ReactNode {
  const [text, setText] = useState("");
  const { messages, sendMessage, addToolApprovalResponse, status } = useChat({
    id,
    messages: initial,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return (
    <>
      {messages.map((message) => (
        <p key={message.id} data-role={message.role}>
          {message.parts.map((part, index) => {
            if (part.type === "text") return <span key={index}>{part.text}</span>;
            if (!("state" in part) || part.state !== "approval-requested") return null;
            const answer = (approved: boolean) => () =>
              void addToolApprovalResponse({ id: part.approval.id, approved });
            return (
              <span key={index}>
                {part.type.replace("tool-", "Run ")} {JSON.stringify(part.input)}?
                <button disabled={status !== "ready"} onClick={answer(true)}>
                  Yes
                </button>
                <button disabled={status !== "ready"} onClick={answer(false)}>
                  No
                </button>
              </span>
            );
          })}
        </p>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text });
          setText("");
        }}
      >
        <input
          aria-label="Message"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button disabled={status !== "ready"}>Send</button>
      </form>
    </>
  );
}
