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
  isPage = false,
  children,
}: {
  readonly title: string;
  /** Whether it is all that the page has. */
  readonly isPage?: boolean;
  readonly children?: ReactNode;
}) {
  return (
    <div className="blank">
      {isPage ? <h1 className="blank-title">{title}</h1> : <p className="blank-title">{title}</p>}
      {children}
    </div>
  );
}

export function Failure({
  title,
  message,
  isPage = false,
}: {
  readonly title: string;
  readonly message: string;
  readonly isPage?: boolean;
}) {
  return (
    <div className="failure" role="alert">
      <Blank title={title} isPage={isPage}>
        <p>{message}</p>
      </Blank>
    </div>
  );
}
