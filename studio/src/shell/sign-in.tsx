/** Asks for the server's token where the browser has no cookie. */

import { useState, type SubmitEvent } from "react";
import { messageOf, signIn } from "../data/client.ts";
import { loadSessions } from "../data/sessions.ts";

export function SignIn() {
  const [error, setError] = useState<string>();
  const submit = async (event: SubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token");
    try {
      await signIn(typeof token === "string" ? token.trim() : "");
      await loadSessions();
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  return (
    <main className="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <img src="./icon.svg" alt="" width="40" height="40" />
        <h1>turnlog studio</h1>
        <p>
          This server asks for its token. <code>turnlog serve</code> says in which file it is;{" "}
          <code>turnlog studio</code> opens this page without it.
        </p>
        <label>
          Token
          <input name="token" type="password" autoComplete="current-password" required autoFocus />
        </label>
        {error !== undefined && (
          <p className="error" role="alert">
            {error}
          </p>
        )}
        <button type="submit" className="primary">
          Sign in
        </button>
      </form>
    </main>
  );
}
