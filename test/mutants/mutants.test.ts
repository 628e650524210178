import { expect, it } from "vitest";
import { mutantsOf, planted } from "./mutants.ts";

function all(text: string): readonly string[] {
  return mutantsOf("a.ts", text).map((mutant) => planted(text, mutant));
}

it("plants each mutant by itself, and none in types, texts and imports", () => {
  expect(all(`import a from "b"; type T = 1 | true; const t: T = f<2>("a < b", c as 3);`)).toEqual(
    [],
  );
  expect(all("const x = a < b ? 1 : c && !d;")).toEqual([
    "const x = true ? 1 : c && !d;",
    "const x = false ? 1 : c && !d;",
    "const x = a <= b ? 1 : c && !d;",
    "const x = a < b ? 2 : c && !d;",
    "const x = a < b ? 1 : c || !d;",
    "const x = a < b ? 1 : c && d;",
  ]);
  expect(all("const x = { ...a, b: [...c] };")).toEqual([
    "const x = { ...{}, b: [...c] };",
    "const x = { ...a, ...{} };",
    "const x = { ...a, b: [...[]] };",
  ]);
  expect(all("const x = a.some(b).filter(c);")).toEqual([
    "const x = a.every(b).filter(c);",
    "const x = a.some(b);",
  ]);
  expect(all("if (a) b += c++;")).toEqual([
    "if (true) b += c++;",
    "if (false) b += c++;",
    "if (a) ;",
    "if (a) b -= c++;",
    "if (a) b += c--;",
  ]);
});

it("leaves alone what every number or none is right for: a version, and the entries of a cache", () => {
  expect(all("const x = { version: 2 };")).toEqual([]);
  const cached =
    "const known = made.get(a); if (known !== undefined) return known; made.set(a, 1);";
  expect(all(`function f(a) { ${cached} other.set(a, b); }`)).toEqual(
    [
      cached.replace("known !== undefined", "true"),
      cached.replace("!==", "==="),
      cached.replace("1", "2"),
      cached,
    ].map((text, index) => `function f(a) { ${text} ${index === 3 ? ";" : "other.set(a, b);"} }`),
  );
});
