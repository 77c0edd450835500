/** When a data source is synchronized by itself. */
import { useTexts } from "../../i18n";
import { Button, TextField } from "../../ui/controls";
import { TEXTS } from "./texts";

const OFTEN = { hourly: "0 0 * * * ? *", nightly: "0 30 2 * * ? *", never: "" } as const;

export function SyncCron({ value, onChange, error }: { value: string; onChange: (value: string) => void; error?: string | undefined }) {
  const t = useTexts(TEXTS);
  return (
    <div className="stack datasources-cron">
      <TextField label={t.syncCron} value={value} onChange={onChange} hint={t.syncCronHint} error={error} />
      <div className="presets">
        {(Object.keys(OFTEN) as (keyof typeof OFTEN)[]).map((name) => (
          <Button key={name} kind="quiet" onPress={() => onChange(OFTEN[name])}>{t.often[name]}</Button>
        ))}
      </div>
    </div>
  );
}
