/** What a panel shows before it has something to show. */

import type { ReactNode } from "react";

export function Loading({ words }: { readonly words: string }) {
  return (
    <div className="blank" role="status">
      <span className="spinner" aria-hidden="true" />
      <p>{words}</p>
    </div>
  );
}

export function Blank({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="blank">
      <p className="blank-title">{title}</p>
      {children}
    </div>
  );
}

export function Failure({ title, message }: { readonly title: string; readonly message: string }) {
  return (
    <div className="blank failure" role="alert">
      <p className="blank-title">{title}</p>
      <p>{message}</p>
    </div>
  );
}
