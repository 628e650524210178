/** The page that runs programs: a choice of them, the text, a button and what was printed. */

const programs: Readonly<Record<string, string>> = {
  "A first turn": `import { createRuntime, offlineModel } from "turnlog";

const runtime = await createRuntime({
  memory: true,
  agent: { model: offlineModel({ delay: 50 }) },
});
const session = await runtime.session("release-42");
const turn = await session.send("what can you do?");
for await (const event of turn) {
  if (event.type === "part.text-delta") process.stdout.write(event.data.text);
}
const { finishReason, usage } = await turn.result;
console.log("\\n" + finishReason, usage.outputTokens, "tokens");
await runtime.close();
`,
  "A tool": `import { tool } from "ai";
import { createRuntime } from "turnlog";
import { scriptedModel } from "turnlog/testing";
import { z } from "zod";

const weather = tool({
  description: "The weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => \`Rain in \${city}.\`,
});
// A script in place of a model: a call, then what it says about the result.
const model = scriptedModel(({ prompt }) =>
  prompt.at(-1)?.role === "user"
    ? { parts: [{ type: "tool-call", toolCallId: "1", toolName: "weather", input: { city: "Lisbon" } }] }
    : "Take an umbrella.",
);
const runtime = await createRuntime({ memory: true, agent: { model, tools: { weather } } });
const session = await runtime.session("trip");
await (await session.send("What shall I wear in Lisbon?")).result;
// Every event of the turn is in the log.
for await (const { position, type } of runtime.log.read("trip")) console.log(position, type);
await runtime.close();
`,
  "Undo, and come back": `import { createRuntime } from "turnlog";
import { scriptedModel } from "turnlog/testing";

const model = scriptedModel(({ prompt }) => \`I have read \${prompt.length} messages.\`);
const runtime = await createRuntime({ memory: true, agent: { model } });
const session = await runtime.session("s");
const say = async (text) => console.log(text, "→", (await (await session.send(text)).result).text);

await say("First.");
const { position } = await session.view();
await say("Second.");
await session.rewind({ to: position });
await say("Second, in other words.");
const branches = await session.branches();
console.log("Both are kept:", branches.length, "branches.");
await runtime.close();
`,
};

function part<Kind extends Element>(selector: string, kind: new () => Kind): Kind {
  const found = document.querySelector(selector);
  if (found instanceof kind) return found;
  throw new Error(`The page has no ${selector}.`);
}

const choice = part("select", HTMLSelectElement);
const text = part("textarea", HTMLTextAreaElement);
const button = part("button", HTMLButtonElement);
const output = part("output", HTMLOutputElement);

for (const name of Object.keys(programs)) choice.add(new Option(name));
const choose = (): void => {
  text.value = programs[choice.value] ?? "";
  output.textContent = "";
};
choice.addEventListener("change", choose);
choose();

button.addEventListener("click", () => {
  button.disabled = true;
  output.textContent = "";
  void (async () => {
    // The import map of the page names the packages.
    const url = URL.createObjectURL(new Blob([text.value], { type: "text/javascript" }));
    try {
      await import(/* @vite-ignore */ url);
    } catch (error) {
      output.append(`${String(error)}\n`);
    } finally {
      URL.revokeObjectURL(url);
      button.disabled = false;
    }
  })();
});
