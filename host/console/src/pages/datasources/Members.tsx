/** The members of a data source in a form. */
import { useQuery } from "@tanstack/react-query";
import { api, data } from "../../api/client";
import { useTexts } from "../../i18n";
import { Checkbox, Select, TextField } from "../../ui/controls";
import { errorOf } from "../../ui/page";
import { described } from "../engines/settings";
import { Options } from "./Options";
import { SyncCron } from "./SyncCron";
import { TEXTS } from "./texts";
import { isFile, type Values } from "./values";

/** The dialects that answer now. */
export const dialectsQuery = {
  queryKey: ["plugins", "dialects"],
  queryFn: async () => (await data(api.GET("/api/v1/plugins"))).filter((plugin) => plugin.family === "dialect" && plugin.digest !== null),
  staleTime: 60_000,
};

/** The members whose field says what is wrong with it. */
export function useShown(values: Values, isStored: boolean): string[] {
  const dialect = useQuery(dialectsQuery).data?.find((plugin) => plugin.name === values.kind);
  const connection = isFile(values.kind) ? ["url"]
    : [...(values.by === "url" ? ["url"] : ["host", "port", "database", "username"]), "password", "readUrl", "options.databases"];
  return [
    "name", "kind", ...connection, ...(isStored ? [] : ["syncCron"]),
    ...described(dialect?.configSchema).settings.map((setting) => `options.${setting.name}`),
  ];
}

export function Members({ values, onChange, error, badOptions, isStored }: {
  values: Values; onChange: (values: Values) => void; error: unknown; badOptions?: string | undefined;
  /** It exists already: its password is kept when none is typed. */
  isStored: boolean;
}) {
  const t = useTexts(TEXTS);
  const dialects = useQuery(dialectsQuery).data ?? [];
  const put = <Member extends keyof Values>(member: Member) => (value: Values[Member]) => onChange({ ...values, [member]: value });
  const kinds = dialects.map((plugin) => ({ value: plugin.name, label: plugin.title ?? plugin.name }));
  // A dialect that is out of service stays the kind that it is.
  if (values.kind !== "" && !kinds.some((kind) => kind.value === values.kind)) kinds.push({ value: values.kind, label: values.kind });
  const chooseKind = (kind: string) => onChange({ ...values, kind, typed: {}, url: isFile(kind) && values.url === "" ? "sqlite:" : values.url });
  const text = (member: "host" | "database" | "username", isRequired = false) => (
    <TextField label={t.members[member]} value={values[member]} onChange={put(member)} isRequired={isRequired} error={errorOf(error, member)} />
  );
  const examples: Record<string, string> = t.urls;
  return (
    <>
      <div className="columns datasources-pair">
        <TextField label={t.name} value={values.name} onChange={put("name")} isRequired autoFocus={!isStored} maxLength={100} error={errorOf(error, "name")} />
        <Select label={t.kind} value={values.kind} onChange={chooseKind} choices={kinds} error={errorOf(error, "kind")} />
      </div>
      {values.kind !== "" && !isFile(values.kind) && (
        <Select label={t.by} value={values.by} onChange={put("by")} choices={[{ value: "parts", label: t.byParts }, { value: "url", label: t.byUrl }]} />
      )}
      {isFile(values.kind) && (
        <TextField label={t.file} value={values.url} onChange={put("url")} isRequired hint={t.fileHint} error={errorOf(error, "url")} />
      )}
      {values.kind !== "" && !isFile(values.kind) && (
        <>
          {values.by === "url" ? (
            <TextField label={t.url} value={values.url} onChange={put("url")} isRequired placeholder={examples[values.kind] ?? ""} hint={t.urlHint} error={errorOf(error, "url")} />
          ) : (
            <div className="columns datasources-pair">
              {text("host", true)}
              <TextField label={t.members.port} type="number" value={values.port} onChange={put("port")} error={errorOf(error, "port")} />
              {text("database")}
              {text("username")}
            </div>
          )}
          <TextField label={t.password} type="password" value={values.password} onChange={put("password")}
            hint={isStored ? t.passwordKept : t.passwordHint} error={errorOf(error, "password")} />
          <TextField label={t.readUrl} value={values.readUrl} onChange={put("readUrl")} hint={t.readUrlHint} error={errorOf(error, "readUrl")} />
          <TextField label={t.databasesToRead} value={values.databases} onChange={put("databases")} hint={t.databasesToReadHint} error={errorOf(error, "options.databases")} />
        </>
      )}
      {values.kind !== "" && (
        <>
          <Options schema={dialects.find((plugin) => plugin.name === values.kind)?.configSchema} values={values} onChange={onChange}
            error={error} badOptions={badOptions} />
          {!isStored && <SyncCron value={values.syncCron} onChange={put("syncCron")} error={errorOf(error, "syncCron")} />}
          <Checkbox label={t.isDefault} isSelected={values.isDefault} onChange={put("isDefault")} />
        </>
      )}
    </>
  );
}
