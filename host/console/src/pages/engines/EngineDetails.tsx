/** One engine: its settings, what it can do, and the checks of its last test. */
import { useMay } from "../../api/me";
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button } from "../../ui/controls";
import { Facts, Failure, Progress, Section, State, Tag, Time, type Tone } from "../../ui/page";
import { Health } from "./Health";
import { LOCAL } from "./local";
import { type Test, useStartTest } from "./tests";
import { TEXTS } from "./texts";

type Engine = Schemas["Engine"];

const TONES: Record<string, Tone> = { ok: "good", warning: "warn", failed: "bad" };

export function EngineDetails({ engine, test }: { engine: Engine; test: Test }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const { set } = useAddress();
  const startTest = useStartTest();
  const settings = Object.entries(engine.config);
  return (
    <Section title={t.details(engine.name)} actions={
      <>
        {may("updateEngine") && engine.name !== LOCAL && <Button icon="edit" onPress={() => set({ edit: engine.name }, true)}>{t.edit}</Button>}
        {may("testEngine") && <Button icon="check" isBusy={test.isBusy} onPress={() => void startTest(engine.name)}>{t.test}</Button>}
      </>
    }>
      <Facts facts={[
        [t.plugin, engine.plugin],
        [t.product, engine.product],
        [t.version, engine.version],
        [t.state, <State value={engine.state} />],
        [t.health, <Health look={engine.lastLook} />],
        ...(engine.lastLook?.ok === false ? [[t.lastLook, <Time value={engine.lastLook.at} />] as const] : []),
        [t.logIn, engine.authRecipe ?? t.noLogIn],
        [t.secrets, engine.secrets.length === 0 ? t.noSecrets : engine.secrets.map((name) => <span key={name}><code>{name}</code> </span>)],
        [t.created, <Time value={engine.createdAt} />],
        [t.changed, <Time value={engine.updatedAt} />],
      ]} />
      {engine.lastLook?.message && <p className="engines-wrong">{engine.lastLook.message}</p>}
      {may("testEngine") && (
        <div className="stack" aria-live="polite">
          <h3>{t.checks}</h3>
          <Checks name={engine.name} test={test} />
        </div>
      )}
      <div className="columns">
        <div className="stack">
          <h3>{t.settings}</h3>
          {settings.length === 0 && <p className="faint">{t.noSettings}</p>}
          {settings.length > 0 && (
            <dl className="engines-settings">
              {settings.map(([name, value]) => (
                <div key={name}><dt><code>{name}</code></dt><dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd></div>
              ))}
            </dl>
          )}
        </div>
        <div className="stack">
          <h3>{t.taskTypes}</h3>
          <ul className="engines-list">
            {engine.taskTypes.map((type) => (
              <li key={type.name}>
                <Tag>{type.name}</Tag> {t.taskTitles[type.title] ?? type.title}
                {type.needsDatasource && (
                  <span className="small"> · {type.datasourceKinds.length > 0 ? t.kinds(type.datasourceKinds.join(", ")) : t.anyKind}</span>
                )}
              </li>
            ))}
          </ul>
        </div>
        <div className="stack">
          <h3>{t.features}</h3>
          <ul className="engines-list">
            {engine.features.map((feature) => <li key={feature}>{t.featureTitles[feature] ?? <code>{feature}</code>}</li>)}
          </ul>
        </div>
      </div>
    </Section>
  );
}

function Checks({ name, test }: { name: string; test: Test }) {
  const t = useTexts(TEXTS);
  if (test.isBusy) return <Progress label={t.testing} />;
  if (test.error) return <Failure error={test.error} />;
  if (!test.result) return <p className="faint">{t.notTestedYet}</p>;
  const { result } = test;
  return (
    <>
      <div className="tablebox engines-wide" tabIndex={0} role="region" aria-label={t.checksOf(name)}>
        <table>
          <thead><tr><th scope="col">{t.check}</th><th scope="col">{t.outcome}</th><th scope="col">{t.message}</th></tr></thead>
          <tbody>
            {result.checks.map((check, place) => (
              <tr key={place}>
                <td><code>{check.name}</code></td>
                <td><Tag tone={TONES[check.outcome] ?? "plain"}>{t.outcomes[check.outcome] ?? check.outcome}</Tag></td>
                <td>{check.message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {result.missingFeatures.length > 0 && (
        <p>{t.missing} {result.missingFeatures.map((feature) => t.featureTitles[feature] ?? feature).join(", ")}</p>
      )}
      <p className="small">
        {t.tested} <Time value={test.at} />{result.version && <> · {t.engineVersion} {result.version}</>}
      </p>
    </>
  );
}
