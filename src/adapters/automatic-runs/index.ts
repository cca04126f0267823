import { join } from "node:path";
import { readRegularFile, writeFileAtomic } from "#adapters/files/index.ts";
import { type AutomaticOutcome, automaticOutcomes } from "#contract/automatic-updates.ts";
import type { AutomaticRun, AutomaticRuns } from "#domain/ports/updates.ts";
import { orUndefinedSync } from "#kernel/errors.ts";
import { isNumber, isString, parseJsonObject } from "#kernel/values.ts";

const fileName = "automatic-updates.json";

const isOutcome = (value: unknown): value is AutomaticOutcome => automaticOutcomes.some((each) => each === value);

/** A record that was written by this service; undefined for anything else. */
export function readAutomaticRun(text: string): AutomaticRun | undefined {
  const { windowOpenedAt, endedAt, outcome, message, operationId, rebootAt } = parseJsonObject(text) ?? {};
  if (!isNumber(windowOpenedAt) || !isNumber(endedAt) || !isOutcome(outcome) || !isString(message)) return undefined;
  return {
    windowOpenedAt,
    endedAt,
    outcome,
    message,
    operationId: isString(operationId) ? operationId : null,
    rebootAt: isNumber(rebootAt) ? rebootAt : null,
  };
}

const maxBytes = 64 * 1024;

/** A damaged one is one that was not kept: at worst a window is inspected twice. */
function readLast(path: string): AutomaticRun | undefined {
  const file = orUndefinedSync(() => readRegularFile(path, { maxBytes, followsLinks: false }));
  return file && readAutomaticRun(file.content.toString("utf8"));
}

/** The last run, in the state directory and in memory: one that cannot be written counts until the service ends. */
export function openAutomaticRuns(ports: {
  readonly stateDir: string;
  readonly onTrouble: (error: unknown) => void;
}): AutomaticRuns {
  const path = join(ports.stateDir, fileName);
  let last = readLast(path);
  return {
    last: () => last,
    save(run) {
      last = run;
      try {
        writeFileAtomic(path, `${JSON.stringify(run)}\n`);
      } catch (error) {
        ports.onTrouble(error);
      }
    },
  };
}
