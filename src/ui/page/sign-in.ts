import { useEffect, useState } from "preact/hooks";

const KEY = "mooring-token";

/**
 * Moves the token from the fragment of the address, which no server receives, to the storage of this origin. Unlike a cookie, the browser
 * sends it to no other port of this machine.
 */
export function takeToken(): void {
  const token = /^#token=([\w-]+)$/.exec(window.location.hash)?.[1];
  if (token === undefined) return;
  window.localStorage.setItem(KEY, token);
  window.history.replaceState(null, "", window.location.pathname);
}

/** The server does not know the token: it is that of an earlier page under this address. */
export function forgetToken(): void {
  window.localStorage.removeItem(KEY);
}

/** What proves to the page's server whose page this is. Empty where an auth proxy adds it, or nobody signs in. */
export function authorization(): Record<string, string> {
  const token = window.localStorage.getItem(KEY);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/**
 * Address of a path for what sends no header: a player, a download, the stream of changes.
 * @throws TypeError when the server does not answer
 */
export async function addressOf(path: string): Promise<string> {
  const headers = authorization();
  if (headers["authorization"] === undefined) return path;
  const body = JSON.stringify({ path });
  const sent = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body };
  const response = await fetch("api/tickets", sent);
  // A server without tickets has another way to know who asks; otherwise it says at this path why it refuses.
  if (!response.ok) return path;
  const { ticket }: { ticket: string } = await response.json();
  return `${path}?ticket=${ticket}`;
}

/** Undefined until the address is known. */
export function useAddress(path: string | undefined): string | undefined {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    let outdated = false;
    setAddress(undefined);
    if (path === undefined) return;
    addressOf(path)
      // The player then says that the server does not respond.
      .catch(() => path)
      .then((found) => {
        if (!outdated) setAddress(found);
      });
    return () => {
      outdated = true;
    };
  }, [path]);
  return address;
}
