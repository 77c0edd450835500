/** Copying a text, and saying how that went. */
import { useEffect, useState } from "react";
import { useTexts } from "../i18n";
import { IconButton } from "./controls";
import type { IconName } from "./icons";
import { TEXTS } from "./texts";

const SAID_MS = 2_000;

/** Copies a text. `outcome` is the icon and the sentence for it, for a moment after each press. */
export function useCopy(): { copy: (text: string) => void; outcome: { icon: IconName; text: string } | null } {
  const t = useTexts(TEXTS);
  const [isCopied, setCopied] = useState<boolean | null>(null);
  useEffect(() => {
    if (isCopied === null) return undefined;
    const timer = setTimeout(() => setCopied(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return {
    copy: (text) => void copy(text).then(setCopied),
    outcome: isCopied === null ? null : isCopied ? { icon: "check", text: t.copied } : { icon: "warning", text: t.notCopied },
  };
}

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const t = useTexts(TEXTS);
  const { copy, outcome } = useCopy();
  return (
    <>
      <IconButton icon={outcome?.icon ?? "copy"} label={outcome?.text ?? label ?? t.copy} onPress={() => copy(text)} />
      <span className="hidden" role="status">{outcome?.text}</span>
    </>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/**
 * Without TLS a page has no clipboard: the old way copies what is selected, and the text is put in its place. A field
 * for it would need the focus, which an open dialog does not let go.
 */
function copySelected(text: string): boolean {
  const selected = document.createElement("span");
  selected.className = "hidden";
  selected.textContent = text;
  const put = (event: ClipboardEvent) => {
    event.preventDefault();
    event.stopPropagation();
    event.clipboardData?.setData("text/plain", text);
  };
  document.body.append(selected);
  document.addEventListener("copy", put, true);
  try {
    window.getSelection()?.selectAllChildren(selected);
    return document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", put, true);
    selected.remove();
  }
}
