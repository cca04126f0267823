import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { PackageDetail } from "#contract/packages.ts";
import { useCall } from "../api/resource.ts";
import { Link } from "../router.tsx";
import { texts } from "../texts/packages.ts";
import { ActionButton } from "../ui/action.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { bytes } from "../ui/format.ts";
import { Badge, Facts, Loaded, TextBox } from "../ui/parts.tsx";
import { Check } from "./apply-options.tsx";

const changes = {
  install: { operation: "installPackages", title: texts.installTitle },
  update: { operation: "installPackages", title: texts.updateTitle },
  remove: { operation: "removePackages", title: texts.removeTitle },
  purge: { operation: "purgePackages", title: texts.purgeTitle },
} as const;

function ChangeButton(props: {
  readonly change: keyof typeof changes;
  readonly name: string;
  readonly primary?: boolean;
  readonly disabled?: string | undefined;
}): JSX.Element {
  const { change, name, primary = false, disabled } = props;
  const isGuarded = useSignal(false);
  const hasNoSnapshot = useSignal(false);
  const { operation, title } = changes[change];
  const options = `${hasNoSnapshot.value ? " --no-snapshot" : ""}${isGuarded.value ? " --guard" : ""}`;
  return (
    <ActionButton
      operation={operation}
      input={{
        body: {
          packages: [name],
          ...(isGuarded.value && { guard: true }),
          ...(hasNoSnapshot.value && { create_snapshot: false }),
        },
      }}
      resource={name}
      label={texts[change]}
      title={title(name)}
      primary={primary}
      disabled={disabled}
      later
      steward={`steward packages ${change === "update" ? "install" : change} ${name}${options}`}
      options={
        <>
          <Check checked={isGuarded.value} onChange={(is) => (isGuarded.value = is)}>
            {texts.guard}
          </Check>
          <Check checked={hasNoSnapshot.value} onChange={(is) => (hasNoSnapshot.value = is)}>
            {texts.noSnapshot}
          </Check>
        </>
      }
    />
  );
}

function HoldButton({ name, isHeld }: { readonly name: string; readonly isHeld: boolean }): JSX.Element {
  return (
    <ActionButton
      key={String(isHeld)}
      operation={isHeld ? "unholdPackages" : "holdPackages"}
      input={{ body: { packages: [name] } }}
      resource={name}
      label={isHeld ? texts.unhold : texts.hold}
      title={isHeld ? texts.unholdTitle(name) : texts.holdTitle(name)}
      steward={`steward packages ${isHeld ? "unhold" : "hold"} ${name}`}
    />
  );
}

function Buttons({ of: { name, installed, candidate, essential } }: { readonly of: PackageDetail }): JSX.Element {
  const isThere = installed?.state === "installed";
  const essentialWhy = essential ? texts.isEssential : undefined;
  return (
    <div class="row">
      {!isThere && candidate !== null && <ChangeButton change="install" name={name} primary />}
      {isThere && candidate !== null && candidate !== installed.version && (
        <ChangeButton change="update" name={name} primary disabled={installed.held ? texts.held : undefined} />
      )}
      {isThere && <ChangeButton change="remove" name={name} disabled={essentialWhy} />}
      {installed !== null && <ChangeButton change="purge" name={name} disabled={essentialWhy} />}
      {isThere && <HoldButton name={name} isHeld={installed.held} />}
    </div>
  );
}

const Names = ({ of: names }: { readonly of: readonly string[] }): JSX.Element => (
  <p class="names">
    {names.map((name) => (
      <code key={name}>{name}</code>
    ))}
  </p>
);

function Files({ name }: { readonly name: string }): JSX.Element {
  const detail = useCall("getPackage", { params: { name }, query: { files: true } });
  return (
    <Loaded of={detail}>
      {({ files = [] }) => (
        <>
          <p class="quiet small">{texts.fileCount(files.length)}</p>
          <TextBox label={texts.files}>{files.join("\n")}</TextBox>
        </>
      )}
    </Loaded>
  );
}

