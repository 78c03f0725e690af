import type { ApiError } from "../api.ts";

export function ErrorNotice({ error }: { error: ApiError | undefined }) {
  if (error === undefined) return null;
  return (
    <p class="notice wa-danger" role="alert">
      {error.message}
    </p>
  );
}
