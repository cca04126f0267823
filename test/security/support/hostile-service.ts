import { createServer } from "node:http";
import { errorStatus } from "#contract/errors.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import { type Operation, Plan } from "#contract/operation.ts";

type Schema = Readonly<Record<string, unknown>>;

/** What a terminal would do something for: set its title, clear itself, turn text round, begin a line again. */
export const terminalText = "x\u001b]0;owned\u0007\u001b[2J\u009b31m\u202egnp\u2066\u0085\r\b\u007f\u0000";

/** Whether a text is one that the schema takes; where it has no example, the text stands nevertheless. */
const leavesSpace = ({ pattern, examples }: Schema, text: string): boolean =>
  typeof pattern !== "string" || !Array.isArray(examples) || new RegExp(pattern, "u").test(text);

/** A value that a schema takes, with this text wherever text may be. What has an end has come to it. */
export function fill(schema: Schema, text: string): unknown {
  const choices = (schema["anyOf"] ?? schema["oneOf"]) as readonly Schema[] | undefined;
  const [first] = choices?.filter(({ type }) => type !== "null") ?? [];
  if (first !== undefined) return fill(first, text);
  if (schema["const"] !== undefined) return schema["const"];
  if (Array.isArray(schema["enum"])) {
    const values: readonly unknown[] = schema["enum"];
    return values.includes("done") ? "done" : values.find((each) => each !== null);
  }
  const [type] = [schema["type"]].flat();
  switch (type) {
    case "string":
      if (schema["format"] === "date-time") return "2026-01-31T12:00:00.000Z";
      return leavesSpace(schema, text) ? text : (schema["examples"] as readonly string[])[0];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    case "array":
      return [fill((schema["items"] ?? {}) as Schema, text)];
    default:
      break;
  }
  const members = Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, Schema>>);
  if (type === "object" || members.length > 0) {
    const known = members
      .filter(([name]) => name !== "next_offset")
      .map(([name, member]) => [name, fill(member, text)]);
    const [named] = Object.values((schema["patternProperties"] ?? {}) as Readonly<Record<string, Schema>>);
    const others = schema["additionalProperties"] ?? named;
    if (others === false) return Object.fromEntries(known);
    const other = typeof others === "object" ? fill(others as Schema, text) : text;
    return Object.fromEntries([...known, [text, other]]);
  }
  return text;
}

/** The row of the table that a request is for. */
export function rowOf(method: string | undefined, url: string | undefined): readonly [string, Operation] | undefined {
  const path = (url ?? "").split("?")[0] ?? "";
  const found = Object.entries<Operation>(operations).filter(
    ([, row]) => row.method === method && isPath(`${row.base === "root" ? "" : apiBase}${row.path}`, path),
  );
  // A word of a path goes before a parameter.
  return found.find(([, row]) => !row.path.includes("{")) ?? found[0];
}

/** What the service answers to a request, in its form and with this text in it. */
export function answerTo({ query, operation, text }: { query: string; operation: Operation; text: string }): unknown {
  const schema = query.includes("dry_run=true") ? Plan : operation.response;
  return fill(schema as unknown as Schema, text);
}

const isPath = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path);

export interface HostileService {
  readonly url: string;
  /** The operations that were asked for since it was asked last. */
  readonly takeAsked: () => readonly string[];
  /** Answers with an error from now on, or no longer. */
  fails: boolean;
  readonly close: () => void;
}

/** A service that answers every operation in its form, and with text for terminals in it. */
export async function startHostileService(): Promise<HostileService> {
  let asked: string[] = [];
  const service = { fails: false };
  const server = createServer((request, response) => {
    const [name, operation] = rowOf(request.method, request.url) ?? [];
    if (name !== undefined) asked.push(name);
    request.resume();
    response.setHeader("Content-Type", "application/json");
    if (service.fails || operation === undefined) {
      // An error that is not asked about again.
      const error = { code: "CONFLICT", message: terminalText, details: { [terminalText]: terminalText } };
      response.writeHead(errorStatus.CONFLICT).end(JSON.stringify({ error }));
      return;
    }
    const body = answerTo({ query: request.url ?? "", operation, text: terminalText });
    response.writeHead(operation.status ?? 200).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return Object.assign(service, {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    takeAsked: () => {
      const taken = asked;
      asked = [];
      return taken;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
}
