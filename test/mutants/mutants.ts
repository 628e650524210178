/** Mutants of a source text: each changes one place so that the code says something else. Pure. */

import { parseSync, Visitor } from "oxc-parser";

interface Span {
  readonly start: number;
  readonly end: number;
}

/** One change of a text. */
export interface Mutant extends Span {
  /** What takes the place of `text.slice(start, end)`. */
  readonly by: string;
}

const operators: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&&": "||",
  "||": "&&",
  "??": "&&",
  "+=": "-=",
  "-=": "+=",
};

const methods: Readonly<Record<string, string>> = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  floor: "ceil",
  ceil: "floor",
  startsWith: "endsWith",
  endsWith: "startsWith",
  find: "findLast",
  findLast: "find",
  push: "unshift",
  add: "delete",
};

/** Methods that can be left out of a chain. */
const optional: ReadonlySet<string> = new Set([
  "filter",
  "slice",
  "toReversed",
  "toSorted",
  "trim",
  "trimEnd",
  "trimStart",
]);

/** The text with a mutant in it. */
export function planted(text: string, { start, end, by }: Mutant): string {
  return text.slice(0, start) + by + text.slice(end);
}

/** `const known = cache.get(…); if (known !== undefined) return known;`: without it the same is made again. */
const lookup = /const (\w+) = (\w+)\.get\([^;]*\);\s*if \(\1 !== undefined\) return \1;/g;

/** What is a cache is told by its lookups: to leave an entry out costs time, which growth tests measure. */
function cacheNames(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(lookup)].flatMap(([, , cache = ""]) => [cache]));
}

function isCacheLookup(text: string, { start, end }: Span): boolean {
  return [...text.matchAll(lookup)].some(
    ({ 0: found, index }) => start > index && end === index + found.length,
  );
}

/** All mutants of a file, in the order of its text. Throws where the text does not parse. */
export function mutantsOf(file: string, text: string): readonly Mutant[] {
  const { program, errors } = parseSync(file, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file} does not parse: ${error.message}`);
  const found: Mutant[] = [];
  const put = ({ start, end }: Span, by: string): void => {
    if (text.slice(start, end) !== by) found.push({ start, end, by });
  };
  const decide = (test: Span): void => {
    put(test, "true");
    put(test, "false");
  };
  /** Changes the operator between two operands. */
  const turn = (left: Span, right: Span, operator: string): void => {
    const by = operators[operator];
    const at = text.indexOf(operator, left.end);
    if (by !== undefined && at < right.start) put({ start: at, end: at + operator.length }, by);
  };
  const types = new Set<number>();
  const caches = cacheNames(text);
  new Visitor({
    TSLiteralType: ({ literal }) => void types.add(literal.start),
    // A definition's version says when its meaning has changed: every number is right.
    Property: ({ key, value }) => {
      if (key.type === "Identifier" && key.name === "version") types.add(value.start);
    },
    IfStatement: (node) => {
      const { test } = node;
      put(test, "true");
      if (!isCacheLookup(text, node)) put(test, "false");
    },
    ConditionalExpression: ({ test }) => decide(test),
    WhileStatement: ({ test }) => put(test, "false"),
    BinaryExpression: ({ left, right, operator }) => turn(left, right, operator),
    LogicalExpression: ({ left, right, operator }) => turn(left, right, operator),
    AssignmentExpression: ({ left, right, operator }) => turn(left, right, operator),
    UnaryExpression: (node) => {
      if (node.operator === "!" || node.operator === "-")
        put(node, text.slice(node.argument.start, node.argument.end));
    },
    UpdateExpression: (node) => {
      const said = text.slice(node.start, node.end);
      put(node, said.replace(node.operator, node.operator === "++" ? "--" : "++"));
    },
    Literal: (node) => {
      if (types.has(node.start)) return;
      if (typeof node.value === "boolean") put(node, String(!node.value));
      else if (typeof node.value === "number") put(node, String(node.value + 1));
    },
    ObjectExpression: ({ properties }) => {
      const spreads = properties.some(({ type }) => type === "SpreadElement");
      // What is said beside a spread changes something of it.
      for (const one of spreads ? properties : []) put(one, "...{}");
    },
    ArrayExpression: ({ elements }) => {
      for (const one of elements) if (one?.type === "SpreadElement") put(one, "...[]");
    },
    CallExpression: ({ callee, end }) => {
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
      const { name } = callee.property;
      const other = methods[name];
      if (other !== undefined) put(callee.property, other);
      if (optional.has(name)) put({ start: callee.object.end, end }, "");
    },
    ExpressionStatement: (node) => {
      const cache = /^(\w+)\.set\(/.exec(text.slice(node.start, node.end))?.[1];
      if (cache === undefined || !caches.has(cache)) put(node, ";");
    },
  }).visit(program);
  return found.toSorted((one, other) => one.start - other.start || one.end - other.end);
}
