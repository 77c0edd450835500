/** What can be done with a plugin as a whole: roll back, quarantine, release. */
import { useState } from "react";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { useChange } from "../../api/query";
import { useTexts } from "../../i18n";
import { Confirm } from "../../ui/confirm";
import { Button, TextField } from "../../ui/controls";
import type { Plugin } from "./plugins";
import { TEXTS } from "./texts";

export function Changes({ address, plugin }: { address: string; plugin: Plugin }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const [open, setOpen] = useState<"rollback" | "quarantine" | "release" | null>(null);
  const [reason, setReason] = useState("");
  const params = { path: { name: address } };
  const outdated = [["plugins"], ["engines"]];
  const rollback = useChange(() => data(api.POST("/api/v1/plugins/{name}/rollback", { params })), outdated);
  const quarantine = useChange((why: string) => data(api.POST("/api/v1/plugins/{name}/quarantine", {
    params, body: why.trim() === "" ? {} : { reason: why.trim() },
  })), outdated);
  const release = useChange(() => data(api.POST("/api/v1/plugins/{name}/release", { params })), outdated);
  const close = () => setOpen(null);
  const isCanary = plugin.generations.some((one) => one.state === "canary");
  const isQuarantined = plugin.state === "quarantined";
  return (
    <>
      {may("rollbackPlugin") && (isCanary || plugin.previousDigest !== null) && plugin.digest !== null && (
        <Button icon="refresh" onPress={() => setOpen("rollback")}>{isCanary ? t.endCanary : t.rollback}</Button>
      )}
      {may("quarantinePlugin") && !isQuarantined && plugin.digest !== null && (
        <Button icon="stop" onPress={() => setOpen("quarantine")}>{t.quarantine}</Button>
      )}
      {may("releasePlugin") && isQuarantined && <Button kind="primary" icon="check" onPress={() => setOpen("release")}>{t.release}</Button>}
      <Confirm title={isCanary ? t.endCanaryTitle(address) : t.rollbackTitle(address)} action={isCanary ? t.endCanary : t.rollback}
        isOpen={open === "rollback"} onClose={close} onConfirm={() => rollback.mutateAsync(undefined)}>
        <p>{isCanary ? t.endCanaryText : t.rollbackText}</p>
      </Confirm>
      <Confirm title={t.quarantineTitle(address)} action={t.quarantine} isDanger isOpen={open === "quarantine"} onClose={close}
        onConfirm={() => quarantine.mutateAsync(reason).then(() => setReason(""))}>
        <p>{t.quarantineText}</p>
        <TextField label={t.reason} value={reason} onChange={setReason} hint={t.reasonHint} maxLength={1000} autoFocus />
      </Confirm>
      <Confirm title={t.releaseTitle(address)} action={t.release} isOpen={open === "release"} onClose={close} onConfirm={() => release.mutateAsync(undefined)}>
        <p>{t.releaseText}</p>
      </Confirm>
    </>
  );
}
