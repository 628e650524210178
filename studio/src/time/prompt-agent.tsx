/** What a step is sent beside its messages: instructions, tools and settings. */

import type { Diff, Standing } from "../data/types.ts";
import { plural } from "../data/words.ts";
import { JsonView } from "../parts/json-view.tsx";

type Text = Standing["instructions"];

export function PromptAgent({
  agent: { instructions, tools, settings },
}: {
  readonly agent: Standing;
}) {
  return (
    <details className="prompt-agent">
      <summary>
        With {instructions.text === "" ? "no instructions" : "instructions"} and{" "}
        {plural(tools.length, "tool")}
      </summary>
      {instructions.text !== "" && (
        <details open>
          <summary>Instructions</summary>
          <TextOf of={instructions} />
        </details>
      )}
      {tools.map((tool) => (
        <details key={tool.name}>
          <summary>
            Tool <code>{tool.name}</code>
          </summary>
          <TextOf of={tool} />
        </details>
      ))}
      {settings !== undefined && Object.keys(settings).length > 0 && (
        <details>
          <summary>Settings</summary>
          <JsonView value={settings} />
        </details>
      )}
    </details>
  );
}

/** Of a log of an earlier release, there are digests only. */
function TextOf({ of: { digest, text } }: { readonly of: Text }) {
  if (text === undefined)
    return (
      <p className="dim">
        Digest only:{" "}
        {digest === undefined ? "not recorded" : <code title={digest}>{digest.slice(0, 12)}</code>}
      </p>
    );
  const value = jsonIn(text);
  return value === undefined ? (
    <p className="text" dir="auto">
      {text}
    </p>
  ) : (
    <JsonView value={value} />
  );
}

function jsonIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const signs = { added: "+", removed: "−", changed: "~" } as const;

/** Which of them differ between two prompts, and in which lines. */
export function StandingChanges({ changes }: { readonly changes: Diff["standing"] }) {
  return changes.map((change, index) =>
    change.part === "tools" ? (
      <section key={index} className="change change-changed">
        <header>
          <b className="sign">~</b> the order of the tools
        </header>
        <pre className="lines">
          <del>{`− ${change.before.join(", ")}\n`}</del>
          <ins>{`+ ${change.after.join(", ")}\n`}</ins>
        </pre>
      </section>
    ) : (
      <section key={index} className={`change change-${change.kind}`}>
        <header>
          <b className="sign">{signs[change.kind]}</b> {change.part}
          {change.name !== undefined && <code> {change.name}</code>} {change.kind}
          {change.lines !== undefined && (
            <span className="dim"> from line {change.lines.from}</span>
          )}
        </header>
        {change.lines !== undefined && (
          <pre className="lines">
            {change.lines.removed.map((line, at) => (
              <del key={at}>{`− ${line}\n`}</del>
            ))}
            {change.lines.added.map((line, at) => (
              <ins key={at}>{`+ ${line}\n`}</ins>
            ))}
          </pre>
        )}
      </section>
    ),
  );
}
