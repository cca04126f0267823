import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { preparePrivateDirectory, writeFileAtomic } from "#adapters/files/index.ts";
import { isCount, isRecord, isString, parseJsonObject } from "#kernel/values.ts";
import { readIfThere } from "./files.ts";

export interface KeptAnswer {
  readonly id: string;
  readonly fingerprint: string;
  readonly at: number;
  readonly answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
}

function parseAnswer(text: string): KeptAnswer | undefined {
  const { id, fingerprint, at, answer } = parseJsonObject(text) ?? {};
  if (!isRecord(answer) || !isRecord(answer["headers"])) return undefined;
  const { status, headers, body } = answer;
  if (!isString(id) || !isString(fingerprint) || !isCount(at) || !isCount(status) || !isString(body)) return undefined;
  const known = Object.entries(headers).flatMap(([name, value]) => (isString(value) ? [[name, value] as const] : []));
  return { id, fingerprint, at, answer: { status, headers: Object.fromEntries(known), body } };
}

/** A SHA-256 in base64url: nothing that leads elsewhere. */
const idShape = /^[0-9A-Za-z_-]{43}$/;
const suffix = ".json";

export function openAnswerFiles({ stateDir }: { readonly stateDir: string }) {
  const root = join(stateDir, "answers");
  preparePrivateDirectory(root);
  const pathOf = (id: string): string => {
    if (!idShape.test(id)) throw new Error(`cannot name an answer ${JSON.stringify(id)}`);
    return join(root, `${id}${suffix}`);
  };
  return {
    load: (): readonly KeptAnswer[] =>
      readdirSync(root).flatMap((name) => {
        const kept = parseAnswer(readIfThere(join(root, name)) ?? "");
        if (kept !== undefined && name === `${kept.id}${suffix}`) return [kept];
        rmSync(join(root, name), { recursive: true, force: true });
        return [];
      }),
    save: (kept: KeptAnswer): void => writeFileAtomic(pathOf(kept.id), JSON.stringify(kept)),
    remove: (id: string): void => rmSync(pathOf(id), { force: true }),
  };
}
