/** Adds or edits an engine. Secrets are only written: one that is set is kept unless another is typed. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, ifMatch, isStale, type Schemas, type Tagged, tagged } from "../../api/client";
import { queries, useChange } from "../../api/query";
import { useTexts } from "../../i18n";
import { Actions, Button, Dialog, Select, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { errorOf, Failure, Loaded } from "../../ui/page";
import { LOCAL } from "./local";
import { SettingField } from "./SettingField";
import { type Described, described, errorsAt, guessed, read, type Setting, shown, shownFreely, WRONG } from "./settings";
import { TEXTS } from "./texts";

type Engine = Schemas["Engine"];
type Plugin = Schemas["Plugin"];
type Pair = { name: string; value: string };

const readEngine = (name: string) => tagged<Engine>(api.GET("/api/v1/engines/{name}", { params: { path: { name } } }));

/**
 * What the form shows of an engine, and the tag to change it by: one answer. It is read once for each form; one that was
 * read again by itself would hide that others changed the engine.
 */
const editedQuery = (name: string) => queryOptions({
  queryKey: ["engines", name, "edited"],
  queryFn: () => readEngine(name),
  enabled: ({ state }) => state.data === undefined,
  gcTime: 0,
  staleTime: Infinity,
});

interface Rest {
  save: ReturnType<typeof useSave>; onClose: (saved?: string) => void;
}

export function EngineForm({ engine, onClose }: { engine?: Engine; onClose: (saved?: string) => void }) {
  const t = useTexts(TEXTS);
  const save = useSave(engine?.name);
  const rest = { save, onClose };
  return (
    <Dialog title={engine ? t.editTitle(engine.name) : t.addTitle} isOpen isWide isBusy={save.isPending} onClose={() => onClose()}>
      {engine ? <Known name={engine.name} {...rest} /> : <Offered {...rest} />}
    </Dialog>
  );
}

function Known({ name, ...rest }: Rest & { name: string }) {
  return <Loaded query={useQuery(editedQuery(name))}>{(read) => <Offered read={read} {...rest} />}</Loaded>;
}

function Offered({ read, ...rest }: Rest & { read?: Tagged<Engine> }) {
  const t = useTexts(TEXTS);
  const plugins = useQuery({
    queryKey: ["plugins"],
    queryFn: () => data<Plugin[]>(api.GET("/api/v1/plugins")),
  });
  return (
    <Loaded query={plugins}>
      {(all) => {
        // An engine's plugin may be out of service.
        const offered = all.filter((one) => one.family === "engine" && one.name !== LOCAL && (one.digest !== null || one.name === read?.value.plugin));
        if (offered.length === 0 && !read) return <p>{t.noPlugins}</p>;
        return <Members engine={read?.value} tag={read?.tag} plugins={offered} {...rest} />;
      }}
    </Loaded>
  );
}

function useSave(edited: string | undefined) {
  return useChange(async ({ name, tag, ...body }: Schemas["UpdateEngine"] & { name: string; tag: string | undefined }) => {
    // One that is new has no secrets to remove.
    if (edited === undefined) return data<Engine>(api.POST("/api/v1/engines", { body: { name, ...body } as Schemas["CreateEngine"] }));
    try {
      return await data<Engine>(api.PUT("/api/v1/engines/{name}", { params: { path: { name: edited }, header: ifMatch(tag) }, body }));
    } catch (reason) {
      if (!isStale(reason)) throw reason;
      // What others changed is shown; a value that was typed here stays.
      const now = await readEngine(edited);
      queries.setQueryData(editedQuery(edited).queryKey, (before) => before && now);
      throw reason;
    }
  }, [["engines"]]);
}

