import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../base/clock.ts";

/**
 * Tickets for what a browser opens without a header: players, downloads and the stream of changes. A ticket opens one path, so that an
 * address that is copied from the page gives away one result, and not the page's token.
 */
export type Tickets = {
  issue(path: string): string;
  opens(path: string, ticket: string): boolean;
};

/** A player asks for parts of a result until the tab is closed. */
const VALID_MS = 12 * 60 * 60_000;

/** @param secret what only this process knows */
export function createTickets(secret: string, clock: Pick<Clock, "now">): Tickets {
  const signed = (path: string, until: string) =>
    `${until}.${createHmac("sha256", secret).update(`${until}\n${path}`).digest("base64url")}`;
  return {
    issue: (path) => signed(path, String(clock.now() + VALID_MS)),
    opens(path, ticket) {
      const until = ticket.split(".", 1)[0] ?? "";
      const [expected, given] = [Buffer.from(signed(path, until)), Buffer.from(ticket)];
      return expected.length === given.length && timingSafeEqual(expected, given) && Number(until) > clock.now();
    },
  };
}
