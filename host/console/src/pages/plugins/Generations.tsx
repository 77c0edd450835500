/** The generations of a plugin, the newest first: which gets which calls, and what can be done with each. */
import { useState } from "react";
import { api, bare } from "../../api/client";
import { useMay } from "../../api/me";
import { useChange } from "../../api/query";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Confirm } from "../../ui/confirm";
import { Button } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { Section, State, Time } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import { componentUrl, type Generation, type Plugin, short } from "./plugins";
import { TEXTS } from "./texts";

export function Generations({ address, plugin }: { address: string; plugin: Plugin }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const may = useMay();
  const { set } = useAddress();
  const [removed, setRemoved] = useState<Generation | null>(null);
  const remove = useChange(
    (digest: string) => bare(api.DELETE("/api/v1/plugins/{name}/{digest}", { params: { path: { name: address, digest } } })),
    [["plugins"]],
  );
  const canary = plugin.generations.find((one) => one.state === "canary");
  const shareOf = (generation: Generation) => {
    if (plugin.state === "quarantined") return t.none;
    if (generation.state === "canary") return t.share(generation.canaryPercent ?? 0);
    if (generation.state !== "active") return t.none;
    return canary ? t.share(100 - (canary.canaryPercent ?? 0)) : t.all;
  };
  const milliseconds = (value: number | null) => (value === null ? <span className="faint">–</span> : format.number(Number(value.toPrecision(3))));
  const percent = (share: number) => `${format.number(Number((100 * share).toPrecision(2)))} %`;
  const columns: Columns<Generation> = [
    { header: t.version, accessorFn: (one) => one.version, cell: ({ row }) => <span className="strong">{row.original.version}</span> },
    { header: t.digest, accessorFn: (one) => one.digest, cell: ({ row }) => <code title={row.original.digest}>{short(row.original.digest)}</code> },
    {
      header: t.state, accessorFn: (one) => one.state,
      cell: ({ row: { original } }) => <div><State value={original.state} /> <span className="small">{shareOf(original)}</span></div>,
    },
    { header: t.calls, accessorFn: (one) => one.calls, meta: { isNumber: true }, cell: ({ row }) => format.number(row.original.calls) },
    {
      header: t.errors, accessorFn: (one) => one.errors, meta: { isNumber: true },
      cell: ({ row: { original: { calls, errors } } }) => (
        errors === 0 ? "0" : <><span className="plugins-errors">{format.number(errors)}</span> <span className="small">{percent(errors / calls)}</span></>
      ),
    },
    { header: t.p50, accessorFn: (one) => one.p50Ms ?? -1, meta: { isNumber: true }, cell: ({ row }) => milliseconds(row.original.p50Ms) },
    { header: t.p99, accessorFn: (one) => one.p99Ms ?? -1, meta: { isNumber: true }, cell: ({ row }) => milliseconds(row.original.p99Ms) },
    { header: t.origin, accessorFn: (one) => t.origins[one.origin] ?? one.origin },
    { header: t.size, accessorFn: (one) => one.size, cell: ({ row }) => <span className="plugins-number">{format.bytes(row.original.size)}</span> },
    { header: t.staged, accessorFn: (one) => one.stagedAt, cell: ({ row }) => <Time value={row.original.stagedAt} /> },
    {
      header: "", id: "actions", enableSorting: false,
      cell: ({ row: { original } }) => (
        <div className="row plugins-actions">
          {may("activatePlugin") && original.state !== "active" && (
            <Button onPress={() => {
              set({ review: original.digest.slice(0, 12), tab: undefined }, true);
              window.scrollTo({ top: 0, behavior: "smooth" });
            }}>{t.review}</Button>
          )}
          {may("getPluginComponent") && (
            <a className="button quiet square" href={componentUrl(address, original.digest)} aria-label={`${t.download} ${original.version} (${short(original.digest)})`}
              title={t.download} download={`${plugin.name}-${original.version}-${short(original.digest)}.wasm`}><Icon name="download" /></a>
          )}
          {may("removePlugin") && original.state === "staged" && original.origin !== "bundled" && (
            <Button kind="quiet" icon="bin" aria-label={`${t.remove} ${original.version} (${short(original.digest)})`} onPress={() => setRemoved(original)} />
          )}
        </div>
      ),
    },
  ];
  const newestFirst = [...plugin.generations].reverse();
  return (
    <Section title={t.generations}>
      <div className="plugins-wide">
        <DataTable label={t.generations} rows={newestFirst} columns={columns} keyOf={(one) => one.digest} />
      </div>
      <p className="small">{t.counted}</p>
      <Confirm title={removed ? t.removeTitle(removed.version, short(removed.digest)) : ""} action={t.remove} isDanger isOpen={removed !== null}
        onClose={() => setRemoved(null)} onConfirm={() => remove.mutateAsync(removed?.digest ?? "")}>
        <p>{t.removeText}</p>
      </Confirm>
    </Section>
  );
}
