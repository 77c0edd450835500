/** One plugin: figures, permissions, generations and log. */
import { useQuery } from "@tanstack/react-query";
import { useMay } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { usePath, useAddress } from "../../search";
import { Tabs } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { Facts, Loaded, Page, Section, State } from "../../ui/page";
import { Changes } from "./Changes";
import { Generations } from "./Generations";
import { Log } from "./Log";
import { Own } from "./Own";
import { FreeImports, Grants } from "./Permissions";
import { type Plugin, pluginQuery } from "./plugins";
import { Review } from "./Review";
import { TEXTS } from "./texts";
import "./style.css";

export default function PluginPage() {
  const t = useTexts(TEXTS);
  const { name = "" } = usePath();
  const plugin = useQuery(pluginQuery(name));
  return (
    <Page title={name} path={[{ to: "/plugins", label: t.title }]}
      {...(plugin.data ? { lead: <Own text={plugin.data.title} isMarked />, actions: <Changes key={name} address={name} plugin={plugin.data} /> } : {})}>
      <Loaded query={plugin}>{(found) => <Parts key={name} address={name} plugin={found} />}</Loaded>
    </Page>
  );
}

function Parts({ address, plugin }: { address: string; plugin: Plugin }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const { text, set } = useAddress();
  const review = text("review");
  const reviewed = review === "" ? undefined : plugin.generations.find((one) => one.digest.startsWith(review));
  const tabs = [
    { id: "overview", title: t.overview, content: <Overview address={address} plugin={plugin} /> },
    ...(may("getPluginLogs") ? [{ id: "log", title: t.logs, content: <Log address={address} plugin={plugin} /> }] : []),
  ];
  const tab = tabs.some((one) => one.id === text("tab")) ? text("tab") : "overview";
  return (
    <>
      {plugin.state === "quarantined" && (
        <div className="note failure" role="status">
          <Icon name="warning" />
          <div><p>{t.quarantined}</p><p className="strong">{plugin.reason}</p></div>
        </div>
      )}
      {reviewed && <Review key={reviewed.digest} address={address} plugin={plugin} generation={reviewed} onClose={() => set({ review: undefined })} />}
      <Tabs label={t.tabs} value={tab} onChange={(next) => set({ tab: next === "overview" ? undefined : next }, true)} tabs={tabs} />
    </>
  );
}

function Overview({ address, plugin }: { address: string; plugin: Plugin }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const milliseconds = (value: number | null) => (value === null ? null : `${format.number(Number(value.toPrecision(3)))} ms`);
  const percent = (share: number) => `${format.number(Number((100 * share).toPrecision(2)))} %`;
  const active = plugin.generations.find((one) => one.digest === plugin.digest);
  return (
    <>
      <div className="columns">
        <Section title={t.facts}>
          <Facts facts={[
            [t.family, t.families[plugin.family] ?? plugin.family],
            [t.state, <State value={plugin.state} />],
            [t.version, plugin.version],
            [t.contract, active?.contract],
            [t.activated, active?.activatedAt],
          ]} />
          {plugin.digest && <p><span className="small">{t.digest}</span><br /><code className="plugins-digest">{plugin.digest}</code></p>}
          {!active && <p className="faint">{t.notActive}</p>}
        </Section>
        <Section title={t.figures}>
          <Facts facts={[
            [t.calls, format.number(plugin.calls)],
            [t.errors, format.number(plugin.errors)],
            [t.errorShare, plugin.calls === 0 ? null : percent(plugin.errors / plugin.calls)],
            ["p50", milliseconds(plugin.p50Ms)],
            ["p99", milliseconds(plugin.p99Ms)],
            ...(plugin.family === "engine" ? [
              [t.requestsSent, format.number(plugin.requestsSent)] as const,
              [t.requestsRefused, format.number(plugin.requestsRefused)] as const,
            ] : []),
          ]} />
          <p className="small">{t.figuresNote}</p>
        </Section>
      </div>
      <Generations address={address} plugin={plugin} />
      <Section title={t.imports}>
        <p className="small">{t.importsNote}</p>
        <div className="columns">
          <div className="stack"><h3>{t.grants}</h3><Grants grants={plugin.grants} /></div>
          <div className="stack"><FreeImports imports={plugin.imports} grants={plugin.grants} /></div>
        </div>
      </Section>
    </>
  );
}
