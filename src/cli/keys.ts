import type { Command } from "commander";
import type { Answer, Client } from "#client/index.ts";
import { roles } from "#contract/scopes.ts";
import type { Io } from "./output.ts";
import { printJson } from "./output.ts";

/** `30d`, `12h`: how long a key is good for. */
const lifetime = /^([1-9]\d{0,4})(m|h|d)$/;
const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const collect = (value: string, list: readonly string[] = []): readonly string[] => [
  ...list,
  ...value.split(",").filter(Boolean),
];

function expiry(text: string | undefined, now: number): { expires_at?: string } {
  if (text === undefined) return {};
  const match = lifetime.exec(text);
  if (match === null) return { expires_at: text };
  const unit = match[2] as keyof typeof unitMs;
  return { expires_at: new Date(now + Number(match[1]) * unitMs[unit]).toISOString() };
}

const state = (key: Answer<"listKeys">["keys"][number], now: number): string => {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && Date.parse(key.expires_at) <= now ? "expired" : "good";
};

/** The name of a role that has just these scopes, else the scopes. */
function summary(granted: readonly string[]): string {
  const role = Object.entries(roles).find(
    ([, list]) => list.length === granted.length && list.every((scope) => granted.includes(scope)),
  );
  return role?.[0] ?? (granted.join(" ") || "none");
}

async function printKeys(io: Io, keys: Answer<"listKeys">["keys"], now: number): Promise<void> {
  const { default: Table } = await import("cli-table3");
  const table = new Table({
    head: ["id", "name", "state", "expires", "last used", "scopes"],
    style: { head: [], border: [] },
  });
  for (const key of keys) {
    table.push([
      key.id,
      key.name,
      state(key, now),
      key.expires_at ?? "never",
      key.last_used_at ?? "never",
      summary(key.scopes),
    ]);
  }
  io.out(`${table.toString()}\n`);
}

/** `steward keys create|list|revoke`: a client of the service like any other. */
export function addKeysCommands(
  program: Command,
  ports: { io: Io; now: () => number; client: (command: Command) => Promise<Client> },
): void {
  const { io, now, client } = ports;
  const keys = program.command("keys").description("make, list and revoke API keys");

  keys
    .command("create")
    .description("make a key; it is shown once")
    .argument("<name>", "what the key is for")
    .option(
      "--scope <scope>",
      "scope, scope narrowed to a resource, or role (viewer, operator, admin); may be repeated",
      collect,
    )
    .option("--expires <when>", "lifetime such as 30d, 12h, 90m, or an RFC 3339 time; never when left out")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("--json", "print the answer as JSON")
    .action(
      async (
        name: string,
        options: { scope?: string[]; expires?: string; dryRun?: boolean; json?: boolean },
        command: Command,
      ) => {
        const service = await client(command);
        const body = { name, scopes: options.scope ?? [], ...expiry(options.expires, now()) };
        const answer = await service.createKey({ body, query: { dry_run: options.dryRun ?? false } });
        if (options.json || options.dryRun) return printJson(io, answer);
        io.err(
          `key ${answer.id} (${answer.name}) with ${answer.scopes.length === 0 ? "no scopes: it has no rights" : answer.scopes.join(" ")}; it is not shown again:\n`,
        );
        io.out(`${answer.key}\n`);
      },
    );

  keys
    .command("list")
    .description("all keys, without their secrets")
    .option("--json", "print the answer as JSON")
    .action(async (options: { json?: boolean }, command: Command) => {
      const answer = await (await client(command)).listKeys();
      if (options.json) return printJson(io, answer);
      await printKeys(io, answer.keys, now());
    });

  keys
    .command("revoke")
    .description("revoke a key and all its tokens, at once")
    .argument("<id>", "id of the key, the part after stw_")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: { dryRun?: boolean; json?: boolean }, command: Command) => {
      const answer = await (await client(command)).revokeKey({
        params: { id },
        query: { dry_run: options.dryRun ?? false },
      });
      if (options.json || options.dryRun) return printJson(io, answer);
      io.out(`${answer.id} (${answer.name}): ${answer.message}\n`);
    });
}
