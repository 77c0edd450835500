/** An editor of SQL, shell scripts and JSON. What it is made of loads when it is first shown. */
import { lazy, Suspense, useId } from "react";
import { Loading } from "./page";
import "./editor.css";

export interface EditorProps {
  value: string;
  onChange?: (value: string) => void;
  language: "sql" | "shell" | "json";
  label: string;
  isLabelHidden?: boolean;
  isReadOnly?: boolean;
  /** Ctrl+Enter, or ⌘+Enter. */
  onRun?: () => void;
  /** Of SQL: tables and their columns, which are offered while typing. */
  schema?: Readonly<Record<string, readonly string[]>>;
  /** Of SQL: more names like what is typed, which are offered beside those; tables alone where one is named. */
  names?: (typed: string, isTable: boolean) => Promise<readonly string[]>;
  /** Its least and its greatest height, lengths of CSS. */
  minHeight?: string;
  maxHeight?: string;
}

const Code = lazy(() => import("./editor-code"));

export function Editor(props: EditorProps) {
  const id = useId();
  return (
    <div className="field editor">
      {!props.isLabelHidden && <span className="editor-label" id={id}>{props.label}</span>}
      <Suspense fallback={<Loading lines={3} />}><Code {...props} /></Suspense>
    </div>
  );
}
