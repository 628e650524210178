/** Whether there is room for the conversation beside another panel, as `layout.css` says it. */

import { useSyncExternalStore } from "react";

const wide = matchMedia("(width >= 1180px)");

function follow(changed: () => void): () => void {
  wide.addEventListener("change", changed);
  return () => wide.removeEventListener("change", changed);
}

export function useIsWide(): boolean {
  return useSyncExternalStore(follow, () => wide.matches);
}
