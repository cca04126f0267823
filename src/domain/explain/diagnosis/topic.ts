import type { HealthCheckResult } from "#contract/checks.ts";
import type { DiagnosisInput } from "#contract/diagnosis.ts";
import type { Context } from "#contract/operation.ts";
import { DomainError, invalid, refuseAll, type ScopeLack, unknownCheck } from "#domain/common/error.ts";
import { toTimestamp } from "#kernel/clock.ts";
import type { ExplainSources, UnitFacts } from "../sources.ts";

/** What a diagnosis is about. */
export interface Topic {
  readonly check: HealthCheckResult | null;
  /** Canonical name. */
  readonly unit: string | undefined;
  /** The units that it concerns, besides those of the check. */
  readonly units: readonly UnitFacts[];
}

export interface TopicPorts {
  readonly sources: Pick<ExplainSources, "check" | "units" | "seesUnits" | "maySee">;
  /** @throws DomainError for what is no name of a unit. */
  readonly canonicalUnit: (name: string) => string;
  readonly lackOf: ScopeLack;
}

const mostNamed = 5;

/** Words of a question as units may be called: `nginx`, `nginx.service`. */
function namesIn(question: string): ReadonlySet<string> {
  const words = question.match(/[A-Za-z0-9_][A-Za-z0-9:_.\\@-]{1,200}/g) ?? [];
  return new Set(
    words.flatMap((word) => [word, word.replace(/[.:-]+$/, "")]).flatMap((word) => [word, `${word}.service`]),
  );
}

function unitOf({ unit }: DiagnosisInput, canonicalUnit: TopicPorts["canonicalUnit"]): string | undefined {
  if (unit === undefined) return undefined;
  if (/[*?[]/.test(unit)) throw invalid("unit", "Must be the name of one unit");
  return canonicalUnit(unit);
}

/** @throws DomainError `VALIDATION_ERROR`, `FORBIDDEN`, `NOT_FOUND`. */
export async function topicOf(input: DiagnosisInput, ports: TopicPorts, context: Context): Promise<Topic> {
  const { question, check: checkId } = input;
  const { sources, lackOf } = ports;
  const { caller } = context;
  const unit = unitOf(input, ports.canonicalUnit);
  refuseAll([
    question === undefined &&
      checkId === undefined &&
      unit === undefined &&
      invalid(
        "question",
        "Must be given, or check or unit",
        "cannot start the diagnosis: give question, check or unit",
      ),
  ]);
  if (checkId !== undefined && !sources.maySee(context, "health:read")) throw lackOf(caller, "health:read");
  const running = checkId === undefined ? undefined : sources.check(checkId);
  if (checkId !== undefined && running === undefined) throw unknownCheck(checkId, "check");
  const mayLook = caller !== undefined && sources.seesUnits(caller) && (unit ?? question) !== undefined;
  // Where they cannot be read the evidence says so.
  const all = mayLook ? await sources.units().catch(() => undefined) : undefined;
  if (unit?.endsWith(".service") === true && all?.every(({ name }) => name !== unit) === true)
    throw new DomainError("NOT_FOUND", `cannot find the unit ${unit}`, { unit });
  const names = namesIn(question ?? "");
  const named = (all ?? []).filter(({ name }) => name !== unit && names.has(name)).slice(0, mostNamed);
  const own = (all ?? []).filter(({ name }) => name === unit);
  return { check: (await running) ?? null, unit, units: [...own, ...named] };
}

/**
 * The topic as something that a check has found, from which evidence is collected: the finding of the check, which names further units,
 * or a finding of no check that names nothing else.
 */
export function findingOf({ check, unit, units }: Topic, nowMs: number): HealthCheckResult {
  const names = [...new Set([...(unit === undefined ? [] : [unit]), ...units.map(({ name }) => name)])];
  const since = units.find(({ since: at }) => at !== null)?.since ?? nowMs;
  if (check !== null && names.length === 0) return check;
  if (check !== null) return { ...check, details: { ...check.details, asked_about: names } };
  const at = toTimestamp(nowMs);
  return {
    ...{ check_id: "", name: "", category: "", severity: "low", status: "pass", message: "" },
    details: { asked_about: names },
    ...{ duration_ms: 0, checked_at: at, fixable: false, since: toTimestamp(since), consecutive_failures: 0 },
  };
}
