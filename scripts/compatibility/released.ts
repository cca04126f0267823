import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "#kernel/values.ts";
import { asyncapiDocument } from "#transports/http/asyncapi.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { breakingChanges, type Json } from "./breaking.ts";
import { breakingStreams } from "./streams.ts";

/** The directory of the documents of released versions. */
const releasedDirectory = fileURLToPath(new URL("../../docs/reference/released", import.meta.url));

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

/** What a version was released with. */
interface Released {
  readonly openapi: Json;
  readonly asyncapi: Json;
}

/** Where the documents of a version are kept. */
export const releasedPath = (version: string, kind: keyof Released): string =>
  join(releasedDirectory, `${version}${kind === "asyncapi" ? ".asyncapi" : ""}.json`);

const readReleased = (version: string, kind: keyof Released): Json =>
  JSON.parse(readFileSync(releasedPath(version, kind), "utf8")) as Json;

/** Documents of the released versions, by version. 0.2.0 had none of its streams: in its place is that of 29 November 2026. */
export const releasedDocuments = (): ReadonlyMap<string, Released> =>
  new Map(
    readdirSync(releasedDirectory)
      .flatMap((name) => /^(\d+\.\d+\.\d+)\.json$/.exec(name)?.[1] ?? [])
      .sort()
      .map((version) => [
        version,
        { openapi: readReleased(version, "openapi"), asyncapi: readReleased(version, "asyncapi") },
      ]),
  );

/** What this version has, as it is kept. */
export const currentDocuments = (version: string): Released => ({
  openapi: withoutTexts(openapiDocument(version)) as Json,
  asyncapi: withoutTexts(asyncapiDocument(version)) as Json,
});

/** What would break clients of a released version today. */
export function breakingSince({ openapi, asyncapi }: Released, current: Released): readonly string[] {
  const today = new Date().toISOString().slice(0, 10);
  return [...breakingChanges(openapi, current.openapi, today), ...breakingStreams(asyncapi, current.asyncapi, today)];
}

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
