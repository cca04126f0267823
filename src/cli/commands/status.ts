import { type Answer, ApiError, type Client } from "#client/index.ts";
import { isUnhealthy } from "#contract/checks.ts";
import type { OperationEntry } from "#contract/operation-entry.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { answerCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { type Io, oneLine, screenOf } from "../output/output.ts";
import { paint, type Style } from "../output/screen.ts";
import { fitText, formatSpan } from "../output/text.ts";

/** What a key may not see is left out. */
interface HostStatus {
  readonly health: Answer<"getHealth">;
  readonly info: Answer<"getSystemInfo"> | undefined;
  /** Checks that warn or fail; undefined where they were not asked for. */
  readonly trouble: Answer<"listChecks">["results"] | undefined;
  readonly failedServices: Answer<"listServices">["services"] | undefined;
  readonly alerts: Answer<"listAlerts">["alerts"] | undefined;
  readonly running: readonly OperationEntry[] | undefined;
  /** Components that are false because nobody configured them. */
  readonly notConfigured: readonly string[];
}

/** The answer; undefined where the key may not have it or the host cannot give it. */
const ifAllowed = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error: unknown) => {
    if (error instanceof ApiError && ["FORBIDDEN", "UNAVAILABLE"].includes(error.code)) return undefined;
    throw error;
  });

async function readStatus(client: Client): Promise<HostStatus> {
  const [health, info, services, alerts, running, connectors] = await Promise.all([
    client.getHealth(),
    ifAllowed(client.getSystemInfo()),
    ifAllowed(client.listServices({ query: { status: "failed" } })),
    ifAllowed(client.listAlerts()),
    ifAllowed(client.listOperations({ query: { status: "running" } })),
    ifAllowed(client.listConnectors()),
  ]);
  const hasModel = connectors?.connectors.some(({ status }) => status !== "not_configured") ?? true;
  // The status comes from the last results; listChecks may have to run checks first, so it is called only where needed.
  const checks = health.status === "healthy" ? undefined : await ifAllowed(client.listChecks());
  return {
    health,
    info,
    trouble: checks?.results.filter(isUnhealthy),
    failedServices: services?.services,
    alerts: alerts?.alerts.filter(({ state }) => state === "firing"),
    running: running?.operations,
    notConfigured: health.components.llm || hasModel ? [] : ["llm"],
  };
}

const statusStyle: Readonly<Record<HostStatus["health"]["status"], Style>> = {
  healthy: "green",
  degraded: "yellow",
  unhealthy: "red",
};

function printStatus(io: Io, status: HostStatus): void {
  const screen = screenOf(io);
  const columns = screen.columns() ?? Number.POSITIVE_INFINITY;
  const { health, info, trouble = [], failedServices = [], alerts = [], running = [], notConfigured } = status;
  const line = (title: string, text: string, style?: Style): void =>
    io.out(
      `${paint(screen, "dim", oneLine(title).padStart(10))}  ${paint(screen, style, fitText(oneLine(text), columns - 12))}\n`,
    );
  line(info?.hostname ?? "host", health.status, statusStyle[health.status]);
  if (info !== undefined) {
    const { os, cpu, memory, disk } = info;
    line("system", `${os.name} ${os.version}, Linux ${os.kernel}`);
    line("processor", `${cpu.load_percent} % of ${counted(cpu.threads, "thread")}`);
    const freeMemory = `${formatBytes(memory.available_bytes)} of ${formatBytes(memory.total_bytes)} available`;
    line("memory", `${memory.percent_used} % used, ${freeMemory}`);
    line("disk", `${disk.percent_used} % of ${disk.path} used, ${formatBytes(disk.free_bytes)} free`);
  }
  line("service", `version ${health.version}, up ${formatSpan(health.uptime_seconds)}`);
  const down = Object.entries(health.components).flatMap(([name, isUp]) =>
    isUp || notConfigured.includes(name) ? [] : name,
  );
  const words = [
    down.length === 0 ? "healthy" : `unhealthy: ${down.join(", ")}`,
    ...notConfigured.map((name) => `${name} not configured`),
  ];
  line("components", words.join("; "), down.length === 0 ? undefined : "yellow");
  if (health.details?.checks === "starting") line("checks", "not all have run yet");
  for (const { check_id: id, status: found, message } of trouble) {
    line(found, `${id}: ${message}`, found === "fail" ? "red" : "yellow");
  }
  for (const { name, sub_state: state } of failedServices) line("failed", `${name} (${state})`, "red");
  for (const { name, condition } of alerts) line("alert", `${name}: ${condition}`, "red");
  for (const { id, kind, progress } of running)
    line("running", `${kind} ${id}: ${progress.percent} % ${progress.step}`);
}

export function addStatusCommand(program: Command, ports: CommandPorts): void {
  const status = program
    .command("status")
    .description("overview of this host")
    .notes(`What the key may not see is left out. Without a language model the component llm is "not configured", which is not trouble.

Exit code: 0 healthy, 1 degraded or unhealthy, 2 the request failed.`);
  answerCommand(ports, status, {
    json: "print the answers as JSON",
    ask: readStatus,
    isTrouble: ({ health }) => health.status !== "healthy",
    print: printStatus,
  });
}
