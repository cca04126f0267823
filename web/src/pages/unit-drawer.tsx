import type { JSX } from "preact";
import type { ServiceDetails, UnitEntry } from "#contract/units.ts";
import { pace, useCall } from "../api/resource.ts";
import { UnitLog } from "../list/unit-log.tsx";
import { Link, query } from "../router.tsx";
import { texts } from "../texts/services.ts";
import { ActionButton } from "../ui/action.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { bytes, count, duration, percent } from "../ui/format.ts";
import { Empty, Facts, Loaded, NotShown, Part, Time } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Changes, callsOf } from "./changes.tsx";
import { DiagnosisPart } from "./diagnosis.tsx";
import { Runbooks } from "./runbooks.tsx";
import { UnitState } from "./states.tsx";

const UnitLink = ({ name }: { readonly name: string }): JSX.Element => (
  <Link to="services" query={{ ...Object.fromEntries(query.value), unit: name }}>
    {name}
  </Link>
);

const Head = ({ of: unit }: { readonly of: Parameters<typeof UnitState>[0]["of"] & { description: string } }) => (
  <p class="unit-head">
    <UnitState of={unit} /> {unit.description}
  </p>
);

const Log = ({ unit }: { readonly unit: string }): JSX.Element => (
  <section>
    <h3>{texts.log}</h3>
    <UnitLog unit={unit} />
  </section>
);

/** What was done to it through the service, and by whom. */
function Done({ unit }: { readonly unit: string }): JSX.Element {
  const calls = useCall("listAudit", { query: { target: unit, outcome: "ok", limit: 200 } });
  return (
    <section>
      <h3>{texts.changes}</h3>
      <Loaded of={calls} rows={1}>
        {(answer) => <Changes of={callsOf(answer)} few={3} />}
      </Loaded>
    </section>
  );
}

const Items = ({ of }: { readonly of: readonly string[] }): JSX.Element => (
  <span class="list">
    {of.map((each) => (
      <code key={each}>{each}</code>
    ))}
  </span>
);

const Units = ({ of }: { readonly of: readonly string[] }): JSX.Element => (
  <span class="list">
    {of.map((each) => (
      <UnitLink key={each} name={each} />
    ))}
  </span>
);

/** Why it does not do its work. */
function Trouble({ of: unit }: { readonly of: ServiceDetails }): JSX.Element | null {
  const { last_run: last, load_error: loadError, unmet_conditions: unmet } = unit;
  return (
    <>
      {unit.active_state === "failed" && (
        <p class="hint bad">
          {texts.failed(unit.result, last.exit)} <Time at={last.ended_at ?? unit.since} />
        </p>
      )}
      {loadError !== "" && unit.load_state !== "masked" && <p class="hint bad">{texts.loadError(loadError)}</p>}
      {unit.active_state === "inactive" && unmet.length > 0 && <p class="hint warn">{texts.unmet(unmet.join(", "))}</p>}
      {unit.files.needs_reload && <p class="hint warn">{texts.needsReload}</p>}
      {unit.control.reason !== "" && <p class="hint">{unit.control.reason}</p>}
    </>
  );
}

const listedTypes = ["timer", "socket", "mount", "path", "target", "slice"] as const;

type Verb = keyof typeof texts.actions;

/** What can be done to a service: what would change nothing is left out or says why not. */
function Actions({ of: unit }: { readonly of: ServiceDetails }): JSX.Element {
  const { name, active_state: active, unit_file_state: file } = unit;
  const isUp = active !== "inactive" && active !== "failed";
  const isMasked = file.startsWith("masked");
  const isEnabled = unit.enabled || file.startsWith("linked");
  const params = { name };
  // What must be confirmed is confirmed below its plan.
  const body = { confirm: true };
  const button = (verb: Verb) =>
    ({
      label: texts.actions[verb],
      title: texts.actionTitle(texts.actions[verb], name),
      resource: name,
      steward: `steward services ${verb} ${name}`,
    }) as const;
  const masked = isMasked ? texts.isMasked : undefined;
  const notInstalled =
    file === "enabled" || file === "disabled" || isEnabled ? masked : (masked ?? texts.cannotEnable(file || "missing"));
  return (
    <div class="buttons">
      {isUp ? (
        <>
          <ActionButton {...button("restart")} operation="restartService" input={{ params, body }} primary />
          <ActionButton {...button("stop")} operation="stopService" input={{ params, body }} />
          <ActionButton
            {...button("reload")}
            operation="reloadService"
            input={{ params, body }}
            disabled={unit.commands.some(({ setting }) => setting === "ExecReload") ? undefined : texts.cannotReload}
          />
        </>
      ) : (
        <ActionButton
          {...button("start")}
          operation="startService"
          input={{ params, body }}
          primary
          disabled={masked}
        />
      )}
      {isEnabled ? (
        <ActionButton {...button("disable")} operation="disableService" input={{ params }} />
      ) : (
        <ActionButton
          {...button("enable")}
          operation="enableService"
          input={{ params, body }}
          disabled={notInstalled}
        />
      )}
      {isMasked ? (
        <ActionButton {...button("unmask")} operation="unmaskService" input={{ params, body }} />
      ) : (
        <ActionButton {...button("mask")} operation="maskService" input={{ params }} />
      )}
    </div>
  );
}

