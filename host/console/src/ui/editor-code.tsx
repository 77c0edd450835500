/**
 * CodeMirror. It stands in a shadow root: there it adopts its style sheets, where in the page it would make elements of
 * style, which the server's policy forbids.
 */
import {
  autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, type CompletionContext, completionKeymap, type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { sql, StandardSQL } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, StreamLanguage, type StringStream, syntaxHighlighting } from "@codemirror/language";
import { Annotation, Compartment, EditorState, type Extension, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { EditorProps } from "./editor";
import { codePoint, unseen } from "./marks";

export default function EditorCode({ value, onChange, language, label, isReadOnly, onRun, schema, names, minHeight, maxHeight }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changing = useRef(new Compartment());
  // The editor is made once and asks here for the functions of the latest rendering.
  const latest = useRef({ onChange, onRun, names });
  latest.current = { onChange, onRun, names };

  const settings = (): Extension => [
    languageOf(language, schema),
    EditorState.readOnly.of(isReadOnly ?? false),
    EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": String(isReadOnly ?? false) }),
    EditorView.theme({
      ".cm-scroller": { maxHeight: maxHeight ?? "24rem" },
      ".cm-content, .cm-gutter": { minHeight: minHeight ?? "8rem" },
    }),
  ];

  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open", delegatesFocus: true });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(), UNSEEN, history(), drawSelection(), bracketMatching(), closeBrackets(),
          autocompletion({ icons: false }),
          CLOSING,
          StandardSQL.language.data.of({ autocomplete: (context: CompletionContext) => named(context, latest.current.names) }),
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: (editor) => runs(editor, latest.current.onRun) }])),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
          EditorView.lineWrapping,
          syntaxHighlighting(COLOURS),
          THEME,
          REPLACING,
          changing.current.of(settings()),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((one) => one.annotation(FROM_OUTSIDE))) {
              latest.current.onChange?.(update.state.doc.toString());
            }
          }),
        ],
      }),
    });
    view.current = editor;
    // Outside, a key pressed in here seems pressed on a plain element: the page's shortcuts must not see it.
    const keep = (event: KeyboardEvent) => {
      if (!event.ctrlKey && !event.metaKey && event.key !== "Escape" && event.key !== "Tab") event.stopPropagation();
    };
    element.addEventListener("keydown", keep);
    return () => {
      element.removeEventListener("keydown", keep);
      editor.destroy();
      view.current = null;
    };
    // Made once; the effects below follow the properties.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value }, annotations: FROM_OUTSIDE.of(true) });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: changing.current.reconfigure(settings()) });
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [language, label, isReadOnly, schema, minHeight, maxHeight]);

  return <div ref={host} className="editor-host" tabIndex={isReadOnly ? -1 : 0} />;
}

const UNSEEN = highlightSpecialChars({
  addSpecialChars: unseen(),
  render: (code, description) => {
    const mark = document.createElement("span");
    mark.className = "cm-unseen";
    mark.title = description ?? "";
    mark.textContent = codePoint(String.fromCodePoint(code));
    return mark;
  },
});

/** Marks a change that came by `value`, which the caller knows already. */
const FROM_OUTSIDE = Annotation.define<boolean>();

/**
 * Typing over a selection. Left to the browser, it would keep the looks of what it replaces by an attribute of style, which
 * the server's policy forbids.
 */
const REPLACING = EditorView.domEventHandlers({
  beforeinput(event, editor) {
    const { data, inputType, isComposing } = event;
    if (inputType !== "insertText" || isComposing || !data || editor.state.readOnly) return false;
    const { from, to } = selected(editor);
    if (from === to) return false;
    const typed = () => editor.state.update({
      changes: { from, to, insert: data }, selection: { anchor: from + data.length }, userEvent: "input.type", scrollIntoView: true,
    });
    // Others come first, such as the one that puts brackets around what is selected.
    if (!editor.state.facet(EditorView.inputHandler).some((handle) => handle(editor, from, to, data, typed))) editor.dispatch(typed());
    event.preventDefault();
    return true;
  },
});

