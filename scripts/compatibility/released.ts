import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "#kernel/values.ts";

/** The folder of the documents of released versions. */
export const releasedFolder = fileURLToPath(new URL("../../docs/reference/released", import.meta.url));

const texts: ReadonlySet<string> = new Set(["description", "summary", "title", "example", "examples"]);

/** A document without what is for people, so that only what programs depend on is compared and kept. */
export function withoutTexts(value: unknown, areNames = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutTexts(item));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([key]) => areNames || !texts.has(key));
  // The keys of these are names that somebody chose.
  return Object.fromEntries(
    entries.map(([key, member]) => [key, withoutTexts(member, !areNames && ["properties", "schemas"].includes(key))]),
  );
}

/** Documents of the released versions, by version. */
export const releasedDocuments = (): ReadonlyMap<string, Readonly<Record<string, unknown>>> =>
  new Map(
    readdirSync(releasedFolder)
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map((name) => [
        name.replace(/\.json$/, ""),
        JSON.parse(readFileSync(join(releasedFolder, name), "utf8")) as Readonly<Record<string, unknown>>,
      ]),
  );

/** No client meets it whose key has scopes that 0.2.0 knows, on a host with settings that 0.2.0 knows. */
const waits =
  "A call that others have to approve is answered with its approval: for keys that may only propose, or with approvals in the settings.";

const neverCame =
  "Nothing of the host can be missing for what is read from memory: it was in the document, and never came.";
const mayConflict =
  "What windows of the settings hold back, and a plan that is no longer true: of hosts with such settings, and of calls with `X-Plan-Token`.";

/** The same for an error of several operations. */
const errorOf = (change: string, operations: readonly string[], reason: string): Readonly<Record<string, string>> =>
  Object.fromEntries(operations.map((operation) => [`${operation}: ${change}`, reason]));

/** Changes that break clients and were made nevertheless, by the version whose clients they break, each with its reason. */
export const accepted: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "0.2.0": {
    "POST /api/v1/updates/apply: 202.kind: is gone": waits,
    "POST /api/v1/updates/apply: 202.progress: is gone": waits,
    "POST /api/v1/updates/apply: 202.started_at: is gone": waits,
    "POST /api/v1/updates/snapshots: 202.kind: is gone": waits,
    "POST /api/v1/updates/snapshots: 202.progress: is gone": waits,
    "POST /api/v1/updates/snapshots: 202.started_at: is gone": waits,
    "DELETE /api/v1/updates/snapshots/{snapshot_id}: 202.kind: is gone": waits,
    "DELETE /api/v1/updates/snapshots/{snapshot_id}: 202.progress: is gone": waits,
    "DELETE /api/v1/updates/snapshots/{snapshot_id}: 202.started_at: is gone": waits,
    "POST /api/v1/updates/rollback/{snapshot_id}: 202.kind: is gone": waits,
    "POST /api/v1/updates/rollback/{snapshot_id}: 202.progress: is gone": waits,
    "POST /api/v1/updates/rollback/{snapshot_id}: 202.started_at: is gone": waits,
    "GET /api/v1/alerts/silences: 200.silences[].alert: may be missing now":
      "Checks can be silenced too, and have `check` in its place.",
    "POST /api/v1/alerts/silences: 201.alert: may be missing now": "As in the list: where a check was silenced.",
    "DELETE /api/v1/alerts/silences/{id}: 200: one of its forms is another":
      "As in the list: where a check was silenced.",
    ...errorOf(
      "503: is gone",
      [
        "GET /api/v1/health",
        "GET /api/v1/auth/whoami",
        "GET /api/v1/auth/keys",
        "GET /api/v1/alerts",
        "GET /api/v1/alerts/silences",
        "GET /api/v1/alerts/notifications",
      ],
      neverCame,
    ),
    ...errorOf(
      "409: is an error now",
      [
        "POST /api/v1/system/services/{name}/restart",
        "POST /api/v1/connectors/{name}/test",
        "POST /api/v1/connectors/chat",
        "POST /api/v1/health/checks/{check_id}/explain",
        "POST /api/v1/plugins/{name}/enable",
        "POST /api/v1/plugins/{name}/disable",
        "POST /api/v1/plugins/{name}/run",
        "DELETE /api/v1/auth/keys/{id}",
        "DELETE /api/v1/alerts/silences/{id}",
        "POST /api/v1/alerts/notifications/test",
      ],
      mayConflict,
    ),
  },
};