const Trigger = ({ of: unit }: { readonly of: ServiceDetails["triggered_by"][number] }): JSX.Element => (
  <span>
    <UnitLink name={unit.name} />
    {unit.timer?.next_at != null && (
      <span class="quiet">
        {` ${texts.nextAt} `}
        <Time at={unit.timer.next_at} />
      </span>
    )}
  </span>
);

function State({ of: unit }: { readonly of: ServiceDetails }): JSX.Element {
  const { resources } = unit;
  const most = resources.memory_peak_bytes;
  return (
    <Facts
      of={{
        [texts.since]: <Time at={unit.since} />,
        [texts.status]: unit.status_text || undefined,
        [texts.mainProcess]:
          unit.main_pid === null ? undefined : (
            <Link to="processes" query={{ pid: String(unit.main_pid) }}>
              {String(unit.main_pid)}
            </Link>
          ),
        [texts.memory]:
          unit.memory_bytes === null
            ? undefined
            : bytes(unit.memory_bytes) + (most === null ? "" : `, ${texts.peak(bytes(most))}`),
        [texts.processor]: resources.cpu_seconds === null ? undefined : duration(resources.cpu_seconds),
        [texts.tasks]: resources.tasks === null ? undefined : count(resources.tasks),
        [texts.boot]: unit.unit_file_state,
        [texts.restarts]: texts.restartsOf(count(unit.restarts), unit.restart),
        [texts.user]: unit.user || "root",
        [texts.startedBy]:
          unit.triggered_by.length === 0 ? undefined : (
            <span class="list">
              {unit.triggered_by.map((each) => (
                <Trigger key={each.name} of={each} />
              ))}
            </span>
          ),
      }}
    />
  );
}

type Run = NonNullable<ServiceDetails["runs"]>[number];
const runColumns: readonly Column<Run>[] = [
  { id: "started", title: texts.started, cell: (run) => <Time at={run.started_at ?? run.ended_at} /> },
  {
    id: "duration",
    title: texts.duration,
    align: "end",
    cell: (run) =>
      run.duration_ms === null
        ? ""
        : run.duration_ms < 1000
          ? `${run.duration_ms} ms`
          : duration(run.duration_ms / 1000),
  },
  {
    id: "result",
    title: texts.result,
    cell: (run) => `${run.result}${run.exit === "" ? "" : ` (${run.exit})`}`,
  },
];

const limitOf = (name: string, value: number): string => {
  if (name.endsWith("_bytes")) return bytes(value);
  if (name === "cpu_percent") return percent(value);
  return name.endsWith("_ms") ? duration(value / 1000) : count(value);
};

function Limits({ of }: { readonly of: ServiceDetails["limits"] }): JSX.Element {
  const set = Object.entries(of).flatMap(([name, value]) =>
    value === null ? [] : [[texts.limitNames[name as keyof typeof of], limitOf(name, value)] as const],
  );
  return set.length === 0 ? <p class="quiet">{texts.noLimits}</p> : <Facts of={Object.fromEntries(set)} />;
}

/** Parts that take a program of the host: they are asked for when they are opened. */
const isAskedFor = (what: string): boolean => what === "listening" || what === "security";

function Exposure({ name }: { readonly name: string }): JSX.Element {
  const answer = useCall("getService", { params: { name }, query: { listening: true, security: true } });
  return (
    <Loaded of={answer} rows={2}>
      {({ listening, security, not_shown: lacks }) => (
        <>
          <NotShown list={lacks.filter(({ what }) => isAskedFor(what))} />
          <Facts
            of={{
              [texts.listening]:
                listening === null
                  ? undefined
                  : listening.length === 0
                    ? texts.nothingListens
                    : listening.map(({ protocol, address, port }) => `${address}:${port}/${protocol}`).join(", "),
              [texts.sandbox]:
                security === null ? undefined : texts.sandboxOf(String(security.exposure), security.level),
            }}
          />
        </>
      )}
    </Loaded>
  );
}

type File = ServiceDetails["files"]["drop_ins"][number];
const FileText = ({ of: { path, text, withheld } }: { readonly of: File }): JSX.Element => (
  <>
    <h3>
      <code>{path}</code>
    </h3>
    {text === null ? <p class="quiet">{withheld}</p> : <pre>{text}</pre>}
  </>
);

