/** The settings that the server runs with: what each is, and where it comes from. They are changed on the server only. */
import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { SearchField, Switch } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Loaded, Page, Section, Tag } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import { useTyped } from "../../ui/typed";
import { TEXTS } from "./texts";
import "./style.css";

type Setting = Schemas["Setting"];

/** The group of the keys without a dot. */
const SERVER = "server";

const groupOf = (setting: Setting) => (setting.key.includes(".") ? setting.key.split(".")[0]! : SERVER);
const isSet = (setting: Setting) => setting.source !== "default";

export default function SettingsPage() {
  const t = useTexts(TEXTS);
  const { text, set } = useAddress();
  const [typed, setTyped] = useTyped("q");
  const isOnlySet = text("set") !== "";
  const settings = useQuery({
    queryKey: ["settings"],
    queryFn: () => data<Setting[]>(api.GET("/api/v1/settings")),
    staleTime: 60_000,
  });
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (setting: Setting) => {
    const all = [setting.key, setting.environment, setting.value, setting.source, setting.meaning].join(" ").toLowerCase();
    return (!isOnlySet || isSet(setting)) && words.every((word) => all.includes(word));
  };
  return (
    <Page title={t.settings} lead={t.settingsLead}>
      <div className="filters">
        <SearchField label={t.searchSettings} value={typed} onChange={setTyped} />
        <Switch label={t.onlySet} isSelected={isOnlySet} onChange={(next) => set({ set: next ? true : undefined }, true)} />
      </div>
      <Loaded query={settings}>{(all) => <Groups settings={all.filter(fits)} isOnlySet={isOnlySet} />}</Loaded>
    </Page>
  );
}

function Groups({ settings, isOnlySet }: { settings: Setting[]; isOnlySet: boolean }) {
  const t = useTexts(TEXTS);
  if (settings.length === 0) {
    return <Empty icon="settings" title={t.noSettingFits}>{isOnlySet ? t.noSettingFitsOnlySet : t.noSettingFitsNote}</Empty>;
  }
  const columns: Columns<Setting> = [
    {
      header: t.key, accessorFn: (setting) => setting.key,
      cell: ({ row: { original } }) => <><code>{original.key}</code><div className="small">{original.environment}</div></>,
    },
    { header: t.value, accessorFn: (setting) => setting.value, cell: ({ row }) => <Value setting={row.original} /> },
    {
      header: t.sourceOf, accessorFn: (setting) => setting.source,
      cell: ({ row: { original } }) => (isSet(original) ? <span className="strong">{original.source}</span> : <span className="faint">{t.isDefault}</span>),
    },
    { header: t.meaning, accessorFn: (setting) => setting.meaning },
  ];
  return [...new Set(settings.map(groupOf))].map((group) => (
    <Section key={group} title={t.groups[group] ?? group}>
      <div className="admin-settings">
        <DataTable label={t.groups[group] ?? group} rows={settings.filter((one) => groupOf(one) === group)} columns={columns} keyOf={(one) => one.key} />
      </div>
    </Section>
  ));
}

/** The value, and the default where it is another. Secrets come as `***`. */
function Value({ setting }: { setting: Setting }) {
  const t = useTexts(TEXTS);
  return (
    <>
      {setting.value === "***" ? <Tag title={t.isSecretLead}>{t.isSecret}</Tag>
        : setting.value === "" ? <span className="faint">{t.isEmpty}</span>
        : <code>{marked(setting.value)}</code>}
      {setting.value !== setting.default && setting.default !== "" && <div className="small">{t.defaultIs(setting.default)}</div>}
    </>
  );
}