/** What the browser has selected, which the editor's own state may not have followed yet. */
function selected(editor: EditorView): { from: number; to: number } {
  // Only some browsers tell the selection in a shadow root.
  const native = (editor.root as { getSelection?: () => Selection | null }).getSelection?.();
  const inside = (node: Node | null | undefined) => node instanceof Node && editor.contentDOM.contains(node);
  if (!native || !inside(native.anchorNode) || !inside(native.focusNode)) return editor.state.selection.main;
  const ends = [editor.posAtDOM(native.anchorNode!, native.anchorOffset), editor.posAtDOM(native.focusNode!, native.focusOffset)];
  return { from: Math.min(...ends), to: Math.max(...ends) };
}

function runs(editor: EditorView, run: (() => void) | undefined): boolean {
  if (!run) return false;
  closeCompletion(editor);
  run();
  return true;
}

/** Suggestions that are still looked for when the editor loses the focus would open over the page. */
const CLOSING = EditorView.domEventHandlers({
  blur: (_, editor) => {
    setTimeout(() => closeCompletion(editor));
    return false;
  },
});

const WORD = /[\p{L}\p{N}_$]+$/u;
/** A table is named here: after FROM or JOIN, or in a list after FROM. */
const TABLE = /\b(?:from|join)\s+(?:[^\s,()]+(?:\s+(?:as\s+)?[^\s,()]+)?\s*,\s*)*[^\s,()]*$/iu;

/** The names that the page finds for what is typed. Without a first letter, and for a member of a table, there are none. */
async function named(context: CompletionContext, names: EditorProps["names"]): Promise<CompletionResult | null> {
  const line = context.state.sliceDoc(Math.max(0, context.pos - BEFORE), context.pos);
  const word = WORD.exec(line)?.[0];
  if (!names || !word) return null;
  const isTable = TABLE.test(line);
  if (!isTable && line.charAt(line.length - word.length - 1) === ".") return null;
  const found = await names(word, isTable);
  return { from: context.pos - word.length, options: found.map((label) => ({ label, type: isTable ? "type" : "property" })) };
}

/** As much of the text before the cursor is looked at. */
const BEFORE = 500;

function languageOf(language: EditorProps["language"], schema: EditorProps["schema"]): Extension {
  if (language === "sql") return sql({ dialect: StandardSQL, upperCaseKeywords: true, ...(schema ? { schema: schema as Record<string, string[]> } : {}) });
  return language === "shell" ? SHELL : JSON_TEXT;
}

const SHELL_WORDS = /^(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|in|function|return|exit|export|local|set|unset|echo|cd)\b/;

const SHELL = StreamLanguage.define({
  name: "shell",
  token(stream) {
    if (stream.eatSpace()) return null;
    if ((stream.sol() || /\s/.test(stream.string.charAt(stream.pos - 1))) && stream.match(/^#.*/)) return "comment";
    if (stream.match(/^\$\{[^}]*\}|^\$\[[^\]]*\]|^\$\w+/)) return "variableName";
    if (stream.match(/^'[^']*'?/) || quoted(stream)) return "string";
    if (stream.match(SHELL_WORDS)) return "keyword";
    if (stream.match(/^\d+\b/)) return "number";
    if (!stream.match(/^[\w./-]+/)) stream.next();
    return null;
  },
});

const JSON_TEXT = StreamLanguage.define({
  name: "json",
  token(stream) {
    if (stream.eatSpace()) return null;
    if (quoted(stream)) return stream.match(/^\s*:/, false) ? "propertyName" : "string";
    if (stream.match(/^-?\d[\d.eE+-]*/)) return "number";
    if (stream.match(/^(?:true|false|null)\b/)) return "keyword";
    stream.next();
    return null;
  },
});

function quoted(stream: StringStream): boolean {
  return Boolean(stream.match(/^"(?:[^"\\]|\\.)*"?/));
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--accent)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--busy)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.propertyName, tags.variableName], color: "var(--text)" },
  { tag: [tags.special(tags.name), tags.standard(tags.name)], color: "var(--warn)" },
]);

const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { direction: "ltr", unicodeBidi: "isolate" },
  ".cm-unseen": { padding: "0 .2em", border: "1px solid var(--bad)", borderRadius: "3px", color: "var(--bad)", fontSize: ".8em" },
  ".cm-gutters": { backgroundColor: "var(--ground)", color: "var(--soft)", border: "none" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-ground)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-ground)", outline: "1px solid var(--accent)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line)", borderRadius: "6px", color: "var(--text)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-ground)", color: "var(--accent)" },
});
