import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { DiskDevice, DiskFileSystem } from "#contract/disks.ts";
import { type Answer, call } from "../api/call.ts";
import { pace, useCall } from "../api/resource.ts";
import { query, setQuery } from "../router.tsx";
import { disksTexts as texts } from "../texts/host.ts";
import { commandOf } from "../ui/commands.tsx";
import { bytes, count, percent } from "../ui/format.ts";
import { Page } from "../ui/page.tsx";
import { Badge, Card, Empty, Loaded, Meter, NotShown, Problem, type Tone } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

const toneOf = (used: number): Tone => (used >= 95 ? "bad" : used >= 85 ? "warn" : "info");
const pathOf = ({ mounts }: DiskFileSystem): string => mounts[0]?.path ?? "";

function FileSystems({ of }: { readonly of: readonly DiskFileSystem[] }): JSX.Element {
  return (
    <Card title={texts.fileSystems}>
      <Table
        label={texts.fileSystems}
        rows={of}
        keyOf={(each) => `${each.source} ${pathOf(each)} ${each.mounts.length}`}
        columns={[
          {
            id: "path",
            title: texts.mountedAt,
            sort: pathOf,
            cell: (each) => (
              <>
                {each.mounts.map(({ path }) => path).join(", ")}{" "}
                {each.mounts.every(({ is_read_only: isFixed }) => isFixed) && (
                  <Badge tone="idle">{texts.readOnly}</Badge>
                )}
                {each.is_remote && <Badge tone="info">{texts.remote}</Badge>}
              </>
            ),
          },
          {
            id: "used",
            title: texts.used,
            narrow: "below",
            sort: ({ usage }) => usage?.percent_used ?? -1,
            cell: ({ usage, usage_unknown: why }) =>
              usage === null ? (
                <span class="quiet">{why}</span>
              ) : (
                <span class="used">
                  <Meter
                    value={usage.percent_used}
                    label={texts.of(bytes(usage.used_bytes), bytes(usage.size_bytes))}
                    tone={toneOf(usage.percent_used)}
                  />
                  {percent(usage.percent_used)}
                </span>
              ),
          },
          {
            id: "free",
            title: texts.free,
            align: "end",
            narrow: "below",
            sort: ({ usage }) => usage?.available_bytes ?? -1,
            cell: ({ usage }) =>
              usage === null ? "" : texts.of(bytes(usage.available_bytes), bytes(usage.size_bytes)),
          },
          {
            id: "inodes",
            title: texts.inodes,
            align: "end",
            narrow: "hide",
            cell: ({ usage }) =>
              usage === null || usage.inodes === 0 ? "" : percent((100 * usage.inodes_used) / usage.inodes),
          },
          { id: "type", title: texts.type, narrow: "hide", sort: ({ type }) => type, cell: ({ type }) => type },
          { id: "source", title: texts.source, narrow: "hide", cell: ({ source }) => <code>{source}</code> },
        ]}
      />
    </Card>
  );
}

/** How deep a device is below the disk that it is on. */
function depthOf(device: DiskDevice, all: ReadonlyMap<string, DiskDevice>): number {
  const parent = all.get(device.parents[0] ?? "");
  return parent === undefined ? 0 : 1 + depthOf(parent, all);
}

function contentOf({ content, array }: DiskDevice): JSX.Element {
  const label = content?.label ? ` ${content.label}` : "";
  return (
    <>
      {content === null ? "" : `${content.type}${label}`}
      {array !== null && array.working_devices < array.devices && (
        <Badge tone="bad">{texts.degraded(array.working_devices, array.devices)}</Badge>
      )}
      {array?.rebuild_percent != null && <Badge tone="warn">{texts.rebuilding(array.rebuild_percent)}</Badge>}
    </>
  );
}

function Devices({ of }: { readonly of: readonly DiskDevice[] }): JSX.Element {
  const byName = new Map(of.map((each) => [each.name, each]));
  return (
    <Card title={texts.devices}>
      <Table
        label={texts.devices}
        rows={of.filter(({ size_bytes: size }) => size > 0)}
        keyOf={({ name }) => name}
        empty={texts.noDevices}
        columns={[
          {
            id: "name",
            title: texts.device,
            cell: (each) => <code style={{ paddingLeft: `${depthOf(each, byName) * 18}px` }}>{each.path}</code>,
          },
          { id: "type", title: texts.type, narrow: "below", cell: ({ type }) => type },
          { id: "size", title: texts.size, align: "end", narrow: "below", cell: (each) => bytes(each.size_bytes) },
          { id: "content", title: texts.content, narrow: "below", cell: contentOf },
          {
            id: "model",
            title: texts.model,
            narrow: "hide",
            cell: ({ model, transport }) => [model, transport].filter(Boolean).join(" · "),
          },
        ]}
      />
    </Card>
  );
}

