/** Whole chats as a terminal shows them, narrow and wide. Skipped where tmux is not installed. */
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { main } from "./built-command.ts";
import { run } from "./command-line.ts";
import { fakeServer, streamChunks } from "./fake-server.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { hasWindows, terminalWindow } from "./terminal-window.ts";

const wide = "日本語のテキスト🎉と絵文字";
const prose =
  "Durable sessions remember everything that people and models have said, even after somebody has unplugged the machine in the middle of a sentence.";
const files = { "README.md": `# Tale\n\nIt says ${wide}.\n\n${prose}\n` };
const question = "read README.md";

function chat(pace: string): readonly string[] {
  return [process.execPath, main, "--session", "one", "--pace", pace];
}

const wordsOf = (text: string): readonly string[] => text.split(/[\s│]+/);

describe.skipIf(!hasWindows)(
  "a whole chat in a terminal (skipped where tmux is not installed)",
  () => {
    it.each<[number, string, Readonly<Record<string, string>>, boolean]>([
      [80, "the colours of the terminal's own theme, light or dark", {}, true],
      [40, "none with NO_COLOR", { NO_COLOR: "1" }, false],
    ])("breaks words and wide letters nowhere in %i columns, and has %s", async (...given) => {
      const [columns, , env, isColoured] = given;
      await using folder = await temporaryFolder(files);
      const options = { cwd: folder.path, columns, env };
      await using window = await terminalWindow(chat("at-once"), options);
      await window.until(/^Ask about this folder/m);
      await window.type(`${question} 漢字`);
      await window.press("BSpace");
      await window.until(/^> read README\.md 漢$/m);
      await window.press("BSpace");
      await window.press("Enter");
      await window.until(/tokens: [^]*^Ask about this folder/m);
      const shown = (await window.rows()).join("\n");
      expect(wordsOf(shown)).toEqual(expect.arrayContaining([...wordsOf(prose)]));
      expect(wordsOf(shown)).toEqual(
        expect.arrayContaining(["remembered:", "continue", 'path="README.md"']),
      );
      expect(wordsOf(shown).join("")).toContain(wide);
      expect(shown.match(/^Ask about this folder/gm)).toHaveLength(1);
      const styled = (await window.rows("styled")).join("\n");
      // oxlint-disable-next-line no-control-regex
      const codes = [...styled.matchAll(/\u001B\[([\d;]*)m/g)].flatMap(([, code = ""]) =>
        code.split(";"),
      );
      // Neither a background nor black or white letters, which one of the themes could not show.
      expect(codes.filter((code) => !/^(?:0?|1|2|3|22|23|3[1-6]|39|49)$/.test(code))).toEqual([]);
      expect(codes.includes("36")).toBe(isColoured);
      expect(stripVTControlCharacters(styled)).toContain("→ read_file");
    });

    it("continues in a window that becomes narrow and wide while a reply streams", async () => {
      await using folder = await temporaryFolder(files);
      const resized = Promise.withResolvers<void>();
      const [begin, ...rest] = prose.split(/(?<=sessions)/);
      async function* choices(): AsyncGenerator<object> {
        yield { delta: { role: "assistant", content: begin }, finish_reason: null };
        await resized.promise;
        yield { delta: { content: rest.join("") }, finish_reason: null };
        yield { delta: {}, finish_reason: "stop" };
      }
      await using server = await fakeServer((_, response) => streamChunks(response, choices()));
      const env = { OPENAI_BASE_URL: server.url };
      const words = [...chat("at-once").slice(0, -2), "--model", "openai:gpt-4o"];
      await using window = await terminalWindow(words, { cwd: folder.path, columns: 80, env });
      await window.until(/^Ask about this folder/m);
      await window.type(question);
      await window.press("Enter");
      await window.until(/Durable sessions/);
      // A terminal breaks what is on it already, so the rest comes when the chat knows the last width.
      for (const columns of [40, 64, 33, 80, 40]) {
        await window.resize(columns);
        await window.until(columns > 60 ? /^Working .*Esc cancels$/m : /^(?:Tab .*)?Esc cancels$/m);
      }
      resized.resolve();
      await window.until(/^tokens: [^]*^Ask about this folder/m);
      const shown = (await window.rows()).join("\n");
      expect(wordsOf(shown)).toEqual(expect.arrayContaining([...wordsOf(prose)]));
      expect(shown.match(/^(?:Ask about this folder|Working)/gm)).toHaveLength(1);
    });

    it("takes 100,000 pasted characters: shows their end, sends all, and shows their beginning", async () => {
      const text = `first line\n${"0123456789 ".repeat(9090)}`
        .slice(0, 100_000 - 4)
        .padEnd(99_996, "x");
      await using folder = await temporaryFolder();
      await using window = await terminalWindow(chat("at-once"), { cwd: folder.path, columns: 80 });
      await window.until(/^Ask about this folder/m);
      await window.paste(`${text} end`);
      await window.until(/^… [0-9 ]+\n[^]* end$/m);
      await window.press("Enter");
      await window.until(/^> first line\n[^]*\[100,000\s+characters in all\][^]*^tokens: /m);
      expect((await window.rows()).length).toBeLessThan(80);
      await window.press("C-d");
      await window.until(/^Continue later/m);
      await window.ended();
      const words = ["show", "one", "--view", "events", "--json"];
      const { stdout } = await run(words, { cwd: folder.path });
      expect(stdout).toContain(JSON.stringify(`${text} end`));
    });

    it("gives the terminal back at Ctrl-Z, and returns with what was typed", async () => {
      await using folder = await temporaryFolder();
      const words = ["bash", "--norc", "--noprofile"];
      const options = { cwd: folder.path, columns: 80, env: { PS1: "shell> " } };
      await using window = await terminalWindow(words, options);
      await window.until(/^shell>/m);
      await window.type(chat("at-once").join(" "));
      await window.press("Enter");
      await window.until(/^Ask about this folder/m);
      await window.type("half a message");
      await window.until(/^> half a message$/m);
      await window.press("C-z");
      await window.until(/Stopped[^]*^shell>/m);
      expect((await window.rows()).join("\n")).not.toMatch(/^> half/m);
      await window.type("fg");
      await window.press("Enter");
      await window.until(/^> half a message$/m);
      await window.press("C-l");
      await window.type(" more");
      await window.until(/^> half a message more$/m);
      await window.press("C-c");
      await window.press("C-d");
      await window.until(/Continue later with[^]*^shell>/m);
    });
  },
);
