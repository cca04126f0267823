import { createInterface } from "node:readline";
import { createPerson, ioOfProcess, readInput, runCli } from "#cli/index.ts";
import { redact } from "#domain/common/redact.ts";
import { lazy } from "#kernel/async.ts";
import { localService } from "./local-service.ts";

const { env: environment } = process;

/**
 * Runs the command that this process was started with.
 * @returns its exit code.
 */
export function runCommandLine(version: string): Promise<number> {
  /** For the commands that do more than ask the service. */
  const commands = lazy(async () => (await import("./local-commands.ts")).createLocalCommands({ environment }));
  /** Whether this process does no more than ask and print. */
  let isClient = true;
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // Anyone who reads the output has seen enough (`steward logs | head`).
      if (isClient && error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
  return runCli({
    argv: process.argv.slice(2),
    environment,
    version,
    io: ioOfProcess(process),
    now: () => Date.now(),
    person: createPerson(process),
    local: {
      serve: async (options) => {
        isClient = false;
        await (await import("./serve-command.ts")).runService(options, { version, environment });
      },
      checkConfig: async (file) => (await commands()).checkConfig(file),
      egress: async (options) => (await commands()).egress(options),
      localService: () =>
        localService(environment, async () => (await import("./load-settings.ts")).loadSettings(environment)),
      openBrowser: async (url) =>
        (await import("./open-browser.ts")).openBrowser(url, { environment, now: () => Date.now() }),
      checkPlugin: async (directory) => (await commands()).checkPlugin(directory),
      pluginConfirmation: async () => (await commands()).pluginConfirmation(),
      stackHost: async (url) => (await commands()).stackHost(url),
      audit: {
        list: async (query) => (await commands()).audit.list(query),
        verify: async (options) => (await commands()).audit.verify(options),
      },
      readInput: () => readInput(process.stdin),
      inputLines: () => createInterface({ input: process.stdin, crlfDelay: Infinity }),
      runChecks: async (onResult) => (await commands()).runChecks(onResult),
      redact: (text) => Promise.resolve(redact(text).text),
    },
  });
}
