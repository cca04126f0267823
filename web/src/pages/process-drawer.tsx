import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { ProcessEntry, ProcessSignal } from "#contract/processes.ts";
import { pace, useCall } from "../api/resource.ts";
import { Link } from "../router.tsx";
import { texts } from "../texts/processes.ts";
import { ActionButton } from "../ui/action.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { bytes, count, percent } from "../ui/format.ts";
import { Empty, Facts, Loaded, Time } from "../ui/parts.tsx";

const others = ["HUP", "INT", "USR1", "USR2", "STOP", "CONT"] as const;

/** The signals that a process can be sent, each with its plan first. */
function Signals({ of: { pid, name, unit, ...process } }: { readonly of: ProcessEntry }): JSX.Element {
  const other = useSignal<(typeof others)[number]>("HUP");
  const send = (signal: ProcessSignal) =>
    ({
      operation: "signalProcess",
      // It names the process as it is inspected: another one may have its number by then.
      input: { params: { pid }, body: { signal, start_time: process.start_time } },
      resource: unit ?? "-",
      disabled: process.is_kernel_thread ? texts.isKernel : undefined,
      steward: `steward processes signal ${pid} ${signal}`,
    }) as const;
  return (
    <div class="buttons">
      <ActionButton {...send("TERM")} label={texts.end} title={texts.endTitle(name, pid)} />
      <ActionButton {...send("KILL")} label={texts.kill} title={texts.killTitle(name, pid)} />
      <ActionButton
        {...send(other.value)}
        label={texts.signal}
        title={texts.signalTitle(name, pid)}
        options={
          <label>
            {texts.which}
            <select
              value={other.value}
              onChange={({ currentTarget }) => {
                other.value = others.find((each) => each === currentTarget.value) ?? "HUP";
              }}
            >
              {others.map((each) => (
                <option key={each} value={each}>
                  {texts.signals[each]}
                </option>
              ))}
            </select>
          </label>
        }
      />
    </div>
  );
}

const ProcessLink = ({ pid }: { readonly pid: number }): JSX.Element => (
  <Link to="processes" query={{ pid: String(pid) }}>
    {String(pid)}
  </Link>
);

const Process = ({ of }: { readonly of: ProcessEntry }): JSX.Element => (
  <>
    <code class="command-line">{of.command || texts.noCommand}</code>
    <Signals of={of} />
    <Facts
      of={{
        [texts.state]: texts.states[of.state],
        [texts.processor]: percent(of.cpu_percent),
        [texts.memory]: bytes(of.memory_bytes),
        [texts.threads]: count(of.threads),
        [texts.user]: of.user,
        [texts.unit]: of.unit && (
          <Link to="services" query={{ unit: of.unit }}>
            {of.unit}
          </Link>
        ),
        [texts.started]: <Time at={of.start_time} />,
        [texts.parent]: of.ppid === 0 ? undefined : <ProcessLink pid={of.ppid} />,
        [texts.read]: of.io === null ? undefined : bytes(of.io.read_bytes),
        [texts.written]: of.io === null ? undefined : bytes(of.io.written_bytes),
      }}
    />
  </>
);

/** One process, at the side of the list. */
export function ProcessDrawer({ pid, onClose }: { readonly pid: string; readonly onClose: () => void }): JSX.Element {
  const number = Number(pid);
  const answer = useCall("listProcesses", { query: { pid: number, limit: 1 } }, { every: pace.often });
  const found = answer.data?.processes[0];
  return (
    <Dialog title={found === undefined ? pid : `${found.name} (${pid})`} onClose={onClose} drawer>
      <Loaded of={answer} rows={8}>
        {() => (found === undefined ? <Empty icon="search">{texts.ended(pid)}</Empty> : <Process of={found} />)}
      </Loaded>
    </Dialog>
  );
}
