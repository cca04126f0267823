import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { baseEnvironment, root } from "./service.ts";
import { takenPort } from "./taken-port.ts";
import { until } from "./until.ts";
import type { Workspace } from "./workspace.ts";

const startMs = 300_000;
const program = fileURLToPath(import.meta.resolve("@stoplight/prism-cli"));

/** Prism as a proxy that checks what goes through it against the OpenAPI document and reports in a header. */
export async function startPrism(workspace: Workspace, upstream: string): Promise<{ readonly url: string }> {
  const { port, release } = await takenPort();
  release();
  const argv = ["proxy", join(root, "docs/reference/openapi.json"), upstream, "--port", String(port)];
  const child = spawn(process.execPath, [program, ...argv], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: workspace.path(),
    env: { ...baseEnvironment(workspace), NO_UPDATE_NOTIFIER: "1", DO_NOT_TRACK: "1", NO_COLOR: "1" },
  });
  workspace.adopt(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  await until(
    "start of prism",
    () => {
      if (child.exitCode !== null) throw new Error(`prism ended: ${output}`);
      return output.includes("Prism is listening") || undefined;
    },
    startMs,
  );
  return { url: `http://127.0.0.1:${port}` };
}

interface Violation {
  /** `request` or `response`, then the way down. */
  readonly location: readonly string[];
  readonly severity: string;
  readonly message: string;
}

/** What prism found wrong with an answer. */
export const answerViolations = (response: Response): readonly Violation[] =>
  (JSON.parse(response.headers.get("sl-violations") ?? "[]") as readonly Violation[]).filter(
    ({ location }) => location[0] === "response",
  );
