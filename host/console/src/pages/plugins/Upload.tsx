/** Uploads a component, by drag or by choice, and shows how far it is. */
import { useNavigate } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { type DragEvent, useEffect, useRef, useState } from "react";
import { FileTrigger } from "react-aria-components";
import { Failed } from "../../api/client";
import { useMe } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { Button } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { useMounted } from "../../ui/mounted";
import { Failure, Progress } from "../../ui/page";
import { addressOf, pluginsQuery, short, stage, type Staged, stagedKey } from "./plugins";
import { TEXTS } from "./texts";

const kilobytes = (bytes: number) => Math.ceil(bytes / 1000);

/** The message lists the refused imports, and so do the details: one list is enough. */
function brief(reason: unknown): unknown {
  if (!(reason instanceof Failed) || reason.details.length === 0) return reason;
  return new Failed(reason.status, reason.code, reason.message.split(": ")[0]!, reason.requestId, reason.details);
}

export function Upload() {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const me = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [file, setFile] = useState<File | null>(null);
  const [sent, setSent] = useState(0);
  const [isOver, setOver] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const running = useRef<{ stop: () => void } | null>(null);
  const isMounted = useMounted();
  useEffect(() => () => running.current?.stop(), []);

  const upload = async (chosen: File) => {
    setError(null);
    setSent(0);
    setFile(chosen);
    if (chosen.size > me.limits.pluginUploadMaxBytes) {
      setError(new Error(t.tooLarge(format.bytes(chosen.size), format.bytes(me.limits.pluginUploadMaxBytes))));
      return;
    }
    const upload = stage(chosen, setSent);
    running.current = upload;
    let staged: Staged;
    try {
      staged = await upload.answer;
    } catch (reason) {
      if (!(reason instanceof Failed && reason.code === "stopped")) setError(brief(reason));
      else setFile(null);
      return;
    } finally {
      running.current = null;
    }
    client.setQueryDefaults(stagedKey(staged.digest), { gcTime: Infinity });
    client.setQueryData(stagedKey(staged.digest), staged);
    await client.invalidateQueries({ queryKey: ["plugins"] });
    // It is stored: without the list its name alone leads to it.
    const all = await client.fetchQuery(pluginsQuery).catch(() => []);
    if (!isMounted.current) return;
    void navigate({ to: "/plugins/$name", params: { name: addressOf(staged, all) }, search: { review: short(staged.digest) } as never });
  };
  // Without an answer it is not known whether the server has it.
  const isLost = error instanceof Failed && error.status === 0;
  const isRunning = file !== null && error === null;
  const over = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    // Without this the browser would open the file.
    event.preventDefault();
    event.dataTransfer.dropEffect = isRunning ? "none" : "copy";
    setOver(!isRunning);
  };
  const leave = (event: DragEvent) => {
    if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const dropped = event.dataTransfer.files[0];
    if (dropped && !isRunning) void upload(dropped);
  };
  return (
    <section className={isOver ? "plugins-drop over" : "plugins-drop"} aria-label={t.uploadLabel} onDragOver={over} onDragLeave={leave} onDrop={drop}>
      {isRunning ? (
        <div className="plugins-progress">
          {sent < file.size
            ? <Progress label={t.uploading(file.name)} value={kilobytes(sent)} of={kilobytes(file.size)} />
            : <Progress label={t.checking(file.name)} />}
          <Button icon="stop" onPress={() => running.current?.stop()}>{t.stop}</Button>
        </div>
      ) : (
        <div className="row">
          <Icon name="upload" />
          <span>{t.drop}</span>
          <FileTrigger acceptedFileTypes={[".wasm", "application/wasm"]} onSelect={(files) => files?.[0] && void upload(files[0])}>
            <Button>{t.choose}</Button>
          </FileTrigger>
        </div>
      )}
      <p className="small">{t.uploadNote}</p>
      {error !== null && file && (
        <div className="plugins-refused"><p className="strong">{isLost ? t.lost(file.name) : t.refused(file.name)}</p><Failure error={error} /></div>
      )}
    </section>
  );
}
