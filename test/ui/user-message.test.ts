/** What a page shows of a user's message. */

import { expect, it } from "vitest";
import { fromUIMessage, userMessage } from "../../src/ui/user-message.ts";

const metadata = { turn: 2, position: 7, startedAt: 70 };
const shown = (
  content: Parameters<typeof userMessage>[1],
  about: Parameters<typeof userMessage>[3] = {},
) => userMessage("m", content, metadata, about, { session: "s" });

it("has the page's own metadata, but for what the session says itself", () => {
  const { metadata: both } = shown("Hi", { metadata: { theme: "dark", turn: 99 } });
  expect(both).toEqual({ theme: "dark", ...metadata });
});

it("has the page's data parts at their places among texts and files", () => {
  const data = [
    { at: 0, type: "data-page", data: 1 },
    { at: 2, type: "data-cursor", data: 2 },
  ];
  const content = [
    { type: "text", text: "One." },
    { type: "text", text: "Two." },
  ] as const;
  expect(shown(content, { data }).parts.map(({ type }) => type)).toEqual([
    "data-page",
    "text",
    "data-cursor",
    "text",
  ]);
});

it("gives texts and files the metadata of their provider", () => {
  const providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
  const file = { type: "file", mediaType: "image/png", data: "https://example.com/a.png" } as const;
  expect(
    shown([
      { type: "text", text: "See.", providerOptions },
      { ...file, providerOptions },
    ]).parts,
  ).toMatchObject([{ providerMetadata: providerOptions }, { providerMetadata: providerOptions }]);
});

it("is sent with its files, by the reference of one that is at a provider", () => {
  const file = { type: "file", mediaType: "image/png" } as const;
  const parts = [
    { ...file, url: "https://example.com/a.png", filename: "a.png" },
    { ...file, url: "", providerReference: { openai: "file-1" } },
  ];
  expect(fromUIMessage({ role: "user", parts })).toEqual([
    { ...file, data: "https://example.com/a.png", filename: "a.png" },
    { ...file, data: { openai: "file-1" } },
  ]);
});