const above = (path: string): string => path.replace(/\/[^/]*\/?$/, "") || "/";

/** Measures a directory when somebody asks, and goes down into what is large. */
function Usage(): JSX.Element {
  const path = query.value.get("path") ?? "/var";
  const result = useSignal<Answer<"getDiskUsage"> | undefined>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  const isBusy = useSignal(false);
  const measure = async (asked: string): Promise<void> => {
    setQuery({ path: asked });
    isBusy.value = true;
    error.value = undefined;
    try {
      result.value = await call("getDiskUsage", { query: { path: asked, depth: 1, limit: 20 } });
    } catch (thrown) {
      error.value = thrown as Error;
    } finally {
      isBusy.value = false;
    }
  };
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem("path") as HTMLInputElement;
    void measure(field.value);
  };
  const found = result.value;
  return (
    <Card title={texts.usage}>
      <form class="row pad" onSubmit={onSubmit}>
        <label class="grow">
          {texts.path}
          <input name="path" type="text" value={path} required pattern="/.*" spellcheck={false} />
        </label>
        <button type="button" disabled={isBusy.value || path === "/"} onClick={() => void measure(above(path))}>
          {texts.up}
        </button>
        <button type="submit" disabled={isBusy.value}>
          {isBusy.value ? texts.measuring : texts.measure}
        </button>
      </form>
      {error.value !== undefined && <Problem error={error.value} />}
      {found === undefined ? (
        <p class="pad quiet">{texts.usageHow}</p>
      ) : (
        <>
          <p class="pad" role="status">
            <strong>{found.path}</strong> {texts.measured(bytes(found.bytes), count(found.entries))}
            {found.unreadable.total > 0 && (
              <span class="quiet">{` · ${texts.unreadable(found.unreadable.total)}`}</span>
            )}
          </p>
          {found.truncated !== null && <p class="hint warn">{texts.cut[found.truncated]}</p>}
          <Table
            label={texts.usage}
            rows={found.largest}
            keyOf={(each) => each.path}
            columns={[
              {
                id: "path",
                title: texts.path,
                cell: (each) =>
                  each.entries > 0 ? (
                    <button type="button" class="plain" onClick={() => void measure(each.path)}>
                      {each.path}
                    </button>
                  ) : (
                    each.path
                  ),
              },
              {
                id: "share",
                title: texts.takes,
                narrow: "below",
                cell: (each) => (
                  <span class="used">
                    <Meter value={found.bytes === 0 ? 0 : (100 * each.bytes) / found.bytes} label={bytes(each.bytes)} />
                    {bytes(each.bytes)}
                  </span>
                ),
              },
              {
                id: "entries",
                title: texts.entries,
                align: "end",
                narrow: "hide",
                cell: (each) => (each.entries > 0 ? count(each.entries) : ""),
              },
            ]}
          />
        </>
      )}
    </Card>
  );
}

export function DisksPage(): JSX.Element {
  const disks = useCall("listDisks", {}, { every: pace.seldom });
  return (
    <Page
      title={texts.title}
      commands={[
        commandOf("listDisks", {}, "steward disks"),
        commandOf("getDiskUsage", { query: { path: query.value.get("path") ?? "/var" } }, "steward du /var"),
      ]}
    >
      <Loaded of={disks} rows={6}>
        {({ file_systems: systems, devices, swaps, notes }) => (
          <>
            <NotShown list={notes.map((reason) => ({ what: texts.title, reason }))} />
            <FileSystems of={systems} />
            <Usage />
            <Devices of={devices} />
            <Card title={texts.swaps}>
              {swaps.length === 0 ? (
                <Empty>{texts.noSwap}</Empty>
              ) : (
                <Table
                  label={texts.swaps}
                  rows={swaps}
                  keyOf={({ path }) => path}
                  columns={[
                    { id: "path", title: texts.device, cell: ({ path }) => <code>{path}</code> },
                    { id: "type", title: texts.type, narrow: "hide", cell: ({ type }) => type },
                    {
                      id: "used",
                      title: texts.used,
                      narrow: "below",
                      cell: (each) => texts.of(bytes(each.used_bytes), bytes(each.size_bytes)),
                    },
                  ]}
                />
              )}
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}
