/** Text of a model with its code set apart. The text stays text: no markup of it is ever run. */

import { Fragment, memo } from "react";

interface Piece {
  readonly kind: "text" | "code";
  readonly text: string;
  readonly language?: string;
}

/** Splits at fences; one that is open ends with the text. */
function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let rest = text;
  for (;;) {
    const fence = /(?:^|\n)```([^\n`]*)(?:\n|$)/u.exec(rest);
    if (fence === null) break;
    const before = rest.slice(0, fence.index);
    if (before.trim() !== "") pieces.push({ kind: "text", text: before });
    const inside = rest.slice(fence.index + fence[0].length);
    const end = /(?:^|\n)```[ \t]*(?:\n|$)/u.exec(inside);
    const code = end === null ? inside : inside.slice(0, end.index);
    pieces.push({ kind: "code", text: code, language: fence[1]?.trim() ?? "" });
    rest = end === null ? "" : inside.slice(end.index + end[0].length);
  }
  if (rest.trim() !== "") pieces.push({ kind: "text", text: rest });
  return pieces;
}

export const Prose = memo(function Prose({ text }: { readonly text: string }) {
  return (
    <div className="prose" dir="auto">
      {piecesOf(text).map((piece, index) =>
        piece.kind === "code" ? (
          <pre key={index} className="code" data-language={piece.language} tabIndex={0}>
            <code>{piece.text}</code>
          </pre>
        ) : (
          <p key={index}>{inline(piece.text.replace(/^\n+|\s+$/gu, ""))}</p>
        ),
      )}
    </div>
  );
});

/** `code` and **bold** within a line. */
function inline(text: string) {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/u).map((part, index) => {
    if (index % 2 === 0) return <Fragment key={index}>{part}</Fragment>;
    return part.startsWith("`") ? (
      <code key={index}>{part.slice(1, -1)}</code>
    ) : (
      <b key={index}>{part.slice(2, -2)}</b>
    );
  });
}