function Parts({ of: unit }: { readonly of: ServiceDetails }): JSX.Element {
  const { files, runs, processes, commands } = unit;
  const ties = Object.entries(unit.dependencies).filter(([, names]) => names.length > 0);
  const texted = [...(files.fragment === null ? [] : [files.fragment]), ...files.drop_ins];
  return (
    <div class="parts">
      <Runbooks of={{ unit: unit.name }} />
      <DiagnosisPart of={{ unit: unit.name }} />
      {runs !== null && runs.length > 0 && (
        <Part title={texts.runs(runs.length)}>
          {() => (
            <Table
              label={texts.runs(runs.length)}
              columns={runColumns}
              rows={runs}
              keyOf={(run) => `${run.started_at} ${run.ended_at}`}
            />
          )}
        </Part>
      )}
      {processes.length > 0 && (
        <Part title={texts.processes(unit.processes_total)}>
          {() => (
            <ul class="processes">
              {processes.map(({ pid, command }) => (
                <li key={pid}>
                  <Link to="processes" query={{ pid: String(pid) }}>
                    {String(pid)}
                  </Link>{" "}
                  <code>{command}</code>
                </li>
              ))}
              {unit.processes_total > processes.length && (
                <li class="quiet">{texts.moreProcesses(unit.processes_total - processes.length)}</li>
              )}
            </ul>
          )}
        </Part>
      )}
      <Part title={texts.dependencies(new Set(ties.flatMap(([, names]) => names)).size)}>
        {() => (
          <Facts
            of={Object.fromEntries(
              ties.map(([tie, names]) => [tie.replaceAll("_", " "), <Units key={tie} of={names} />]),
            )}
          />
        )}
      </Part>
      {texted.length > 0 && (
        <Part title={texts.files(texted.length)}>
          {() => (
            <>
              {files.source_path !== "" && <p class="quiet">{texts.generated(files.source_path)}</p>}
              {texted.map((file) => (
                <FileText key={file.path} of={file} />
              ))}
            </>
          )}
        </Part>
      )}
      {commands.length > 0 && (
        <Part title={texts.commands(commands.length)}>
          {() => (
            <ul class="processes">
              {commands.map(({ setting, command }) => (
                <li key={`${setting} ${command}`}>
                  <span class="quiet">{`${setting}=`}</span> <code>{command}</code>
                </li>
              ))}
            </ul>
          )}
        </Part>
      )}
      <Part title={texts.limits}>{() => <Limits of={unit.limits} />}</Part>
      <Part title={texts.exposure}>{() => <Exposure name={unit.name} />}</Part>
    </div>
  );
}

/** A unit of another kind: it is part of the list of its kind. */
function OtherUnit({ name, type }: { readonly name: string; readonly type: UnitEntry["type"] }): JSX.Element {
  const answer = useCall("listUnits", { query: { type, limit: 1000 } }, { every: pace.often });
  return (
    <Loaded of={answer}>
      {({ units }) => {
        const unit = units.find((each) => each.name === name);
        if (unit === undefined) return <Empty icon="search">{texts.notFound(name)}</Empty>;
        const { timer, socket, mount, path } = unit;
        const started = [timer?.unit ?? "", ...(socket?.units ?? []), path?.unit ?? ""].filter((each) => each !== "");
        return (
          <>
            <Head of={unit} />
            <Facts
              of={{
                [texts.since]: <Time at={unit.since} />,
                [texts.boot]: unit.unit_file_state || undefined,
                [texts.starts]: started.length === 0 ? undefined : <Units of={started} />,
                [texts.next]: timer && <Time at={timer.next_at} />,
                [texts.last]: timer && <Time at={timer.last_at} />,
                [texts.rules]: timer && <Items of={timer.rules} />,
                [texts.listens]: socket && <Items of={socket.listens.map(({ address }) => address)} />,
                [texts.where]: mount?.where,
                [texts.what]: mount?.what,
                [texts.fileSystem]: mount?.type,
                [texts.options]: mount?.options,
                [texts.watches]: path && <Items of={path.rules.map((rule) => `${rule.condition}=${rule.path}`)} />,
              }}
            />
          </>
        );
      }}
    </Loaded>
  );
}

function Service({ name }: { readonly name: string }): JSX.Element {
  const answer = useCall("getService", { params: { name } }, { every: pace.often });
  return (
    <>
      <Loaded of={answer} rows={8}>
        {(unit) => (
          <>
            <Head of={unit} />
            <NotShown list={unit.not_shown.filter(({ what }) => !isAskedFor(what))} />
            <Trouble of={unit} />
            <Actions of={unit} />
            <State of={unit} />
          </>
        )}
      </Loaded>
      <Done unit={name} />
      <Log unit={name} />
      {answer.data !== undefined && <Parts of={answer.data} />}
    </>
  );
}

/** One unit, at the side of the list. */
export function UnitDrawer({ name, onClose }: { readonly name: string; readonly onClose: () => void }): JSX.Element {
  const suffix = name.slice(name.lastIndexOf(".") + 1);
  const type = listedTypes.find((each) => each === suffix);
  const isService = suffix === "service" || !name.includes(".");
  return (
    <Dialog title={name} onClose={onClose} drawer>
      {isService ? (
        <Service name={name} />
      ) : (
        <>
          {type === undefined ? (
            <Empty icon="search">{texts.notListed(suffix)}</Empty>
          ) : (
            <OtherUnit name={name} type={type} />
          )}
          <Done unit={name} />
          <Log unit={name} />
          {type !== undefined && (
            <div class="parts">
              <Runbooks of={{ unit: name }} />
              <DiagnosisPart of={{ unit: name }} />
            </div>
          )}
        </>
      )}
    </Dialog>
  );
}
