import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Answer } from "#client/index.ts";
import { operations } from "#contract/index.ts";
import { roles } from "#contract/scopes.ts";
import { errorMessage } from "#kernel/errors.ts";
import { inOwnWords } from "../core/errors.ts";
import { parseDuration } from "../core/log-time.ts";
import { changingCommand, commandGroup, listCommand, showCommand } from "../core/operation-command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { oneLine } from "../output/output.ts";
import { printFields } from "../output/print.ts";
import type { Style } from "../output/screen.ts";
import { formatTime } from "../output/text.ts";

const collect = (value: string, list: unknown): readonly string[] => [
  ...(Array.isArray(list) ? list : []),
  ...value.split(",").filter(Boolean),
];

/** A lifetime, or a time as the service takes it. */
const expiry =
  ({ now }: CommandPorts) =>
  (text: string): string => {
    const lifetimeMs = parseDuration(text);
    return lifetimeMs === undefined ? text : new Date(now() + lifetimeMs).toISOString();
  };

const state = (key: Answer<"listKeys">["keys"][number], now: number): string => {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && Date.parse(key.expires_at) <= now ? "expired" : "good";
};

function certificateIn(path: string): string {
  try {
    return new X509Certificate(readFileSync(path)).fingerprint256;
  } catch (error) {
    throw new Error(`cannot read the certificate ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

/** The name of a role that has just these scopes, else the scopes. */
function summary(granted: readonly string[]): string {
  const role = Object.entries(roles).find(
    ([, list]) => list.length === granted.length && list.every((scope) => granted.includes(scope)),
  );
  return role?.[0] ?? (granted.join(" ") || "none");
}

const styles: Readonly<Record<string, Style>> = { revoked: "red", expired: "yellow" };

const listKeys = listCommand("listKeys", "list", {
  about: "all keys, without their secrets",
  rows: "keys",
  columns: (_, { now }) => ({
    id: "id",
    name: "name",
    state: (key) => ({ text: state(key, now), style: styles[state(key, now)] }),
    expires: (key) => (key.expires_at === null ? "never" : formatTime(key.expires_at)),
    "last used": (key) => (key.last_used_at === null ? "never" : formatTime(key.last_used_at)),
    // As much as distinguishes them; the JSON has all of it.
    certificate: (key) => key.client_cert_sha256?.slice(0, 12) ?? "none",
    scopes: ({ scopes }) => summary(scopes),
  }),
});

const createKey = changingCommand("createKey", "create", {
  about: "make a key; it is shown once",
  words: {
    name: { as: "<name>", about: "what the key is for" },
    scopes: {
      as: "--scope <scope>",
      about:
        "scope, scope narrowed to a resource, or role (viewer, operator, admin), each also for hosts (@web-*); may be repeated",
      read: () => collect,
    },
    expires_at: {
      as: "--expires <when>",
      about: "lifetime such as 30d, 12h, 90m, or an RFC 3339 time; never when left out",
      read: expiry,
    },
    client_cert_sha256: {
      as: "--client-cert <file>",
      about: "client certificate that stands for the key, PEM; see docs/tls.md",
      read: () => certificateIn,
    },
  },
  async call(client, input) {
    const { scopes }: { readonly scopes?: readonly string[] } = input.body;
    if (scopes === undefined || scopes.length === 0)
      throw new Error(
        "cannot make a key without a scope: it would have no rights (--scope viewer, operator or admin, or scopes such as --scope services:restart:nginx)",
      );
    return client.createKey(input);
  },
  print(io, { id, name, scopes, key }) {
    io.err(`${oneLine(`key ${id} (${name}) with ${scopes.join(" ")}; it is not shown again:`)}\n`);
    io.out(`${oneLine(key)}\n`);
  },
});

const id = { as: "<id>", about: "id of the key, the part after stw_", names: "key" } as const;

export const addKeysCommands = commandGroup({ name: "keys", about: "make, list and revoke API keys", preset: "list" }, [
  createKey,
  listKeys,
  showCommand("getKey", "show", {
    about: "one key, without its secret",
    words: { id },
    print: (io, key, { now }) => printFields(io, { ...key, state: state(key, now) }),
  }),
  showCommand("canI", "explain", {
    about: "whether your key permits an operation now, and why",
    notes: "Exit code: 0 permitted; 1 not permitted; 2 the request failed.",
    words: {
      operation: {
        as: "<operation>",
        about: "name of the operation, such as restartService",
        suggested: Object.keys(operations),
      },
      resource: { as: "[resource]", about: "the resource, such as nginx.service; all resources when left out" },
    },
    isTrouble: ({ allowed }) => !allowed,
    print(io, { operation, resource, allowed, because }) {
      const what = resource === null ? operation : `${operation} ${resource}`;
      io.out(`${oneLine(`${what}: ${allowed ? "allowed" : "not allowed"}`)}\n`);
      for (const { kind, message } of because) io.out(`  ${oneLine(`${kind}: ${inOwnWords(message)}`)}\n`);
    },
  }),
  changingCommand("revokeKey", "revoke", {
    about: "revoke a key and all its tokens, at once",
    words: { id },
    question: (_, given) => `Revoke the key ${given.id}?`,
    print: (io, { id: key, name, message }) => io.out(`${oneLine(`${key} (${name}): ${message}`)}\n`),
  }),
]);
