/** The types that source files declare, with their comments: what the pages of the reference are made from. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, type TSInterfaceDeclaration, type TSSignature, type TSType } from "oxc-parser";

const root = join(import.meta.dirname, "../..");

/** A field of an interface, or a method. */
export interface Member {
  readonly name: string;
  readonly isOptional: boolean;
  /** As the source has it, on one line. */
  readonly type: string;
  readonly comment: string;
  /** The fields of its type: of a literal, of a declared type, of an intersection of them. */
  readonly fields: () => readonly Member[];
}

export interface Declaration {
  readonly comment: string;
  /** Its fields, those of all that it extends first. Empty for a union. */
  readonly members: readonly Member[];
  /** The source of a type that has no fields of its own. */
  readonly text: string;
}

/** A type by its name, if one of the files declares it. */
export type Declarations = (name: string) => Declaration | undefined;

interface Declared {
  readonly file: SourceFile;
  readonly start: number;
  readonly body: TSInterfaceDeclaration | TSType;
}

class SourceFile {
  readonly #text: string;
  /** The text of a block comment, by its end. */
  readonly #comments: ReadonlyMap<number, string>;
  readonly declared: ReadonlyMap<string, Declared>;

  constructor(path: string) {
    this.#text = readFileSync(join(root, path), "utf8");
    const { program, comments } = parseSync(path, this.#text);
    this.#comments = new Map(
      comments
        .filter(({ type, value }) => type === "Block" && value.startsWith("*"))
        .map(({ end, value }) => [end, plain(value)]),
    );
    const declared = new Map<string, Declared>();
    for (const statement of program.body) {
      const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
      const { start } = statement;
      if (node?.type === "TSInterfaceDeclaration")
        declared.set(node.id.name, { file: this, start, body: node });
      else if (node?.type === "TSTypeAliasDeclaration")
        declared.set(node.id.name, { file: this, start, body: node.typeAnnotation });
    }
    this.declared = declared;
  }

  /** The comment that ends where a declaration begins. */
  commentBefore(start: number): string {
    return this.#comments.get(this.#text.slice(0, start).trimEnd().length) ?? "";
  }

  source({ start, end }: { readonly start: number; readonly end: number }): string {
    return this.#text
      .slice(start, end)
      .replaceAll(/\/\*\*[\s\S]*?\*\/|\breadonly /g, "")
      .replaceAll(/\s+/g, " ")
      .replace(/^\| /, "")
      .replaceAll("; }", " }");
  }
}

/** What a comment says, without its examples and its other tags. */
function plain(comment: string): string {
  return comment
    .replaceAll(/^\s*\* ?/gm, "")
    .replace(/@(?:example|param|throws|returns)\b[\s\S]*$/, "")
    .replaceAll(/\{@link ([^}]+)\}/g, "`$1`")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/**
 * All types that the files declare.
 * @param ofUnions - Whether a union has the fields of all its members, as the options of a function do
 */
export function declarationsIn(
  patterns: string | readonly string[],
  { ofUnions = false } = {},
): Declarations {
  const files = globSync(patterns, { cwd: root }).toSorted();
  const declared = new Map(files.flatMap((path) => [...new SourceFile(path).declared]));

  function own(file: SourceFile, signatures: readonly TSSignature[]): readonly Member[] {
    return signatures.flatMap((one) => {
      if (one.type !== "TSPropertySignature" && one.type !== "TSMethodSignature") return [];
      const { key } = one;
      const name =
        key.type === "Identifier" ? key.name : key.type === "Literal" ? String(key.value) : "";
      const annotation = one.type === "TSPropertySignature" ? one.typeAnnotation : one.returnType;
      const node = annotation?.typeAnnotation;
      const type = node === undefined ? "" : file.source(node);
      const comment = file.commentBefore(one.start);
      const fields = (): readonly Member[] => (node === undefined ? [] : members(file, node));
      return [{ name, isOptional: one.optional, type, comment, fields }];
    });
  }

  function members(file: SourceFile, type: TSType): readonly Member[] {
    switch (type.type) {
      case "TSTypeLiteral":
        return own(file, type.members);
      case "TSIntersectionType":
        return type.types.flatMap((one) => members(file, one));
      case "TSParenthesizedType":
        return members(file, type.typeAnnotation);
      case "TSUnionType":
        return ofUnions ? distinct(type.types.flatMap((one) => members(file, one))) : [];
      case "TSTypeReference": {
        const { typeName, typeArguments } = type;
        if (typeName.type !== "Identifier") return [];
        const [from, keys] = typeArguments?.params ?? [];
        if (typeName.name !== "Omit" || from === undefined || keys === undefined)
          return declaration(typeName.name)?.members ?? [];
        return members(file, from).filter(({ name }) => !file.source(keys).includes(`"${name}"`));
      }
      default:
        return [];
    }
  }

  function declaration(name: string): Declaration | undefined {
    const found = declared.get(name);
    if (found === undefined) return undefined;
    const { file, start, body } = found;
    const comment = file.commentBefore(start);
    if (body.type !== "TSInterfaceDeclaration")
      return { comment, members: members(file, body), text: file.source(body) };
    const inherited = body.extends.flatMap(({ expression }) =>
      expression.type === "Identifier" ? (declaration(expression.name)?.members ?? []) : [],
    );
    return { comment, members: distinct([...inherited, ...own(file, body.body.body)]), text: "" };
  }

  return declaration;
}

/** Each name once, as it is declared last; not the fields that a member of a union must not have. */
function distinct(members: readonly Member[]): readonly Member[] {
  const real = members.filter(({ type }) => type !== "never");
  return [...new Map(real.map((one) => [one.name, one])).values()];
}