function Installed({ of: { installed } }: { readonly of: PackageDetail }): JSX.Element {
  if (installed === null) return <span class="quiet">{texts.notInstalled}</span>;
  const { version, reason, held, state } = installed;
  return (
    <>
      {`${version}, ${texts[reason]} `}
      {state !== "installed" && <Badge tone="warn">{state}</Badge>}
      {held && <Badge tone="info">{texts.held}</Badge>}
    </>
  );
}

/** Only addresses of the web are links: the text is the package's. */
const Homepage = ({ url }: { readonly url: string }): JSX.Element | string =>
  /^https?:\/\//.test(url) ? (
    <a href={url} target="_blank" rel="noreferrer noopener">
      {url}
    </a>
  ) : (
    url
  );

const orNothing = (text: string): string | undefined => (text === "" ? undefined : text);

function Detail({ of: detail }: { readonly of: PackageDetail }): JSX.Element {
  const { name, summary, description, versions, depends, provides, required_by: requiredBy, candidate } = detail;
  const areFilesOpen = useSignal(false);
  return (
    <>
      <p>{summary}</p>
      <Buttons of={detail} />
      {detail.essential && <p class="hint">{texts.essential}</p>}
      <Facts
        of={{
          [texts.installed]: <Installed of={detail} />,
          [texts.candidate]: candidate !== detail.installed?.version ? candidate : undefined,
          [texts.architecture]: detail.architecture,
          [texts.section]: orNothing(detail.section),
          [texts.priority]: orNothing(detail.priority),
          [texts.download]: bytes(detail.download_bytes),
          [texts.takes]: bytes(detail.installed_bytes),
          [texts.maintainer]: orNothing(detail.maintainer),
          [texts.homepage]: detail.homepage === "" ? undefined : <Homepage url={detail.homepage} />,
        }}
      />
      {description !== "" && description !== summary && <p class="prose">{description}</p>}
      <h3>{texts.versions}</h3>
      <ul class="bullets">
        {versions.map(({ version, origins }) => (
          <li key={version}>
            <strong>{version}</strong>{" "}
            <span class="quiet small">
              {origins.length === 0 ? texts.nowhere : origins.map(({ location }) => location).join("; ")}
            </span>
          </li>
        ))}
      </ul>
      {depends.length > 0 && (
        <details>
          <summary>{texts.depends(depends.length)}</summary>
          <Names of={depends} />
        </details>
      )}
      {requiredBy.length > 0 && (
        <details>
          <summary>{texts.requiredBy(requiredBy.length)}</summary>
          <ul class="bullets">
            {requiredBy.map(({ name: other, relation, alternative }) => (
              <li key={`${other} ${relation}`}>
                <Link to="packages" query={{ package: other }}>
                  {other}
                </Link>{" "}
                <span class="quiet small">
                  {texts.relations[relation]}
                  {alternative && `, ${texts.alternative}`}
                </span>
              </li>
            ))}
          </ul>
        </details>
      )}
      {provides.length > 0 && (
        <details>
          <summary>{texts.provides(provides.length)}</summary>
          <Names of={provides} />
        </details>
      )}
      {detail.installed !== null && (
        <details onToggle={({ currentTarget }) => (areFilesOpen.value = currentTarget.open)}>
          <summary>{texts.files}</summary>
          {areFilesOpen.value && <Files name={name} />}
        </details>
      )}
    </>
  );
}

/** One package at the side. */
export function PackageDrawer({ name, onClose }: { readonly name: string; readonly onClose: () => void }): JSX.Element {
  const detail = useCall("getPackage", { params: { name } });
  return (
    <Dialog drawer title={name} onClose={onClose}>
      <Loaded of={detail} rows={8}>
        {(each) => <Detail of={each} />}
      </Loaded>
    </Dialog>
  );
}
