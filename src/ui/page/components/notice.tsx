import type { ApiError } from "../api.ts";

export function ErrorNotice({ error }: { error: ApiError | undefined }) {
  if (error === undefined) return null;
  if (error.status === 401) return <SignIn message={error.message} />;
  return (
    <p class="notice wa-danger" role="alert">
      {error.message}
    </p>
  );
}

/** What to do without a token, or with one that is not accepted any more. */
function SignIn({ message }: { message: string }) {
  return (
    <section class="notice wa-warning" role="alert">
      <h2>This page does not know who you are</h2>
      <p>{message}.</p>
      <p>
        If you started the page yourself, the URL is in the terminal of <code>mooring ui</code>. Each start makes a new
        one. In a cluster, load the page again, so that you can sign in.
      </p>
    </section>
  );
}
