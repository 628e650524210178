/**
 * What the compiler calls for each element of the studio: React's own, with every text that an element shows made
 * visible. So no place can be forgotten. What a field holds stays as it is, since it is sent.
 */

import { Fragment, jsx as reactJsx, jsxs as reactJsxs, type JSX } from "react/jsx-runtime";
import { visible } from "./visible.ts";

export { Fragment, type JSX };

type Create = typeof reactJsx;

const texts = ["children", "title", "alt", "placeholder", "aria-label"] as const;

function shown(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  return Array.isArray(value) ? value.map(shown) : value;
}

function withVisible(type: unknown, props: unknown): unknown {
  // What a component is given ends in elements too.
  if (typeof type !== "string" && type !== Fragment) return props;
  if (typeof props !== "object" || props === null) return props;
  const changed: Record<string, unknown> = { ...props };
  for (const name of texts) if (name in changed) changed[name] = shown(changed[name]);
  return changed;
}

const creating =
  (create: Create): Create =>
  (type, props, key) =>
    create(type, withVisible(type, props), key);

export const jsx: Create = creating(reactJsx);
export const jsxs: Create = creating(reactJsxs);
