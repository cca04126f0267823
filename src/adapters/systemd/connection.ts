import { createClient, DBusError, type Message, type MessageBus } from "dbus-native";
import { UnitRefused, UnitsUnavailable } from "#domain/ports/units.ts";
import { createSlots } from "#kernel/async.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { text } from "./parse.ts";

export interface Signal {
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly body: readonly unknown[];
}

export interface Call {
  readonly destination?: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: unknown[];
  readonly timeoutMs?: number;
}

export type ObserveCall = <T>(call: Pick<Call, "interface" | "member">, work: () => Promise<T>) => Promise<T>;

export interface Connection {
  /** Runs `onReply` in order of arrival with signals; a promise would settle after later signals. */
  readonly call: <T>(call: Call, onReply: (values: readonly unknown[]) => T) => Promise<T>;
  readonly isUp: () => boolean;
  readonly dispose: Dispose;
}

const systemdName = "org.freedesktop.systemd1";
const busName = "org.freedesktop.DBus";
const signalType = 4;
const defaultSocket = "/run/dbus/system_bus_socket";

/** dbus-daemon ends a connection with more than 128 replies pending. */
const maxPending = 64;
const callTimeoutMs = 10_000;
const firstRetryMs = 50;
const lastRetryMs = 2_000;

const callOfBus = (member: string, argument: string): Call => ({
  destination: busName,
  path: "/org/freedesktop/DBus",
  interface: busName,
  member,
  signature: "s",
  body: [argument],
});

const hello: Call = {
  destination: busName,
  path: "/org/freedesktop/DBus",
  interface: busName,
  member: "Hello",
};

const refusals = new Set(
  [
    ...["OnlyByDependency", "BadUnitSetting", "LoadFailed", "UnitMasked", "NoSuchUnit"],
    // Of a unit file that is not changed.
    ...["UnitExists", "UnitGenerated", "UnitLinked"],
  ].map((name) => `${systemdName}.${name}`),
);

function toUnitError(error: unknown): Error {
  // The call cannot be written as a message, such as one with an invalid path that the bus itself has named.
  if (!(error instanceof DBusError))
    return new UnitsUnavailable(`cannot call systemd: ${errorMessage(error)}`, true, error);
  if (error.dbusName !== undefined && refusals.has(error.dbusName))
    return new UnitRefused(error.message, { cause: error });
  if (/AccessDenied|InteractiveAuthorizationRequired/.test(error.dbusName ?? "")) {
    const why = `polkit does not permit it to the user of this service (${error.message})`;
    return new UnitsUnavailable(why, false, error);
  }
  // Under these names the error is systemd's answer: busy with something that contradicts, shutting down, no space left, …
  const answered = /^(org\.freedesktop\.systemd1|System\.Error)\./.test(error.dbusName ?? "");
  const what = answered ? `systemd refuses it now (${error.message})` : `systemd does not answer (${error.message})`;
  return new UnitsUnavailable(what, true, error);
}

const invoke = <T>(bus: MessageBus, call: Call, onReply: (values: readonly unknown[]) => T): Promise<T> =>
  new Promise((resolve, reject) => {
    const { timeoutMs = callTimeoutMs, destination = systemdName, ...message } = call;
    bus.invoke({ ...message, destination }, { timeout: timeoutMs }, (error, ...values) => {
      if (error !== null && error !== undefined) return reject(toUnitError(error));
      try {
        resolve(onReply(values));
      } catch (failure) {
        reject(failure);
      }
    });
  });

/** The bus lets every user send a signal to any client, past all match rules, but writes the sender itself. */
const isGenuine = ({ sender, member }: Message, systemd: string): boolean =>
  sender === (member === "NameOwnerChanged" ? busName : systemd);

/** Reconnects with a growing delay. @param listener `onUp` runs after each connect, with the match rules in place. */
export function openConnection(ports: {
  clock: Clock;
  socket?: string;
  matchRules: readonly string[];
  observe?: ObserveCall | undefined;
  listener: { onUp: () => Promise<void>; onDown: (reason: string) => void; onSignal: (signal: Signal) => void };
}): Connection {
  const { clock, socket = defaultSocket, matchRules, listener, observe = (_, work) => work() } = ports;
  const shutdown = new AbortController();
  let current: MessageBus | undefined;
  const withSlot = createSlots(maxPending);

  const live = (): Promise<string> =>
    new Promise((resolve) => {
      // `direct`: the library would throw where nobody catches it when the bus does not answer its first call in time.
      const bus = createClient({ socket, authMethods: ["EXTERNAL"], timeout: callTimeoutMs, direct: true });
      let reason = "connection closed";
      let systemdAddress = "";
      const hangUp = (): void => void bus.connection.end();
      const end = (): void => {
        shutdown.signal.removeEventListener("abort", hangUp);
        if (current === bus) current = undefined;
        resolve(reason);
      };
      const fail = (error: Error): void => {
        reason = error.message;
        bus.connection.end();
        // A dial that fails may end without `close`.
        end();
      };
      bus.connection.on("error", fail);
      // A message that the library cannot handle, such as a call whose refusal it cannot write: without a listener it ends the process.
      bus.connection.on("handlerError", fail);
      bus.connection.on("close", end);
      bus.connection.on("end", end);
      bus.connection.on("message", (message) => {
        if (message.type !== signalType || !isGenuine(message, systemdAddress)) return;
        const { path = "", interface: name = "", member = "", body = [] } = message;
        if (member === "NameOwnerChanged" && body[0] === systemdName) systemdAddress = text(body[2]);
        listener.onSignal({ path, interface: name, member, body });
      });
      shutdown.signal.addEventListener("abort", hangUp);
      const prepare = async (): Promise<void> => {
        await invoke(bus, hello, () => undefined);
        for (const rule of matchRules) await invoke(bus, callOfBus("AddMatch", rule), () => undefined);
        await invoke(bus, callOfBus("GetNameOwner", systemdName), ([address]) => {
          systemdAddress = text(address);
        });
        current = bus;
        await listener.onUp();
      };
      prepare().catch((error: unknown) => {
        reason = errorMessage(error);
        bus.connection.end();
        end();
      });
    });

  const keepConnected = async (): Promise<void> => {
    let retryMs = firstRetryMs;
    while (!shutdown.signal.aborted) {
      const startedAt = clock.monotonicMs();
      const reason = await live();
      if (shutdown.signal.aborted) return;
      listener.onDown(reason);
      retryMs = clock.monotonicMs() - startedAt > lastRetryMs ? firstRetryMs : Math.min(retryMs * 2, lastRetryMs);
      await clock.sleep(retryMs, shutdown.signal);
    }
  };
  void keepConnected();

  return {
    call: (call, onReply) =>
      observe(call, () =>
        withSlot(async () => {
          if (current === undefined) throw new UnitsUnavailable("the system bus does not answer", true);
          return invoke(current, call, onReply);
        }),
      ),
    isUp: () => current !== undefined,
    dispose: () => shutdown.abort(),
  };
}
