/** What a component imports, and what of it is a permission. */
import { useFormat, useTexts } from "../../i18n";
import { Tag } from "../../ui/page";
import { sorted } from "./plugins";
import { TEXTS } from "./texts";

/** Permissions with their meaning. With `before`, each is new, the same, or no longer wanted. */
export function Grants({ grants, before }: { grants: readonly string[]; before?: readonly string[] | undefined }) {
  const t = useTexts(TEXTS);
  const gone = before?.filter((grant) => !grants.includes(grant)) ?? [];
  if (grants.length === 0 && gone.length === 0) return <p>{t.grantsNone}</p>;
  return (
    <ul className="plugins-grants">
      {[...grants, ...gone].map((grant) => {
        const isGone = gone.includes(grant);
        const isNew = before !== undefined && !before.includes(grant);
        return (
          <li key={grant} className={isGone ? "faint" : undefined}>
            <span className="row">
              <code>{grant}</code>
              {isGone ? <Tag>{t.goneGrant}</Tag> : isNew ? <Tag tone="warn">{t.newGrant}</Tag> : before ? <Tag>{t.same}</Tag> : null}
            </span>
            {t.meanings[grant] && <p className="small">{t.meanings[grant]}</p>}
          </li>
        );
      })}
    </ul>
  );
}

/** The other imports, which give nothing away. */
export function FreeImports({ imports, grants }: { imports: readonly string[]; grants: readonly string[] }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { free, wasi } = sorted(imports, grants);
  return (
    <>
      {free.length > 0 && (
        <>
          <h3>{t.free}</h3>
          <ul className="plugins-imports">{free.map((name) => <li key={name}><code>{name}</code></li>)}</ul>
        </>
      )}
      {wasi.length > 0 && (
        <details>
          <summary>{t.wasi(format.number(wasi.length))}</summary>
          <ul className="plugins-imports">{wasi.map((name) => <li key={name}><code>{name}</code></li>)}</ul>
        </details>
      )}
    </>
  );
}
