/** Changes a data source. */
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { queries } from "../../api/query";
import { useTexts } from "../../i18n";
import { Actions, Button } from "../../ui/controls";
import { Form } from "../../ui/form";
import { Icon } from "../../ui/icons";
import { useLeaving } from "../../ui/leaving";
import { Locked } from "../../ui/locked";
import { Failure, Section } from "../../ui/page";
import { ifMatch, isStale, tagged, type Tagged } from "../tables/api";
import { Members, useShown } from "./Members";
import { TEXTS } from "./texts";
import { BadOptions, bodyOf, type Datasource, type Values, valuesOf } from "./values";

export const datasourceQuery = (id: number) => ({
  queryKey: ["datasources", id, "with-tag"],
  queryFn: () => tagged(api.GET("/api/v1/datasources/{id}", { params: { path: { id } } })),
});

/** Not through the page's own reading, which would show a failure a second time. */
export async function readAgain(id: number): Promise<Tagged<Datasource>> {
  const now = await datasourceQuery(id).queryFn();
  queries.setQueryData(datasourceQuery(id).queryKey, now);
  return now;
}

export function Settings({ read }: { read: Tagged<Datasource> }) {
  const t = useTexts(TEXTS);
  const id = read.value.id;
  // What the form began with: only what was changed is sent, and refused if others changed it meanwhile.
  const [began, setBegan] = useState(() => ({ values: valuesOf(read.value), tag: read.tag }));
  const [values, setValues] = useState(began.values);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [isSaved, setSaved] = useState(false);
  // How the connection is shown is no change.
  const isDirty = Object.entries(values).some(([member, value]) => member !== "by" && began.values[member as keyof Values] !== value);
  const leaving = useLeaving(isDirty);
  const change = (next: Values) => {
    setValues(next);
    setSaved(false);
  };
  // What others changed is shown; a value that was typed here stays.
  const takeStanding = async () => {
    const { value, tag } = await readAgain(id);
    const standing = valuesOf(value);
    const changed = Object.entries(values).filter(([member, one]) => began.values[member as keyof Values] !== one);
    setBegan({ values: standing, tag });
    setValues({ ...standing, ...Object.fromEntries(changed) });
  };
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      const body = bodyOf(values, began.values) as Schemas["UpdateDatasource"];
      if (Object.keys(body).length > 0) {
        const now = await tagged(api.PUT("/api/v1/datasources/{id}", { params: { path: { id }, header: ifMatch(began.tag) }, body }));
        const standing = valuesOf(now.value);
        setBegan({ values: standing, tag: now.tag });
        setValues({ ...standing, by: values.by });
        await queries.invalidateQueries({ queryKey: ["datasources"] });
      }
      setSaved(true);
    } catch (reason) {
      setError(isStale(reason) ? await takeStanding().then(() => reason, (failure: unknown) => failure) : reason);
    } finally {
      setBusy(false);
    }
  };
  const shown = useShown(values, true);
  const isPlain = !(error instanceof BadOptions) && !isStale(error);
  return (
    <Section title={t.settings}>
      {leaving}
      <Form onSubmit={submit} isBusy={isBusy} className="stack datasources-form">
        <Locked isBusy={isBusy} isStack>
          <Members values={values} onChange={change} error={error} isStored
            badOptions={error instanceof BadOptions ? t.badOptions(error.message) : undefined} />
        </Locked>
        {isStale(error) && <p className="note" role="alert"><Icon name="warning" />{t.changedMeanwhile}</p>}
        {isPlain && <Failure error={error} shown={shown} />}
        {isSaved && <p className="note" role="status"><Icon name="check" />{t.saved}</p>}
        <Actions>
          <Button type="submit" kind="primary" isBusy={isBusy} isDisabled={values.name.trim() === ""}>{isStale(error) ? t.overwrite : t.save}</Button>
        </Actions>
      </Form>
    </Section>
  );
}
