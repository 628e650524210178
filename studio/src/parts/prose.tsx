/** Markdown of a model, drawn from its tokens: no markup of it is ever run, and nothing in it is loaded. */

import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";

export const Prose = memo(function Prose({ text }: { readonly text: string }) {
  return (
    <div className="prose" dir="auto">
      {blocks(lexer(text))}
    </div>
  );
});

const drawn: ReadonlySet<string> = new Set<MarkedToken["type"]>([
  "blockquote",
  "br",
  "checkbox",
  "code",
  "codespan",
  "def",
  "del",
  "em",
  "escape",
  "heading",
  "hr",
  "image",
  "link",
  "list",
  "paragraph",
  "space",
  "strong",
  "table",
  "text",
]);

/** Other tokens, HTML among them, are shown as they were written. */
const isDrawn = (token: Token): token is MarkedToken => drawn.has(token.type);

const blocks = (tokens: readonly Token[]): ReactNode =>
  tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);

const spans = (tokens: readonly Token[]): ReactNode =>
  tokens.map((token, index) => <Fragment key={index}>{span(token)}</Fragment>);

function block(token: Token): ReactNode {
  if (!isDrawn(token)) return <p>{token.raw.trimEnd()}</p>;
  switch (token.type) {
    case "heading":
      return <h3>{spans(token.tokens)}</h3>;
    case "code":
      return (
        <pre className="code" data-language={token.lang} tabIndex={0}>
          <code>{token.text}</code>
        </pre>
      );
    case "list":
      return <List list={token} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens)}</blockquote>;
    case "table":
      return <Table table={token} />;
    case "hr":
      return <hr />;
    case "text":
    case "paragraph":
      return <p>{token.tokens === undefined ? token.text : spans(token.tokens)}</p>;
    case "checkbox":
    case "def":
    case "space":
      return null;
    default:
      return <p>{span(token)}</p>;
  }
}

function List({ list: { items, ordered, start } }: { readonly list: Tokens.List }) {
  const rows = items.map(({ tokens, task, checked }, index) => (
    <li key={index} className={task ? "task" : undefined}>
      {task && (checked === true ? "☑ " : "☐ ")}
      {blocks(tokens)}
    </li>
  ));
  return ordered ? <ol start={Number(start)}>{rows}</ol> : <ul>{rows}</ul>;
}

function Table({ table: { header, rows } }: { readonly table: Tokens.Table }) {
  const cells = (row: readonly Tokens.TableCell[]): ReactNode =>
    row.map(({ tokens, align, header: isHead }, index) => {
      const Cell = isHead ? "th" : "td";
      return (
        <Cell key={index} className={align === null ? undefined : `align-${align}`}>
          {spans(tokens)}
        </Cell>
      );
    });
  return (
    <div className="wide" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>{cells(header)}</tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>{cells(row)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function span(token: Token): ReactNode {
  if (!isDrawn(token)) return token.raw;
  switch (token.type) {
    case "strong":
      return <b>{spans(token.tokens)}</b>;
    case "em":
      return <em>{spans(token.tokens)}</em>;
    case "del":
      return <del>{spans(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "link":
      return <Link href={token.href}>{spans(token.tokens)}</Link>;
    case "image":
      return <Link href={token.href}>{token.text || token.href}</Link>;
    case "br":
      return "\n";
    case "text":
      return token.tokens === undefined ? token.text : spans(token.tokens);
    case "escape":
      return token.text;
    default:
      return token.raw;
  }
}

/** Leads to web pages alone. Another address is shown, so that a person sees where it would have led. */
function Link({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  if (!/^https?:\/\//iu.test(href))
    return (
      <>
        {children} <span className="dim">({href})</span>
      </>
    );
  return (
    <a href={href} title={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}
