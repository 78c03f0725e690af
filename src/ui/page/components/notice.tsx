import type { ApiError } from "../api.ts";

export function ErrorNotice({ error }: { error: ApiError | undefined }) {
  if (error === undefined) return null;
  return (
    <p class="notice bad" role="alert">
      {error.message}
    </p>
  );
}
