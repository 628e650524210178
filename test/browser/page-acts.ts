/** What a user does on a page of the browser's tests, and what is seen there. */

import type { Page } from "playwright-core";

export const say = (page: Page, text: string): Promise<void> =>
  page.evaluate((given) => void chat.sendMessage({ text: given }), text);

export const textOf = (page: Page): Promise<string> =>
  page.evaluate(() =>
    (chat.messages.at(-1)?.parts ?? [])
      .map((part) => (part.type === "text" ? part.text : ""))
      .join(""),
  );

/** The id of the approval that waits. */
export async function approvalOf(page: Page): Promise<string> {
  const asked = await page.waitForFunction(() => {
    for (const part of chat.messages.at(-1)?.parts ?? [])
      if ("state" in part && part.state === "approval-requested" && "approval" in part)
        return chat.status === "ready" ? part.approval.id : undefined;
    return undefined;
  });
  return String(await asked.jsonValue());
}

/** Answers as a button that is off unless the page is ready: a reply that is resumed overwrites an answer. */
export async function answer(page: Page, id: string, approved: boolean): Promise<void> {
  await page.waitForFunction(
    (given) => {
      const isReady = chat.status === "ready";
      if (isReady) void chat.addToolApprovalResponse(given);
      return isReady;
    },
    { id, approved },
  );
}

export const counted = (count: number): string =>
  Array.from({ length: count }, (_, index) => `w${index} `).join("");

/** Waits until a call has no output yet: of the page's own tool, or while one of the server's runs. */
export async function outputAsked(
  page: Page,
  status: "ready" | "streaming" = "ready",
): Promise<void> {
  await page.waitForFunction((wanted) => {
    const parts = chat.messages.at(-1)?.parts ?? [];
    const isAsked = parts.some((part) => "state" in part && part.state === "input-available");
    return isAsked && chat.status === wanted;
  }, status);
}

export const giveOutput = (page: Page, output: string): Promise<void> =>
  page.evaluate((given) => {
    const part = chat.messages.at(-1)?.parts.find((one) => "toolCallId" in one);
    const toolCallId = part !== undefined && "toolCallId" in part ? part.toolCallId : "";
    void chat.addToolOutput({ tool: "colour", toolCallId, output: given });
  }, output);

export const edit = (page: Page, text: string): Promise<void> =>
  page.evaluate((given) => {
    const messageId = chat.messages.findLast(({ role }) => role === "user")?.id ?? "";
    void chat.sendMessage({ text: given, messageId });
  }, text);

export const attach = (page: Page): Promise<void> =>
  page.evaluate(() => {
    const url = `data:text/plain;base64,${btoa("hello")}`;
    const file = { type: "file", mediaType: "text/plain", filename: "a.txt", url } as const;
    void chat.sendMessage({ text: "look", files: [file] });
  });
