import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { Options, optional, Timestamp } from "./schema.ts";

export const HostTime = Type.Object({
  time: Timestamp("Current time of the host."),
  timezone: Type.String({ description: "Time zone, such as `Europe/Berlin`." }),
  ntp: Type.Boolean({ description: "Whether time synchronisation is enabled." }),
  ntp_available: Type.Boolean({ description: "Whether a time service is installed that can be enabled." }),
  ntp_synchronized: Type.Boolean({ description: "Whether the clock is synchronised." }),
  rtc_in_local_time: Type.Boolean({
    description: "Whether the hardware clock is in local time instead of UTC.",
  }),
});
export type HostTime = Static<typeof HostTime>;

const outcome = {
  success: Type.Boolean(),
  message: Type.String(),
  changed: Type.Array(Type.String(), {
    description: "Members that were changed; empty if there was nothing to do.",
  }),
};

export const HostTimeChange = Type.Object({ ...HostTime.properties, ...outcome });
export type HostTimeChange = Static<typeof HostTimeChange>;

export const Hostname = Type.Object({
  hostname: Type.String({ description: "Current host name." }),
  static_hostname: Type.String({ description: "Host name that is set at boot; empty if none is configured." }),
  pretty_hostname: Type.String({ description: "Name for people, with any characters; empty if there is none." }),
});
export type Hostname = Static<typeof Hostname>;

export const HostnameChange = Type.Object({ ...Hostname.properties, ...outcome });
export type HostnameChange = Static<typeof HostnameChange>;

/** One to three parts of the names of files that zones are in. */
const timezonePattern = "^[A-Za-z0-9][A-Za-z0-9_+-]*(/[A-Za-z0-9][A-Za-z0-9_+-]*){0,2}$";
/** Labels of RFC 1123; the kernel keeps at most 64 characters. */
const hostnamePattern =
  "^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$";
const longestHostname = 64;
const prettyPattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$";
const longestPrettyHostname = 200;

export const HostTimeInput = Options(
  optional({
    timezone: Type.String({
      description: "Time zone, such as `Europe/Berlin`.",
      pattern: timezonePattern,
      maxLength: 100,
      examples: ["Europe/Berlin"],
    }),
    ntp: Type.Boolean({ description: "Whether to synchronise the clock." }),
  }),
);

export const HostnameInput = Options(
  optional({
    hostname: Type.String({
      pattern: hostnamePattern,
      maxLength: longestHostname,
      description: "Host name as in RFC 1123, with or without a domain; not `localhost` or a name below it.",
      examples: ["web1"],
    }),
    pretty: Type.String({
      pattern: prettyPattern,
      maxLength: longestPrettyHostname,
      description: "Name for people; empty removes it.",
    }),
  }),
);

export const hostSettings = {
  getTime: {
    method: "GET",
    path: "/system/time",
    tag: "System",
    summary: "Clock and time zone",
    description: "From systemd-timedated.",
    scope: "system:read",
    effect: "read",
    response: HostTime,
    errors: ["UNAVAILABLE"],
  },
  setTime: {
    method: "POST",
    path: "/system/time",
    tag: "System",
    summary: "Set the time zone, enable or disable time synchronisation",
    description:
      "Uses systemd-timedated. The time zone must be one that it lists. Values that are already set are reported as unchanged. Running programs keep the time zone that they have read until they are restarted. The clock itself cannot be set.",
    scope: "system:time",
    effect: "write",
    query: DryRunQuery,
    body: HostTimeInput,
    response: HostTimeChange,
    errors: ["UNAVAILABLE"],
  },
  getHostname: {
    method: "GET",
    path: "/system/hostname",
    tag: "System",
    summary: "Name of the host",
    description: "From systemd-hostnamed.",
    scope: "system:read",
    effect: "read",
    response: Hostname,
    errors: ["UNAVAILABLE"],
  },
  setHostname: {
    method: "POST",
    path: "/system/hostname",
    tag: "System",
    summary: "Set the host name",
    description:
      "Uses systemd-hostnamed, at once and for each boot. Values that are already set are reported as unchanged. `/etc/hosts`, DNS and certificates keep the former name.",
    scope: "system:hostname",
    effect: "write",
    query: DryRunQuery,
    body: HostnameInput,
    response: HostnameChange,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
