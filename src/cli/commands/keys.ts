import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { Answer } from "#client/index.ts";
import { roles } from "#contract/scopes.ts";
import { errorMessage } from "#kernel/errors.ts";
import { answerCommand } from "../core/answer-command.ts";
import { asPlan, ioOfPlan, isWanted, printPlan } from "../core/plan.ts";
import type { CommandPorts } from "../core/ports.ts";
import { presetCommand } from "../core/preset-command.ts";
import { exitCode, type Io, oneLine, printJson } from "../output/output.ts";
import type { Style } from "../output/screen.ts";
import { printTable } from "../output/table.ts";

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

/** @throws Error when there is no certificate in the file. */
function certificateIn(path: string): { client_cert_sha256: string } {
  try {
    return { client_cert_sha256: new X509Certificate(readFileSync(path)).fingerprint256 };
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

function printKeys(io: Io, keys: Answer<"listKeys">["keys"], now: number): void {
  const styles: Readonly<Record<string, Style>> = { revoked: "red", expired: "yellow" };
  printTable(
    io,
    ["id", "name", "state", "expires", "last used", "certificate", "scopes"],
    keys.map((key) => {
      const text = state(key, now);
      const expires = key.expires_at ?? "never";
      return [
        key.id,
        key.name,
        { text, style: styles[text] },
        expires,
        key.last_used_at ?? "never",
        // As much as tells them apart; the whole is in the JSON.
        key.client_cert_sha256?.slice(0, 12) ?? "none",
        summary(key.scopes),
      ];
    }),
  );
}

/** `steward keys create|list|revoke`. */
export function addKeysCommands(program: Command, ports: CommandPorts): void {
  const { io, now, connect, finish } = ports;
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
    .option("--client-cert <file>", "client certificate that stands for the key, PEM; see docs/tls.md")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("--json", "print the answer as JSON")
    .action(
      async (
        name: string,
        options: { scope?: string[]; expires?: string; clientCert?: string; dryRun?: boolean; json?: boolean },
        command: Command,
      ) => {
        const { client: service } = await connect(command);
        const certificate = options.clientCert === undefined ? {} : certificateIn(options.clientCert);
        const body = { name, scopes: options.scope ?? [], ...expiry(options.expires, now()), ...certificate };
        const answer = await service.createKey({ body, query: { dry_run: options.dryRun ?? false } });
        if (options.json) return printJson(io, answer);
        if (options.dryRun) return printPlan(io, asPlan(answer));
        const rights = answer.scopes.length === 0 ? "no scopes: it has no rights" : answer.scopes.join(" ");
        io.err(`${oneLine(`key ${answer.id} (${answer.name}) with ${rights}; it is not shown again:`)}\n`);
        io.out(`${oneLine(answer.key)}\n`);
      },
    );

  answerCommand(ports, presetCommand(keys, "list").description("all keys, without their secrets"), {
    ask: (client) => client.listKeys(),
    print: (_, answer) => printKeys(io, answer.keys, now()),
  });

  keys
    .command("revoke")
    .description("revoke a key and all its tokens, at once")
    .argument("<id>", "id of the key, the part after stw_")
    .option("--dry-run", "say what would be done, and do nothing")
    .option("-y, --yes", "do not ask")
    .option("--json", "print the answer as JSON")
    .action(async (id: string, options: { dryRun?: boolean; yes?: boolean; json?: boolean }, command: Command) => {
      const { client: service } = await connect(command);
      const params = { id };
      if (options.dryRun || !options.yes) {
        const plan = asPlan(await service.revokeKey({ params, query: { dry_run: true } }));
        if (options.dryRun) return options.json ? printJson(io, plan) : printPlan(io, plan);
        printPlan(ioOfPlan(ports, options), plan);
        if (!(await isWanted(ports, `Revoke the key ${id}?`, options))) return finish(exitCode.foundTrouble);
      }
      const answer = await service.revokeKey({ params });
      if (options.json) return printJson(io, answer);
      io.out(`${oneLine(`${answer.id} (${answer.name}): ${answer.message}`)}\n`);
    });
}
