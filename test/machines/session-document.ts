/** The text of `docs/session-machine.md`: the diagram and the rows of the machine, with a short introduction. */
import { chartStates, chartTransitions } from "./session-chart.ts";
import { sessionDiagram } from "./session-diagram.ts";

/** Where the document is kept, from the repository's root. */
export const documentPath = "docs/session-machine.md";

const heading = ["in", "when", "if", "goes to", "remembers", "asks for"];

const entries = chartStates
  .filter(({ entry }) => entry.length > 0)
  .map(({ path, entry }) => [code([path]), "it is entered", "", "", "", code(entry)]);

const transitions = chartTransitions.map((row) => [
  row.source === "" ? "every state" : code([row.source]),
  row.event === undefined ? "at once" : code([row.event]),
  row.guard === undefined ? "" : code([row.guard]),
  row.target === undefined ? "" : code([row.target]),
  code(row.memory),
  code(row.effects),
]);

/** The whole document. */
export function sessionDocument(): string {
  return `# The session machine

The statechart of a session, drawn from its own definition by \`npm run diagram\`: change \`src/machines/session-machine.ts\`, not this page.
It is fed logged events only, and the name after a slash is an effect: data that the runtime acts on and answers with further events.

\`\`\`mermaid
${sessionDiagram()}
\`\`\`

A line in a box is an event that does not leave the state, or an effect of entering it; \`[…]\` is a condition. Messages are queued, delivered and withdrawn in every state alike and are left out of the drawing.

## Every transition

Of several rows for the same state and event, the first whose condition holds is taken. *Remembers* names what changes the context (\`src/machines/session-context.ts\`), *asks for* the effects (\`Effect\` in \`src/machines/session-machine.ts\`).

${table([heading, ...transitions, ...entries])}
`;
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function code(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}
