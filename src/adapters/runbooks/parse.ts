import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { parse } from "yaml";
import { RunbookHeader, type RunbookSubject } from "#contract/runbooks.ts";
import { ownSchemas } from "#contract/schema.ts";
import { describeSchemaFault } from "#contract/schema-fault.ts";
import { DomainError } from "#domain/common/error.ts";
import { canonicalUnit } from "#domain/logs/unit-pattern.ts";
import type { Runbook } from "#domain/ports/runbooks.ts";
import { errorMessage } from "#kernel/errors.ts";

/** A text that is not a runbook; the message says why in one line, without the name of its file. */
export class RunbookFaulty extends Error {
  override readonly name = "RunbookFaulty";
}

let compiled: ValidateFunction<RunbookHeader> | undefined;
const validator = (): ValidateFunction<RunbookHeader> => {
  compiled ??= new Ajv(ownSchemas).compile<RunbookHeader>(RunbookHeader);
  return compiled;
};

/** The longest that says something has less. YAML takes the square of it to read. */
const mostHeaderChars = 16 * 1024;
const mostReasonLength = 300;
const oneLine = (text: string): string => text.replaceAll(/\p{C}+/gu, " ").slice(0, mostReasonLength);

function headerValue(header: string): unknown {
  try {
    return parse(header, { maxAliasCount: 0, logLevel: "error", prettyErrors: false });
  } catch (error) {
    throw new RunbookFaulty(oneLine(`its header is not YAML: ${errorMessage(error)}`), { cause: error });
  }
}

function describeFault(fault: ErrorObject): string {
  switch (fault.keyword) {
    case "additionalProperties":
      return `does not know ${String(fault.params["additionalProperty"])}`;
    case "minProperties":
    case "maxProperties":
      return "must have one of check, unit and template";
    default:
      return describeSchemaFault(fault);
  }
}

function headerOf(text: string): RunbookHeader {
  const value = headerValue(text);
  const validate = validator();
  if (validate(value)) return value;
  const [fault] = validate.errors ?? [];
  if (fault === undefined) throw new RunbookFaulty("its header is invalid");
  const place = fault.instancePath.slice(1).replaceAll("/", ".");
  throw new RunbookFaulty(oneLine(`${place === "" ? "its header" : place} ${describeFault(fault)}`));
}

function subjectOf(subject: RunbookSubject): RunbookSubject {
  if (subject.unit === undefined) return subject;
  try {
    return { unit: canonicalUnit(subject.unit) };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw new RunbookFaulty(oneLine(`applies_to: ${error.message}`), { cause: error });
  }
}

/** Reads a runbook: a header in YAML between two lines `---`, then Markdown. @throws RunbookFaulty. */
export function parseRunbook(text: string): Omit<Runbook, "id" | "origin"> {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const end = lines.indexOf("---", 1);
  if (lines[0] !== "---" || end < 0)
    throw new RunbookFaulty("it does not begin with a header between two lines of three dashes (---)");
  const header = lines.slice(1, end).join("\n");
  if (header.length > mostHeaderChars) throw new RunbookFaulty("its header is longer than 16 KiB");
  const { title, applies_to: subjects } = headerOf(header);
  const body = lines
    .slice(end + 1)
    .join("\n")
    .trim();
  if (body === "") throw new RunbookFaulty("it has no text below its header");
  return { title, appliesTo: subjects.map(subjectOf), body };
}