function Members({ engine, tag, plugins, save, onClose }: Rest & { engine: Engine | undefined; tag: string | undefined; plugins: Plugin[] }) {
  const t = useTexts(TEXTS);
  const names = [...new Set([...(engine ? [engine.plugin] : []), ...plugins.map((one) => one.name)])];
  const [name, setName] = useState(engine?.name ?? "");
  // null: as the engine has it.
  const [chosen, setChosen] = useState<string | null>(engine ? null : names[0]!);
  const plugin = chosen ?? names[0]!;
  const known = plugins.find((one) => one.name === plugin);
  const { settings, allowsOthers } = described(known?.configSchema);
  // Those that were typed in; all others are as the engine has them.
  const [values, setValues] = useState<Record<string, string>>({});
  const textOf = (setting: Setting) => values[setting.name] ?? shown(setting, engine?.config[setting.name]);
  const [rows, setRows] = useState<Pair[] | null>(null);
  const more = rows ?? othersOf({ settings, allowsOthers }, engine);
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  const [moreSecrets, setMoreSecrets] = useState<Pair[]>([]);
  // Without a description of the plugin everything is typed in by name.
  const isFree = !known?.configSchema;
  const specs = known?.secrets ?? [];
  const others = (engine?.secrets ?? []).filter((secret) => !specs.some((spec) => spec.name === secret));
  const allSecrets = [...specs, ...others.map((secret) => ({ name: secret, title: secret, description: "" }))];

  const choosePlugin = (next: string) => {
    setChosen(next);
    setValues({});
    setRows(null);
  };

  const submit = () => {
    const config: Record<string, unknown> = {};
    for (const setting of settings) {
      const value = read(setting, textOf(setting));
      // Its field says so.
      if (value === WRONG) return;
      if (value !== undefined) config[setting.name] = value;
    }
    for (const pair of more) {
      if (pair.name.trim() !== "") config[pair.name.trim()] = guessed(pair.value);
    }
    const sent: Record<string, string | null> = {};
    for (const { name: secret } of allSecrets) {
      if (removed.has(secret)) sent[secret] = null;
      else if (secrets[secret]) sent[secret] = secrets[secret];
    }
    for (const pair of isFree ? moreSecrets : []) {
      if (pair.name.trim() !== "" && pair.value !== "") sent[pair.name.trim()] = pair.value;
    }
    save.mutate({ name, tag, plugin, config, secrets: sent }, { onSuccess: () => onClose(engine?.name ?? name) });
  };
  // The members whose field says what is wrong with it.
  const shownMembers = [
    "plugin", ...(engine ? [] : ["name"]), ...[...settings, ...more].map((one) => `config.${one.name.trim()}`),
    ...[...allSecrets, ...(isFree ? moreSecrets : [])].map((one) => `secrets.${one.name.trim()}`),
  ];
  const errorAt = (member: string) => errorsAt(save.error, member);
  return (
    <Form onSubmit={submit} isBusy={save.isPending}>
      <div className="columns">
        {!engine && (
          <TextField label={t.name} value={name} onChange={setName} hint={t.nameHint} error={errorOf(save.error, "name")} maxLength={64} isRequired autoFocus />
        )}
        <Select label={t.plugin} value={plugin} onChange={choosePlugin} choices={names.map((one) => ({ value: one, label: one }))}
          error={errorOf(save.error, "plugin")} />
      </div>
      <h3>{t.settings}</h3>
      {settings.length === 0 && <p className="small">{allowsOthers ? t.otherPlugin : t.noSettings}</p>}
      <div className="columns">
        {settings.map((setting) => (
          <SettingField key={setting.name} setting={setting} value={textOf(setting)} error={errorAt(`config.${setting.name}`)}
            onChange={(value) => setValues({ ...values, [setting.name]: value })} />
        ))}
      </div>
      {(allowsOthers || more.length > 0) && (
        <Pairs title={t.moreSettings} pairs={more} onChange={setRows} nameLabel={t.settingName} valueLabel={t.settingValue}
          addLabel={allowsOthers ? t.addSetting : null} hint={t.valueHint} errorAt={(member) => errorAt(`config.${member}`)} />
      )}
      <h3>{t.secrets}</h3>
      <p className="small">{allSecrets.length === 0 && !isFree ? t.needsNoSecrets : <>{t.secretsNote} {engine && t.addressNote}</>}</p>
      <div className="columns">
        {allSecrets.map(({ name: secret, title, description }) => {
          const isSet = engine?.secrets.includes(secret) ?? false;
          const isRemoved = removed.has(secret);
          const turn = () => setRemoved(new Set(isRemoved ? [...removed].filter((one) => one !== secret) : [...removed, secret]));
          return (
            <div key={secret} className="engines-secret">
              <TextField label={title || secret} type="password" value={isRemoved ? "" : (secrets[secret] ?? "")} isDisabled={isRemoved}
                onChange={(value) => setSecrets({ ...secrets, [secret]: value })} error={errorAt(`secrets.${secret}`)}
                placeholder={isSet && !isRemoved ? "••••••" : ""}
                hint={<><code className="engines-member">{secret}</code><span className="engines-member">{description}</span>{isRemoved ? t.secretRemoved : isSet && t.secretKept}</>} />
              {isSet && <Button icon={isRemoved ? "refresh" : "bin"} kind="quiet" onPress={turn} aria-label={isRemoved ? t.keepSecret(secret) : t.removeSecret(secret)} />}
            </div>
          );
        })}
      </div>
      {isFree && (
        <Pairs title={t.moreSecrets} pairs={moreSecrets} onChange={setMoreSecrets} nameLabel={t.secretName} valueLabel={t.secretValue} addLabel={t.addSecret}
          isSecret errorAt={(member) => errorAt(`secrets.${member}`)} />
      )}
      {isStale(save.error) ? <p className="note" role="alert">{t.changedMeanwhile}</p> : <Failure error={save.error} shown={shownMembers} />}
      <Actions>
        <Button isDisabled={save.isPending} onPress={() => onClose()}>{t.cancel}</Button>
        <Button type="submit" kind="primary" isBusy={save.isPending} isDisabled={name.trim() === ""}>{!engine ? t.create : isStale(save.error) ? t.overwrite : t.save}</Button>
      </Actions>
    </Form>
  );
}

