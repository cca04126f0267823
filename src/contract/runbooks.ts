import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { Choice, ListShape, Options } from "./schema.ts";

/** `builtin`: comes with the service. `local`: a file of the administrator. */
export const runbookOrigins = ["builtin", "local"] as const;
export type RunbookOrigin = (typeof runbookOrigins)[number];

export const runbookIdPattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$";

const subjects = {
  check: Type.String({
    pattern: "^[a-z0-9_-]{1,128}$",
    examples: ["disk_space"],
    description: "Identifier of a check.",
  }),
  unit: Type.String({
    pattern: "^[^\\u0000-\\u001f]{1,255}$",
    examples: ["nginx.service"],
    description: "Name of a unit, or a pattern of names as for `unit` of the logs.",
  }),
  template: Type.String({
    pattern: "^[0-9a-f]{16}$",
    examples: ["9ce8c1cd1fdc361b"],
    description: "Id of a template of log messages.",
  }),
} as const;

/** What a runbook is for; it has one member. */
export const RunbookSubject = Options(subjects, { minProperties: 1, maxProperties: 1 });
export type RunbookSubject = Static<typeof RunbookSubject>;

/** What begins the file of a runbook. */
export const RunbookHeader = Type.Object(
  {
    title: Type.String({ pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]{1,200}$" }),
    applies_to: Type.Array(RunbookSubject, { minItems: 1, maxItems: 50 }),
  },
  { additionalProperties: false },
);
export type RunbookHeader = Static<typeof RunbookHeader>;

const RunbookFault = Type.Object({
  file: Type.String({ description: "Path of the file or directory." }),
  reason: Type.String({ description: "Why it is not used." }),
});

const faults = Type.Array(RunbookFault, { description: "Files of the administrator that are not used, and why." });

export const RunbookEntry = Type.Object({
  id: Type.String({ description: "Name of its file without `.md`." }),
  title: Type.String({ description: "What it is about." }),
  origin: Choice(
    runbookOrigins,
    "`builtin`: comes with the service. `local`: a file of the administrator, which takes the place of a built-in one of the same id.",
  ),
  applies_to: Type.Array(Type.Object(RunbookSubject.properties), {
    description: "What it is for; each entry has one member.",
  }),
});
export type RunbookEntry = Static<typeof RunbookEntry>;

export const RunbookList = Type.Object({
  runbooks: Type.Array(RunbookEntry, { description: "Those of the administrator first, each by id." }),
  faults,
  ...ListShape,
});
export type RunbookList = Static<typeof RunbookList>;

export const Runbook = Type.Object({
  ...RunbookEntry.properties,
  body: Type.String({ description: "The text, Markdown." }),
});
export type Runbook = Static<typeof Runbook>;

export const runbooks = {
  listRunbooks: {
    method: "GET",
    path: "/runbooks",
    tag: "Health",
    summary: "Runbooks: what to do about findings",
    description:
      "All of them, or those that apply to one of the named subjects at least. Every key with `health:read` reads all runbooks, whatever its other scopes are narrowed to.",
    scope: "health:read",
    effect: "read",
    query: Options({
      check: { ...subjects.check, description: "Identifier of a check." },
      unit: { ...subjects.unit, description: "Name of a unit; without a suffix it means a service." },
      template: { ...subjects.template, description: "Id of a template of log messages." },
    }),
    response: RunbookList,
    errors: [],
  },
  getRunbook: {
    method: "GET",
    path: "/runbooks/{id}",
    tag: "Health",
    summary: "One runbook",
    scope: "health:read",
    effect: "read",
    params: Type.Object({
      id: Type.String({
        minLength: 1,
        maxLength: 64,
        description: "Id of the runbook.",
        examples: ["disk_space"],
      }),
    }),
    response: Runbook,
    errors: ["NOT_FOUND"],
  },
} as const satisfies Operations;
