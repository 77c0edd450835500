/** What a test of the connection found. */
import type { Schemas } from "../../api/client";
import { useFormat, useTexts } from "../../i18n";
import { Icon } from "../../ui/icons";
import { TEXTS } from "./texts";

export function Tested({ test }: { test: Schemas["DatasourceTest"] }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  return (
    <div className="note datasources-good" role="status">
      <Icon name="check" />
      <p>{t.connected(test.product, test.version, format.number(Math.round(test.latencyMs * 10) / 10))}</p>
    </div>
  );
}
