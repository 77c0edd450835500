/** A generation before it is activated: what it is, what it wants, and how it differs from the active one. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Radio, RadioGroup } from "react-aria-components";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { useChange } from "../../api/query";
import { useFormat, useTexts } from "../../i18n";
import { Button, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { Failure, Progress, Section, State } from "../../ui/page";
import { FreeImports, Grants } from "./Permissions";
import { checkAgain, type Generation, type Plugin, short, type Staged, stagedKey } from "./plugins";
import { TEXTS } from "./texts";

export function Review({ address, plugin, generation, onClose }: {
  address: string; plugin: Plugin; generation: Generation; onClose: () => void;
}) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const isActive = generation.digest === plugin.digest;
  const staged = useStaged(address, generation);
  return (
    <Section title={t.reviewTitle(generation.version, short(generation.digest))}
      actions={<Button icon="close" kind="quiet" onPress={onClose}>{t.close}</Button>}>
      {isActive ? <p>{t.isActive}</p> : <Difference plugin={plugin} generation={generation} staged={staged} />}
      {!isActive && may("activatePlugin") && (
        <Activation address={address} plugin={plugin} generation={generation} isKnown={staged.data !== undefined && !staged.isFetching} onDone={onClose} />
      )}
    </Section>
  );
}

/** What staging said of it. For one that was not uploaded in this window, the server is asked again on request. */
function useStaged(address: string, generation: Generation) {
  return useQuery<Staged>({
    queryKey: stagedKey(generation.digest),
    queryFn: () => checkAgain(address, generation.digest),
    enabled: false, retry: false, gcTime: Infinity, staleTime: Infinity,
  });
}

function Difference({ plugin, generation, staged }: { plugin: Plugin; generation: Generation; staged: ReturnType<typeof useStaged> }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const active = plugin.generations.find((one) => one.digest === plugin.digest);
  const rows: [string, string, string | undefined][] = [
    [t.version, generation.version, active?.version],
    [t.digest, short(generation.digest), active && short(active.digest)],
    [t.contract, generation.contract, active?.contract],
    [t.size, format.bytes(generation.size), active && format.bytes(active.size)],
    [t.staged, generation.stagedAt, active?.stagedAt],
  ];
  return (
    <>
      <div className="tablebox plugins-wide" tabIndex={0} role="region" aria-label={t.difference}>
        <table>
          <thead>
            <tr><th scope="col">{active ? t.difference : t.facts}</th><th scope="col">{t.thisOne}</th>{active && <th scope="col">{t.activeOne}</th>}</tr>
          </thead>
          <tbody>
            {rows.map(([name, now, before]) => (
              <tr key={name}>
                <td>{name}</td>
                <td className={active && now !== before ? "plugins-differs" : undefined}>{now}</td>
                {active && <td>{before}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {!active && <p>{t.noActive}</p>}
      <Wanted plugin={plugin} generation={generation} staged={staged} hasActive={active !== undefined} />
    </>
  );
}

function Wanted({ plugin, generation, staged, hasActive }: {
  plugin: Plugin; generation: Generation; staged: ReturnType<typeof useStaged>; hasActive: boolean;
}) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const client = useQueryClient();
  if (staged.isFetching) return <Progress label={t.checking(short(generation.digest))} />;
  if (!staged.data) {
    return (
      <div className="stack">
        <p>{t.notKnown}</p>
        <Failure error={staged.error} />
        {may("stagePlugin") && may("getPluginComponent") && (
          <div className="row">
            <Button icon="refresh" onPress={() => void staged.refetch().then(() => client.invalidateQueries({ queryKey: ["plugins"] }))}>{t.check}</Button>
            <span className="small">{t.checkNote}</span>
          </div>
        )}
      </div>
    );
  }
  const { imports, grantsNeeded, warnings } = staged.data;
  const added = imports.filter((name) => !plugin.imports.includes(name));
  const gone = plugin.imports.filter((name) => !imports.includes(name));
  return (
    <>
      {warnings.length > 0 && (
        <div className="note">
          <div><p className="strong">{t.warnings}</p><ul>{warnings.map((warning) => <li key={warning}>{warning}</li>)}</ul></div>
        </div>
      )}
      <div className="columns">
        <div className="stack">
          <h3>{t.grantsOfThis}</h3>
          <Grants grants={grantsNeeded} before={hasActive ? plugin.grants : undefined} />
        </div>
        <div className="stack">
          {hasActive && (
            <>
              {added.length === 0 && gone.length === 0 && <p>{t.sameImports}</p>}
              {added.length > 0 && <><h3>{t.addedImports}</h3><ul className="plugins-imports">{added.map((name) => <li key={name}><code>{name}</code></li>)}</ul></>}
              {gone.length > 0 && <><h3>{t.goneImports}</h3><ul className="plugins-imports faint">{gone.map((name) => <li key={name}><code>{name}</code></li>)}</ul></>}
            </>
          )}
          <FreeImports imports={imports} grants={grantsNeeded} />
        </div>
      </div>
    </>
  );
}

function Activation({ address, plugin, generation, isKnown, onDone }: {
  address: string; plugin: Plugin; generation: Generation;
  /** What it would be granted is shown above. */
  isKnown: boolean; onDone: () => void;
}) {
  const t = useTexts(TEXTS);
  const canCanary = plugin.digest !== null;
  const [how, setHow] = useState("full");
  const [percent, setPercent] = useState(String(generation.canaryPercent ?? 10));
  const [isWrong, setWrong] = useState(false);
  const activate = useChange(
    (canaryPercent: number | undefined) => data(api.POST("/api/v1/plugins/{name}/activate", {
      params: { path: { name: address } },
      body: { digest: generation.digest, ...(canaryPercent === undefined ? {} : { canaryPercent }) },
    })),
    [["plugins"], ["engines"]],
  );
  const submit = () => {
    if (!isKnown) return;
    const share = Number(percent);
    const isBad = how === "canary" && !(Number.isInteger(share) && share >= 1 && share <= 99);
    setWrong(isBad);
    if (!isBad) activate.mutate(how === "canary" ? share : undefined, { onSuccess: onDone });
  };
  return (
    <Form onSubmit={submit} isBusy={activate.isPending}>
      {generation.state === "canary" && <p><State value="canary" /> {t.share(generation.canaryPercent ?? 0)}</p>}
      <RadioGroup value={how} onChange={setHow} className="plugins-how" aria-label={t.how}>
        <Radio value="full" className="plugins-radio">{t.full}</Radio>
        <Radio value="canary" className="plugins-radio" isDisabled={!canCanary}>{t.canary}</Radio>
      </RadioGroup>
      {!canCanary && <p className="small">{t.canaryNeedsActive}</p>}
      {how === "canary" && (
        <div className="plugins-percent">
          <TextField label={t.percent} type="number" value={percent} onChange={setPercent} hint={t.percentHint} error={isWrong ? t.wrongPercent : undefined} />
        </div>
      )}
      <Failure error={activate.error} />
      <div className="row">
        <Button type="submit" kind="primary" isBusy={activate.isPending} isDisabled={!isKnown}>{t.activate}</Button>
        {!isKnown && <span className="small">{t.checkFirst}</span>}
      </div>
    </Form>
  );
}