/** The settings of an engine that no field is for. Without any field there is a first row to type in. */
function othersOf({ settings, allowsOthers }: Described, engine: Engine | undefined): Pair[] {
  const others = Object.entries(engine?.config ?? {}).filter(([member]) => !settings.some((setting) => setting.name === member));
  if (others.length === 0 && settings.length === 0 && allowsOthers) return [{ name: "", value: "" }];
  return others.map(([member, value]) => ({ name: member, value: shownFreely(value) }));
}

/** Members that the page does not know: a name and a value each. */
function Pairs({ title, pairs, onChange, nameLabel, valueLabel, addLabel, hint, isSecret, errorAt }: {
  title: string; pairs: Pair[]; onChange: (pairs: Pair[]) => void; nameLabel: string; valueLabel: string; addLabel: string | null;
  hint?: string; isSecret?: boolean; errorAt: (name: string) => string | undefined;
}) {
  const t = useTexts(TEXTS);
  const change = (place: number, part: Partial<Pair>) => onChange(pairs.map((pair, at) => (at === place ? { ...pair, ...part } : pair)));
  return (
    <fieldset className="engines-pairs">
      <legend className="hidden">{title}</legend>
      {pairs.map((pair, place) => (
        <div key={place} className="engines-pair">
          <TextField label={nameLabel} value={pair.name} onChange={(name) => change(place, { name })} />
          <TextField label={valueLabel} value={pair.value} onChange={(value) => change(place, { value })} type={isSecret ? "password" : "text"}
            hint={hint} error={errorAt(pair.name.trim())} />
          <Button kind="quiet" icon="bin" aria-label={t.removeRow} onPress={() => onChange(pairs.filter((_, at) => at !== place))} />
        </div>
      ))}
      {addLabel && <div><Button kind="quiet" icon="plus" onPress={() => onChange([...pairs, { name: "", value: "" }])}>{addLabel}</Button></div>}
    </fieldset>
  );
}
