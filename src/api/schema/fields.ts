import * as z from "zod";
import { parseDuration } from "./duration.ts";
import { ruled } from "./rule.ts";

const DURATION = "^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$";
const OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const GROUP = "[0-9A-Fa-f]{1,4}";
/** RFC 4291: eight groups, or fewer with one `::` in place of the others. */
const IPV6 = [
  `(${GROUP}:){7}${GROUP}`,
  ...[6, 5, 4, 3, 2, 1].map((before) => `(${GROUP}:){1,${before}}(:${GROUP}){1,${7 - before}}`),
  `(${GROUP}:){1,7}:`,
  `:((:${GROUP}){1,7}|:)`,
].join("|");
const CIDR = `^((${OCTET}[.]){3}${OCTET}/(3[0-2]|[12]?[0-9])|(${IPV6})/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$`;
const MONEY = "^[0-9]{1,15}([.][0-9]{1,4})?$";
const INT32_MAX = 2_147_483_647;

/** A string of `min` to `max` characters. */
export function text(max: number, description: string, min = 1): z.ZodString {
  return (min === 0 ? z.string() : z.string().min(min)).max(max).describe(description);
}

/** A string that matches an RE2 and JavaScript regular expression; the message says what is allowed instead of showing it. */
export function matching(pattern: string, max: number, description: string, message: string): z.ZodString {
  const regex = new RegExp(pattern, "u");
  return ruled(z.string().max(max), [
    { cel: `self.matches(${celString(pattern)})`, message, holds: (value) => regex.test(value) },
  ]).describe(description);
}

/** A list of at most `max` items. `key`: no two items may agree in it, and server-side apply merges by it. */
export function listOf<T extends z.ZodType>(item: T, max: number, description: string, key?: string): z.ZodArray<T> {
  const list = z.array(item).max(max).describe(description);
  if (key === undefined) return list;
  const distinct = list.superRefine((items, context) => {
    const seen = new Set<unknown>();
    for (const [index, value] of items.entries()) {
      const id = keyOf(value, key);
      if (seen.has(id)) {
        context.addIssue({ code: "custom", message: `Duplicate value: ${key} ${String(id)}`, path: [index, key] });
      }
      seen.add(id);
    }
  });
  return distinct.meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] });
}

function keyOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

/** An integer that fits in 32 bits. */
export function int(min: number, description: string, max = INT32_MAX): z.ZodInt {
  return z.int().min(min).max(max).describe(description);
}

export function flag(description: string): z.ZodBoolean {
  return z.boolean().describe(description);
}

/** A Go duration such as 30s or 24h, above 0: it paces a loop or bounds a wait. `max`: the longest one, a Go duration too. */
export function duration(description: string, max?: string): z.ZodString {
  const regex = new RegExp(DURATION, "u");
  const wellFormed = {
    cel: `self.matches(${celString(DURATION)}) && self.matches('[1-9]')`,
    message: "must be a Go duration above 0, such as 500ms, 30s, 5m or 24h",
    holds: (value: string) => regex.test(value) && /[1-9]/u.test(value),
  };
  const rules = max === undefined ? [wellFormed] : [wellFormed, notLonger(max, regex)];
  return ruled(z.string().max(32), rules).describe(description);
}

/** True for what is no duration, which has a rule of its own. */
function notLonger(max: string, regex: RegExp) {
  return {
    cel: `!self.matches(${celString(DURATION)}) || duration(self) <= duration(${celString(max)})`,
    message: `must be ${max} or shorter`,
    holds: (value: string) => !regex.test(value) || parseDuration(value) <= parseDuration(max),
  };
}

/** An amount of money in yuan as a decimal string; the service counts in 1/10000 yuan. */
export function yuan(description: string): z.ZodString {
  return matching(
    MONEY,
    20,
    `${description} In yuan, a decimal string with at most four decimals.`,
    'must be an amount in yuan as a decimal string with at most four decimals, such as "100" or "12.5"',
  );
}

/** Yuan in a status: as computed, negative when overdrawn. */
export function yuanStatus(description: string): z.ZodString {
  return text(32, `${description} In yuan, a decimal string.`, 0);
}

/** RFC 3339 in UTC. */
export function time(description: string): z.ZodString {
  return z.string().max(64).describe(description).meta({ description, format: "date-time" });
}

const DAY = /^[0-9]{4}-[0-9]{2}-[0-9]{2}/;
const DATE_TIME = z.iso.datetime({ offset: true });

