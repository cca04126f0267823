import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Snapshot } from "#contract/updates.ts";
import type { Answer } from "../api/call.ts";
import { pace, useCall } from "../api/resource.ts";
import { query, setQuery } from "../router.tsx";
import { snapshotTexts as texts } from "../texts/updates.ts";
import { ActionButton, isOperation } from "../ui/action.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { bytes, count, local } from "../ui/format.ts";
import { Badge, Empty, Facts, Loaded, NotShown, TextBox, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { Check, follow, Select } from "./apply-options.tsx";

export function CreateSnapshotButton(): JSX.Element {
  const description = useSignal("");
  return (
    <ActionButton
      operation="createSnapshot"
      input={{ body: description.value === "" ? {} : { description: description.value } }}
      label={texts.create}
      title={texts.createTitle}
      primary
      later
      steward="steward snapshots create"
      options={
        <label>
          {texts.createFor}
          <input
            type="text"
            maxLength={200}
            autocomplete="off"
            value={description.value}
            onInput={({ currentTarget }) => (description.value = currentTarget.value)}
          />
        </label>
      }
    />
  );
}

const WayBack = ({ of: { rollback, rollback_lacks: lacks } }: { readonly of: Snapshot }): JSX.Element =>
  rollback === "partial" ? (
    <span title={texts.partialOf((lacks ?? []).join(", "))}>
      <Badge tone="warn">{texts.partial}</Badge>
    </span>
  ) : rollback === "full" ? (
    <Badge tone="ok">{texts.full}</Badge>
  ) : (
    <span class="quiet">{texts.unknown}</span>
  );

function RollbackButton({ id }: { readonly id: string }): JSX.Element {
  const etc = useSignal<"touched" | "all">("touched");
  const isPartial = useSignal(false);
  const typed = useSignal("");
  const allowed = typed.value.split(/[\s,]+/).filter((name) => name !== "");
  const command = [
    `steward rollback ${id}`,
    ...(etc.value === "all" ? ["--etc all"] : []),
    ...(isPartial.value ? ["--partial"] : []),
    ...allowed.map((name) => `--allow-downgrade ${name}`),
  ];
  return (
    <ActionButton
      operation="rollback"
      input={{
        params: { snapshot_id: id },
        body: {
          ...(etc.value === "all" && { etc: "all" }),
          ...(isPartial.value && { partial: true }),
          ...(allowed.length > 0 && { allow_downgrade: allowed }),
        },
      }}
      label={texts.rollback}
      title={texts.rollbackTitle(id)}
      primary
      later
      steward={command.join(" ")}
      options={
        <>
          <Select
            label={texts.etc}
            of={{ touched: texts.etcTouched, all: texts.etcAll }}
            value={etc.value}
            onChange={(value) => (etc.value = value)}
          />
          <Check checked={isPartial.value} onChange={(is) => (isPartial.value = is)}>
            {texts.partialOption}
          </Check>
          <label>
            {texts.downgrade}
            <input
              type="text"
              autocomplete="off"
              spellcheck={false}
              value={typed.value}
              onInput={({ currentTarget }) => (typed.value = currentTarget.value)}
            />
          </label>
        </>
      }
      isFollowed={isOperation}
      onDone={(answer) => follow(answer)}
    />
  );
}

type FileState = Answer<"diffSnapshotFile">["before"];
const stateText = (state: FileState): string =>
  state === null ? texts.absent : texts.mode(state.mode, state.uid, state.gid);

const tones = { "+": "ok", "-": "bad", "@": "info" } as const;
const toneOf = (line: string): string => {
  if (/^(?:\+\+\+|---)/.test(line)) return "quiet";
  return Object.hasOwn(tones, line.charAt(0)) ? tones[line.charAt(0) as keyof typeof tones] : "";
};

/** A unified difference, by lines. */
const Difference = ({ text, label }: { readonly text: string; readonly label: string }): JSX.Element => (
  <div class="diff">
    <TextBox label={label}>
      {text
        .trimEnd()
        .split("\n")
        .map((line, at) => (
          <span key={at} class={toneOf(line)}>{`${line}\n`}</span>
        ))}
    </TextBox>
  </div>
);

function FileChange({ id, path }: { readonly id: string; readonly path: string }): JSX.Element {
  const change = useCall("diffSnapshotFile", { params: { snapshot_id: id }, query: { path } });
  return (
    <>
      <h3>{texts.file(path)}</h3>
      <Loaded of={change} rows={6}>
        {({ text, reason, before, after }) => {
          const owners = `${stateText(before)} → ${stateText(after)}`;
          if (text === null) return <p class="hint">{reason}</p>;
          if (text === "") return <p class="hint">{`${texts.onlyOwner} ${owners}`}</p>;
          return <Difference text={text} label={texts.file(path)} />;
        }}
      </Loaded>
      <button type="button" onClick={() => setQuery({ file: undefined })}>
        {texts.back}
      </button>
    </>
  );
}

function Changes({ id }: { readonly id: string }): JSX.Element {
  const changes = useCall("diffSnapshot", { params: { snapshot_id: id } });
  return (
    <Loaded of={changes} rows={5}>
      {({ packages, files }) =>
        packages.length + files.length === 0 ? (
          <Empty>{texts.nothingChanged}</Empty>
        ) : (
          <>
            {packages.length > 0 && (
              <Table
                label={`${texts.since}: ${texts.packages}`}
                rows={packages}
                keyOf={({ name }) => name}
                columns={[
                  { id: "name", title: texts.name, sort: ({ name }) => name, cell: ({ name }) => name },
                  { id: "then", title: texts.before, cell: ({ from }) => from ?? texts.absent },
                  { id: "now", title: texts.now, cell: ({ to }) => to ?? texts.absent },
                ]}
              />
            )}
            {files.length > 0 && (
              <Table
                label={`${texts.since}: ${texts.files}`}
                rows={files}
                keyOf={({ path }) => path}
                columns={[
                  {
                    id: "path",
                    title: texts.files,
                    sort: ({ path }) => path,
                    cell: ({ path }) => (
                      <button type="button" class="plain file" onClick={() => setQuery({ file: path })}>
                        {path}
                      </button>
                    ),
                  },
                  {
                    id: "change",
                    title: texts.kind,
                    cell: ({ change, foreign }) => (
                      <span title={foreign ? texts.foreignHow : undefined}>
                        {texts.changes[change]} {foreign && <span class="quiet">{texts.foreign}</span>}
                      </span>
                    ),
                  },
                ]}
              />
            )}
          </>
        )
      }
    </Loaded>
  );
}

function Drawer({ id }: { readonly id: string }): JSX.Element {
  const snapshot = useCall("getSnapshot", { params: { snapshot_id: id } });
  const file = query.value.get("file");
  const close = (): void => setQuery({ snapshot: undefined, file: undefined });
  return (
    <Dialog drawer title={texts.title(id)} onClose={close}>
      <Loaded of={snapshot} rows={4}>
        {(each) => (
          <>
            <Facts
              of={{
                [texts.description]: each.description,
                [texts.taken]: local(each.created_at),
                [texts.kind]: texts.kinds[each.kind],
                [texts.packages]: count(each.packages_count),
                [texts.size]: bytes(each.size_bytes),
                [texts.wayBack]: (
                  <>
                    <WayBack of={each} />{" "}
                    {each.rollback === "partial" && texts.partialOf((each.rollback_lacks ?? []).join(", "))}
                  </>
                ),
              }}
            />
            <div class="row">
              <RollbackButton id={id} />
              <ActionButton
                operation="deleteSnapshot"
                input={{ params: { snapshot_id: id } }}
                label={texts.remove}
                title={texts.removeTitle(id)}
                steward={`steward snapshots delete ${id}`}
                onDone={close}
              />
            </div>
            {file === null ? <Changes id={id} /> : <FileChange id={id} path={file} />}
          </>
        )}
      </Loaded>
    </Dialog>
  );
}

/** Snapshots, and the one of the address in a drawer. */
export function Snapshots(): JSX.Element {
  const list = useCall("listSnapshots", {}, { every: pace.seldom });
  const id = query.value.get("snapshot");
  return (
    <>
      <Loaded of={list} rows={6}>
        {({ snapshots, not_shown: lacks }) => (
          <>
            <NotShown list={lacks} />
            <Table
              label={texts.create}
              rows={snapshots}
              keyOf={(each) => each.id}
              empty={texts.none}
              columns={[
                {
                  id: "taken",
                  title: texts.taken,
                  sort: ({ id: key }) => key,
                  cell: (each) => (
                    <button
                      type="button"
                      class="plain"
                      onClick={() => setQuery({ snapshot: each.id }, { replace: false })}
                    >
                      <Time at={each.created_at} />
                      <span class="hidden">{texts.title(each.id)}</span>
                    </button>
                  ),
                },
                { id: "for", title: texts.description, narrow: "below", cell: ({ description }) => description },
                { id: "kind", title: texts.kind, narrow: "hide", cell: ({ kind }) => texts.kinds[kind] },
                {
                  id: "packages",
                  title: texts.packages,
                  align: "end",
                  narrow: "hide",
                  cell: ({ packages_count: packages }) => count(packages),
                },
                {
                  id: "size",
                  title: texts.size,
                  align: "end",
                  sort: ({ size_bytes: size }) => size,
                  cell: ({ size_bytes: size }) => bytes(size),
                },
                { id: "back", title: texts.wayBack, narrow: "hide", cell: (each) => <WayBack of={each} /> },
              ]}
            />
          </>
        )}
      </Loaded>
      {id !== null && <Drawer key={id} id={id} />}
    </>
  );
}
