/** A button that copies a text, and says that it did. */
import { useEffect, useState } from "react";
import { useTexts } from "../i18n";
import { IconButton } from "./controls";
import { TEXTS } from "./texts";

const SAID_MS = 1_500;

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useTexts(TEXTS);
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <>
      <IconButton icon={isCopied ? "check" : "copy"} label={isCopied ? t.copied : (label ?? t.copy)} onPress={() => void copy(text).then(setCopied)} />
      <span className="hidden" role="status">{isCopied ? t.copied : ""}</span>
    </>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS a page has no clipboard: the old way copies what is selected.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden";
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}