/** RFC 3339 in a spec, on an existing day. The API server checks the same by the format; JavaScript alone takes February 30 as March 2. */
export function specTime(description: string): z.ZodString {
  return time(description).superRefine((value, context) => {
    if (DATE_TIME.safeParse(value).success) return;
    const [day] = DAY.exec(value) ?? [];
    const message =
      day === undefined || z.iso.date().safeParse(day).success
        ? "must be a time as in RFC 3339, such as 2026-02-01T00:00:00Z"
        : `${day} is no day of the calendar: use an existing day`;
    // The rules between fields need a time.
    context.addIssue({ code: "custom", message, continue: false });
  });
}

const QUANTITY = "^[1-9][0-9]{0,11}(Ki|Mi|Gi|Ti)?$";
const QUANTITY_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
};

/** Bytes of a quantity such as 4Gi. @throws Error on anything else */
export function parseBytes(text: string): number {
  const [, amount, unit = ""] = /^([1-9][0-9]{0,11})(Ki|Mi|Gi|Ti)?$/.exec(text) ?? [];
  if (amount === undefined) throw new Error(`quantity "${text}": expected bytes such as 500Mi or 4Gi`);
  return Number(amount) * (QUANTITY_UNITS[unit] ?? 1);
}

/** An amount of bytes as a Kubernetes quantity. `max`: the largest one, a quantity too. */
export function byteQuantity(description: string, name: string, max: string): z.ZodString {
  const regex = new RegExp(QUANTITY, "u");
  return ruled(z.string().max(16), [
    {
      cel: `self.matches(${celString(QUANTITY)})`,
      message: `${name} must be a number of bytes above 0 with the unit Ki, Mi, Gi or Ti, such as 500Mi or 4Gi`,
      holds: (value) => regex.test(value),
    },
    {
      cel: `!self.matches(${celString(QUANTITY)}) || quantity(self).compareTo(quantity(${celString(max)})) <= 0`,
      message: `${name} must be ${max} or less`,
      holds: (value) => !regex.test(value) || parseBytes(value) <= parseBytes(max),
    },
  ]).describe(description);
}

export function httpUrl(description: string, name: string): z.ZodString {
  return matching(
    "^https?://[^\\s/]+",
    2048,
    description,
    `${name} must be an http:// or https:// URL without white space; give the full address`,
  );
}

/** A network of IPv4 or IPv6 addresses. */
export function cidr(description: string, name: string): z.ZodString {
  return matching(CIDR, 43, description, `${name} must be a network in CIDR notation, such as 10.0.0.0/8 or fd00::/8`);
}

/** The name of a Kubernetes object. */
export function objectName(description: string): z.ZodString {
  return matching(
    "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
    253,
    description,
    "must be the name of a Kubernetes object: lower-case letters, digits, '-' and '.', at most 253 characters",
  );
}

/** A namespace, or another DNS label. */
export function dnsLabel(description: string, name: string): z.ZodString {
  return matching(
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    63,
    description,
    `${name} must be a DNS label: lower-case letters, digits and '-', at most 63 characters, a letter or digit first and last`,
  );
}

/** A key of a Secret or ConfigMap. */
export function dataKey(description: string): z.ZodString {
  const pattern = "^[-._a-zA-Z0-9]+$";
  return ruled(z.string().max(253), [
    {
      cel: `self.matches(${celString(pattern)}) && self != '.' && !self.startsWith('..')`,
      message:
        "must be a key of a Secret or ConfigMap: letters, digits, '-', '_' and '.', not '.' and not beginning with '..', at most 253 characters",
      holds: (value) => new RegExp(pattern, "u").test(value) && value !== "." && !value.startsWith(".."),
    },
  ]).describe(description);
}

const relative = (name: string) => ({
  cel: "!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)')",
  message: `${name} must be a relative path without '..': no '/' first, for example results/2026`,
  holds: (value: string) => !value.startsWith("/") && !/(^|\/)\.\.(\/|$)/u.test(value),
});

/** A place inside a bucket or directory: relative and without `..`. */
export function relativePrefix(description: string, name: string): z.ZodString {
  return ruled(z.string().min(1).max(512), [relative(name)]).describe(description);
}

/** The key of an object in a bucket or directory. `checkKey` of the stores checks the same, and the length of each part. */
export function objectKey(description: string, name: string): z.ZodString {
  const excluded = "^[.](/|$)|/[.]?(/|$)|[\\\\\\x00-\\x1f\\x7f]";
  const named = {
    cel: `!self.matches(${celString(excluded)})`,
    message: `${name} must name an object: no part between two '/' is empty or '.', and there is no '\\' and no control character`,
    holds: (value: string) => !new RegExp(excluded, "u").test(value),
  };
  return ruled(z.string().min(1).max(512), [relative(name), named]).describe(description);
}

/** A string literal of CEL. */
export function celString(value: string): string {
  return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** A list literal of CEL. */
export function celList(values: readonly string[]): string {
  return `[${values.map(celString).join(", ")}]`;
}
